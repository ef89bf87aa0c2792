#!/usr/bin/env bash
# What the program answers to inputs that are the same each time: `tests/behaviour.sh DROPLINE DIRECTORY` writes the
# JSON of searches, trials, fits, comparisons and explanations there. Before a move of code and after it, `diff -r` of
# the two directories shows what the move changed.
set -u
dropline=$(realpath "$1")
kept=$(realpath "$(dirname "$0")/../crates/record/tests/kept/2026-11-27")
mkdir -p "$2" && cd "$2" || exit 2

# Times, versions and the machine are no behaviour.
keep() {
	local name=$1
	shift
	"$dropline" "$@" >"$name.raw" 2>"$name.err"
	echo "exit $?" >"$name.json"
	python3 - "$name.raw" >>"$name.json" <<'P'
import json, sys
OWN = {"environment", "started", "command", "command_line", "version", "date", "elapsed_s", "wall_s", "record", "file", "created", "began"}
def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key not in OWN}
    return [plain(one) for one in value] if isinstance(value, list) else value
text = open(sys.argv[1]).read()
try:
    print(json.dumps(plain(json.loads(text)), indent=1))
except ValueError:
    print(text)
P
	rm "$name.raw"
}

seq 1 400 | awk '{ print 1000 + ($1 * 7919) % 997 }' >a.txt
seq 1 400 | awk '{ print 1100 + ($1 * 6007) % 1009 }' >b.txt
keep search-consistent search sim:consistent --json -q -o consistent.jsonl
keep search-noisy search sim:noisy --seed 11 --json -q -o noisy.jsonl
keep search-soft-mlr search sim:soft --algorithm mlr --goal 0 --goal 0.5% --json -q -o mlr.jsonl
keep search-inconsistent-mdr search sim:inconsistent --algorithm mdr --goal 0 --json -q -o mdr.jsonl
keep search-binary search sim:consistent --algorithm binary --json -q -o binary.jsonl
keep trial-noisy trial sim:noisy --load 5Mpps --duration 1s --seed 3 --json -q -o trial.jsonl
keep trial-poisson trial sim:soft --load 8Mpps --arrival poisson --duration 1s --json -q -o poisson.jsonl
keep fit-a fit a.txt --unit us --json
keep compare-values compare a.txt b.txt --json
keep compare-searches compare consistent.jsonl noisy.jsonl --json
keep report-mlr report mlr.jsonl --json
keep export-csv export mdr.jsonl --to csv
keep replay search replay:mlr.jsonl --algorithm mlr --goal 0 --goal 0.5% --json -q -o replayed.jsonl
keep explain-search explain "$kept/search-delay.jsonl" --json
keep report-trials report trial.jsonl --json
rm -f ./*.jsonl ./*.packets
