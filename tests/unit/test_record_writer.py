"""Records appear only when they are complete, and come back as they were written."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from telemark.errors import DataError, EngineError, RequirementError
from telemark.store.bounds import local_bounds
from telemark.store.reader import read_records, record_files
from telemark.store.schemas import TABLES
from telemark.store.writer import ArrowFile, RecordWriter


def delivery(sequence: int, **changes: Any) -> dict[str, Any]:
    row = dict.fromkeys(TABLES["deliveries"].names, 0)
    return row | {"sequence": sequence, "received_ns": 10 + sequence, "subscription": 3, "intended_ns": 5} | changes


class Clock:
    """Seconds as told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_file_appears_under_its_name_only_when_it_is_closed(tmp_path: Path) -> None:
    """Readers never meet half a file."""
    writer = RecordWriter(tmp_path, 7)
    writer.write_rows("deliveries", [delivery(0)])

    assert [] == record_files(tmp_path, "deliveries")
    assert 0 == read_records(tmp_path, "deliveries").num_rows

    writer.close()
    writer.close()

    assert ["007-00000.parquet"] == [path.name for path in record_files(tmp_path, "deliveries")]
    assert [delivery(0)] == read_records(tmp_path, "deliveries").to_pylist()
    assert 1 == writer.rows("deliveries")


def test_files_are_rolled_by_rows_and_by_time(tmp_path: Path) -> None:
    """A process that dies loses at most the rows since the last roll."""
    clock = Clock()
    with RecordWriter(tmp_path, 0, roll_rows=2, roll_seconds=10, clock=clock) as writer:
        writer.write_rows("deliveries", [delivery(0), delivery(1)])
        writer.write_rows("deliveries", [delivery(2)])

        assert 1 == len(record_files(tmp_path, "deliveries"))

        clock.now = 11.0
        writer.tick()

        assert 2 == len(record_files(tmp_path, "deliveries"))
    assert [0, 1, 2] == read_records(tmp_path, "deliveries", ["sequence"])["sequence"].to_pylist()


def test_times_and_sequences_are_delta_encoded(tmp_path: Path) -> None:
    """That is what keeps a delivery at a few bytes."""
    with RecordWriter(tmp_path, 0) as writer:
        writer.write_rows("deliveries", [delivery(n) for n in range(10)])
    group = pq.read_metadata(record_files(tmp_path, "deliveries")[0]).row_group(0)
    encodings = {group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)}

    assert all("DELTA_BINARY_PACKED" in encodings[name] for name in ("sequence", "sent_ns", "received_ns"))
    assert "ZSTD" == group.column(0).compression


def test_a_null_where_the_schema_forbids_it_is_refused(tmp_path: Path) -> None:
    """Parquet would store garbage."""
    with pytest.raises(EngineError, match=r"deliveries\.stream: null"):
        RecordWriter(tmp_path, 0).write_rows("deliveries", [delivery(0, stream=None)])


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the host's lack, not a fault of the data."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("telemark.store.writer.ArrowFile.__init__", full)
    with pytest.raises(RequirementError, match="no space left"):
        RecordWriter(tmp_path, 0).write_rows("deliveries", [delivery(0)])


def test_columns_an_older_format_lacks_are_null(tmp_path: Path) -> None:
    """A reader understands every format up to its own."""
    (tmp_path / "events").mkdir()
    old = pa.table({"time_ns": [1], "kind": ["note"]})
    pq.write_table(old, tmp_path / "events" / "000-00000.parquet")

    row = read_records(tmp_path, "events").to_pylist()[0]

    assert (1, "note", None) == (row["time_ns"], row["kind"], row["detail"])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """By every reader."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "000-00000.parquet").write_bytes(b"PAR1 and then nothing")

    with pytest.raises(DataError, match="000-00000"):
        read_records(tmp_path, "events")
    with pytest.raises(DataError, match="events/000-00000"):
        local_bounds(tmp_path)


def test_bounds_come_from_the_file_ends(tmp_path: Path) -> None:
    """Largest numbers without reading a row."""
    with RecordWriter(tmp_path, 0) as writer:
        writer.write_rows("deliveries", [delivery(n, stream=n % 3, intended_ns=100 + n) for n in range(9)])
    bounds = local_bounds(tmp_path)

    assert (9, 2, 8, 3) == (bounds.deliveries, bounds.stream, bounds.sequence, bounds.subscription)
    assert (100, 108, -1) == (bounds.first_intended_ns, bounds.last_intended_ns, bounds.share)


def test_files_without_statistics_are_refused(tmp_path: Path) -> None:
    """Their largest numbers are unknown, and keys made for smaller ones would mix messages up."""
    with RecordWriter(tmp_path, 0) as writer:
        writer.write_rows("deliveries", [delivery(0)])
    (path,) = record_files(tmp_path, "deliveries")
    pq.write_table(pq.read_table(path), path, write_statistics=False)

    with pytest.raises(DataError, match="smallest and largest intended_ns"):
        local_bounds(tmp_path)


def test_a_file_that_cannot_be_closed_never_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing again must not turn half a file into a complete one, and the other tables are closed all the same."""

    class FullDisk(ArrowFile):
        def close(self) -> None:
            if self._schema is TABLES["deliveries"]:
                raise OSError(errno.ENOSPC, "no space")
            super().close()

    monkeypatch.setattr("telemark.store.writer.ArrowFile", FullDisk)
    writer = RecordWriter(tmp_path, 0)
    writer.write_rows("deliveries", [delivery(0)])
    writer.write_rows("subscribed", [{"subscription": 0, "from_ns": 1, "until_ns": None}])
    with pytest.raises(RequirementError, match="no space left"):
        writer.close()
    writer.close()

    assert [] == record_files(tmp_path, "deliveries")
    assert 1 == read_records(tmp_path, "subscribed").num_rows
