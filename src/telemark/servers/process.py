"""One child process of a server adapter: in a process group of its own, logged to a file, ended without leftovers."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from telemark.errors import RequirementError, ServerError
from telemark.host.guardian import guarded

POLL_S = 0.02


class ServerProcess:
    """A program that is started, watched and ended; it may be started again on the same log.

    Args:
        label: what to call it in messages, for example "mosquitto".
        command: program and arguments; never a secret among them, process lists are public.
        log: file that receives its output; appended to on every start.
        directory: its working directory.
        environment: added to the environment of this process.
        cpus: CPUs it may run on; empty: all.
    """

    def __init__(  # noqa: PLR0913 - a process has that many independent properties
        self,
        label: str,
        command: Sequence[str],
        log: Path,
        *,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
        cpus: Sequence[int] = (),
    ) -> None:
        self.label = label
        self.command = list(command)
        self.log = log
        self._directory = directory or log.parent
        self._environment = dict(environment or {})
        self._cpus = tuple(cpus)
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; returns at once. Raises RequirementError when the program is not there."""
        if self.alive():
            raise ServerError(f"{self.label} is already running as process {self.pid}")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            try:
                self._child = self._spawn(output.fileno())
            except FileNotFoundError as error:
                raise RequirementError(f"{self.label}: the program {self.command[0]} was not found") from error
        _raise_file_limit(self._child.pid)

    def _spawn(self, output: int) -> subprocess.Popen[bytes]:
        """Fork with the CPU set already in force, so that every thread of the child inherits it."""
        own_cpus = os.sched_getaffinity(0)
        if self._cpus:
            try:
                os.sched_setaffinity(0, self._cpus)
            except OSError as error:
                raise RequirementError(
                    f"CPUs {list(self._cpus)} cannot be used; this process may use {sorted(own_cpus)}"
                ) from error
        try:
            return subprocess.Popen(
                self.command,
                cwd=self._directory,
                env=guarded(self._environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,  # see host/lines.py; and the group can be ended whole
            )
        finally:
            if self._cpus:
                os.sched_setaffinity(0, own_cpus)

    @property
    def pid(self) -> int | None:
        """Process id of the child, also after it ended; None before the first start."""
        return self._child.pid if self._child else None

    @property
    def exit_status(self) -> int | None:
        """Exit status, negative for a signal; None while it runs or was never started."""
        return self._child.poll() if self._child else None

    def alive(self) -> bool:
        """Whether the child itself still runs. Reaps it when it has ended."""
        return self._child is not None and self._child.poll() is None

    def pids(self) -> list[int]:
        """The child and all its descendants, while they run."""
        if not self.alive() or self.pid is None:
            return []
        with suppress(psutil.NoSuchProcess):
            return [self.pid, *(each.pid for each in psutil.Process(self.pid).children(recursive=True))]
        return []

    def stop(self, grace_s: float = 10.0) -> None:
        """SIGTERM, then after `grace_s` SIGKILL; returns when every process of its group is gone."""
        self._end(signal.SIGTERM, grace_s)

    def kill(self) -> None:
        """SIGKILL at once, as a crash or a power cut of the process would."""
        self._end(signal.SIGKILL, 0.0)

    def _end(self, first: signal.Signals, grace_s: float) -> None:
        child = self._child
        if child is None:
            return
        members = _group_members(child.pid)
        if child.poll() is None:
            child.send_signal(first)
            with suppress(subprocess.TimeoutExpired):
                child.wait(grace_s)
        _kill_all({*members, *_group_members(child.pid)})
        child.wait()

    def wait_until(self, ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Poll `ready` until it is true; a dead child or the end of the time raises with its last log lines."""
        deadline = time.monotonic() + timeout_s
        while not ready():
            if not self.alive():
                raise self.failure(f"{self.label} ended with status {self.exit_status} before {what}")
            if time.monotonic() > deadline:
                raise self.failure(f"{self.label}: {what} expected within {timeout_s:.0f} s, it did not come")
            time.sleep(POLL_S)

    def wait_for_port(self, host: str, port: int, timeout_s: float) -> None:
        """Return when something accepts TCP connections there."""
        self.wait_until(lambda: accepts(host, port), timeout_s, f"a listener on {host}:{port}")

    def log_tail(self, lines: int = 20) -> str:
        """Last lines of its log; empty when there is none."""
        return tail(self.log, lines)

    def failure(self, message: str) -> ServerError:
        """An error that carries the program's own last words."""
        said = self.log_tail()
        hint = f"last lines of {self.log}:\n{said}" if said else f"it wrote nothing to {self.log}"
        return ServerError(message, hint=hint)


def accepts(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether a TCP connection can be made."""
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError:
        return False
    return True


def tail(path: Path, lines: int) -> str:
    """Last lines of a text file without reading all of it; empty when it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 400 * lines))
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError:
        return ""


def _group_members(group: int) -> set[psutil.Process]:
    """Every process of the group, also those whose parent has ended (they belong to init, not to our child)."""
    members = set()
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == group:
                members.add(process)
    return members


def _kill_all(processes: set[psutil.Process]) -> None:
    """SIGKILL what is left and wait until the kernel has let go of it. psutil checks that a pid was not reused."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(list(processes), timeout=10)


def _raise_file_limit(pid: int) -> None:
    """Let the server open as many files as this host allows: one per device."""
    with suppress(OSError):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
