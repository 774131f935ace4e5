"""Ends what this program started when this program ends, whatever ended it: kill -9 and crashes included.

Every child gets a mark in its environment, which its own children inherit. One guardian process waits at the end of a
pipe that only this program holds open. When the pipe closes, it ends every process that carries the mark: SIGTERM, so
that engine processes close their records, and after a moment SIGKILL. A mark finds also those who left their session
or whose parent is gone, and there is no moment between start and registration in which a child is unknown.

The file is both the module and the guardian's program, which is why it imports the standard library only.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

MARK = "TELEMARK_GUARDED_BY"
GRACE_S = 3.0
POLL_S = 0.05

_lock = threading.Lock()
_mark = secrets.token_hex(16)
_guardian: tuple[int, int] | None = None  # its process id and our end of its input, which is never written to


def guarded(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child that must not outlive this program: ours, the values given, and the mark."""
    _ensure_guardian()
    return dict(os.environ) | dict(environment or {}) | {MARK: _mark}


def _ensure_guardian() -> None:
    """Start the guardian with the first child, and again should somebody have ended it."""
    global _guardian  # noqa: PLW0603 - one guardian for the whole program, whoever starts children
    with _lock:
        if _guardian is not None and _ended(_guardian[0]):
            os.close(_guardian[1])
            _guardian = None
        _guardian = _guardian or _start()


def _ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # this program is a fork of the one that started it
        return True


def _start() -> tuple[int, int]:
    """The guardian has a session of its own and no mark: what ends us and our children must not end it."""
    unmarked = {name: value for name, value in os.environ.items() if name != MARK}
    reading, writing = os.pipe()
    files = [
        (os.POSIX_SPAWN_DUP2, reading, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        command = [sys.executable, "-I", "-S", __file__, _mark]
        return os.posix_spawn(sys.executable, command, unmarked, file_actions=files, setsid=True), writing
    finally:
        os.close(reading)


def guard(mark: str) -> None:
    """Wait until the program that holds our input has gone, then end everything with its mark."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    while os.read(0, 1):
        pass
    needle = f"{MARK}={mark}".encode()
    _signal_all(needle, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while any(True for _ in _marked(needle)) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    while _signal_all(needle, signal.SIGKILL):
        time.sleep(POLL_S)


def _signal_all(needle: bytes, number: signal.Signals) -> int:
    """Signal every marked process; how many there were."""
    found = 0
    for descriptor in _marked(needle):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)
            found += 1
    return found


def _marked(needle: bytes) -> Iterator[int]:
    """A descriptor of every running process with the mark: unlike its number, it never means another process."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are all that is needed
        if not name.isdigit():
            continue
        with suppress(OSError):  # it ended meanwhile, or is another user's
            descriptor = os.pidfd_open(int(name))
            try:
                with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123 - a short start matters here
                    if needle in file.read().split(b"\0"):
                        yield descriptor
            finally:
                os.close(descriptor)


if __name__ == "__main__":
    guard(sys.argv[1])
