"""Reads TOML files that people write: what is wrong with one is a ValueError or an OSError, never anything else."""

from __future__ import annotations

import errno
import os
import stat
import tomllib
from pathlib import Path
from typing import Any, Final

LARGEST: Final = 16 << 20  # bytes


def read_toml(path: Path) -> dict[str, Any]:
    """The document of a file. Raises OSError (it cannot be read) or ValueError (it is no TOML, or too much of it)."""
    # A pipe would be waited for without end, a device may never end.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"more than {LARGEST:,} bytes")
    try:
        document = tomllib.loads(content.decode())
        str(document)  # numbers of thousands of digits can be read, but not be shown in a message
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return document
