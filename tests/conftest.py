"""What holds for all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The tests start dozens of JVMs (servers, consumers, Spark) that live for seconds. The optimising compiler would still
# be busy when they end: without it they start sooner and need half the processor time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# No test depends on absolute speed, so no example has a deadline of its own; each test has a timeout.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
