"""Whether the hosts of a bed read the same folder as the runner: it writes a token there and asks every host for it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from telemark.bed.host_line import HostLine
from telemark.errors import TelemarkError

_TOKEN_BYTES = 32
_LOOK_S = 10.0  # for a host to open a small file; a dead mount takes longer


def blind_hosts(lines: Mapping[str, HostLine], folder: Path) -> list[str]:
    """Names of hosts that do not see in the folder what this host writes there.

    Raises:
        OSError: the token cannot be written.
    """
    token = secrets.token_hex(_TOKEN_BYTES // 2).encode()
    path = folder.absolute() / f".token-{secrets.token_hex(4)}"  # a new name: nothing on the way remembers it
    try:
        path.write_bytes(token)
        return sorted(name for name, line in lines.items() if _read_there(line, path) != token)
    finally:
        path.unlink(missing_ok=True)


def _read_there(line: HostLine, path: Path) -> bytes:
    try:
        return line.ask({"do": "peek", "path": str(path)}, timeout_s=_LOOK_S)[1]
    except TelemarkError:  # it is lost, or its disk does not answer
        return b""


def peek(path: str) -> bytes:
    """The beginning of a file on this host; nothing when there is no such file."""
    try:
        with Path(path).open("rb") as file:
            return file.read(_TOKEN_BYTES)
    except OSError:
        return b""
