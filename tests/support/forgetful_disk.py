"""A file system that forgets everything that was not synced: what a power cut leaves of a disk.

The strictest disk that POSIX allows. A file's content survives as it was at its last fsync. A name survives (created,
renamed or removed) only when its folder was synced afterwards; a new folder needs a sync of its parent. A file whose
name survives without its content is empty.

`python -m tests.support.forgetful_disk MOUNTPOINT MOMENTS SEED` serves it in the foreground and remembers what a power
cut would have left at MOMENTS moments: a moment is a change or a sync, and each is as likely as any other. A line
`cut FOLDER` on standard input writes what would survive now into FOLDER, `moments FOLDER` what would have survived at
the moments remembered; both answer `done`. The end of the input unmounts the disk.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import mfusepy as fuse


@dataclass(eq=False)
class Node:
    """A file or a folder: what programs see, and what the disk has."""

    mode: int
    data: bytearray = field(default_factory=bytearray)
    synced_data: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    synced_names: dict[str, Node] = field(default_factory=dict)
    changed: float = field(default_factory=time.time)

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


# What survives: names with bytes, or with the names of a folder. Nothing in it changes later.
Survivors = dict[str, Any]


class Moments:
    """A few moments out of many, chosen while they pass: each of them is as likely as any other (reservoir)."""

    def __init__(self, wanted: int, seed: int) -> None:
        self.kept: list[tuple[int, str, Survivors]] = []
        self._wanted = wanted
        self._passed = 0
        self._random = random.Random(seed)

    def pass_one(self, name: str, survivors: Callable[[], Survivors]) -> None:
        """One more moment: just before the operation `name`."""
        self._passed += 1
        place = self._random.randrange(self._passed)
        if len(self.kept) < self._wanted:
            self.kept.append((self._passed, name, survivors()))
        elif place < self._wanted:
            self.kept[place] = (self._passed, name, survivors())


def change(operation: Callable[..., int]) -> Callable[..., int]:
    """An operation before which the power may be cut."""

    @wraps(operation)
    def counted(disk: ForgetfulDisk, *arguments: Any) -> int:
        disk.about_to(operation.__name__)
        return operation(disk, *arguments)

    return counted


class ForgetfulDisk(fuse.Operations):  # type: ignore[misc] - the library has no type stubs
    """The file system's operations. libfuse calls them one at a time (no threads)."""

    use_ns = True

    def __init__(self, moments: Moments) -> None:
        self.root = Node(stat.S_IFDIR | 0o755)
        self._moments = moments
        self._open: dict[int, Node] = {}
        self._next = 1
        self._lock = threading.Lock()

    def about_to(self, operation: str) -> None:
        """The power may be cut before this operation."""
        with self._lock:
            self._moments.pass_one(operation, lambda: _survivors(self.root))

    # --- finding -----------------------------------------------------------------------------------------------

    def _node(self, path: str) -> Node:
        node = self.root
        for name in filter(None, path.split("/")):
            if name not in node.names:
                raise fuse.FuseOSError(errno.ENOENT)
            node = node.names[name]
        return node

    def _parent(self, path: str) -> tuple[Node, str]:
        folder, _, name = path.rpartition("/")
        return self._node(folder), name

    def _handle(self, node: Node) -> int:
        self._next += 1
        self._open[self._next] = node
        return self._next

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        node = self._open[fh] if fh in self._open else self._node(path)
        moment = int(node.changed * 1e9)
        return {
            "st_mode": node.mode,
            "st_nlink": 2 if node.is_folder else 1,
            "st_size": len(node.data),
            "st_uid": os.getuid(),
            "st_gid": os.getgid(),
            "st_mtime": moment,
            "st_ctime": moment,
            "st_atime": moment,
        }

    def readdir(self, path: str, fh: int) -> list[str]:
        return [".", "..", *self._node(path).names]

    def statfs(self, path: str) -> dict[str, int]:
        return {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1 << 20, "f_bfree": 1 << 19, "f_bavail": 1 << 19}

    # --- changing names ------------------------------------------------------------------------------------------

    @change
    def mkdir(self, path: str, mode: int) -> int:
        self._add(path, Node(stat.S_IFDIR | mode))
        return 0

    @change
    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return self._handle(self._add(path, Node(stat.S_IFREG | (mode & 0o777))))

    def _add(self, path: str, node: Node) -> Node:
        folder, name = self._parent(path)
        folder.names[name] = node
        return node

    @change
    def unlink(self, path: str) -> int:
        self._remove(path)
        return 0

    def _remove(self, path: str) -> None:
        folder, name = self._parent(path)
        self._node(path)
        del folder.names[name]

    @change
    def rmdir(self, path: str) -> int:
        if self._node(path).names:
            raise fuse.FuseOSError(errno.ENOTEMPTY)
        self._remove(path)
        return 0

    @change
    def rename(self, old: str, new: str) -> int:
        node = self._node(old)
        self._remove(old)
        self._add(new, node)
        return 0

    # --- content ---------------------------------------------------------------------------------------------------

    def open(self, path: str, flags: int) -> int:
        return self._handle(self._node(path))

    def opendir(self, path: str) -> int:
        return self._handle(self._node(path))

    def release(self, path: str, fh: int) -> int:
        self._open.pop(fh, None)
        return 0

    releasedir = release

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return bytes(self._open[fh].data[offset : offset + size])

    @change
    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        node = self._open[fh]
        if len(node.data) < offset:
            node.data.extend(bytes(offset - len(node.data)))
        node.data[offset : offset + len(data)] = data
        node.changed = time.time()
        return len(data)

    @change
    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        node = self._open[fh] if fh in self._open else self._node(path)
        del node.data[length:]
        node.data.extend(bytes(length - len(node.data)))
        return 0

    def chmod(self, path: str, mode: int) -> int:
        node = self._node(path)
        node.mode = stat.S_IFMT(node.mode) | (mode & 0o7777)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        return 0

    def utimens(self, path: str, times: Any = None) -> int:
        return 0

    # --- syncing ---------------------------------------------------------------------------------------------------

    @change
    def fsync(self, path: str, datasync: int, fh: int) -> int:
        with self._lock:
            node = self._open[fh] if fh in self._open else self._node(path)
            node.synced_data = bytes(node.data)
        return 0

    @change
    def fsyncdir(self, path: str, datasync: int, fh: int) -> int:
        with self._lock:
            node = self._node(path)
            node.synced_names = dict(node.names)
        return 0

    # --- the power cut ---------------------------------------------------------------------------------------------

    def cut(self, target: Path) -> None:
        """Write what would survive now into a real folder; the file system itself goes on."""
        with self._lock:
            _write(_survivors(self.root), target)

    def moments(self, target: Path) -> None:
        """Write what would have survived at the moments remembered, a folder for each."""
        with self._lock:
            for number, operation, survivors in sorted(self._moments.kept, key=lambda moment: moment[0]):
                _write(survivors, target / f"{number:06d}-before-{operation}")


