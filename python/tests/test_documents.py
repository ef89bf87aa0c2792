"""What a document shows in Python runs, in the order in which it stands there."""

from __future__ import annotations

import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/how-to/search-from-python.md", "python/README.md"])
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = [rest.split("```")[0] for rest in (ROOT / page).read_text().split("```python\n")[1:]]
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
