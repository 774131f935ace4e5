"""The barrier stage of a campaign: Spark starts one host agent on every host, all of them together or none.

Spark lives in a process of its own (`stage_process`): the runner has no part of it in its memory, and its own Spark is
free for the analysis while the bed is open.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from telemark.bed.bed_file import BedFile
from telemark.bed.invitation import Invitation
from telemark.bed.stage_process import GRACE_S, StageOrder
from telemark.errors import RequirementError
from telemark.host.java import require_java
from telemark.host.lines import LineProcess

_COMMAND = (sys.executable, "-m", "telemark.bed.stage_process")
_START_S = 24 * 3600.0  # whoever has waited long enough says so itself
END_S = 3 * GRACE_S  # for the agents to end, or be cancelled, and for Spark to be left


class BarrierStage:
    """Runs the agents of a bed until it is ended.

    Args:
        bed: the bed.
        ended: called, from another thread, when the stage has ended for whatever reason.
    """

    def __init__(self, bed: BedFile, ended: Callable[[], None]) -> None:
        require_java(17, "a bed of several hosts")
        self._ended = ended
        self._folder = tempfile.TemporaryDirectory(prefix="telemark-bed-")
        self._process = LineProcess(_COMMAND, Path(self._folder.name) / "spark.log")
        self._thread: threading.Thread | None = None
        self.failure: str | None = None  # why the stage ended, when it failed
        self.running = False
        names = [host.host for host in bed.hosts]
        order = StageOrder(bed.spark, bed.runner, names, dict(bed.settings), bed.python, bed.archive, bed.wait)
        self._process.order(asdict(order))

    def wait_for_hosts(self) -> tuple[list[str], list[str]]:
        """Wait for executors. Returns hosts of the bed that Spark has none on, and all that it has one on.

        Raises:
            RequirementError: Spark cannot be reached or used.
        """
        said = self._process.wait_for("hosts", _START_S)
        if said is None:
            failed = self._process.latest.get("failed", {"message": f"Spark {self._process.last_words(3)}"})
            raise RequirementError(failed["message"], hint=failed.get("hint"))
        return said["missing"], said["seen"]

    def start(self, invitation: Invitation, names: Sequence[str]) -> None:
        """Start the agents of those hosts; returns at once."""
        told = asdict(invitation) | {"secret": invitation.secret.hex()}
        self.running = True
        self._process.order({"invitation": told, "names": list(names)})
        self._thread = threading.Thread(target=self._watch, name="barrier-stage", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        """Read until Spark's process has ended."""
        while not self._process.ended:
            select.select([self._process.output], [], [])
            self._process.read()
            if self.running and (said := self._process.latest.get("ended")):
                self._note_end(said["failure"])
        if self.running:
            self._note_end(f"Spark {self._process.last_words()}")

    def _note_end(self, failure: str | None) -> None:
        self.failure = failure
        self.running = False
        self._ended()

    def end(self) -> None:
        """Wait for agents that were told to end; those that do not are cancelled. Leave Spark."""
        self._process.close_input()
        if self._thread is None:
            self._process.wait_for_end(END_S)
        else:
            self._thread.join(END_S)
        if not self._process.ended:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)  # whoever reads its output sees its end
        if self._thread is not None:
            self._thread.join()
        self._process.kill()
        self._folder.cleanup()
