"""One JVM with the consumer program in it, spoken to in JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from telemark.errors import ConsumerError
from telemark.servers.java import require_java

MAIN = "telemark.jms.Main"
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
HINTS = {
    "config": "see the field named in the message",
    "jar": "give the provider's client jars with the server option jms_classpath, or correct the provider file",
    "connect": "is the server up, is this its JMS port, and are the credentials right?",
    "subscribe": "choose another subscription type or another server",
    "receive": "the server's log, kept in the run folder, may say why",
    "record": "is the disk full?",
}


class ConsumerJvm:
    """Starts the program, keeps its latest lines, ends it without leftovers.

    Args:
        jars: the consumer program, whose manifest names the packaged libraries, and others, as Java's -cp takes them.
        settings: its first line of input (see Settings.java); no secret is part of it.
        log: file that receives what the JVM prints to standard error.
        heap_mb: largest Java heap.
        password: put into the environment under `PASSWORD_VARIABLE`, where settings' `password_env` points.
    """

    PASSWORD_VARIABLE = "TELEMARK_JMS_PASSWORD"

    def __init__(
        self, jars: str, settings: Mapping[str, Any], log: Path, *, heap_mb: int = 1024, password: str | None = None
    ) -> None:
        self._jars = jars
        self._latest: dict[str, dict[str, Any]] = {}
        self._arrived = threading.Condition()
        self._expected_end = False
        environment = dict(os.environ) | ({self.PASSWORD_VARIABLE: password} if password is not None else {})
        command = [require_java(17, "JMS consumers"), f"-Xmx{heap_mb}m", "-XX:+UseParallelGC", "-cp", jars, MAIN]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the runner, which stops us in order
            )
        self._log = log
        self._listener = threading.Thread(target=self._listen, daemon=True, name="jms-consumer-lines")
        self._listener.start()
        self._send(settings)

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._process.pid

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with suppress(json.JSONDecodeError):
                    message = json.loads(line)
                    with self._arrived:
                        self._latest[message["is"]] = message
                        self._arrived.notify_all()
        self._process.wait()
        with self._arrived:
            self._arrived.notify_all()

    def _send(self, line: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # its death is noticed by whoever waits for the answer
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()

    def _wait_for(self, what: str, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        with self._arrived:
            while what not in self._latest:
                if failure := self._failure():
                    raise failure
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ConsumerError(f"the JMS consumer did not get {what} within {timeout_s:.0f} s{self._tail()}")
                self._arrived.wait(min(left, 0.5))
            return self._latest.pop(what)

    def _failure(self) -> ConsumerError | None:
        if failed := self._latest.get("failed"):
            return ConsumerError(f"JMS consumer: {failed['message']}", hint=HINTS.get(failed["kind"]))
        code = self._process.poll()
        if code is not None and not self._expected_end:
            return ConsumerError(f"the JMS consumer's JVM ({self._jars}) ended with {_ending(code)}{self._tail()}")
        return None

    def failure(self) -> ConsumerError | None:
        """Why it has ended or cannot go on; None while all is well."""
        with self._arrived:
            return self._failure()

    def _tail(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()[-8:] if self._log.exists() else []
        return "; it printed:\n" + "\n".join(lines) if lines else ""

    def wait_ready(self) -> int:
        """Number of consumers, once all are subscribed."""
        return int(self._wait_for("ready", READY_TIMEOUT_S)["consumers"])

    def check_clock(self) -> None:
        """The JVM's nanoTime must be the engine's clock: latencies from MQTT to JMS rest on it."""
        before = time.monotonic_ns()
        self._send({"do": "clock"})
        reading = int(self._wait_for("clock", READY_TIMEOUT_S)["ns"])
        after = time.monotonic_ns()
        if not before <= reading <= after:
            raise ConsumerError(
                f"the JVM's clock reads {reading}, not within CLOCK_MONOTONIC's {before}..{after}",
                hint="use a JVM whose System.nanoTime() is CLOCK_MONOTONIC (OpenJDK on Linux)",
            )

    def go(self) -> None:
        """Let messages flow."""
        self._send({"do": "start"})

    def counters(self) -> Mapping[str, Any]:
        """Its latest report, at most about a second old; empty before the first."""
        with self._arrived:
            return self._latest.get("stopped") or self._latest.get("counters") or {}

    def kill(self) -> None:
        """kill -9, as a crash would."""
        self._process.kill()
        self._process.wait()

    def stop(self, *, unsubscribe: bool) -> None:
        """Ask it to end, wait, then use force. Safe to call twice and after a failure."""
        if self._process.poll() is None:
            self._expected_end = True
            self._send({"do": "stop", "unsubscribe": unsubscribe})
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._listener.join(STOP_TIMEOUT_S)


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
