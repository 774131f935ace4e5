"""Where a bed's campaign is analysed: on its Spark only when every host reads what the runner writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from telemark import pipeline
from telemark.bed.bed import Bed
from telemark.bed.bed_file import BedFile, BedHost
from telemark.bed.shared_folder import peek
from telemark.campaigns import analysis_place
from telemark.campaigns.analysis_place import AnalysisPlace, analyze_campaign, choose_place
from telemark.errors import HostLostError

SPARK = "spark://10.0.0.9:7077"


def gone(path: str) -> bytes:
    raise HostLostError("host b closed its line")


def bed(reads: dict[str, Callable[[str], bytes]], spark: str = SPARK) -> Bed:
    """A bed whose hosts answer with what they read at a path."""

    def line(read: Callable[[str], bytes]) -> Any:
        return SimpleNamespace(ask=lambda order, timeout_s: ({}, read(order["path"])))

    file = BedFile(Path("bed.toml"), spark, "10.0.0.9", tuple(BedHost(name, ("publishers",)) for name in reads))
    return cast("Bed", SimpleNamespace(file=file, lines={name: line(read) for name, read in reads.items()}))


def test_hosts_that_share_the_folder_analyse_it(tmp_path: Path) -> None:
    """Both gave the token back; nothing of it is left."""
    chosen = bed({"a": peek, "b": peek})
    assert choose_place(chosen, tmp_path) == AnalysisPlace(chosen.file, f"all hosts of the bed can read {tmp_path}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [lambda _: b"", lambda _: b"0" * 32, gone], ids=["no file", "another file", "lost"])
def test_one_host_that_does_not_share_it_is_named(read: Callable[[str], bytes], tmp_path: Path) -> None:
    """A folder of the same name on a disk of its own is not the runner's."""
    assert choose_place(bed({"a": peek, "b": read}), tmp_path) == AnalysisPlace(None, f"b cannot read {tmp_path}")


def test_a_bed_on_this_host_is_analysed_as_without_a_bed(tmp_path: Path) -> None:
    """Spark in local mode: its hosts are this one."""
    assert choose_place(bed({"a": peek}, "local[2]"), tmp_path).bed is None


def test_a_folder_that_cannot_be_written_is_analysed_here(tmp_path: Path) -> None:
    """Nothing can be shown about who reads it."""
    place = choose_place(bed({"a": peek}), tmp_path / "gone")
    assert place == AnalysisPlace(None, f"{tmp_path / 'gone'}: No such file or directory")


@pytest.mark.parametrize(("failure", "here"), [(None, 0), ("spark://x gave no executor in 1 s", 1)])
def test_what_the_beds_spark_cannot_do_is_done_here(
    failure: str | None, here: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each place is told in one line with its reason."""
    analysed: list[object] = []
    said: list[str] = []
    monkeypatch.setattr(pipeline, "analyze", analysed.append)
    monkeypatch.setattr(analysis_place, "_analyze_on_bed", lambda folder, bed: failure)
    analyze_campaign(tmp_path, AnalysisPlace(bed({"a": peek}).file, "all can read it"), said.append)

    assert said[0] == f"analyzing on {SPARK}: all can read it"
    assert said[1:] == [f"analyzing on this host: {failure}"] * here
    assert analysed == [[tmp_path]] * here


@pytest.mark.parametrize(
    ("hosts", "problem"),
    [
        ({"a", "b"}, None),
        ({"a"}, None),
        ({"a", "z"}, f"{SPARK} has executors on z, outside of the bed"),
        (set(), f"{SPARK} gave no executor in 0 s"),
    ],
)
def test_only_executors_on_hosts_that_were_asked_are_used(
    hosts: set[str], problem: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large cluster may give others, which cannot read the folder; a full one gives none."""
    monkeypatch.setattr(analysis_place, "executor_hosts", lambda context, runner: hosts)
    file = BedFile(Path("b"), SPARK, "r", (BedHost("a", ()), BedHost("b", ())), wait=0.0)
    assert analysis_place._unfit(None, file) == problem
