"""What holds for all tests."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

# The tests start dozens of JVMs (servers, consumers, Spark) that live for seconds. The optimising compiler would still
# be busy when they end: without it they start sooner and need half the processor time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# No test depends on absolute speed, so no example has a deadline of its own; each test has a timeout.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


class ByFileAndBed(LoadFileScheduling):
    """The tests of a file stay with one worker, and so do all tests of the bed: they share its machines."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/bed" if nodeid.startswith("tests/bed/") else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileAndBed | None:
    """Asked when there are several workers."""
    return ByFileAndBed(config, log) if config.getvalue("dist") == "loadfile" else None
