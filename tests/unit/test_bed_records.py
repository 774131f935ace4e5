"""Records of a host come home: only into the run folder, only as the host said they are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from telemark.bed.host_line import HostLine
from telemark.bed.records import bring_home
from telemark.errors import DataError

CONTENT = b"rows"


class Line:
    """A host with one file; it may lie about it."""

    host = "there"

    def __init__(self, path: str, sent: bytes = CONTENT) -> None:
        self.file = {"path": path, "size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}
        self.sent = sent
        self.removed = False

    def ask(self, order: Mapping[str, Any], timeout_s: float = 0.0) -> tuple[dict[str, Any], bytes]:
        self.removed |= order["do"] == "remove"
        return {"files": [self.file]}, self.sent


def bring(line: Line, folder: Path) -> int:
    """As the runner does it."""
    return bring_home(cast("HostLine", line), "001", folder)


def test_a_file_keeps_its_place(tmp_path: Path) -> None:
    """And the host may forget it."""
    line = Line("001/deliveries/000-00000.parquet")

    assert len(CONTENT) == bring(line, tmp_path / "c/001")
    assert CONTENT == (tmp_path / "c/001/deliveries/000-00000.parquet").read_bytes()
    assert line.removed


@pytest.mark.parametrize("path", ["001/../../x", "001/a/../../../x", "/etc/x", "002/x", "001", "", "../001/x"])
def test_a_host_cannot_write_outside_of_the_run_folder(tmp_path: Path, path: str) -> None:
    """Whoever controls a host of the bed controls nothing else here."""
    with pytest.raises(DataError, match="expected a path inside 001"):
        bring(Line(path), tmp_path / "c/001")

    assert [] == [each for each in tmp_path.rglob("*") if each.is_file()]


def test_a_file_that_arrives_changed_is_refused_and_stays_on_the_host(tmp_path: Path) -> None:
    """Half of it, or other bytes."""
    line = Line("001/deliveries/000-00000.parquet", sent=b"else")
    with pytest.raises(DataError, match="arrived other than it was recorded"):
        bring(line, tmp_path / "c/001")

    assert not line.removed
    assert [] == list((tmp_path / "c/001").rglob("*.parquet"))
