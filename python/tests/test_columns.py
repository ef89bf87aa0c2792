"""The trials of a record as other programs take them."""

from __future__ import annotations

import gc
import resource
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import dropline

KEPT = sorted((Path(__file__).parents[2] / "crates/record/tests/kept").glob("*/*.jsonl"))


def readable(path):
    """A kept record of trials, or none."""
    try:
        return dropline.read(path)
    except dropline.RefusedError:
        return None


def test_every_kept_record_is_the_same_table_to_all_who_take_it():
    records = [record for record in map(readable, KEPT) if record is not None]
    assert len(records) > 3
    for record in records:
        columns = record.columns()
        table = pyarrow.table(record)
        table.validate(full=True)
        assert table.to_pydict() == columns
        assert polars.DataFrame(record).to_dict(as_series=False) == columns
        assert list(pandas.DataFrame.from_arrow(record).columns) == list(columns)
        assert len(columns["number"]) == len(record.trials)


def test_a_column_has_its_type_whatever_was_measured():
    counted = dropline.search("sim:hard", goals=[0])
    table = pyarrow.table(counted)
    types = {"offered": "int64", "loss_ratio": "double", "target": "large_string", "goal_1_lower_valid": "bool"}
    assert {name: str(table.schema.field(name).type) for name in types} == types
    # Nothing was delayed, so the column is there and nothing is in it.
    assert str(table.schema.field("delay_ns_p99").type) == "int64"
    assert table["delay_ns_p99"].null_count == table.num_rows


def test_a_stream_that_nobody_reads_or_that_outlives_its_record_leaves_nothing_behind():
    record = dropline.search("sim:hard", goals=[0])
    offered = record.columns()["offered"]
    reader = pyarrow.RecordBatchReader.from_stream(record)
    batch = reader.read_next_batch().select(["offered"])
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    del record, reader
    gc.collect()
    assert batch.to_pydict() == {"offered": offered}
    record = dropline.search("sim:hard", goals=[0])

    def most_kb(times: int) -> int:
        for _ in range(times):
            record.__arrow_c_stream__()
            pyarrow.RecordBatchReader.from_stream(record)
            pyarrow.table(record)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = most_kb(500)
    # A table takes some 20 kB: a leak of each would be 40 MB.
    assert most_kb(2000) - before < 10_000
