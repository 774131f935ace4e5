"""One JVM with the consumer program in it, spoken to in JSON lines."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from telemark.errors import ConsumerError
from telemark.host.java import require_java
from telemark.host.lines import LineProcess

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
        flags: of the JVM.
        password: put into the environment under `PASSWORD_VARIABLE`, where settings' `password_env` points.
    """

    PASSWORD_VARIABLE = "TELEMARK_JMS_PASSWORD"

    def __init__(
        self, jars: str, settings: Mapping[str, Any], log: Path, *, flags: Sequence[str], password: str | None = None
    ) -> None:
        self._jars = jars
        self._expected_end = False
        command = [require_java(17, "JMS consumers"), *flags, "-cp", jars, MAIN]
        self._lines = LineProcess(command, log, {} if password is None else {self.PASSWORD_VARIABLE: password})
        self._lines.order(settings)

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._lines.pid

    def _wait_for(self, what: str) -> dict[str, Any]:
        message = self._lines.wait_for(what, READY_TIMEOUT_S)
        if message is None:
            late = ConsumerError(f"the JMS consumer did not get {what} within {READY_TIMEOUT_S:.0f} s")
            raise self.failure() or late
        return message

    def failure(self) -> ConsumerError | None:
        """Why it has ended or cannot go on; None while all is well."""
        self._lines.read()
        if failed := self._lines.latest.get("failed"):
            return ConsumerError(f"JMS consumer: {failed['message']}", hint=HINTS.get(failed["kind"]))
        if self._lines.ended and not self._expected_end:
            return ConsumerError(f"the JMS consumer's JVM ({self._jars}) {self._lines.last_words(lines=8)}")
        return None

    def wait_ready(self) -> int:
        """Number of consumers, once all are subscribed."""
        return int(self._wait_for("ready")["consumers"])

    def check_clock(self) -> None:
        """The JVM's nanoTime must be the engine's clock: latencies from MQTT to JMS rest on it."""
        before = time.monotonic_ns()
        self._lines.order({"do": "clock"})
        reading = int(self._wait_for("clock")["ns"])
        after = time.monotonic_ns()
        if not before <= reading <= after:
            raise ConsumerError(
                f"the JVM's clock reads {reading}, not within CLOCK_MONOTONIC's {before}..{after}",
                hint="use a JVM whose System.nanoTime() is CLOCK_MONOTONIC (OpenJDK on Linux)",
            )

    def go(self) -> None:
        """Let messages flow."""
        self._lines.order({"do": "start"})

    def counters(self) -> Mapping[str, Any]:
        """Its latest report, at most about a second old; empty before the first."""
        self._lines.read()
        return self._lines.latest.get("stopped") or self._lines.latest.get("counters") or {}

    def kill(self) -> None:
        """kill -9, as a crash would."""
        self._lines.kill()

    def stop(self, *, unsubscribe: bool) -> None:
        """Ask it to end, wait, then use force. Safe to call twice and after a failure."""
        self._lines.read()
        if not self._lines.ended:
            self._expected_end = True
            self._lines.order({"do": "stop", "unsubscribe": unsubscribe})
            if not self._lines.wait_for_end(STOP_TIMEOUT_S):
                self.kill()
