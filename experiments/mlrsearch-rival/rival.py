"""Runs the PyPI package MLRsearch, FD.io CSIT's own search, against Dropline's simulated systems.

Each search talks to one `dropline measure 'sim:NAME?seed=S'` over the exec protocol: a JSON request a line,
a JSON answer a line. A line of CSV a search goes to standard output.
"""

import argparse
import csv
import json
import multiprocessing
import subprocess
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

MIN_LOAD = 10_000.0
MAX_LOAD = 14_880_952.0
SYSTEMS = "hard consistent soft noisy dips inconsistent lossless dead".split()
LOSS_RATIOS = (0.0, 0.005)
# The package's limit is wall-clock time; nothing here takes a day.
NO_LIMIT_S = 86_400.0


class Measured(AbstractMeasurer):
    """Performs trials by asking another program, and counts what they cost."""

    def __init__(self, command, counts_overhead):
        self.program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.counts_overhead = counts_overhead
        self.trials = 0
        self.seconds = 0.0

    def measure(self, intended_duration, intended_load):
        self.trials += 1
        request = {
            "trial": self.trials,
            "intended_load_pps": intended_load,
            "duration_s": intended_duration,
        }
        self.program.stdin.write(json.dumps(request) + "\n")
        answer = json.loads(self.program.stdout.readline())
        self.seconds += answer["elapsed_s"]
        counted = answer["elapsed_s"] if self.counts_overhead else answer["duration_s"]
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=answer["intended"],
            offered_count=answer["offered"],
            forwarding_count=answer["forwarded"],
            duration_with_overheads=counted,
        )

    def close(self):
        self.program.stdin.close()
        self.program.wait()


def goals(name):
    """The goals to compare at, one for each loss ratio."""
    minute = {"final_trial_duration": 60.0, "duration_sum": 60.0, "exceed_ratio": 0.0}
    second = {"final_trial_duration": 1.0, "duration_sum": 21.0, "exceed_ratio": 0.5}
    attributes = {"csit": second, "rfc2544": minute}[name]
    return [
        SearchGoal(
            loss_ratio=loss,
            relative_width=0.005,
            initial_trial_duration=1.0,
            fail_fast=False,
            **attributes,
        )
        for loss in LOSS_RATIOS
    ]


def search(job):
    """One search: its time, its trials, and both relevant bounds of each goal."""
    dropline, name, system, seed = job
    config = Config()
    config.goals = goals(name)
    config.max_load = MAX_LOAD
    config.min_load = MIN_LOAD
    config.search_duration_max = NO_LIMIT_S
    config.warmup_duration = 0.0
    measurer = Measured([dropline, "measure", f"sim:{system}?seed={seed}"], name == "csit")
    try:
        results = MultipleLossRatioSearch(config=config).search(measurer, debug=lambda _: None)
    finally:
        measurer.close()
    row = {"system": system, "seed": seed, "seconds": measurer.seconds, "trials": measurer.trials}
    for number, goal in enumerate(config.goals):
        result = results[goal]
        bounds = (result.relevant_lower_bound, result.relevant_upper_bound) if result else (None, None)
        for side, bound in zip(("lower", "upper"), bounds):
            row[f"{side}_{number}"] = "" if bound is None else float(bound)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dropline", default="target/release/dropline")
    parser.add_argument("--goals", choices=["csit", "rfc2544"], default="csit")
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--processes", type=int, default=2)
    words = parser.parse_args()
    jobs = [
        (words.dropline, words.goals, system, seed)
        for system in words.systems.split(",")
        for seed in range(words.first, words.first + words.seeds)
    ]
    writer = None
    with multiprocessing.Pool(words.processes) as pool:
        for row in pool.imap(search, jobs):
            if writer is None:
                writer = csv.DictWriter(sys.stdout, row.keys(), lineterminator="\n")
                writer.writeheader()
            writer.writerow(row)


if __name__ == "__main__":
    main()
