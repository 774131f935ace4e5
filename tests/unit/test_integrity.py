"""Record files against the digests in run.json."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemark.cli.main import main
from telemark.store.documents.run import RunFile
from telemark.store.integrity import check, digests
from tests.support.run_builder import facts, random_run, write


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A closed run."""
    folder = write(tmp_path / "c" / "001", random_run(2))
    facts(folder, files=digests(folder)).write(folder)
    return folder


def test_a_run_as_it_was_written_passes(run: Path) -> None:
    """Every record file is listed."""
    found = RunFile.read(run)

    assert {str(path.relative_to(run)) for path in run.glob("*/*.parquet")} == set(found.files or {})
    assert check(run, found) is None


@pytest.mark.parametrize("damage", ["changed", "shortened", "missing", "added", "linked"])
def test_every_difference_is_named(run: Path, damage: str) -> None:
    """With the file and what is wrong with it."""
    path = sorted(run.glob("*/*.parquet"))[0]
    content = path.read_bytes()
    if damage == "changed":
        path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    elif damage == "shortened":
        path.write_bytes(content[:-1])
    elif damage == "added":
        path.with_name("777-00000.parquet").write_bytes(content)
    else:
        path.unlink()
        if damage == "linked":
            path.symlink_to(run / "run.json")
    problem = check(run, RunFile.read(run))

    words = {"shortened": "bytes", "missing": "is missing", "added": "777-00000.parquet was added"}
    assert problem is not None
    assert words.get(damage, "was changed" if damage == "changed" else "not a regular file") in problem.message


def test_verify_names_what_is_damaged_and_ends_with_7(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run has its line."""
    write(run.with_name("002"), random_run(3))
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["verify", str(run.parent)])
    printed = capsys.readouterr().out
    assert f"intact, {len(digests(run))} files: 001" in printed
    assert "no digests were recorded: 002" in printed

    next(run.glob("*/*.parquet")).unlink()
    with pytest.raises(SystemExit, match=r"^7$"):
        main(["verify", str(run.parent)])
    assert "is missing" in capsys.readouterr().err


def test_a_run_without_digests_cannot_be_checked(tmp_path: Path) -> None:
    """Those of the first format, and those whose runner was killed."""
    folder = write(tmp_path / "c" / "001", random_run(2))

    assert check(folder, RunFile.read(folder)) is None
