"""FD.io CSIT's MLRsearch by one import.

CSIT imports its library in one place, ``resources/libraries/python/TrafficGenerator.py``. That line becomes::

    from dropline.mlrsearch import (
        AbstractMeasurer, Config, GoalResult, MeasurementResult, MultipleLossRatioSearch, SearchGoal
    )

and everything else stays: the names, their attributes and what they raise are those of MLRsearch 1.2, and both spellings of a
result are taken (``forwarded_count`` as in CSIT's tree, ``forwarding_count`` as on PyPI). Trials are chosen by Dropline's
``mlr`` (RFC 9971), which counts a trial as long as it took with its overheads, as MLRsearch does.

What differs:

- ``preceding_targets`` and ``expansion_coefficient`` are taken and have no effect: ``mlr`` chooses its own steps.
- Numbers that are not finite, counts from 2^64 on, times below a nanosecond and loads above 1 Tpps are a ``ValueError``.
- Bounds and conditional throughput are of type ``float``, where MLRsearch has classes that are converted to it.
- ``MultipleLossRatioSearch(config, algorithm="credible")`` is the second step: intervals that hold the true limit in 95 of a
  hundred searches, after half a minute of trials. ``relevant_lower_bound`` and ``relevant_upper_bound`` are the ends of the
  interval then, and ``conditional_throughput`` is its median: only with ``mlr`` they mean what RFC 9971 says.

>>> class Bench(AbstractMeasurer):
...     def measure(self, intended_duration, intended_load):
...         sent = int(intended_duration * intended_load)
...         lost = max(0, sent - int(intended_duration * 4e6))
...         return MeasurementResult(intended_duration, intended_load, offered_count=sent, loss_count=lost)
>>> config = Config()
>>> config.goals = [SearchGoal(), SearchGoal(loss_ratio=0.005)]
>>> config.max_load = 14.88e6
>>> result = MultipleLossRatioSearch(config).search(measurer=Bench())
>>> [round(float(result[goal].conditional_throughput) / 1e6, 1) for goal in config.goals]
[4.0, 4.0]
"""

from __future__ import annotations

import logging
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Optional

from .goal import Goal
from .searching import Search

__all__ = [
    "AbstractMeasurer",
    "Config",
    "GoalResult",
    "MeasurementResult",
    "MultipleLossRatioSearch",
    "Pep3140Dict",
    "SearchGoal",
]

#: No search of CSIT's is ended by a sum of trials: ``search_duration_max`` is a time of the clock.
_NO_BUDGET = "720h"
#: What ``credible`` takes if it may, in seconds.
_CREDIBLE_BUDGET = 36.0


class Pep3140Dict(dict[Any, Any]):
    """A dictionary that is printed with ``str`` of its keys and values."""

    def __str__(self) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in self.items()) + "}"


@dataclass(frozen=True)
class SearchGoal:
    """What is looked for (RFC 9971). Goals of equal attributes are equal, and keys of the result."""

    loss_ratio: float = 0.0
    exceed_ratio: float = 0.5
    relative_width: float = 0.005
    initial_trial_duration: float = 1.0
    final_trial_duration: float = 1.0
    duration_sum: float = 21.0
    #: Taken, without effect.
    preceding_targets: int = 2
    #: Taken, without effect.
    expansion_coefficient: int = 2
    #: Whether the search is a RuntimeError where even the lowest load fails the goal.
    fail_fast: bool = True

    def __post_init__(self) -> None:
        for name in (
            "loss_ratio",
            "exceed_ratio",
            "relative_width",
            "initial_trial_duration",
            "final_trial_duration",
            "duration_sum",
        ):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("preceding_targets", "expansion_coefficient"):
            object.__setattr__(self, name, int(getattr(self, name)))
        object.__setattr__(self, "fail_fast", bool(self.fail_fast))
        is_too_coarse = self.preceding_targets < 1 and self.initial_trial_duration < self.duration_sum
        for is_wrong, why in (
            (not 0.0 <= self.loss_ratio < 1.0, "the loss ratio must be at least 0 and below 1"),
            (not 0.0 <= self.exceed_ratio < 1.0, "the exceed ratio must be at least 0 and below 1"),
            (not 0.0 < self.relative_width < 1.0, "the relative width must be above 0 and below 1"),
            (self.initial_trial_duration <= 0.0, "the initial trial duration must be above 0"),
            (
                self.final_trial_duration < self.initial_trial_duration,
                "the final trial duration must be at least the initial one",
            ),
            (
                self.duration_sum < self.final_trial_duration,
                "the duration sum must be at least the final trial duration",
            ),
            (self.expansion_coefficient <= 1, "the expansion coefficient must be above 1"),
            (self.preceding_targets < 0 or is_too_coarse, "there are too few preceding targets"),
        ):
            if is_wrong:
                raise ValueError(f"{why}: {self}")

    def _goal(self) -> Goal:
        return Goal(
            self.loss_ratio,
            exceed_ratio=self.exceed_ratio,
            width=self.relative_width,
            trial_duration=self.final_trial_duration,
            initial_trial_duration=self.initial_trial_duration,
            duration_sum=self.duration_sum,
        )


