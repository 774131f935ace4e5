"""The telemark program as a child process, watched through its JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from tests.support.waiting import PATIENCE_S, PROMPT_S, eventually

SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = "import sys; from telemark.cli.main import main; main(sys.argv[1:])"


class TelemarkProgram:
    """`telemark ARGUMENTS --json-progress`; ended with all its children whatever the test did."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": str(SOURCE)} | dict(environment or {})
        self.child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments, "--json-progress"],
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
        return [process for process in self.family.values() if words in _command_line(process)]

    def wait(self, timeout_s: float = 2 * PATIENCE_S) -> int:
        """Exit code; everything it still says is kept."""
        output, self.errors = self.child.communicate(timeout=timeout_s)
        self.lines += [json.loads(text) for text in output.splitlines()]
        return self.child.returncode

    def ended(self) -> dict[str, Any]:
        """The `ended` line of the last run."""
        return [line for line in self.lines if line["is"] == "ended"][-1]

    def survivors(self, patience_s: float = PROMPT_S) -> list[psutil.Process]:
        """Remembered processes that still run after a while."""
        eventually(lambda: not any(map(runs, self.family.values())), patience_s)
        return [each for each in self.family.values() if runs(each)]


def _command_line(process: psutil.Process) -> str:
    """Empty when it has ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # zombies are a kind of it
        return ""


def runs(process: psutil.Process) -> bool:
    """Whether it is there and no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
