"""`make bench`: what a newcomer sees first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.requirements import require_program

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from telemark.cli.main import main; main(sys.argv[1:])"


def test_bench_measures_two_servers_and_says_where_the_report_is(tmp_path: Path) -> None:
    """Both on one score card, one HTML file, exit code 0 whatever the verdict."""
    require_program("mosquitto")
    program = tmp_path / "telemark"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{PROGRAM}" "$@"\n')
    program.chmod(0o755)
    smaller = {"DEVICES": "50", "RATE": "500", "DURATION": "1", "OUT": str(tmp_path / "runs")}
    environment = os.environ | smaller | {"TELEMARK": str(program), "PYTHONPATH": str(ROOT / "src")}
    ended = subprocess.run([ROOT / "tools/bench"], env=environment, capture_output=True, text=True, check=False)
    (page,) = (tmp_path / "runs").glob("bench-*/report.html")

    assert ended.returncode == 0, ended.stderr
    assert f"wrote {page}" in ended.stdout + ended.stderr
    for server in ("loopback", "mosquitto"):
        assert server in ended.stdout
        assert server in page.read_text()
