"""The process of the built-in server: `python -m telemark.servers.loopback_process CONFIG.json`.

It says its ports as one JSON line on stdout when it is ready, and ends in order on SIGINT and SIGTERM. Kept apart
from the adapter so that the process imports next to nothing: its memory is measured like any server's.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from telemark._native import EngineFailure, Loopback, PlanProblem
from telemark.errors import ConfigError, ExitCode, ServerError

CHECK_S = 1.0  # how often to look whether the native threads still live; signals interrupt the waiting


def serve(config: Mapping[str, Any]) -> None:
    """Run the server until a signal asks for its end. Raises ConfigError or ServerError."""
    ending = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        ending.set()

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server, ports = _start(config)
        try:
            print(json.dumps({"ports": ports}), flush=True)
            _wait(server, ending)
        finally:
            server.stop()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(config: Mapping[str, Any]) -> tuple[Loopback, dict[str, int]]:
    try:
        server = Loopback(json.dumps(config))
    except PlanProblem as error:
        problems = tuple(str(error).split("; "))
        raise ConfigError("the built-in server's configuration cannot be used", problems=problems) from error
    try:
        return server, dict(server.start())
    except OSError as error:
        raise ServerError(f"the built-in server does not start: {error}", hint="choose another port") from error


def _wait(server: Loopback, ending: threading.Event) -> None:
    while not ending.wait(CHECK_S):
        try:
            if server.wait(0):
                return
        except EngineFailure as error:
            raise ServerError(f"the built-in server died: {error}") from error


def main() -> int:
    """Entry point of the process."""
    try:
        serve(json.loads(Path(sys.argv[1]).read_text()))
    except (ConfigError, ServerError) as error:
        problems = error.problems if isinstance(error, ConfigError) else ()
        print("error:", "; ".join((error.message, *problems)), file=sys.stderr)
        return int(error.exit_code)
    return int(ExitCode.PASSED)


if __name__ == "__main__":
    sys.exit(main())
