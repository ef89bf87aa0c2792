"""What went wrong, a class for each exit code of the command ``dropline``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from .record import Record

__all__ = ["DroplineError", "NotValidError", "RefusedError", "UsageError"]


class DroplineError(Exception):
    """A search, or what is done with a record, could not be done as asked. What was measured is in ``record``, if anything was."""

    exit_code: int = 1
    #: What was measured until then, a :class:`dropline.Record`; None where nothing was.
    record: Optional[Record] = None


class UsageError(DroplineError, ValueError):
    """A word or a number is not what it should be: change the call."""

    exit_code = 2


class NotValidError(DroplineError):
    """What was measured says more about what performed the trials than about the target."""

    exit_code = 3


class RefusedError(DroplineError, RuntimeError):
    """The environment refused or broke: consent, a missing program, a target that does not answer, a file."""

    exit_code = 4
