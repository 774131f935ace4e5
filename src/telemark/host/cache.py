"""The user's cache folder: things made or fetched once and used again.

What is installed lies under a name that holds its version. A folder with that name is complete, because it is renamed
into place last; a list of its files and their digests beside it tells whether it still is what was installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_checked: set[Path] = set()  # folders this program has compared with their lists, which takes a moment


def cache_folder() -> Path:
    """$TELEMARK_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("TELEMARK_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "telemark"


def installed(name: str) -> Path | None:
    """The complete folder of that name; None when it has not been installed."""
    folder = cache_folder() / name
    return folder if folder.is_dir() else None


def install(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of that name, filled by `fill` (given an empty folder) when it is not there yet.

    Two programs that ask at once get one installation: the second waits for the first.
    A folder that was changed since is installed anew.
    """
    with _locked(name):
        folder = cache_folder() / name
        if folder not in _checked and not _unchanged(folder):
            _fill(folder, fill)
        _checked.add(folder)
        return folder


def _fill(folder: Path, fill: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        fill(work)
        work.chmod(0o755)
        _list_file(folder).write_text(_listing(work), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # changed, or from before there were lists
        work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _unchanged(folder: Path) -> bool:
    """Whether the folder is there and still what was installed. One without a list cannot be known: it is not."""
    try:
        return _list_file(folder).read_text(encoding="utf-8") == _listing(folder)
    except OSError:
        return False


def folder_digest(folder: Path) -> str:
    """One SHA-256 for all files of a folder: their names and contents."""
    return hashlib.sha256(_listing(folder).encode()).hexdigest()


def _listing(folder: Path) -> str:
    """Path and SHA-256 of every file; where a link points to."""
    lines = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_symlink():
            lines.append(f"-> {path.readlink()}  {name}\n")
        elif path.is_file():
            with path.open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    return "".join(lines)


def _list_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.sha256")


@contextmanager
def _locked(name: str) -> Iterator[None]:
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
