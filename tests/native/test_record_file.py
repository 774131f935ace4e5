"""Parquet files that the native side writes by itself: other readers find in them what the engine recorded."""

from __future__ import annotations

import errno
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from telemark._native import Batch, RecordFile
from telemark.store.reader import read_records, record_files
from telemark.store.schemas import TABLES
from telemark.store.series import NativeWriter
from tests.support.engine import Played, engine_plan, limited, play, publisher, subscriber
from tests.support.loopback import running
from tests.support.native_batches import native_batch

MESSAGES = 3_000
DENSE = ["deliveries", "acks"]
SMALL = ["senders", "connections", "events", "counters", "subscribed"]


@pytest.fixture(scope="module")
def played() -> Played:
    """Messages of several streams to two subscribers."""
    with running() as server:
        groups = (subscriber(qos=1, count=2), publisher(20, qos=1))
        plan = engine_plan(server.port, *groups, load=limited(MESSAGES, rate=20_000.0))
        done = play(plan, received=2 * MESSAGES)
    refused = Played(engine_plan(server.port, publisher(3)))  # nobody listens any more: events with codes and texts
    refused.connect()
    done.batches += refused.finish().batches
    return done


def batches(played: Played, table: str) -> list[Batch]:
    return [batch for batch in played.batches if batch.table == table]


@pytest.mark.parametrize("table", DENSE)
def test_readers_find_every_row_as_it_was(tmp_path: Path, played: Played, table: str) -> None:
    """Arrow and DuckDB, over more than one row group."""
    expected = pa.Table.from_batches([native_batch(batch) for batch in batches(played, table)])
    times = 1_100_000 // expected.num_rows
    path = tmp_path / "rows.parquet"
    file = RecordFile(path)
    for _ in range(times):
        for batch in batches(played, table):
            file.write(batch)
    file.close()
    found = pq.ParquetFile(path)

    assert found.metadata.num_row_groups == 2
    assert found.metadata.num_rows == times * expected.num_rows
    assert [field.type for field in found.schema_arrow] == [field.type for field in TABLES[table]]
    assert found.read().cast(TABLES[table]).equals(pa.concat_tables([expected] * times))
    sums = ", ".join(f"sum({name})::BIGINT" for name in TABLES[table].names if not name.endswith("_ns"))
    (counted,) = duckdb.sql(f"SELECT {sums} FROM '{path}'").fetchall()
    plain = [name for name in TABLES[table].names if not name.endswith("_ns")]
    assert list(counted) == [times * sum(expected[name].to_pylist()) for name in plain]


@pytest.mark.parametrize("table", DENSE)
def test_every_column_knows_its_smallest_and_largest_value(tmp_path: Path, played: Played, table: str) -> None:
    """The pipeline plans by them without reading a row."""
    with NativeWriter(tmp_path, 0) as writer:
        for batch in batches(played, table):
            writer.write(batch)
    rows = read_records(tmp_path, table)
    (path,) = record_files(tmp_path, table)
    group = pq.read_metadata(path).row_group(0)

    for number, name in enumerate(TABLES[table].names):
        statistics = group.column(number).statistics
        values = rows[name].to_pylist()
        assert (statistics.min, statistics.max, statistics.null_count) == (min(values), max(values), 0), name


def test_a_full_disk_is_an_os_error_with_its_number(played: Played) -> None:
    """The writer tells it apart by that."""
    file = RecordFile(Path("/dev/full"))
    with pytest.raises(OSError, match="No space left") as caught:  # the first bytes already
        file.write(batches(played, "deliveries")[0])

    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("table", SMALL)
def test_nulls_texts_and_truth_values_are_read_as_they_were(tmp_path: Path, played: Played, table: str) -> None:
    """Arrow and DuckDB; the schema is that of the registry."""
    expected = pa.Table.from_batches([native_batch(batch) for batch in batches(played, table)])
    with NativeWriter(tmp_path, 0) as writer:
        for batch in batches(played, table):
            writer.write(batch)
    (path,) = record_files(tmp_path, table)
    found = pq.ParquetFile(path)

    assert found.schema_arrow.remove_metadata().equals(TABLES[table], check_metadata=False)
    assert found.read().cast(TABLES[table]).equals(expected)
    rows = duckdb.sql(f"SELECT * FROM '{path}'").fetchall()
    assert rows == [tuple(row.values()) for row in expected.to_pylist()]
