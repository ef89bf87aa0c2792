"""A measurement as it is kept."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Union

from . import _dropline, words
from .answers import Answer, Caveat, Fields
from .errors import NotValidError

__all__ = ["Record", "read"]


class Record:
    """A measurement: its goals and their answers, its trials, its doubts. It is what ``dropline`` writes and reads.

    >>> import dropline
    >>> record = dropline.search("sim:hard", goals=[0])
    >>> record.target, len(record.goals), record.is_valid
    ('sim:hard', 1, True)
    >>> record.trials[0].offered >= record.trials[0].forwarded
    True
    """

    def __init__(self, kept: _dropline.Record) -> None:
        self._kept = kept

    @classmethod
    def from_lines(cls, lines: str) -> Record:
        """The record of its lines, as a file holds them."""
        return cls(_dropline.Record.parse(words.word("lines", lines)))

    @functools.cached_property
    def _object(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._kept.to_json())
        return found

    @property
    def target(self) -> str:
        """What was measured."""
        return str(self._object["target"])

    @functools.cached_property
    def goals(self) -> tuple[Answer, ...]:
        """Each goal with its answer, in the order in which they were asked for."""
        return tuple(Answer(goal) for goal in self._object.get("goals") or [])

    @functools.cached_property
    def trials(self) -> tuple[Fields, ...]:
        """Each trial, in order."""
        return tuple(Fields(trial) for trial in self._trials)

    @functools.cached_property
    def _trials(self) -> list[dict[str, Any]]:
        # A record of one trial is that trial.
        alone = [self._object] if "offered" in self._object else []
        found: list[dict[str, Any]] = self._object.get("trials", alone)
        return found

    @functools.cached_property
    def caveats(self) -> tuple[Caveat, ...]:
        """Doubts about the whole."""
        return tuple(Caveat(caveat) for caveat in self._object.get("caveats") or [])

    @property
    def is_valid(self) -> bool:
        """Whether each answer is about the target, and not about what performed the trials."""
        return self._kept.is_valid()

    def require_valid(self) -> Record:
        """The record itself, or a :class:`NotValidError` that says why it is not valid."""
        if not self.is_valid:
            why = NotValidError("; ".join(caveat.text for caveat in self.caveats) or "it is not valid")
            why.record = self
            raise why
        return self

    def columns(self) -> dict[str, list[Any]]:
        """The trials as columns, a list each: numbers, words, delays, places of loss, bounds.

        They are those of ``dropline export --to csv``; what a trial does not know is ``None``.

        >>> import dropline
        >>> columns = dropline.search("sim:hard", goals=[0]).columns()
        >>> len(columns["offered"]) == len(columns["delay_ns_p99"])
        True
        """
        return self._kept.columns()

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The same columns, each in its type, for whatever takes a stream of Arrow: ``polars.DataFrame(record)``,
        ``pandas.DataFrame.from_arrow(record)`` (pandas 3 with pyarrow), ``pyarrow.table(record)``."""
        return self._kept.arrow()

    def to_json(self) -> str:
        """One JSON object: what ``--json`` prints."""
        return self._kept.to_json()

    def to_lines(self) -> str:
        """JSON Lines: what a file of ``dropline`` holds."""
        return self._kept.to_lines()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes it into a new file, which ``dropline`` reads."""
        with open(path, "x", encoding="utf-8") as file:
            file.write(self.to_lines())

    def html(self) -> str:
        """One page that needs nothing else."""
        return self._kept.html()

    def text(self, width: int = 80) -> str:
        """As ``dropline report`` prints it."""
        return self._kept.text(words.count("width", width))

    def line(self) -> str:
        """The answer in one line."""
        return self._kept.line()

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="600" style="border:0"></iframe>'

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Record {self.line()}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.to_lines() == other.to_lines()

    def __hash__(self) -> int:
        return hash(self.to_lines())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Record.from_lines, (self.to_lines(),))


def read(path: Union[str, os.PathLike[str]]) -> Record:
    """The record of a file."""
    return Record(_dropline.Record.read(words.path("path", path)))