def _survivors(node: Node) -> Survivors:
    return {
        name: _survivors(child) if child.is_folder else child.synced_data for name, child in node.synced_names.items()
    }


def _write(survivors: Survivors, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name, content in survivors.items():
        if isinstance(content, dict):
            _write(content, target / name)
        else:
            (target / name).write_bytes(content)


class MountedDisk:
    """A forgetful disk that another process serves at `folder`."""

    def __init__(self, folder: Path, server: subprocess.Popen[str]) -> None:
        self.folder = folder
        self._server = server

    def cut(self, target: Path) -> Path:
        """What a power cut at this moment would leave, as an ordinary folder."""
        return self._ask("cut", target)

    def moments(self, target: Path) -> list[Path]:
        """What power cuts at the moments remembered would have left: a folder for each, in order."""
        return sorted(self._ask("moments", target).iterdir())

    def _ask(self, what: str, target: Path) -> Path:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{what} {target}\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline().strip()
        if answer != "done":
            raise RuntimeError(f"the forgetful disk answered {answer!r}")
        return target


@contextmanager
def mounted(folder: Path, moments: int = 0, seed: int = 0) -> Iterator[MountedDisk]:
    """Serve a new, empty disk at `folder` while the block runs; it remembers some moments."""
    folder.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forgetful_disk", str(folder), str(moments), str(seed)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    try:
        assert server.stdout is not None
        if server.stdout.readline().strip() != "mounted":
            raise RuntimeError("the forgetful disk did not start: is /dev/fuse there and fuse3 installed?")
        yield MountedDisk(folder, server)
    finally:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()
        subprocess.run(["fusermount3", "-u", "-z", str(folder)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _obey(disk: ForgetfulDisk, folder: Path) -> None:
    while not folder.is_mount():
        time.sleep(0.01)
    print("mounted", flush=True)
    for line in sys.stdin:
        what, _, target = line.strip().partition(" ")
        {"cut": disk.cut, "moments": disk.moments}[what](Path(target))
        print("done", flush=True)
    subprocess.run(["fusermount3", "-u", "-z", str(folder)], check=False)


def main() -> None:
    """Serve until the input ends."""
    folder = Path(sys.argv[1])
    disk = ForgetfulDisk(Moments(int(sys.argv[2]), int(sys.argv[3])))
    threading.Thread(target=_obey, args=(disk, folder), daemon=True).start()
    fuse.FUSE(disk, str(folder), foreground=True, nothreads=True)


if __name__ == "__main__":
    main()
