"""What is done with files and records: compare, explain, fit."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Optional, Union

from . import _dropline, words
from .answers import Fields, shown
from .record import Record
from .words import Share

__all__ = ["Comparison", "Explanation", "Fit", "compare", "explain", "fit"]

Path = Union[str, "os.PathLike[str]"]


class Told:
    """An answer of Dropline's: fields of its JSON as attributes, and the text that is printed."""

    def __init__(self, said: str, text: str) -> None:
        self._said = said
        self._text = text

    @functools.cached_property
    def _fields(self) -> Fields:
        found: Fields = shown(json.loads(self._said))
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._fields, name)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Told) and other._said == self._said

    def __hash__(self) -> int:
        return hash(self._said)

    def to_json(self) -> str:
        """What ``--json`` prints."""
        return self._said

    def text(self) -> str:
        """What is printed without it."""
        return self._text

    def __str__(self) -> str:
        return self._text


class Comparison(Told):
    """B compared with A: ``verdict`` is ``improved``, ``regressed``, ``equivalent``, ``no_evidence`` or ``mixed``."""

    def __init__(self, said: str, text: str, is_worse: bool) -> None:
        super().__init__(said, text)
        #: Whether B is worse than A, by more than random scatter explains.
        self.is_worse = is_worse

    @property
    def verdict(self) -> str:
        """What it comes to."""
        return str(self._fields["verdict"])

    def __repr__(self) -> str:
        return f"<Comparison {self.verdict}>"


class Explanation(Told):
    """Where the lost packets of a trial went, why, and what would help."""


class Fit(Told):
    """What a distribution says."""


def compare(a: Union[Record, Path], b: Union[Record, Path], *, smallest_effect: Optional[Share] = None) -> Comparison:
    """Compares B with A: two searches, or two files of delays. A change below ``smallest_effect`` (2 %) does not matter.

    >>> import dropline
    >>> a, b = (dropline.search(f"sim:hard?capacity={load}") for load in ("9Mpps", "8Mpps"))
    >>> compare(a, b).verdict
    'regressed'
    """
    effect = None if smallest_effect is None else words.share("smallest_effect", smallest_effect)
    return Comparison(*_dropline.compare(_side("a", a), _side("b", b), effect))


def _side(name: str, side: Union[Record, Path]) -> Any:
    return side._kept if isinstance(side, Record) else words.path(name, side)


def explain(path: Path) -> Explanation:
    """Explains the loss of the trial in a record's file, or of the one of a search's trials that says most of its limit."""
    return Explanation(*_dropline.explain(words.path("path", path)))


def fit(path: Path, *, format: Optional[str] = None, unit: Optional[str] = None, mixtures: bool = False) -> list[Fit]:
    """What each distribution of a file says: a record, or any file that ``dropline import`` reads.

    ``unit`` is that of bare numbers, such as ``"us"``.
    """
    asked = (words.optional_word("format", format), words.optional_word("unit", unit), words.switch("mixtures", mixtures))
    return [Fit(*told) for told in _dropline.fit(words.path("path", path), *asked)]
