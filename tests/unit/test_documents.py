"""The one reader of documents: any bytes give a value or a problem, never an exception."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.store.atomic import write_atomically
from telemark.store.documents.analysed import Analysed
from telemark.store.documents.calibration import Calibration
from telemark.store.documents.campaign import CampaignFile
from telemark.store.documents.live import LiveFile
from telemark.store.documents.reading import LARGEST_BYTES, Problem, decode, read_bytes
from telemark.store.documents.run import RunFile, parse_run
from telemark.store.documents.search import SearchRecord

DATA = Path(__file__).parents[1] / "data" / "format-1"
RUN = json.loads(next(DATA.glob("load-loopback/*/run.json")).read_text())
Decode = Callable[[bytes], Any]
FIGURE = {"kind": "ceiling", "shape": "paced", "qos": 0, "security": "none", "payload": 32, "rate": 1.5}
# name -> (reader, an example of such a document)
KINDS: dict[str, tuple[Decode, Any]] = {
    "run": (lambda data: parse_run(data, "run.json"), RUN),
    "campaign": (
        lambda data: decode(data, CampaignFile, "campaign.json"),
        json.loads((DATA / "load-loopback" / "campaign.json").read_text()),
    ),
    "search": (
        lambda data: decode(data, tuple[SearchRecord, ...], "search.json"),
        json.loads((DATA / "search-loopback" / "search.json").read_text()),
    ),
    "calibration": (
        lambda data: decode(data, Calibration, "calibration.json"),
        {"telemark_version": "1", "fingerprint": "f", "host": "h", "made_at": "now", "figures": [FIGURE], "format": 1},
    ),
    "live": (
        lambda data: decode(data, LiveFile, "live.json"),
        {"run": "r", "server": "s", "point": "", "number": 1, "of": 2, "totals": {"sent": 1}, "samples": [[1, "x"]]},
    ),
    "note": (
        lambda data: decode(data, Analysed, "note"),
        {"run": "r", "version": 1, "source": "f", "problem": None},
    ),
}
VALUES: dict[str, type] = {
    "run": RunFile, "campaign": CampaignFile, "search": tuple, "calibration": Calibration, "live": LiveFile,
    "note": Analysed,
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be put into a document."""
    found = [path]
    if isinstance(document, dict):
        found += [each for key, value in document.items() for each in places(value, (*path, key))]
    if isinstance(document, list):
        found += [each for place, value in enumerate(document) for each in places(value, (*path, place))]
    return found


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of the document with another value in one place."""
    if not path:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[path[0]] = with_value(copy[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("kind", KINDS)
def test_an_example_of_each_kind_is_understood(kind: str) -> None:
    """Otherwise the tests below would prove nothing."""
    read, example = KINDS[kind]

    assert isinstance(read(json.dumps(example).encode()), VALUES[kind])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_problem(kind: str, data: bytes) -> None:
    """Folders come from strangers."""
    assert isinstance(KINDS[kind][0](data), (VALUES[kind], Problem))


@pytest.mark.parametrize("kind", KINDS)
@given(value=JSON)
def test_any_json_gives_a_value_or_a_problem(kind: str, value: Any) -> None:
    """Well formed is not enough."""
    assert isinstance(KINDS[kind][0](json.dumps(value).encode("utf-8", "surrogatepass")), (VALUES[kind], Problem))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_value_in_any_place_gives_a_value_or_a_problem(kind: str, data: st.DataObject) -> None:
    """The example with something else in one place of it."""
    read, example = KINDS[kind]
    path = data.draw(st.sampled_from(places(example)))
    changed = with_value(example, path, data.draw(JSON))

    assert isinstance(read(json.dumps(changed).encode("utf-8", "surrogatepass")), (VALUES[kind], Problem))


DEEP = "[" * 100_000 + "]" * 100_000
NASTY: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "load is text": ("run", ("plan", "load"), '"x"'),
    "memory is text": ("run", ("host", "memory_bytes"), '"x"'),
    "start is text": ("run", ("start_ns",), '"x"'),
    "phase with one time": ("run", ("phases", "measure"), "[1]"),
    "phase from infinity": ("run", ("phases", "measure"), "[Infinity, 2]"),
    "phase of centuries": ("run", ("phases", "measure"), "[0, 9000000000000000000]"),
    "phase that ends before it begins": ("run", ("phases", "measure"), "[2, 1]"),
    "clock without hosts": ("run", ("clock", "hosts"), "5"),
    "half a character": ("run", ("suite",), '"\\ud800"'),
    "half a character in a name": ("run", ("parameters",), '{"\\ud800": 1}'),
    "deep": ("run", ("parameters",), DEEP),
    "deep enough for those who read on": ("run", ("parameters",), "[" * 500 + "]" * 500),
    "repeat is infinity": ("run", ("repeat",), "Infinity"),
    "repeat beyond 64 bits": ("run", ("repeat",), "1" + "0" * 5000),
    "repeat is true": ("run", ("repeat",), "true"),
    "rate is text": ("run", ("plan", "load", "rate"), '"x"'),
    "shape is a number": ("run", ("plan", "load", "shape"), "7"),
    "groups are numbers": ("run", ("plan", "groups"), "[1, 2]"),
    "digests are text": ("run", ("files",), '{"a": "b"}'),
    "version is too large": ("note", ("version",), "1e999"),
    "median is text": ("search", (0, "summary", "median"), '"x"'),
    "state is a number": ("campaign", ("state",), "1"),
    "figure is text": ("calibration", ("figures", 0), '"x"'),
    "samples are a number": ("live", ("samples",), "7"),
}


@pytest.mark.parametrize("name", NASTY)
def test_values_that_once_stopped_a_report_are_problems(name: str) -> None:
    """Each was found by an attack."""
    kind, path, text = NASTY[name]
    read, example = KINDS[kind]
    example = example | {"files": None} if kind == "run" else example
    mark = "put the value here"
    document = json.dumps(with_value(example, path, mark)).replace(json.dumps(mark), text)

    assert isinstance(read(document.encode()), Problem)


def test_bytes_that_are_no_text_are_a_problem() -> None:
    """Also where text is expected to be."""
    found = decode(b'{"run": "\xff", "version": 1, "source": "f"}', Analysed, "note")

    assert isinstance(found, Problem)


def test_only_regular_files_of_reasonable_size_are_read(tmp_path: Path) -> None:
    """A pipe would hang, a device fill the memory, a link lead elsewhere."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)

    assert b"{}" == read_bytes(tmp_path / "real")
    for name, words in (("pipe", "regular"), ("link", "is a link"), ("large", "at most"), ("none", "cannot be read")):
        found = read_bytes(tmp_path / name)
        assert isinstance(found, Problem)
        assert words in found.message
    assert isinstance(read_bytes(Path("/dev/zero")), Problem)
    assert isinstance(read_bytes(tmp_path), Problem)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    """A reader sees one or the other."""
    path = tmp_path / "document.json"
    write_atomically(path, "old")

    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")

    assert ["document.json"] == [each.name for each in tmp_path.iterdir()]
    assert "old" == path.read_text()
