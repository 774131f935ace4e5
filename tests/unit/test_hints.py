"""The hint about a missing calibration: once a day on each host."""

from __future__ import annotations

import os
import time
from pathlib import Path

from telemark.campaigns.hints import AGAIN_AFTER_S, calibration_hint

PROBLEM = "this host is not calibrated"


def test_the_hint_comes_once_a_day_for_each_host(tmp_path: Path) -> None:
    """Another host that shares the home folder gets its own."""
    first, second = calibration_hint(PROBLEM, "a", tmp_path), calibration_hint(PROBLEM, "a", tmp_path)
    other = calibration_hint(PROBLEM, "b", tmp_path)
    yesterday = time.time() - AGAIN_AFTER_S - 1
    os.utime(tmp_path / "hints/calibration-a", (yesterday, yesterday))

    assert first is not None
    assert "telemark calibrate" in first
    assert second is None
    assert other == first
    assert calibration_hint(PROBLEM, "a", tmp_path) == first


def test_a_calibrated_host_gets_no_hint(tmp_path: Path) -> None:
    """Nothing is noted either: the day begins when there is something to say."""
    assert calibration_hint(None, "a", tmp_path) is None
    assert list(tmp_path.iterdir()) == []
