#!/bin/sh
# Builds the instructions of all programs, beside their sources or in the directory that is named: a 6 stands for IPv6.
set -eu
cd "$(dirname "$0")"
to=${1:-.}
build() {
	clang -O2 -Wall -Werror -target bpf -mcpu=v3 $3 -c "$1.c" -o "$to/$2.o"
	llvm-objcopy -O binary --only-section=xdp "$to/$2.o" "$to/$2.bpf"
	rm "$to/$2.o"
}
for program in judge sender; do
	build $program $program ""
	build $program ${program}6 -DIPV6
done
build reflector reflector ""
