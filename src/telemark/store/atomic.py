"""Puts a small file in place in one step: a reader sees the old one or the new one, never half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Replace a file.

    Args:
        path: the file; its folder must be there.
        content: what it holds from now on.
        durable: the file is on the disk on return, and survives a power cut. False for what may be lost.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; its name is on the disk on return."""
    if not folder.parent.exists():
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_tree(folder: Path) -> None:
    """Wait until every file below the folder, and its name, is on the disk. Links and special files are left alone."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if path.is_file() and not path.is_symlink():
                sync_file(path)
        sync_folder(Path(parent))


def sync_file(path: Path) -> None:
    """Wait until what was written to the file is on the disk."""
    _sync(path, os.O_RDONLY)


def sync_folder(folder: Path) -> None:
    """Wait until names that were made, renamed or removed in the folder are on the disk."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
