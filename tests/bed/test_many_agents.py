"""The runner keeps up with many host agents."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.machines import CHECKOUT

pytestmark = pytest.mark.timeout(300)


def test_fifty_agents_start_together_and_one_that_is_lost_is_noticed() -> None:
    """`benchmarks/thousand_agents.py` in small. Ages of status depend on what else the machine does."""
    script = str(CHECKOUT / "benchmarks" / "thousand_agents.py")
    done = subprocess.run(
        [sys.executable, script, "--agents", "50", "--seconds", "2"], capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr[-3000:]
    found = json.loads(done.stdout)

    assert found["start_off_ms"] <= 10
    assert found["start_spare_s"] >= 0
    assert found["lost_noticed_s"] <= 10
