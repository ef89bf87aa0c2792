"""Simulated systems: trials in virtual time, with a known true limit."""

from __future__ import annotations

import json
from typing import Any

from . import _dropline, words

__all__ = ["Simulated", "simulated"]


class Simulated:
    """A simulated system that is called as a function of yours would be.

    >>> system = simulated("hard?capacity=9Mpps")
    >>> system(10e6, 1.0)["forwarded"]
    9000000
    """

    def __init__(self, word: str, seed: int = 7) -> None:
        self._system = _dropline.Simulated(words.word("word", word), words.count("seed", seed))
        self._word = word
        self._trials = 0

    @property
    def name(self) -> str:
        """What a record calls it."""
        return f"sim:{self._word}"

    def __call__(self, load_pps: float, duration_s: float) -> dict[str, Any]:
        """Performs a trial; the next one has another random seed."""
        load = words.finite("load_pps", load_pps, "a finite number of packets a second")
        duration = words.finite("duration_s", duration_s, "a finite number of seconds")
        self._trials += 1
        counts: dict[str, Any] = json.loads(self._system.measure(self._trials, load, duration))
        return counts

    def __repr__(self) -> str:
        return f"dropline.simulated({self._word!r})"


def simulated(word: str, *, seed: int = 7) -> Simulated:
    """The system of this word: what follows ``sim:`` on the command line, such as ``"noisy?overhead=0.5s"``."""
    return Simulated(word, seed)
