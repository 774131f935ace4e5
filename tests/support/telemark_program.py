"""The telemark program as a child process, watched through its JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = "import sys; from telemark.cli.main import main; main(sys.argv[1:])"


class TelemarkProgram:
    """`telemark ARGUMENTS --json`; ended with all its children whatever the test did."""

    def __init__(self, *arguments: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(SOURCE)}
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments, "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        self.lines: list[dict[str, Any]] = []
        self.family: dict[int, psutil.Process] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remember_family()
        for process in [*self.family.values(), psutil.Process(self.child.pid)] if self.child.poll() is None else []:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.child.communicate()

    def messages(self) -> Iterator[dict[str, Any]]:
        """JSON lines as they come."""
        assert self.child.stdout is not None
        for text in self.child.stdout:
            self.lines.append(json.loads(text))
            yield self.lines[-1]

    def wait_for_phase(self, phase: str) -> dict[str, Any]:
        """The first progress line of a phase; all children of that moment are remembered."""
        for message in self.messages():
            if message["is"] == "progress" and message["phase"] == phase:
                self.remember_family()
                return message
        raise AssertionError(f"ended before {phase}: {self.child.communicate()[1]}")

    def remember_family(self) -> None:
        """Children and grandchildren that run now."""
        with suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self.child.pid).children(recursive=True):
                self.family[process.pid] = process

    def children_named(self, words: str) -> list[psutil.Process]:
        """Remembered processes whose command line holds the words."""
        return [process for process in self.family.values() if words in " ".join(process.cmdline())]

    def wait(self, timeout_s: float = 30.0) -> int:
        """Exit code; everything it still says is kept."""
        output, self.errors = self.child.communicate(timeout=timeout_s)
        self.lines += [json.loads(text) for text in output.splitlines()]
        return self.child.returncode

    def ended(self) -> dict[str, Any]:
        """The `ended` line of the last run."""
        return [line for line in self.lines if line["is"] == "ended"][-1]

    def survivors(self, patience_s: float = 2.0) -> list[psutil.Process]:
        """Remembered processes that still run a moment later."""
        deadline = time.monotonic() + patience_s
        while (left := [each for each in self.family.values() if runs(each)]) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left


def runs(process: psutil.Process) -> bool:
    """Whether it is there and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
