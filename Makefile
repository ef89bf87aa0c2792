.PHONY: help demo test fuzz

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: ## the main job on embedded parts, nothing to configure
	cargo xtask demo

test: ## install what the tests need, then run everything in the default build
	cargo xtask setup test
	cargo xtask test
