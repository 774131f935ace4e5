"""Files of a results folder on this host. Links in it are refused: whoever made one decides where we would write."""

from __future__ import annotations

from pathlib import Path

from telemark.errors import RequirementError
from telemark.store.atomic import make_folder, sync_folder, write_atomically
from telemark.store.documents.reading import read_bytes, required
from telemark.store.safe import refuse_links


class LocalFiles:
    """Files by their path in the folder."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def children(self, folder: str) -> list[str]:
        path = self._at(folder)
        return sorted(child.name for child in path.iterdir()) if path.is_dir() else []

    def read(self, path: str) -> bytes:
        return required(read_bytes(self._at(path)))

    def write(self, path: str, content: bytes) -> None:
        target = self._at(path)
        try:
            make_folder(target.parent)
            write_atomically(target, content)
        except OSError as error:
            raise RequirementError(f"results cannot be written to {self._folder}: {error}", hint="use --out") from error

    def remove(self, path: str) -> None:
        target = self._at(path)
        try:
            if target.exists():
                target.unlink()
                sync_folder(target.parent)
        except OSError as error:
            raise RequirementError(f"{self._folder / path} cannot be removed: {error}", hint="use --out") from error

    def _at(self, path: str) -> Path:
        """The file. Raises DataError when a step from the campaign's folder to it is a link."""
        refuse_links(self._folder.parent, self._folder / path)
        return self._folder / path
