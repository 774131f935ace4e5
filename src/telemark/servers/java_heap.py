"""The heap of a Java server: its size, and what was still in use after each garbage collection.

What a collection leaves is what the server needs; the heap in use between two of them is mostly garbage. The log of
collections is the one figure that every Java server has, whatever it shows of itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

LOG: Final = "gc.log"
_TAIL: Final = 4096  # bytes: dozens of collections
_LEFT: Final = re.compile(r"\d+[KMG]->(\d+)([KMG])\(")
_UNITS: Final = {"K": 1024, "M": 1024**2, "G": 1024**3}


def heap_flags(heap: object, folder: Path) -> list[str]:
    """Flags of a JVM with a heap of this size that logs its collections into the folder."""
    return [f"-Xms{heap}", f"-Xmx{heap}", f'-Xlog:gc:file="{folder / LOG}"']


def heap_in_use(folder: Path) -> dict[str, float]:
    """`heap_bytes` after the last collection; nothing before the first."""
    try:
        with (folder / LOG).open("rb") as log:
            log.seek(max(0, os.fstat(log.fileno()).st_size - _TAIL))
            found = _LEFT.findall(log.read().decode(errors="replace"))
    except OSError:
        return {}
    return {"heap_bytes": float(int(found[-1][0]) * _UNITS[found[-1][1]])} if found else {}
