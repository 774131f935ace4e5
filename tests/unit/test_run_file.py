"""run.json: written in one step, read back whole, refused when it is from the future or from nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from telemark.errors import DataError
from telemark.store.documents import run as run_file
from telemark.store.documents.run import RunFile


def example(**changes: object) -> RunFile:
    values: dict[str, object] = {"run": "001-x", "campaign": "c", "phases": {"measure": (10, 2_000_000_010)}}
    return RunFile(**(values | changes))  # type: ignore[arg-type]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """Every field survives, tuples included."""
    written = example(state="complete", thresholds=("lost == 0",), notes=("smaller",), start_ns=10)
    written.write(tmp_path)

    assert written == RunFile.read(tmp_path)
    assert 2.0 == RunFile.read(tmp_path).phase_seconds("measure")
    assert RunFile.read(tmp_path).phase_seconds("drain") is None


def test_writing_leaves_no_other_file_behind(tmp_path: Path) -> None:
    """The new file takes the old one's place."""
    example().write(tmp_path)
    example(state="failed").write(tmp_path)

    assert ["run.json"] == [path.name for path in tmp_path.iterdir()]


def test_a_newer_format_is_refused_with_a_remedy(tmp_path: Path) -> None:
    """Guessing at fields of the future would give wrong numbers."""
    (tmp_path / "run.json").write_text(json.dumps({"format": 99, "run": "x", "campaign": "c", "state": "complete"}))

    with pytest.raises(DataError, match="format 99, this version reads 1 to") as caught:
        RunFile.read(tmp_path)
    assert caught.value.hint is not None


def test_an_older_format_is_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each format has a function to the next one; they are applied in turn."""
    monkeypatch.setattr(run_file, "FORMAT_VERSION", 3)
    steps = {1: lambda d: d | {"scenario": "one"}, 2: lambda d: d | {"scenario": d["scenario"] + " two"}}
    monkeypatch.setattr(run_file, "UPGRADES", steps)

    read = RunFile.parse(json.dumps({"format": 1, "run": "x", "campaign": "c", "state": "complete"}))

    assert "one two" == read.scenario
    assert 3 == read.format


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "object with a whole number"),
        ('{"format": 1}', "run: expected a value"),
        ('{"format": 1, "run": "x", "campaign": "c", "state": "asleep"}', "state: expected one of running"),
        ('{"format": 1, "run": "x", "campaign": "c", "phases": {"measure": ["a", 1]}}', "measure: expected a whole"),
        ('{"format": 1, "run": "x", "campaign": "c", "state": "complete", "phases": 7}', "phases: expected an object"),
    ],
)
def test_a_file_that_is_no_run_file_says_what_is_wrong(text: str, message: str) -> None:
    """Run folders come from strangers: nothing but DataError may come of them."""
    with pytest.raises(DataError, match=message):
        RunFile.parse(text)


def test_fields_nobody_knows_are_passed_over() -> None:
    """A later release may add fields within a format."""
    read = RunFile.parse('{"format": 1, "run": "x", "campaign": "c", "state": "complete", "colour": "red"}')

    assert read.complete
