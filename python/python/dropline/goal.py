"""What is looked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from . import words
from .words import Share, Time

__all__ = ["Goal", "WrittenGoal"]


@dataclass(frozen=True)
class Goal:
    """A search goal of RFC 9971. What is None has the default of the algorithm.

    >>> Goal(0.005, width="1%").word()
    '0.005,width=1%'
    >>> Goal("p99<200us").word()
    'p99<200us'
    """

    #: The share of packets that may be lost, or a bound on the delay such as ``"p99<200us"``.
    loss_ratio: Share = 0.0
    #: The share of time in which more may be lost.
    exceed_ratio: Optional[Share] = None
    #: How far apart the bounds may be, as a share of the load.
    width: Optional[Share] = None
    #: How long a full trial is.
    trial_duration: Optional[Time] = None
    #: How long the first trials are.
    initial_trial_duration: Optional[Time] = None
    #: How long trials at a load are, summed, before it is a bound.
    duration_sum: Optional[Time] = None

    def word(self) -> str:
        """As it is written on the command line."""
        parts = [words.share("loss_ratio", self.loss_ratio)]
        for written, name in (("exceed", "exceed_ratio"), ("width", "width")):
            if (share := getattr(self, name)) is not None:
                parts.append(f"{written}={words.share(name, share)}")
        for written, name in (
            ("trial", "trial_duration"),
            ("initial", "initial_trial_duration"),
            ("sum", "duration_sum"),
        ):
            if (time := getattr(self, name)) is not None:
                parts.append(f"{written}={words.time(name, time)}")
        return ",".join(parts)


#: A goal, a share that may be lost, or a word such as ``"0.5%,width=1%"``.
WrittenGoal = Union[Goal, float, str]


def word(name: str, goal: WrittenGoal) -> str:
    """Any way to write a goal as a word."""
    return goal.word() if isinstance(goal, Goal) else words.share(name, goal)
