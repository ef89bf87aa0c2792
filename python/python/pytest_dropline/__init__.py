"""pytest: a fixture that searches, records of every test, and a comparison with kept ones.

Nothing of Dropline is imported before a test asks for it: the plugin is loaded in every run of its environment, and so it is
a package of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import pytest

if TYPE_CHECKING:
    from dropline import Record

#: How the lines of the summary are kept with a test.
_PROPERTY = "dropline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flags."""
    group = parser.getgroup("dropline", "limits of systems under load")
    group.addoption("--dropline-record",
            metavar="NAME",
            help="keep a record of each search under NAME, in place of an older one; where NAME is compared with too, only if the limit improved")
    group.addoption("--dropline-compare", metavar="NAME", help="fail a test whose limit is worse than that of NAME, by more than random scatter explains")
    group.addoption(
        "--dropline-storage", metavar="DIR", default=".dropline", help="where records are kept [default: .dropline]"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers", "dropline(**arguments): what the fixture dropline passes to dropline.search, such as goals and max_load"
    )


@pytest.fixture
def dropline(request: pytest.FixtureRequest) -> Callable[..., Record]:
    """Searches: ``dropline(measure, goals=[0], max_load=14.88e6)``, with the marker's arguments where the call has none.

    A search that is not valid fails the test: it says nothing of the target.
    """
    searches = iter(range(1, 1_000_000))

    def search(target: Union[str, Callable[[float, float], Any]], **arguments: Any) -> Record:
        import dropline as package

        marker = request.node.get_closest_marker("dropline")
        record = package.search(target, **{**(marker.kwargs if marker else {}), **arguments})
        record.require_valid()
        name = _file_of(request.node.nodeid, next(searches))
        said = request.node.user_properties
        said.append((_PROPERTY, f"{request.node.nodeid}: {record.line()}"))
        option = request.config.getoption
        storage = Path(request.config.rootpath, option("--dropline-storage"))
        compared = None
        if option("--dropline-compare"):
            before = storage / option("--dropline-compare") / name
            if before.exists():
                compared = package.compare(package.read(before), record)
                said.append((_PROPERTY, f"    compared with {before}: {compared.verdict}"))
            else:
                said.append((_PROPERTY, f"    nothing to compare with: {before} is missing"))
        # What it was compared with stays unless it was bettered: many small losses, each no evidence, would add up.
        is_same = option("--dropline-record") == option("--dropline-compare")
        stays = compared is not None and is_same and compared.verdict != "improved"
        if option("--dropline-record") and not stays:
            _replace(storage / option("--dropline-record") / name, record)
        if compared is not None and compared.is_worse:
            pytest.fail(f"the limit is worse than that of {before}\n{compared}", pytrace=False)
        return record

    return search


def _file_of(test: str, number: int) -> str:
    """A name of its own for each search of each test."""
    words = re.sub(r"[^\w.-]+", "-", test).strip("-")[:150]
    # What a file's name has no room for tells tests apart all the same.
    own = hashlib.sha256(test.encode()).hexdigest()[:8]
    return f"{words}-{own}{'' if number == 1 else f'-{number}'}.jsonl"


def _replace(path: Path, record: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    record.save(beside)
    os.replace(beside, path)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line a search, and how it compares."""
    lines = list(_lines(terminalreporter))
    if lines:
        terminalreporter.section("dropline")
        for line in lines:
            terminalreporter.write_line(line)


def _lines(reporter: pytest.TerminalReporter) -> Iterator[str]:
    for reports in reporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                yield from (str(line) for name, line in report.user_properties if name == _PROPERTY)
