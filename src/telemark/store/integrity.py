"""Whether a run's record files are those that were written: their sizes and digests stand in run.json."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from telemark.errors import DataError
from telemark.store.documents.reading import Problem
from telemark.store.documents.run import FilePart, RunFile
from telemark.store.reader import record_files
from telemark.store.schemas import TABLES

_SHOWN = 5


def digests(folder: Path) -> dict[str, FilePart]:
    """Size and digest of every record file of a run folder, by its path in it."""
    return {f"{table}/{path.name}": _digest(path) for table in TABLES for path in record_files(folder, table)}


def check(folder: Path, facts: RunFile) -> Problem | None:
    """Compare the record files with run.json. None: all is as it was written, or nothing is known about it.

    Runs of format 1 and runs that were cut off have no digests.
    """
    if facts.files is None:
        return None
    try:
        wrong = list(_differences(folder, facts.files))
    except (DataError, OSError) as error:
        return Problem(str(error))
    if not wrong:
        return None
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return Problem(
        f"{folder} is not what was recorded: {'; '.join(wrong[:_SHOWN])}{more}",
        hint="copy the run folder again from where it was made",
    )


def _differences(folder: Path, expected: dict[str, FilePart]) -> Iterator[str]:
    found = digests(folder)
    for name in sorted({*expected, *found}):
        if name not in found:
            yield f"{name} is missing"
        elif name not in expected:
            yield f"{name} was added"
        elif found[name]["bytes"] != expected[name]["bytes"]:
            yield f"{name} has {found[name]['bytes']:,} bytes, {expected[name]['bytes']:,} were written"
        elif found[name] != expected[name]:
            yield f"{name} was changed"


def _digest(path: Path) -> FilePart:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
