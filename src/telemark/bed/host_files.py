"""The files an agent keeps on its host until they are home."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

from telemark.bed.frames import LONGEST_PAYLOAD
from telemark.errors import DataError, RequirementError


class HostFiles:
    """One folder of one host and campaign; nothing outside of it is read or written.

    Args:
        scratch: where the host has room.
        campaign: name of the campaign.
        host: name of the host: several may share a disk.
    """

    def __init__(self, scratch: str, campaign: str, host: str) -> None:
        self.folder = Path(scratch).absolute() / f"telemark-{campaign}" / host.replace("/", "_").replace(":", "_")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RequirementError(
                f"{self.folder}: {error.strerror}", hint="name another folder with `scratch` in the bed file"
            ) from error

    def path(self, name: str) -> Path:
        """The file or folder of a relative name.

        Raises:
            DataError: the name leads out of the folder.
        """
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise DataError(f"{name}: expected a path inside {self.folder}")
        return path

    def put(self, name: str, data: bytes) -> None:
        """Write a small file, such as a certificate."""
        path = self.path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise RequirementError(f"{path}: {error.strerror}") from error

    def list(self, folder: str) -> list[dict[str, Any]]:
        """Every file under a folder with its size and SHA-256."""
        top = self.path(folder)
        files = sorted(path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
        return [{"path": str(path.relative_to(self.folder)), **fingerprint(path)} for path in files]

    def get(self, name: str, offset: int) -> bytes:
        """A piece of a file; the last one is short."""
        with self.path(name).open("rb") as file:
            file.seek(offset)
            return file.read(LONGEST_PAYLOAD)

    def remove(self, folder: str) -> None:
        """Delete a folder that is home."""
        shutil.rmtree(self.path(folder), ignore_errors=True)

    def remove_all(self) -> None:
        """Leave nothing on this host."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if not any(self.folder.parent.iterdir() if self.folder.parent.exists() else ()):
            shutil.rmtree(self.folder.parent, ignore_errors=True)


def fingerprint(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file."""
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
