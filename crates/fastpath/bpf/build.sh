#!/bin/sh
# Builds the instructions of both programs, beside their sources or in the directory that is named.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
for program in judge sender; do
	clang -O2 -Wall -Werror -target bpf -mcpu=v3 -c "$program.c" -o "$to/$program.o"
	llvm-objcopy -O binary --only-section=xdp "$to/$program.o" "$to/$program.bpf"
	rm "$to/$program.o"
done
