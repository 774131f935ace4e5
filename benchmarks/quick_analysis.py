"""From the command to the score card for a quick run of 100,000 messages, and what a second run adds.

`telemark analyze` and then `telemark report` on a campaign with one run and on one with two, in turns; medians are
compared. Prints two JSON lines.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic_run import Wanted, make

TURNS = 3
LIMIT_S, SECOND_RUN_LIMIT_S = 5.0, 1.0
QUICK = Wanted(messages=100_000, rate=10_000, streams=100, lost=12, duplicate=7, reordered=5, processes=1)


def seconds(campaign: Path) -> float:
    """Time of analysis and score card, from nothing."""
    shutil.rmtree(campaign / "results", ignore_errors=True)
    begin = time.monotonic()
    for command in (["analyze", "--master", "local[2]", str(campaign)], ["report", str(campaign)]):
        program = [sys.executable, "-c", "from telemark.cli.main import main; main()", *command]
        ended = subprocess.run(program, capture_output=True, text=True, check=False)
        if ended.returncode not in (0, 1, 8):  # passed, failed, no verdict: the score card was printed
            sys.exit(f"telemark {command[0]} ended with {ended.returncode}: {ended.stderr}")
    return time.monotonic() - begin


def line(name: str, value: float, limit: float) -> bool:
    """Print one result."""
    print(json.dumps({"name": name, "value": round(value, 2), "limit": limit, "holds": value <= limit, "unit": "s"}))
    return value <= limit


def main() -> None:
    """Take turns."""
    with tempfile.TemporaryDirectory(prefix="telemark-quick-") as folder:
        one, two = Path(folder) / "one", Path(folder) / "two"
        make(one / "001", QUICK)
        make(two / "001", QUICK)
        make(two / "002", QUICK)
        alone, both = [], []
        for _ in range(TURNS):
            alone.append(seconds(one))
            both.append(seconds(two))
    first = statistics.median(alone)
    held = line("quick_analysis", first, LIMIT_S)
    held &= line("quick_analysis_second_run", statistics.median(both) - first, SECOND_RUN_LIMIT_S)
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
