"""Numbers of Python's as the words that the command line takes. Words stay as they are; Dropline's own code reads them."""

from __future__ import annotations

import math
from typing import Union

from .errors import UsageError

__all__ = ["Load", "Share", "Time", "load", "share", "time"]

#: A load in packets a second, or a word such as ``"9Mpps"``.
Load = Union[float, str]
#: A share such as ``0.005``, or a word such as ``"0.5%"``.
Share = Union[float, str]
#: A time in seconds, or a word such as ``"250ms"``.
Time = Union[float, str]


def number(value: float) -> str:
    """A number without an exponent, as short as it can be."""
    value = float(value)
    if not math.isfinite(value):
        raise UsageError(f"{value} is not a number of packets, seconds or shares: it has to be finite")
    text = f"{value:.12f}"
    return text.rstrip("0").rstrip(".")


def load(value: Load) -> str:
    """``9e6`` is ``9000000pps``."""
    return value if isinstance(value, str) else f"{number(value)}pps"


def share(value: Share) -> str:
    """``0.005`` is ``0.005``."""
    return value if isinstance(value, str) else number(value)


def time(value: Time) -> str:
    """``1.5`` is ``1.5s``."""
    return value if isinstance(value, str) else f"{number(value)}s"
