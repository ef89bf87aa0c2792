"""Reads a Parquet file with pyarrow and with DuckDB, and holds both against the same rows as JSON, an object a line.

A date stands in the JSON as RFC 3339 or as microseconds since 1970, in the file as a time. Prints each column with its types.
"""

import datetime
import json
import math
import sys

import duckdb
import pyarrow.parquet

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def microseconds(value):
    """A time as a number, other values as they are."""
    if isinstance(value, str):
        value = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    return value


def same(found, wanted):
    """Whether both are one value, of one type."""
    if isinstance(found, float) and isinstance(wanted, float):
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    return type(found) is type(wanted) and found == wanted


def check(reader, names, rows, wanted, times):
    assert len(rows) == len(wanted), (reader, len(rows), len(wanted))
    for number, (row, of) in enumerate(zip(rows, wanted)):
        assert names == list(of), (reader, names, list(of))
        for name, found in zip(names, row):
            value = microseconds(of[name]) if name in times else of[name]
            found = microseconds(found) if name in times else found
            assert same(found, value), (reader, number, name, found, value)


file, json_lines = sys.argv[1:]
with open(json_lines, encoding="utf-8") as lines:
    wanted = [json.loads(line) for line in lines]
table = pyarrow.parquet.read_table(file)
names = table.column_names
times = [field.name for field in table.schema if str(field.type).startswith("timestamp")]
columns = [column.to_pylist() for column in table.columns]
check("pyarrow", names, list(zip(*columns)), wanted, times)

base = duckdb.connect()
described = base.execute("describe select * from read_parquet(?)", [file]).fetchall()
as_number = ", ".join(f"epoch_us({name}) as {name}" if name in times else name for name in names)
found = base.execute(f"select {as_number} from read_parquet(?)", [file])
check("duckdb", [column[0] for column in found.description], found.fetchall(), wanted, times)

for field, (_, kind, *_) in zip(table.schema, described):
    print(field.name, field.type, kind)
