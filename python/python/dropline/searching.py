"""Searches: around a target or a function, or as questions and answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _dropline, goal, words
from .answers import Answer
from .errors import UsageError
from .goal import WrittenGoal
from .record import Record
from .words import Load, Share, Time

__all__ = ["Search", "TrialInput", "search"]

#: What performs trials: called with load in packets a second and duration in seconds, it answers with counts.
Measure = Callable[[float, float], Mapping[str, Any]]
Path = Union[str, "os.PathLike[str]"]


class TrialInput(NamedTuple):
    """A trial that a search wants."""

    #: Intended load, in packets a second.
    load_pps: float
    #: How long it is offered, in seconds.
    duration_s: float
    #: How many packets that is.
    intended: int


#: What a search that is resumed takes from its record.
_OF_RECORD = ("goals", "algorithm", "preset", "level", "certify", "min_load", "max_load", "seed", "warm_up", "delay_at")


def _asked(
    goals: Optional[Iterable[WrittenGoal]],
    algorithm: Optional[str],
    preset: Optional[str],
    level: Optional[Share],
    certify: bool,
    elapsed: bool,
    budget: Optional[Time],
    max_trials: Optional[int],
    min_load: Optional[Load],
    max_load: Optional[Load],
    seed: Optional[int],
    warm_up: Optional[Time],
    delay_at: Iterable[Share],
) -> dict[str, Any]:
    if isinstance(goals, (str, float, int, goal.Goal)):
        goals = [goals]
    for name, count, most in (("seed", seed, 2**64), ("max_trials", max_trials, 2**32)):
        if count is not None and not 0 <= count < most:
            raise UsageError(f"{name} is {count}: it has to be a whole number from 0 to {most - 1}")
    return {
        "goals": [] if goals is None else [goal.word(each) for each in goals],
        "algorithm": algorithm,
        "preset": preset,
        "level": None if level is None else words.share(level),
        "certify": certify,
        "elapsed": elapsed,
        "budget": None if budget is None else words.time(budget),
        "max_trials": max_trials,
        "min_load": None if min_load is None else words.load(min_load),
        "max_load": None if max_load is None else words.load(max_load),
        "seed": seed,
        "warm_up": None if warm_up is None else words.time(warm_up),
        "delay_at": [words.share(each) for each in delay_at],
    }


def answer(counts: Mapping[str, Any], duration_s: float) -> str:
    """What a measurer answered, as JSON; the time that it did not say is what it was asked for."""
    if not isinstance(counts, Mapping):
        raise UsageError(
            f"a measurer answers with a mapping such as {{'offered': N, 'forwarded': N}}, not with {counts!r}"
        )
    said = {"duration_s": duration_s, **counts}
    try:
        said = {name: value for name, value in said.items() if value is not None}
        return json.dumps(said, default=_number, allow_nan=False)
    except ValueError as why:
        if isinstance(why, UsageError):
            raise
        raise UsageError(f"a measurer answers with finite numbers, not with {counts!r}") from why


def _number(value: Any) -> Any:
    """Numbers of numpy and their like."""
    for kind in (int, float):
        converted = kind(value)
        if converted == value:
            return converted
    raise UsageError(f"{value!r} is not a number that a record can hold")


def _name(measure: Measure) -> str:
    if isinstance(own := getattr(measure, "name", None), str):
        return own
    module = getattr(measure, "__module__", None) or type(measure).__module__
    name = getattr(measure, "__qualname__", None) or type(measure).__qualname__
    return f"{module}.{name}"


def program() -> Optional[str]:
    """The program ``dropline``, which performs what only a program of its own can."""
    import shutil

    return os.environ.get("DROPLINE_PROGRAM") or shutil.which("dropline")


def search(
    target: Union[str, Measure],
    *,
    goals: Optional[Iterable[WrittenGoal]] = None,
    min_load: Optional[Load] = None,
    max_load: Optional[Load] = None,
    algorithm: Optional[str] = None,
    preset: Optional[str] = None,
    level: Optional[Share] = None,
    certify: bool = False,
    budget: Optional[Time] = None,
    max_trials: Optional[int] = None,
    seed: Optional[int] = None,
    warm_up: Optional[Time] = None,
    delay_at: Iterable[Share] = (),
    name: Optional[str] = None,
    record: Optional[Path] = None,
    resume: Optional[Path] = None,
) -> Record:
    """Finds the load above which each goal fails.

    ``target`` is a word as on the command line, such as ``"udp://127.0.0.1:7007"``, or a function
    ``measure(load_pps, duration_s)`` that answers with a mapping: ``offered`` and ``forwarded``, and where they are known
    ``intended``, ``duration_s``, ``elapsed_s`` (what the trial cost), ``delay_ns_histogram`` (pairs of delay and count),
    ``caveats``. The record calls it ``measurer:NAME``; without ``name``,
    it has its own name. It is called in this thread; what it raises ends the search and is
    raised here, and what was measured is kept.

    ``goals`` are shares that may be lost, words such as ``"p99<200us"``, or :class:`Goal`; without them 0 and 0.5 %.
    ``record`` is a new file that is written trial by trial; ``resume`` is such a file, whose search continues where it stood,
    with other limits where ``budget`` or ``max_trials`` say so.

    >>> record = search("sim:consistent?capacity=9Mpps", goals=["0.5%"], algorithm="mlr")
    >>> record.goals[0].result
    'regular'
    """
    asked = _asked(
        goals, algorithm, preset, level, certify, False, budget, max_trials, min_load, max_load, seed, warm_up, delay_at
    )
    if resume is not None and (said := [name for name in _OF_RECORD if asked[name] is not None and asked[name] is not False and asked[name] != []]):
        raise UsageError(
            f"resume continues with what its record says: leave {' and '.join(said)} out; budget and max_trials may be others"
        )
    if resume is not None and record is not None:
        raise UsageError("a search that is resumed is kept in its own record: leave record out")
    measure = None
    if isinstance(target, str):
        if name is not None:
            raise UsageError("name is for a function; a target is named by its word")
        called = target
    else:
        called, perform = name or _name(target), target

        def measure(load_pps: float, duration_s: float) -> str:
            return answer(perform(load_pps, duration_s), duration_s)

    kept = {
        "record": None if record is None else os.fspath(record),
        "resume": None if resume is None else os.fspath(resume),
        "program": program(),
        "command_line": ["python", "-c", f"import dropline; dropline.search({called!r})"],
    }
    try:
        return Record(_dropline.search(called, measure, asked, kept))
    except BaseException as why:
        if isinstance(measured := getattr(why, "record", None), _dropline.Record):
            setattr(why, "record", Record(measured))
        raise


class Search:
    """A search that asks and is told: perform each trial that it wants, and tell what was counted.

    >>> search = Search(goals=[0], max_load=14.88e6)
    >>> while (trial := search.next_trial()) is not None:
    ...     forwarded = min(trial.intended, int(3e6 * trial.duration_s))
    ...     search.record(offered=trial.intended, forwarded=forwarded)
    >>> search.goals[0].result, round(search.goals[0].median_pps / 1e6, 2)
    ('narrow', 3.0)
    """

    def __init__(
        self,
        *,
        goals: Optional[Iterable[WrittenGoal]] = None,
        min_load: Optional[Load] = None,
        max_load: Load,
        algorithm: Optional[str] = None,
        preset: Optional[str] = None,
        level: Optional[Share] = None,
        certify: bool = False,
        elapsed: bool = False,
        budget: Optional[Time] = None,
        max_trials: Optional[int] = None,
        seed: Optional[int] = None,
    ) -> None:
        """``elapsed`` lets a trial of ``mlr`` count as long as it took with its overheads, as CSIT counts it."""
        self._search = _dropline.Search(
            _asked(goals, algorithm, preset, level, certify, elapsed, budget, max_trials, min_load, max_load, seed, None, ())
        )
        self._wanted: Optional[TrialInput] = None

    def next_trial(self) -> Optional[TrialInput]:
        """The trial that is wanted; None when the search is done. Asked twice without an answer, it says the same."""
        wanted = self._search.next_trial()
        self._wanted = None if wanted is None else TrialInput(*wanted)
        return self._wanted

    def record(
        self,
        counts: Optional[Mapping[str, Any]] = None,
        /,
        **further: Any,
    ) -> None:
        """Tells what was counted in the trial that was wanted: ``offered`` and ``forwarded``, and what :func:`search` says."""
        wanted = self._wanted or self.next_trial()
        if wanted is None:
            raise UsageError("the search is done: it wants no trial")
        said = answer({**(counts or {}), **further}, wanted.duration_s)
        self._search.record(wanted.load_pps, wanted.duration_s, said)
        self._wanted = None

    @property
    def goals(self) -> list[Answer]:
        """What it would answer now, a goal each."""
        return [Answer(each) for each in json.loads(self._search.answers())]

    @property
    def phase(self) -> str:
        """The phase of the trial that is wanted now."""
        return self._search.phase()

    @property
    def caveats(self) -> list[str]:
        """Doubts about the answer, in words."""
        return self._search.caveats()

    def __iter__(self) -> Search:
        return self

    def __next__(self) -> TrialInput:
        wanted = self.next_trial()
        if wanted is None:
            raise StopIteration
        return wanted
