"""pyarrow, pandas, polars and DuckDB take the tables of a job, and Parquet gives them back: job_arrow_check.py JOB DIRECTORY."""
import os
import sys

import duckdb
import pandas
import polars
import pyarrow
from pyarrow import parquet

import hooktrace

TABLES = ("ranks", "processes", "calls", "memory", "findings", "stacks")


def plain(job):
    """All records, column by column."""
    whole = {}
    for table in job.records(batch=1000):
        for name, values in table.to_dict().items():
            whole.setdefault(name, []).extend(values)
    return whole


def check_table(name, given):
    wanted = given.to_dict()
    arrow = pyarrow.table(given)
    arrow.validate(full=True)
    assert arrow.to_pydict() == wanted, name
    assert given.to_arrow().equals(arrow), name
    assert pyarrow.record_batch(given).to_pydict() == wanted, name
    assert polars.DataFrame(given).to_dict(as_series=False) == wanted, name
    assert duckdb.sql("select count(*) from given").fetchall() == [(len(given),)], name
    return arrow


def check_records(job, wanted):
    records = job.records(batch=1000)
    arrow = pyarrow.table(records)
    arrow.validate(full=True)
    assert arrow.to_pydict() == wanted
    for column, kind in (("start_ns", pyarrow.int64()), ("rank", pyarrow.int32()), ("failed", pyarrow.bool_()),
                         ("function", pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))):
        assert arrow.schema.field(column).type == kind, column
    frame = arrow.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame["function"].tolist() == wanted["function"]
    assert polars.DataFrame(records).to_dict(as_series=False) == wanted
    # The dictionaries of batches differ; what they mean does not.
    counted = dict(duckdb.sql("select function, count(*) from records group by 1").fetchall())
    assert counted == {name: wanted["function"].count(name) for name in set(wanted["function"])}
    reader = pyarrow.RecordBatchReader.from_stream(records)
    assert sum(len(batch) for batch in reader) == len(wanted["rank"])
    reader.close()
    # A consumer that stops in the middle, and a stream that nothing reads.
    half = pyarrow.RecordBatchReader.from_stream(records)
    half.read_next_batch()
    del half
    records.__arrow_c_stream__()


def check_parquet(job, directory, wanted, tables):
    paths = job.to_parquet(directory)
    assert sorted(os.listdir(directory)) == sorted(name + ".parquet" for name in (*TABLES, "records"))
    assert sorted(os.path.join(directory, name) for name in os.listdir(directory)) == sorted(paths)
    assert parquet.read_table(os.path.join(directory, "records.parquet")).to_pydict() == wanted
    for name, table in tables.items():
        assert parquet.read_table(os.path.join(directory, name + ".parquet")).to_pydict() == table.to_pydict(), name
    per_rank = dict(duckdb.sql(f"select rank, count(*) from '{directory}/records.parquet' group by 1").fetchall())
    assert per_rank == {rank: wanted["rank"].count(rank) for rank in set(wanted["rank"])}


def check(path, directory):
    job = hooktrace.open(path)
    wanted = plain(job)
    tables = {name: check_table(name, getattr(job, name)()) for name in TABLES}
    check_records(job, wanted)
    check_parquet(job, directory, wanted, tables)
    print(f"{os.path.basename(path)}: {len(wanted['rank'])} records")


if __name__ == "__main__":
    check(*sys.argv[1:])
