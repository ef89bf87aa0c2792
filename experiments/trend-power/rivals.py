"""Change points by other projects' detectors, as they are published.

    rivals.py             prints the versions of those that are installed, as JSON
    rivals.py DETECTOR    reads a JSON array of values a line, and writes an array of first positions of new levels a line
"""

import json
import sys
import warnings
from importlib import metadata


def otava(values):
    """Apache Otava as it comes: windows of 50, p below 0.001."""
    from otava.analysis import compute_change_points

    found, _ = compute_change_points(values, window_len=50, max_pvalue=0.001)
    return [change.index for change in found]


def jumpavg(values):
    """FD.io CSIT's: groups by the bits that they save."""
    from jumpavg import classify

    found, at = [], 0
    for group in classify(values):
        found.append(at)
        at += len(group.run_list)
    return found[1:]


def asv(values):
    """Airspeed Velocity's step detection."""
    from asv.step_detect import detect_steps

    return [step[0] for step in detect_steps(values)][1:]


PACKAGES = {"otava": "apache-otava", "jumpavg": "jumpavg", "asv": "asv"}


def installed():
    versions = {}
    for name, package in PACKAGES.items():
        try:
            versions[name] = metadata.version(package)
        except metadata.PackageNotFoundError:
            pass
    return versions


def main():
    if len(sys.argv) == 1:
        print(json.dumps(installed()))
        return
    detector = {"otava": otava, "jumpavg": jumpavg, "asv": asv}[sys.argv[1]]
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps([int(at) for at in detector(json.loads(line))]))


if __name__ == "__main__":
    main()