class Config:
    """What a search is told; each attribute can be set by itself, and is checked then."""

    def __init__(
        self,
        goals: Optional[Iterable[SearchGoal]] = None,
        min_load: float = 9001.0,
        max_load: float = 1e9,
        search_duration_max: float = 1200.0,
        warmup_duration: Optional[float] = 1.0,
    ) -> None:
        self._min_load, self._max_load = 0.0, float("inf")
        self.goals = (SearchGoal(),) if goals is None else goals
        self.max_load = max_load
        self.min_load = min_load
        self.search_duration_max = search_duration_max
        self.warmup_duration = warmup_duration

    @property
    def goals(self) -> tuple[SearchGoal, ...]:
        """What is looked for."""
        return self._goals

    @goals.setter
    def goals(self, goals: Iterable[SearchGoal]) -> None:
        kept = tuple(goals)
        if not kept:
            raise ValueError("a search needs a goal")
        for goal in kept:
            if not isinstance(goal, SearchGoal):
                raise TypeError(f"not a SearchGoal: {goal!r}")
        for at, goal in enumerate(kept):
            if goal in kept[:at]:
                raise ValueError(f"Duplicate goal: {goal} is there twice, and the result has one answer for each")
        self._goals = kept

    @property
    def min_load(self) -> float:
        """No trial has a lower load."""
        return self._min_load

    @min_load.setter
    def min_load(self, load: float) -> None:
        load = float(load)
        if not 0.0 < load < self._max_load:
            raise ValueError(f"the lowest load must be above 0 and below the highest, {self._max_load}: {load}")
        self._min_load = load

    @property
    def max_load(self) -> float:
        """No trial has a higher load."""
        return self._max_load

    @max_load.setter
    def max_load(self, load: float) -> None:
        load = float(load)
        if load <= self._min_load:
            raise ValueError(f"the highest load must be above the lowest, {self._min_load}: {load}")
        self._max_load = load

    @property
    def search_duration_max(self) -> float:
        """A search that takes longer is a RuntimeError, in seconds."""
        return self._search_duration_max

    @search_duration_max.setter
    def search_duration_max(self, duration: float) -> None:
        duration = float(duration)
        if duration <= 0.0:
            raise ValueError(f"the search's duration must be above 0: {duration}")
        self._search_duration_max = duration

    @property
    def warmup_duration(self) -> float:
        """How long the highest load is offered before the first trial, in seconds."""
        return self._warmup_duration

    @warmup_duration.setter
    def warmup_duration(self, duration: Optional[float]) -> None:
        duration = float(duration or 0.0)
        if duration < 0.0:
            raise ValueError(f"the warm-up's duration must be at least 0: {duration}")
        self._warmup_duration = duration

    def __repr__(self) -> str:
        names = ("goals", "min_load", "max_load", "search_duration_max", "warmup_duration")
        return f"Config({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


