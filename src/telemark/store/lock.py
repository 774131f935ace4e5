"""One process at a time makes the runs of a campaign."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from telemark.errors import ConfigError
from telemark.store.documents.reading import Problem, read_document

LOCK_FILE: Final = ".lock"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who makes the runs."""

    pid: int
    host: str
    since: str


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the campaign folder. The kernel lets go of it when this process ends, whatever ends it.

    Raises:
        ConfigError: another process holds it (the message says which), or the lock is a link or a pipe.
    """
    path = folder / LOCK_FILE
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise ConfigError(f"{path} is not a regular file", hint="remove it: Telemark did not make it")
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644), "r+b") as file:  # noqa: PTH123 - a link is refused
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                f"campaign folder {folder} is in use by {_holder(path)}",
                hint="wait until it has ended, or choose another --campaign",
            ) from error
        now = datetime.now(UTC).isoformat(timespec="seconds")
        file.truncate()
        file.write(json.dumps(asdict(Holder(os.getpid(), socket.gethostname(), now))).encode())
        file.flush()
        yield


def _holder(path: Path) -> str:
    found = read_document(path, Holder)
    if isinstance(found, Problem):
        return "another process"
    return f"process {found.pid} on {found.host} since {found.since}"
