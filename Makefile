.PHONY: help book demo dist gallery test test-audio test-embedded test-fleet test-flowgraph test-link test-portable test-python test-services test-trace fuzz bench-link bench-pacing bench-search bench-stats bench-traffic bench-trace

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

book: ## the documents as a site in target/book (installs mdBook if it is absent)
	cargo xtask book

demo: ## the main job on embedded parts, nothing to configure
	cargo xtask demo

dist: ## what users install, in target/packages: a Debian package, an archive, an image with a static program, a wheel
	cargo xtask dist

gallery: ## real services from Debian packages, searched beside the generators of their users (root; 15 minutes, on a quiet machine)
	cargo xtask setup gallery
	cargo build --locked --release --package dropline
	mkdir -p target/gallery
	PATH="$$PWD/target/tools/bin:$$PATH" target/release/dropline experiment services --keep target/gallery/runs.jsonl --html target/gallery/services.html | tee target/gallery/services.txt

test: ## install what the tests need, then run everything in the default build
	cargo xtask setup test
	cargo xtask test

test-audio: ## an audio server's cycles: jackd with its dummy driver, no sound card
	cargo xtask setup audio
	timeout --foreground 20m cargo xtask audio

test-embedded: ## c/heartbeat on nine machines: size, stack, instructions, cycles, rules
	cargo xtask setup embedded
	timeout --foreground 20m cargo xtask embedded

test-flowgraph: ## FutureSDR and GNU Radio graphs, built and measured
	cargo xtask setup flowgraph
	timeout --foreground 20m cargo xtask flowgraph

test-fleet: ## agents that measure together, by way of a nats-server; each of them killed, stopped and cut off
	cargo xtask setup fleet
	timeout --foreground 20m cargo xtask fleet

test-services: ## real servers in their own protocols: knot, nsd, memcached, chrony, dnsmasq, nginx, stamp-suite
	cargo xtask setup services
	timeout --foreground 20m cargo xtask services

test-link: ## frames between two interfaces, made and judged in the kernel (root)
	cargo xtask setup link
	timeout --foreground 20m cargo xtask link

test-portable: ## the portable way to move packets, where another one is in use
	cargo xtask setup test
	timeout --foreground 20m cargo xtask portable

test-python: ## the Python package: its wheel, types, tests, CSIT's MLRsearch as the judge, pytest and Robot
	cargo xtask setup python
	timeout --foreground 20m cargo xtask python

test-trace: ## tracepoints with LTTng, babeltrace2, C++ and Python
	cargo xtask setup trace
	timeout --foreground 20m cargo xtask trace

bench-link: ## frames a second between two interfaces beside udp:// and iperf3, counted by the kernel (root; two CPUs)
	cargo xtask setup rivals
	cargo xtask setup link
	cargo bench --package dropline --bench link

bench-search: ## what it costs each algorithm to decide on a trial, credible with 200 trials behind it too
	cargo bench --package dropline-search --bench deciding

bench-stats: ## recording one delay with every slice field, beside HdrHistogram
	cargo bench --package dropline-stats --bench recording

bench-traffic: ## datagrams a second beside iperf3, qperf, nuttcp, mgen, D-ITG, sockperf (root; two CPUs)
	cargo xtask setup rivals
	cargo bench --package dropline-traffic --bench traffic

bench-pacing: ## constant and Poisson loads beside iperf3, mgen, D-ITG, sockperf (root; two CPUs)
	cargo xtask setup rivals
	cargo bench --package dropline-traffic --bench pacing

bench-trace: ## what a tracepoint costs beside LTTng, USDT, uprobe, tracing, fastrace, files (root for uprobes)
	cargo xtask setup trace
	cargo xtask bench-trace

# Of each target, whichever is first. xtask/tests/locks.rs holds the lock file of fuzz/ to the crates that it reads.
RUNS = 200000
SECONDS = 120
# Histories of packets for the C library, of all its forms together: some 20 minutes.
HEARTBEATS = 100000000

fuzz: ## feed every reader of bytes and text with made-up ones (RUNS= and SECONDS= of each, HEARTBEATS= in C)
	cargo xtask setup fuzz
	cd fuzz && cargo build --release --locked
	cd fuzz && for target in $$(ls corpus); do \
	    mkdir -p target/found/$$target artifacts && echo "$$target" && \
	    target/*/release/$$target -runs=$(RUNS) -max_total_time=$(SECONDS) -timeout=20 \
	        -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 -artifact_prefix=artifacts/$$target- \
	        target/found/$$target corpus/$$target || exit 1; \
	done
	cargo xtask fuzz $(HEARTBEATS)
	seed=$$(date +%s) && echo "properties with PROPTEST_RNG_SEED=$$seed" && \
	    PROPTEST_RNG_SEED=$$seed cargo test --locked --workspace
