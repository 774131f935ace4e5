"""From Enter to the printed card of `telemark load --duration 5`, beyond the load itself: warm-up and measured seconds.

1,000 publishers to 1 subscriber at 20,000 messages a second on the built-in server, which the command starts, too. The
median of three counts; a run before them leaves Java's class archive, as the first of every installation does.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import report

from telemark.pipeline.spark.class_archive import java_options
from telemark.pipeline.spark.session import need_java

RATE, WARMUP_S, DURATION_S, TURNS = 20_000, 1.0, 5.0, 3
LIMIT_S = 5.0
ARCHIVE_S = 120.0


def load(folder: Path) -> float:
    """Seconds of the command; stops when there is no card."""
    options = {"publishers": 1000, "rate": RATE, "warmup": WARMUP_S, "duration": DURATION_S, "payload": 32}
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    program = [sys.executable, "-c", "from telemark.cli.main import main; main()"]
    command = [*program, "load", "--server", "loopback", "--out", str(folder), *given]
    begin = time.monotonic()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - begin
    if ended.returncode not in (0, 1, 8) or "99P" not in ended.stdout:  # passed, failed, no verdict: a card each time
        sys.exit(f"telemark load ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
    return elapsed


def wait_for_archive() -> None:
    """Java writes the archive after the command has ended."""
    end = time.monotonic() + ARCHIVE_S
    while "SharedArchiveFile" not in java_options(need_java(), launcher=False):
        if time.monotonic() > end:
            sys.exit(f"Java's class archive was not complete after {ARCHIVE_S} s")
        time.sleep(0.5)


def main() -> None:
    """Several times, each from nothing."""
    with tempfile.TemporaryDirectory(prefix="telemark-result-") as folder:
        load(Path(folder) / "first")
        wait_for_archive()
        turns = [load(Path(folder) / str(turn)) for turn in range(TURNS)]
    value = statistics.median(turns) - WARMUP_S - DURATION_S
    report(
        "time_to_result",
        value,
        LIMIT_S,
        value <= LIMIT_S,
        unit="s beyond the load",
        seconds=[round(elapsed, 2) for elapsed in turns],
    )


if __name__ == "__main__":
    main()
