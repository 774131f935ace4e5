"""What holds for all tests."""

from __future__ import annotations

import os

# The tests start dozens of JVMs (servers, consumers, Spark) that live for seconds. The optimising compiler would still
# be busy when they end: without it they start sooner and need half the processor time.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
