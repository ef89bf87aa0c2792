"""What is done with records and files."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest

import dropline


@pytest.fixture(scope="module")
def records():
    return [dropline.search(f"sim:hard?capacity={load}", goals=[0]) for load in ("9Mpps", "8Mpps")]


def test_a_comparison_has_a_verdict_of_records_and_of_files_alike(records, tmp_path):
    quick, slow = records
    compared = dropline.compare(quick, slow)
    assert compared.verdict == "regressed" and compared.is_worse
    assert compared["verdict"] == "regressed" and compared["goals"][0].ratio == compared.goals[0].ratio
    assert pickle.loads(pickle.dumps(compared)) == compared == copy.copy(compared) != dropline.compare(slow, quick)
    assert compared.goals[0].ratio < 0.95 and "regressed" in compared.text()
    assert not dropline.compare(slow, quick).is_worse
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for record, path in zip(records, paths):
        record.save(path)
    assert dropline.compare(*paths).verdict == "regressed"
    assert dropline.compare(paths[0], slow).verdict == "regressed"
    with pytest.raises(FileExistsError):
        quick.save(paths[0])


def test_a_change_that_does_not_matter_is_no_regression(records):
    assert not dropline.compare(*records, smallest_effect="20%").is_worse


def test_a_fit_says_what_the_command_says_as_json(tmp_path):
    path = tmp_path / "delays.txt"
    path.write_text("".join(f"{20 + n * 7919 % 97}\n" for n in range(4000)))
    (fit,) = dropline.fit(path, format="raw", unit="us")
    assert fit.count == 4000 and fit.unit_ns == 1000
    assert json.loads(fit.to_json())["count"] == 4000 and fit.text()
    with pytest.raises(dropline.UsageError, match="there is no format"):
        dropline.fit(path, format="rwa")
    with pytest.raises(dropline.RefusedError):
        dropline.fit(tmp_path / "missing")


def test_a_search_is_explained_by_its_lowest_load_that_lost_packets_and_a_simulated_one_is_refused(records, tmp_path):
    kept = Path(__file__).parents[2] / "crates/record/tests/kept/2026-11-27/search-delay.jsonl"
    explained = dropline.explain(kept)
    record = dropline.read(kept)
    assert explained.target == record.target
    lossy = [trial.intended_load_pps for trial in record.trials if trial.lost]
    assert f"--load {min(lossy):.0f}pps" in explained.chosen
    assert "packets" in explained.text()
    path = tmp_path / "a.jsonl"
    records[0].save(path)
    with pytest.raises(dropline.RefusedError, match="a simulated target has no packets"):
        dropline.explain(path)


def test_a_file_that_is_no_record_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    with pytest.raises(dropline.RefusedError, match="a.jsonl"):
        dropline.read(path)
