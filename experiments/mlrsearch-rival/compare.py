"""Compares searches of two programs seed by seed, and prints a Markdown table.

Both files have a line a search; ours also says what is true. A cell `52.1 ± 0.6` is a mean and its standard
error; `z` is a mean of paired differences over its standard error: beyond 2 it is hardly chance.
"""

import argparse
import csv
import math


def read(path):
    """The searches of a file by system and seed."""
    with open(path, newline="") as lines:
        return {(row["system"], int(row["seed"])): row for row in csv.DictReader(lines)}


def number(text):
    return float(text) if text else None


def holds(row, truth_of, goal):
    """Whether the bounds of a goal hold the truth."""
    truth = number(truth_of[f"truth_{goal}"])
    lower, upper = number(row[f"lower_{goal}"]), number(row[f"upper_{goal}"])
    return None not in (truth, lower, upper) and lower <= truth <= upper


def mean(values):
    return sum(values) / len(values)


def standard_error(values):
    middle = mean(values)
    squares = sum((value - middle) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1) / len(values))


def z(values):
    """A mean over its standard error."""
    error = standard_error(values)
    if error > 1e-9:
        return mean(values) / error
    return math.copysign(math.inf, mean(values)) if mean(values) else 0.0


def row(system, ours, theirs):
    """A line of the table: searches of the same system with the same seeds."""
    seeds = sorted(seed for name, seed in ours.keys() & theirs.keys() if name == system)
    pairs = [(ours[system, seed], theirs[system, seed]) for seed in seeds]
    mine = [float(our["seconds"]) for our, _ in pairs]
    other = [float(their["seconds"]) for _, their in pairs]
    cells = [system, str(len(pairs))]
    cells += [f"{mean(values):.1f} ± {standard_error(values):.1f}" for values in (other, mine)]
    cells += [
        f"{100 * mean(mine) / mean(other):.0f} %",
        f"{z([a - b for a, b in zip(mine, other)]):+.1f}",
    ]
    for values in ([their for _, their in pairs], [our for our, _ in pairs]):
        cells.append(f"{mean([float(search['trials']) for search in values]):.1f}")
    for goal in (0, 1):
        if not pairs[0][0][f"truth_{goal}"]:
            cells += ["–", "–", "–"]
            continue
        held = [(holds(our, our, goal), holds(their, our, goal)) for our, their in pairs]
        cells += [f"{100 * mean([b for _, b in held]):.1f}", f"{100 * mean([a for a, _ in held]):.1f}"]
        cells.append(f"{z([a - b for a, b in held]):+.1f}")
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("theirs", help="CSV of rival.py")
    parser.add_argument("ours", help="CSV of mlr-cost")
    words = parser.parse_args()
    theirs, ours = read(words.theirs), read(words.ours)
    head = (
        "system | seeds | MLRsearch s | mlr s | mlr ÷ MLRsearch | z | MLRsearch trials | mlr trials"
        " | MLRsearch holds 0, % | mlr holds 0, % | z | MLRsearch holds 0.5 %, % | mlr holds 0.5 %, % | z"
    )
    print(f"| {head} |")
    print("|" + "---|" * len(head.split(" | ")))
    for system in dict.fromkeys(name for name, _ in ours):
        if any(name == system for name, _ in theirs):
            print(row(system, ours, theirs))


if __name__ == "__main__":
    main()
