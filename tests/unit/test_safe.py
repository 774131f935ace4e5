"""What is read from and removed in folders that came from strangers."""

from __future__ import annotations

import os
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.errors import ConfigError, DataError
from telemark.report.build import build_report
from telemark.store import pages, result_reader
from telemark.store.bounded import Most, read_bounded
from telemark.store.bounds import local_bounds
from telemark.store.documents.analysed import Analysed
from telemark.store.layout import find_runs
from telemark.store.lock import locked
from telemark.store.reader import read_records
from telemark.store.result_reader import ResultTables
from telemark.store.results import RESULTS_VERSION, TABLES
from telemark.store.safe import refuse_links
from tests.support.run_builder import Rows, random_run, write
from tests.support.synthetic import make_campaign
from tests.support.synthetic_tables import FakeRun


def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    """One above the root is the user's own."""
    (tmp_path / "campaign" / "results").mkdir(parents=True)
    (tmp_path / "linked").symlink_to(tmp_path / "campaign")
    (tmp_path / "campaign" / "results" / "points").symlink_to(tmp_path)

    with pytest.raises(DataError, match="points is a link"):
        refuse_links(tmp_path / "campaign", tmp_path / "campaign" / "results" / "points" / "run=001")
    refuse_links(tmp_path / "linked", tmp_path / "linked" / "results")


@pytest.mark.parametrize("kind", ["pipe", "link", "linked folder"])
def test_records_that_are_no_regular_files_are_refused(tmp_path: Path, kind: str) -> None:
    """Reading a pipe would hang; a link leads elsewhere."""
    folder = write(tmp_path / "c" / "001", Rows())
    (folder / "deliveries").mkdir()
    if kind == "pipe":
        os.mkfifo(folder / "deliveries" / "009-00000.parquet")
    elif kind == "link":
        (folder / "deliveries" / "009-00000.parquet").symlink_to(folder / "run.json")
    else:
        (folder / "acks").symlink_to(folder / "deliveries")

    with pytest.raises(DataError, match=r"not a regular file|is a link"):
        local_bounds(folder)
    with pytest.raises(DataError, match=r"not a regular file|is a link"):
        read_records(folder, "acks" if kind == "linked folder" else "deliveries")


def test_columns_of_another_type_are_a_problem_of_the_run(tmp_path: Path) -> None:
    """Text where numbers are expected."""
    folder = write(tmp_path / "c" / "001", random_run(1))
    (folder / "deliveries").mkdir(exist_ok=True)
    odd = pa.table({"stream": ["x"], "sequence": ["y"], "intended_ns": ["z"]})
    pq.write_table(odd, folder / "deliveries" / "009-00000.parquet")

    with pytest.raises(DataError, match=r"deliveries/009-00000\.parquet"):
        local_bounds(folder)


def test_linked_runs_are_not_followed(tmp_path: Path) -> None:
    """They are somewhere else, and so would be their results."""
    real = write(tmp_path / "elsewhere" / "001", random_run(1))
    write(tmp_path / "c" / "000", random_run(1))
    (tmp_path / "c" / "001").symlink_to(real)

    assert ["000"] == [run.name for run in find_runs([tmp_path / "c"]).runs]


