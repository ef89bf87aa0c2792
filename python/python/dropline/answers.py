"""What a record says, as objects: names and units are those of its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Optional

__all__ = ["Answer", "Caveat", "Fields"]


class Fields(Mapping[str, Any]):
    """An object of a record's JSON: ``trial.offered`` and ``trial["offered"]`` are the same.

    >>> trial = Fields({"offered": 10, "delay_ns": {"p50": 3}})
    >>> trial.offered, trial.delay_ns.p50
    (10, 3)
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def __getitem__(self, name: str) -> Any:
        return shown(self._values[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no field {name!r}: there are {', '.join(self)}") from None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} cannot be set: a record says what was measured; dict({type(self).__name__.lower()}) is a copy to change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{name} cannot be deleted: a record says what was measured")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._values)!r})"


def shown(value: Any) -> Any:
    """A value of JSON, objects with their fields as attributes."""
    if isinstance(value, dict):
        return Fields(value)
    if isinstance(value, list):
        return [shown(each) for each in value]
    return value


class Answer(Fields):
    """A goal and its answer."""

    #: The share of packets that may be lost.
    loss_ratio: float
    #: Relevant lower bound, or the lower end of an interval.
    lower_pps: Optional[float]
    #: Relevant upper bound, or the upper end of an interval.
    upper_pps: Optional[float]
    #: Median of an interval.
    median_pps: Optional[float]
    #: How often the interval holds the true value; None where the algorithm states bounds.
    level: Optional[float]
    #: Conditional throughput of RFC 9971.
    conditional_throughput_pps: Optional[float]
    #: ``narrow``, ``wide``, ``at_maximum``, ``below_minimum``, ``regular`` or ``irregular``.
    result: str
    #: Why it is irregular, or ends where it does.
    why: Optional[str]


class Caveat(Fields):
    """A doubt about a result, with its stable name."""

    code: str
    text: str