@dataclass(init=False)
class MeasurementResult:
    """What a trial counted. Two of offered, lost and forwarded packets suffice."""

    intended_duration: float
    intended_load: float
    offered_count: int
    loss_count: int
    forwarding_count: int
    offered_duration: float
    duration_with_overheads: float
    intended_count: int

    def __init__(
        self,
        intended_duration: float,
        intended_load: float,
        offered_count: Optional[int] = None,
        loss_count: Optional[int] = None,
        forwarding_count: Optional[int] = None,
        offered_duration: Optional[float] = None,
        duration_with_overheads: Optional[float] = None,
        intended_count: Optional[int] = None,
        *,
        forwarded_count: Optional[int] = None,
    ) -> None:
        if forwarding_count is None:
            forwarding_count = forwarded_count
        known = [offered_count, loss_count, forwarding_count]
        if sum(count is None for count in known) > 1:
            raise TypeError("a result needs two of offered_count, loss_count and forwarded_count")
        offered, lost, forwarded = (None if count is None else int(count) for count in known)
        self.intended_duration = float(intended_duration)
        self.intended_load = float(intended_load)
        if forwarded is None:
            assert offered is not None and lost is not None
            forwarded = offered - lost
        if offered is None:
            assert lost is not None
            offered = forwarded + lost
        self.offered_count, self.forwarding_count = offered, forwarded
        self.loss_count = offered - forwarded if lost is None else lost
        self.offered_duration = self.intended_duration if offered_duration is None else float(offered_duration)
        self.duration_with_overheads = (
            self.offered_duration if duration_with_overheads is None else float(duration_with_overheads)
        )
        self.intended_count = self.offered_count if intended_count is None else int(intended_count)

    @property
    def forwarded_count(self) -> int:
        """The same as ``forwarding_count``, as CSIT's tree spells it."""
        return self.forwarding_count

    @property
    def unsent_count(self) -> int:
        """Packets that were intended and not offered."""
        return self.intended_count - self.offered_count

    @property
    def loss_ratio(self) -> float:
        """Packets that were lost or not offered, as a share of all that were intended or offered; 0 where there are none."""
        overall = max(self.offered_count, self.intended_count)
        return (abs(self.loss_count) + abs(self.unsent_count)) / overall if overall else 0.0

    @property
    def relative_forwarding_rate(self) -> float:
        """What came back of the intended load, as a load."""
        return self.intended_load * (1.0 - self.loss_ratio)

    def _counts(self) -> dict[str, Any]:
        """The same ratio of loss, and what counts as the trial's time.

        What was not offered is lost, as MLRsearch has it: the search goes to lower loads, and makes no trial again.
        """
        overall = max(self.offered_count, self.intended_count, 0) or 1
        bad = round(self.loss_ratio * overall)
        elapsed = max(self.duration_with_overheads, 1e-6)
        return {
            "intended": overall,
            "offered": overall,
            "forwarded": max(0, overall - bad),
            "duration_s": min(self.intended_duration, elapsed),
            "elapsed_s": elapsed,
        }


class AbstractMeasurer(metaclass=ABCMeta):
    """Performs trials."""

    @abstractmethod
    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Offers the load, in packets a second and direction, for this many seconds."""


@dataclass
class GoalResult:
    """The answer to a goal; a bound that is not there is None."""

    relevant_lower_bound: Optional[float]
    relevant_upper_bound: Optional[float]
    #: What came through at the relevant lower bound, as a load (RFC 9971).
    conditional_throughput: Optional[float] = None


@dataclass
class MultipleLossRatioSearch:
    """The search. ``algorithm`` is ``"mlr"``, or ``"credible"`` for intervals."""

    config: Config
    algorithm: str = "mlr"

    def search(
        self, measurer: AbstractMeasurer, debug: Optional[Callable[[str], None]] = None
    ) -> Pep3140Dict:
        """Searches; the result has a :class:`GoalResult` for each goal.

        Raises RuntimeError where even the lowest load fails a goal that has ``fail_fast``, and where the search takes longer
        than ``search_duration_max``, even if some goal has its answer.
        """
        say = logging.debug if debug is None else debug
        config = self.config
        until = time.monotonic() + config.search_duration_max
        is_mlr = self.algorithm == "mlr"
        search = Search(
            goals=[goal._goal() for goal in config.goals],
            min_load=config.min_load,
            max_load=config.max_load,
            algorithm=self.algorithm,
            elapsed=is_mlr,
            budget=_NO_BUDGET if is_mlr else min(_CREDIBLE_BUDGET, config.search_duration_max),
        )
        if config.warmup_duration:
            say("warm-up")
            measurer.measure(intended_duration=config.warmup_duration, intended_load=config.max_load)
        for wanted in search:
            if time.monotonic() >= until:
                raise RuntimeError("the search takes too long: search_duration_max is over")
            say(f"{search.phase}: {wanted.load_pps} for {wanted.duration_s} s")
            result = measurer.measure(intended_duration=wanted.duration_s, intended_load=wanted.load_pps)
            say(f"loss ratio {result.loss_ratio}")
            if result.intended_load != wanted.load_pps:
                raise ValueError(
                    f"Load mismatch: {wanted.load_pps} was to be measured, and the result is of another intended_load: {result}"
                )
            search.record(result._counts())
            if wanted.load_pps <= config.min_load:
                self._fail_fast(search)
        self._fail_fast(search)
        say("done")
        answers = Pep3140Dict()
        for goal, answer in zip(config.goals, search.goals):
            throughput = answer.conditional_throughput_pps
            median = answer.median_pps if answer.lower_pps is not None else None
            answers[goal] = GoalResult(
                answer.lower_pps, answer.upper_pps, median if throughput is None else throughput
            )
        return answers

    def _fail_fast(self, search: Search) -> None:
        for goal, answer in zip(self.config.goals, search.goals):
            if goal.fail_fast and "below_minimum" in (answer.result, answer.why):
                raise RuntimeError(f"the lowest load, {self.config.min_load}, is an upper bound of {goal}")
