"""One engine process: `python -m telemark.runner.engine_process`.

It knows nothing but what comes on its standard input: first one line with its slice of the plan and the run folder,
then control lines. It tells its state on standard output, one JSON object a line, and leaves its records as Parquet
files. It shares nothing else with the runner, so it can be placed on any host that sees the run folder.

It ends in order (devices disconnected, records closed) when told to finish, when its input ends because the runner
has gone, and on SIGTERM or SIGINT.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from telemark._native import Engine, EngineFailure, PlanProblem, monotonic_ns
from telemark.errors import ConfigError, TelemarkError
from telemark.host.secrets import read_secret
from telemark.runner.recording import Recorder

STATUS_EVERY_S = 0.25
RELAY_EVERY_S = 0.002  # closed loop over several processes: received messages are told at once
WATCH_EVERY_S = 0.005  # loads with a limit: the rate is over the time they took, which must be known well

Say = Callable[[Mapping[str, Any]], None]


def main() -> int:
    """Read the request, play the devices, end. Exit status 0: finished in order."""
    say = speaker(sys.stdout)
    try:
        request = json.loads(sys.stdin.readline() or "null")
        if not isinstance(request, dict):
            raise ConfigError("engine process: expected a line with plan and folder on standard input")
        prepare_process(request.get("cpus") or ())
        plan = request["plan"]
        engine = Engine(json.dumps(plan), read_secrets(plan["groups"]))
        recorder = Recorder(engine, Path(request["folder"]), int(plan["process"]), say)
        return EngineProcess(plan, engine, recorder, say).run(sys.stdin)
    except PlanProblem as problem:
        say({"is": "failed", "kind": "plan", "message": str(problem)})
    except TelemarkError as error:
        say({"is": "failed", "kind": type(error).__name__, "message": error.message, "hint": error.hint})
    except EngineFailure as failure:
        say({"is": "failed", "kind": "engine", "message": str(failure)})
    return 1


class EngineProcess:
    """The three loops of an engine process: control lines in, records to files, status out."""

    def __init__(self, plan: Mapping[str, Any], engine: Engine, recorder: Recorder, say: Say) -> None:
        self._relay = bool(plan.get("relay_credits"))
        self._limit: int | None = plan.get("load", {}).get("limit")
        self._stopped_ns: int | None = None
        self._engine = engine
        self._recorder = recorder
        self._say = say
        self._end = threading.Event()  # finish in order, for whatever reason
        self._relayed = 0
        self._told_ready = False

    def run(self, control: TextIO) -> int:
        """Play until told to finish; 0 when everything recorded is on disk."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._end.set())
        self._recorder.start()
        self._engine.connect()
        threading.Thread(target=self._obey, args=(control,), name="control", daemon=True).start()
        self._report_until_end()
        return self._finish()

    def _report_until_end(self) -> None:
        due = 0.0
        pause = RELAY_EVERY_S if self._relay else WATCH_EVERY_S if self._limit is not None else STATUS_EVERY_S
        while not self._end.is_set() and self._recorder.failure is None:
            self._relay_credits()
            self._watch_limit()
            due -= pause
            if due <= 0:
                due = STATUS_EVERY_S
                self._report()
            self._end.wait(pause)

    def _report(self) -> None:
        status = self._engine.status()
        count, p50_us, p99_us = self._engine.latency_last_second()
        more: dict[str, float | None] = dict(self._recorder.engine_health)
        if self._limit is not None:
            more["stopped_ns"] = self._stopped_ns
        self._say({"is": "status", **status, "latency_count": count, "p50_us": p50_us, "p99_us": p99_us, **more})
        if not self._told_ready and status["ready"] + status["failed"] >= status["devices"]:
            self._told_ready = True
            self._say({"is": "ready"})

    def _relay_credits(self) -> None:
        if not self._relay:
            return
        received = int(self._engine.status()["received_for_credit"])
        if received > self._relayed:
            self._say({"is": "received", "messages": received - self._relayed})
            self._relayed = received

    def _watch_limit(self) -> None:
        """Tell at once when everything was sent. What was dropped is not sent again, so it counts as done."""
        if self._limit is None or self._stopped_ns is not None:
            return
        status = self._engine.status()
        if status["sent"] + status["dropped"] >= self._limit:
            self._stopped_ns = monotonic_ns()
            self._report()

    def _obey(self, control: TextIO) -> None:
        """Control lines until the input ends, which means that the runner has gone."""
        try:
            for line in control:
                self._do(json.loads(line))
        except (ValueError, KeyError, EngineFailure) as error:
            self._say({"is": "failed", "kind": "engine", "message": f"control line: {error}"})
        self._end.set()

    def _do(self, order: Mapping[str, Any]) -> None:
        match order["do"]:
            case "begin":
                self._engine.begin(int(order["start_ns"]))
            case "set_rate":
                self._set_rate(float(order["rate"]), int(order["at_ns"]))
            case "credit":
                self._engine.credit(int(order["messages"]))
            case "halt":
                self._engine.halt()
            case "finish":
                self._end.set()

    def _set_rate(self, rate: float, at_ns: int) -> None:
        """The runner hears how late the order came: what was due before cannot be changed any more."""
        self._say({"is": "rate", "late_ns": self._engine.set_rate(rate, at_ns) - at_ns})

    def _finish(self) -> int:
        with suppress(EngineFailure):  # it is met again, and told, by the recorder
            self._engine.halt()
            self._engine.finish()
        failure = self._recorder.finish()
        with suppress(EngineFailure):
            self._report()
        if failure is None:
            self._say({"is": "finished"})
            return 0
        hint = failure.hint if isinstance(failure, TelemarkError) else None
        self._say({"is": "failed", "kind": type(failure).__name__, "message": str(failure), "hint": hint})
        return 1


def speaker(output: TextIO) -> Say:
    """A function that writes one JSON line at a time; lines of several threads do not mix."""
    lock = threading.Lock()

    def say(message: Mapping[str, Any]) -> None:
        # A runner that has gone cannot listen; its end of our input says so more clearly.
        with lock, suppress(BrokenPipeError):
            output.write(json.dumps(message) + "\n")
            output.flush()

    return say


def prepare_process(cpus: tuple[int, ...] | list[int]) -> None:
    """Allow as many open files as the hard limit does, and stay on the CPUs given. Threads made later inherit both."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if cpus:
        os.sched_setaffinity(0, cpus)


def read_secrets(groups: list[dict[str, Any]]) -> dict[str, str]:
    """Passwords by group name, from where the plan says they are."""
    return {
        group["name"]: read_secret(secret.get("env"), secret.get("file"), f"group {group['name']}: password")
        for group in groups
        if (secret := group.get("password"))
    }


if __name__ == "__main__":
    status = main()
    # Not sys.exit: the control thread may sit in a read of standard input, whose lock the interpreter wants at its end.
    sys.stderr.flush()
    os._exit(status)
