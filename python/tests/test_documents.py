"""What a document or a notebook shows in Python runs, in the order in which it stands there."""

from __future__ import annotations

import json
import pathlib

import pytest

import fake_trex

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "python/notebooks").glob("*.ipynb"))


def run(page: str, blocks: list[str]) -> dict[str, object]:
    """The blocks in order, and the names that they leave."""
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


@pytest.mark.parametrize("page", ["docs/how-to/search-from-python.md", "python/README.md"])
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, [rest.split("```")[0] for rest in (ROOT / page).read_text().split("```python\n")[1:]])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_a_notebook_runs_and_none_keeps_what_it_printed(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    fake_trex.install(monkeypatch)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    sources = ["".join(cell["source"]) for cell in cells]
    names = run(path.name, sources)
    # "Run all" once more, in the same directory.
    run(path.name, sources)
    records = [value for value in names.values() if type(value).__name__ == "Record"]
    assert records and all("<iframe" in record._repr_html_() for record in records)


def test_the_fields_that_an_answer_may_have_are_those_of_the_protocol():
    from dropline.searching import _READ

    answer = (ROOT / "docs/reference/exec.md").read_text().split("## Answer")[1].split("## ")[0]
    listed = [line.split("`")[1] for line in answer.splitlines() if line.startswith("| `")]
    # Who is called with a load and a duration knows no number.
    assert listed == ["trial", *_READ]


def test_trex_is_searched_up_to_what_its_device_forwards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake_trex.install(monkeypatch)
    notebook = json.loads((ROOT / "python/notebooks/search-with-trex.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    goals = run("search-with-trex", cells)["record"].goals
    for goal, limit in zip(goals, [5e6, 5e6 / 0.995]):
        assert goal.lower_pps <= limit <= goal.upper_pps
        assert goal.result == "narrow"
