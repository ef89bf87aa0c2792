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
    written = [] if goals is None else list(_each(goals))
    return {
        "goals": [goal.word(f"goals[{at}]", each) for at, each in enumerate(written)],
        "algorithm": words.optional_word("algorithm", algorithm),
        "preset": words.optional_word("preset", preset),
        "level": None if level is None else words.share("level", level),
        "certify": words.switch("certify", certify),
        "elapsed": words.switch("elapsed", elapsed),
        "budget": None if budget is None else words.time("budget", budget),
        "max_trials": None if max_trials is None else words.count("max_trials", max_trials, 2**32),
        "min_load": None if min_load is None else words.load("min_load", min_load),
        "max_load": None if max_load is None else words.load("max_load", max_load),
        "seed": None if seed is None else words.count("seed", seed),
        "warm_up": None if warm_up is None else words.time("warm_up", warm_up),
        "delay_at": [words.share(f"delay_at[{at}]", each) for at, each in enumerate(_each(delay_at))],
    }


def _each(values: Any) -> Iterable[Any]:
    """Each of several, or the only one."""
    try:
        return [values] if isinstance(values, str) else iter(values)
    except TypeError:
        return [values]


#: What an answer says, as docs/reference/exec.md lists it but for the number of the trial, which nobody here was told. Whatever
#: else a measurer hands over is left out.
_READ: dict[str, Callable[[str, Any], Any]] = {
    "intended": words.count,
    "offered": words.count,
    "forwarded": words.count,
    "duration_s": lambda name, value: words.finite(name, value, "a finite number of seconds"),
    "elapsed_s": lambda name, value: words.finite(name, value, "a finite number of seconds"),
    "delay_ns_histogram": lambda name, value: [_pair(*each) for each in _entries(name, value, "pairs of delay and count")],
    "slices": lambda name, value: [
        _fields(each, f"{of}.", ("duration_s", "offered", "forwarded"))
        for of, each in _entries(name, value, "mappings")
        if _is_mapping(of, each)
    ],
    "caveats": lambda name, value: [_caveat(*each) for each in _entries(name, value, "words, codes or mappings")],
}


def answer(counts: Mapping[str, Any], duration_s: float) -> str:
    """What a measurer answered, as JSON; the time that it did not say is what it was asked for."""
    if not isinstance(counts, Mapping):
        raise UsageError(
            f"a measurer answers with a mapping such as {{'offered': N, 'forwarded': N}}, not with {counts!r}"
        )
    return json.dumps({"duration_s": duration_s, **_fields(counts, "", _READ)})


def _fields(counts: Mapping[str, Any], within: str, names: Iterable[str]) -> dict[str, Any]:
    """The fields of these names that are there."""
    said = {name: counts[name] for name in names if name in counts}
    return {name: _READ[name](within + name, value) for name, value in said.items() if value is not None}


def _entries(name: str, values: Any, what: str) -> Iterable[tuple[str, Any]]:
    """Each entry of a list, a tuple, an array of numpy or what yields them, with its name."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise words.said(name, values, f"a list of {what}")
    return ((f"{name}[{at}]", value) for at, value in enumerate(values))


def _pair(name: str, pair: Any) -> list[int]:
    both = [] if isinstance(pair, (str, bytes, Mapping)) or not isinstance(pair, Iterable) else list(pair)
    if len(both) != 2:
        raise words.said(name, pair, "a delay in nanoseconds and a count, two whole numbers")
    return [words.count(name, each) for each in both]


def _is_mapping(name: str, value: Any) -> bool:
    if not isinstance(value, Mapping):
        raise words.said(name, value, "a mapping")
    return True


def _caveat(name: str, caveat: Any) -> Any:
    if not isinstance(caveat, Mapping):
        if not isinstance(caveat, str):
            raise words.said(name, caveat, "words, a code, or {'code': '…', 'text': '…'}")
        return caveat
    return {part: words.optional_word(f"{name}.{part}", caveat[part]) for part in ("code", "text") if part in caveat}


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
    ``caveats`` (words, or codes such as ``"generator_limited"``). The record calls it ``measurer:NAME``; without ``name``,
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
    kept_in = None if record is None else words.path("record", record)
    if kept_in is not None and os.path.exists(kept_in):
        raise UsageError(_occupied(kept_in))
    words.optional_word("name", name)
    if not isinstance(target, str) and not callable(target):
        raise words.said("target", target, "a word such as \"udp://127.0.0.1:7007\", or a function")
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
        # A function may change the directory.
        "record": None if kept_in is None else os.path.abspath(kept_in),
        "resume": None if resume is None else os.path.abspath(words.path("resume", resume)),
        "program": program(),
        "command_line": ["python", "-c", f"import dropline; dropline.search({called!r})"],
    }
    try:
        return Record(_dropline.search(called, measure, asked, kept))
    except BaseException as why:
        if isinstance(measured := getattr(why, "record", None), _dropline.Record):
            setattr(why, "record", Record(measured))
        raise


def _occupied(path: str) -> str:
    """Why no new record is kept there."""
    if not os.path.isfile(path):
        return f"{path} is not a file that a record can be kept in: name a new file in record, or leave record out"
    return (
        f"{path} exists already, and is not written over: resume={path!r} in place of record, goals and loads resumes "
        "the search in it; for a new search name another file in record"
    )


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
        wanted = self._wanted
        if wanted is None:
            is_done = self._search.next_trial() is None
            raise UsageError(
                "the search is done: it wants no trial"
                if is_done
                else "no trial waits for an answer: next_trial says which one is wanted, and each is answered once"
            )
        if counts is not None and not isinstance(counts, Mapping):
            raise words.said("counts", counts, "a mapping such as {'offered': N, 'forwarded': N}")
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