def test_results_with_more_rows_than_any_analysis_writes_are_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty million nulls take no room in a file, and all of the memory."""
    monkeypatch.setattr(result_reader, "MOST", Most(rows=1000, text=1000))
    notes = tmp_path / "results" / "analysed"
    notes.mkdir(parents=True)
    (notes / "001.json").write_text(Analysed("001", RESULTS_VERSION, "x").as_json())
    schema = TABLES["offenders"]
    nulls = pa.Table.from_arrays([pa.nulls(1001, field.type) for field in schema], schema.names)
    folder = tmp_path / "results" / "offenders" / "run=001"
    folder.mkdir(parents=True)
    pq.write_table(nulls, folder / "part-00000.parquet")

    with pytest.raises(DataError, match="1,001 rows, expected at most 1,000"):
        ResultTables.open(tmp_path).table("offenders")


@pytest.mark.parametrize(
    "texts",
    [
        pa.DictionaryArray.from_arrays(pa.array([0] * 9000, pa.int32()), ["x" * 1000]),  # one text for all rows
        pa.array(["x" * 9_000_000]),  # one page of one letter
        pa.array([["x" * 1000] * 9000]),  # all in one row
    ],
    ids=["repeated", "long", "list"],
)
def test_texts_that_are_small_in_the_file_and_large_in_memory_are_refused(tmp_path: Path, texts: pa.Array) -> None:
    """Nine million bytes of text from a file of some thousand."""
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"texts": texts}), path, compression="zstd")

    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="bytes of text"):
        read_bounded(path, Most(rows=10_000, text=8_000_000))
    assert len(texts) == read_bounded(path, Most(rows=10_000, text=10_000_000)).num_rows


def test_a_directory_that_lies_about_sizes_is_not_believed(tmp_path: Path) -> None:
    """The text is nine million bytes long, the directory says 1: it must be refused before room is made for it."""
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"texts": ["x" * 9_000_000]}), path, compression="zstd", use_dictionary=False)
    size = pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size
    path.write_bytes(path.read_bytes().replace(number(size), b"\x82\x80\x80\x00"))

    assert pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1
    with pytest.raises(DataError, match=r"it has 9,000,\d\d\d bytes of text, expected at most 8,000,000"):
        read_bounded(path, Most(rows=10_000, text=8_000_000))


def number(value: int) -> bytes:
    """A positive number as Parquet's directory has it."""
    rest, found = value << 1, b""
    while rest > 127:
        rest, found = rest >> 7, found + bytes([rest & 127 | 128])
    return found + bytes([rest])


def test_a_page_that_is_too_large_for_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader makes room for a page at once: for records, Spark would."""
    path = tmp_path / "run/deliveries/000-00000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"stream": pa.array(range(100_000), pa.int32())}), path, compression="zstd")
    monkeypatch.setattr(pages, "MOST_PAGE", 100_000)

    with pytest.raises(DataError, match=r"000-00000.parquet: a page has \d\d\d,\d\d\d bytes, expected at most 100,000"):
        local_bounds(tmp_path / "run")


def test_a_directory_that_is_too_large_for_memory_is_refused(tmp_path: Path) -> None:
    """A file of holes takes no place on the disk, and its directory would be read as a whole."""
    path = tmp_path / "holes.parquet"
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write((1 << 30).to_bytes(4, "little") + b"PAR1")

    with pytest.raises(DataError, match="directory has 1,073,741,824 bytes, expected at most"):
        read_bounded(path, Most(rows=1, text=1))


@given(place=st.integers(0, 400), found=st.binary(min_size=1, max_size=40))
def test_pages_of_any_bytes_are_sizes_or_a_problem(place: int, found: bytes) -> None:
    """Nothing else is raised, and looking at them ends."""
    file = BytesIO()
    pq.write_table(pa.table({"a": ["x", "y", None] * 50, "b": range(150)}), file)
    directory = pages.read_directory(file)
    file.seek(place)
    file.write(found)

    with suppress(DataError):
        pages.contents(file, directory)


def test_rows_without_what_they_are_put_in_order_by_are_refused(tmp_path: Path) -> None:
    """A report sorts intervals by their second."""
    make_campaign(tmp_path / "c", [FakeRun()])
    path = next((tmp_path / "c" / "results" / "intervals").glob("*/*.parquet"))
    schema = TABLES["intervals"]
    pq.write_table(pa.Table.from_arrays([pa.nulls(2, each.type) for each in schema], schema.names), path)

    report = build_report([tmp_path / "c"])

    assert ["has rows without second" in problem.message for problem in report.problems] == [True]


def test_a_lock_that_is_a_pipe_or_a_link_is_refused(tmp_path: Path) -> None:
    """What a link leads to stays as it is."""
    (tmp_path / "precious").write_text("kept")
    for number, make in enumerate((os.mkfifo, lambda path: path.symlink_to(tmp_path / "precious"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder / ".lock")
        with pytest.raises(ConfigError, match="not a regular file"), locked(folder):
            pass
    assert "kept" == (tmp_path / "precious").read_text()


def test_a_note_that_is_a_pipe_or_not_text_is_no_note(tmp_path: Path) -> None:
    """The other runs are still there."""
    notes = tmp_path / "results" / "analysed"
    notes.mkdir(parents=True)
    (notes / "001.json").write_text(Analysed("001", RESULTS_VERSION, "x").as_json())
    (notes / "002.json").write_bytes(b'{"run": "\xff"}')

    assert ("001",) == ResultTables.open(tmp_path).runs
    os.mkfifo(notes / "003.json")
    with pytest.raises(DataError, match="not a regular file"):
        ResultTables.open(tmp_path)
