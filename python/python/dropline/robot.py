"""Robot Framework: ``Library    dropline.robot``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Union

from robot.api import logger
from robot.api.deco import keyword, library

import dropline
from dropline import Answer, Comparison, Record

__all__ = ["robot"]


def _number(word: Any) -> Any:
    """A number where it is one, and not a word with a unit: Robot's arguments are words."""
    try:
        return float(word)
    except (TypeError, ValueError):
        return word


@library(scope="GLOBAL", auto_keywords=False, version=dropline.__version__)
class robot:  # noqa: N801 -- Robot finds a library's class by the name of its module
    """Searches for the load above which packets drop. A keyword's timeout ends a search; what it measured is lost to the test."""

    @keyword
    def find_drop_line(
        self,
        target: Any,
        *goals: str,
        min_load: Any = None,
        max_load: Any = None,
        algorithm: Optional[str] = None,
        preset: Optional[str] = None,
        budget: Any = None,
        seed: Optional[int] = None,
        record: Optional[str] = None,
    ) -> Record:
        """Searches ``target``, a word such as ``udp://127.0.0.1:7007`` or a function, and logs the page of the search.

        A number is packets a second, or seconds; a word such as ``9Mpps`` has a unit.

        Each goal is a share of packets that may be lost, such as ``0`` or ``0.5%``. ``record`` is a new file for the record.
        A search that says more of the generator than of the target fails.
        """
        perform: Union[str, Callable[[float, float], Any]] = target
        found = dropline.search(
            perform,
            goals=goals or None,
            min_load=_number(min_load),
            max_load=_number(max_load),
            algorithm=algorithm,
            preset=preset,
            budget=_number(budget),
            seed=seed,
            record=record,
        )
        logger.info(found._repr_html_(), html=True)
        logger.info(found.text())
        return found.require_valid()

    @keyword
    def lower_bound_should_be_at_least(self, answer: Union[Answer, Any], load: float) -> None:
        """Fails where the lower bound of a goal's answer, ``${record.goals}[0]``, is below ``load`` in packets a second."""
        if answer.lower_pps is None or answer.lower_pps < load:
            raise AssertionError(f"the lower bound is {answer.lower_pps} pps, and at least {load} pps are wanted")

    @keyword
    def limits_should_not_be_worse_than(self, record: Record, before: Union[Record, Any]) -> Comparison:
        """Fails where a limit is worse than that of ``before``, a record or its file, by more than random scatter explains."""
        compared = dropline.compare(dropline.read(before) if isinstance(before, str) else before, record)
        logger.info(compared.text())
        if compared.is_worse:
            raise AssertionError(f"{compared.verdict}:\n{compared}")
        return compared
