"""Numbers of Python's as the words that the command line takes. Words stay as they are; Dropline's own code reads them."""

from __future__ import annotations

import math
import os
from typing import Any, Optional, Union

from .errors import UsageError

__all__ = [
    "Load",
    "Share",
    "Time",
    "count",
    "finite",
    "load",
    "optional_word",
    "path",
    "said",
    "share",
    "switch",
    "time",
    "word",
]

#: A load in packets a second, or a word such as ``"9Mpps"``.
Load = Union[float, str]
#: A share such as ``0.005``, or a word such as ``"0.5%"``.
Share = Union[float, str]
#: A time in seconds, or a word such as ``"250ms"``.
Time = Union[float, str]


def said(name: str, value: Any, wanted: str) -> UsageError:
    """The error that names an argument, or a field of an answer."""
    shown = repr(value)
    return UsageError(f"{name} is {shown if len(shown) <= 80 else shown[:79] + '…'}: it has to be {wanted}")


def _is_number(value: Any) -> bool:
    """Words and truths are none, though Python converts them."""
    return not isinstance(value, (str, bytes, bytearray)) and not _is_truth(value)


def _is_truth(value: Any) -> bool:
    """Python's own, or one of numpy's."""
    return type(value).__name__ in ("bool", "bool_")


def finite(name: str, value: Any, wanted: str) -> float:
    """A number of any kind that is one of Python's or of another library's."""
    try:
        converted = float(value) if _is_number(value) else math.nan
    except (TypeError, ValueError, ArithmeticError):
        converted = math.nan
    if not math.isfinite(converted):
        raise said(name, value, wanted)
    return converted


def count(name: str, value: Any, most: int = 2**64) -> int:
    """A whole number from 0, below ``most``, however its kind writes it: 7, 7.0, numpy's."""
    if type(value) is not int:
        try:
            whole = int(value) if _is_number(value) else -1
            value = whole if whole == value else value
        except (TypeError, ValueError, ArithmeticError):
            pass
    if type(value) is not int or not 0 <= value < most:
        raise said(name, value, f"a whole number from 0 to {most - 1}")
    return value


def _number(name: str, value: Any, wanted: str) -> str:
    """A number without an exponent, as short as it can be."""
    text = f"{finite(name, value, wanted):.12f}"
    return text.rstrip("0").rstrip(".")


def load(name: str, value: Load) -> str:
    """``9e6`` is ``9000000pps``."""
    return value if isinstance(value, str) else _number(name, value, 'a finite number of packets a second, or a word such as "9Mpps"') + "pps"


def share(name: str, value: Share) -> str:
    """``0.005`` is ``0.005``."""
    return value if isinstance(value, str) else _number(name, value, 'a finite number such as 0.005, or a word such as "0.5%"')


def time(name: str, value: Time) -> str:
    """``1.5`` is ``1.5s``."""
    return value if isinstance(value, str) else _number(name, value, 'a finite number of seconds, or a word such as "250ms"') + "s"


def word(name: str, value: str) -> str:
    """Words as they are."""
    if not isinstance(value, str):
        raise said(name, value, "words")
    return value


def optional_word(name: str, value: Optional[str]) -> Optional[str]:
    """A word, or None."""
    return None if value is None else word(name, value)


def switch(name: str, value: bool) -> bool:
    """True or False."""
    if not _is_truth(value):
        raise said(name, value, "True or False")
    return bool(value)


def path(name: str, value: Union[str, os.PathLike[str]]) -> str:
    """The name of a file."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise said(name, value, "the name of a file") from None
