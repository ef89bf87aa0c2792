"""Finds the load above which packets drop, and says how sure that is.

>>> import dropline
>>> record = dropline.search("sim:hard?capacity=9Mpps")
>>> 8.9e6 < record.goals[0].lower_pps <= 9e6
True

A function of yours is a target too: it is called with a load in packets a second and a duration in seconds, and answers
with what was counted.

>>> def bench(load_pps, duration_s):
...     offered = int(load_pps * duration_s)
...     return {"offered": offered, "forwarded": min(offered, int(5e6 * duration_s))}
>>> record = dropline.search(bench, goals=[0, "0.5%"], max_load=14.88e6)
>>> [round(goal.median_pps / 1e6, 1) for goal in record.goals]
[5.0, 5.0]
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Answer, Caveat, Fields
    from .errors import DroplineError, NotValidError, RefusedError, UsageError
    from .goal import Goal
    from .offline import Comparison, Explanation, Fit, compare, explain, fit
    from .record import Record, read
    from .searching import Search, search
    from .simulation import Simulated, simulated

__all__ = [
    "Answer",
    "Caveat",
    "Comparison",
    "DroplineError",
    "Explanation",
    "Fields",
    "Fit",
    "Goal",
    "NotValidError",
    "Record",
    "RefusedError",
    "Search",
    "Simulated",
    "UsageError",
    "compare",
    "explain",
    "fit",
    "read",
    "search",
    "simulated",
]

__version__ = "0.1.0"

#: The module of each name: what is not used is not loaded.
_MODULES = {
    "answers": ("Answer", "Caveat", "Fields"),
    "errors": ("DroplineError", "NotValidError", "RefusedError", "UsageError"),
    "goal": ("Goal",),
    "offline": ("Comparison", "Explanation", "Fit", "compare", "explain", "fit"),
    "record": ("Record", "read"),
    "searching": ("Search", "search"),
    "simulation": ("Simulated", "simulated"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            found: object = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
