"""A bed of one host, with Spark in local mode: the same run as without a bed, a little later."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from telemark.store.documents.run import RunFile
from tests.support.bed import PROGRAM
from tests.support.integrity import count

pytestmark = [pytest.mark.spark, pytest.mark.live, pytest.mark.alone, pytest.mark.timeout(300)]

MORE_S = 10.0  # on a machine that has nothing else to do
BED = """
spark = "local[1]"
runner = "127.0.0.1"
scratch = "{folder}/scratch"
[[hosts]]
host = "this"
address = "127.0.0.1"
roles = ["server", "publishers", "subscribers", "consumers"]
"""
LOAD = ("load", "--server", "loopback", "--publishers", "10", "--rate", "500", "--duration", "2", "--no-analyze")


def test_it_costs_seconds_and_its_figures_agree(tmp_path: Path) -> None:
    """As many messages were sent, and none was lost; the bed's own time is that of Spark and its agent."""
    bed = tmp_path / "bed.toml"
    bed.write_text(BED.format(folder=tmp_path))
    took, counted = [], []
    for name, more in (("without", ()), ("with", ("--bed", str(bed)))):
        begun = time.monotonic()
        command = [sys.executable, "-c", PROGRAM, *LOAD, *more, "--out", str(tmp_path), "--campaign", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        took.append(time.monotonic() - begun)
        assert done.returncode == 0, done.stderr
        (folder,) = [path.parent for path in (tmp_path / name).glob("*/run.json")]
        assert RunFile.read(folder).state == "complete"
        counted.append(count(folder))

    assert [each.sent for each in counted] == [counted[0].sent] * 2
    assert [(each.lost, each.duplicate) for each in counted] == [(0, 0)] * 2
    assert took[1] - took[0] < MORE_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert not list((tmp_path / "scratch").glob("*"))
