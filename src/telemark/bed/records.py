"""Records come home: files of a host are fetched over its line and compared with what the host says they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from telemark.bed.frames import LONGEST_PAYLOAD
from telemark.bed.host_files import fingerprint
from telemark.bed.host_line import HostLine
from telemark.errors import DataError, RequirementError
from telemark.store.atomic import make_folder, sync_file, sync_folder

LIST_S = 600.0  # a host reads all of its files to know their digests


def bring_home(line: HostLine, run: str, folder: Path) -> int:
    """Fetch every file of a run from a host, then delete them there. Returns their bytes.

    Raises:
        HostLostError: the line broke. DataError: a file arrived other than it was. RequirementError: no room here.
    """
    files = line.ask({"do": "list", "folder": run}, timeout_s=LIST_S)[0]["files"]
    for file in files:
        _fetch(line, file, folder / _inside(line, run, file["path"]))
    line.ask({"do": "remove", "folder": run})
    return sum(file["size"] for file in files)


def _inside(line: HostLine, run: str, path: str) -> Path:
    """Where in the run folder a file belongs. Raises DataError when it would lie elsewhere."""
    parts = Path(path).parts
    if len(parts) < 2 or parts[0] != run or ".." in parts:
        raise DataError(f"host {line.host}: expected a path inside {run}, found {path!r}")
    return Path(*parts[1:])


def _fetch(line: HostLine, file: dict[str, Any], target: Path) -> None:
    """One file, under a name that readers pass over until it is complete and checked."""
    unfinished = target.with_name(f".{target.name}.part")
    try:
        make_folder(target.parent)
        with unfinished.open("wb") as output:
            for offset in range(0, file["size"], LONGEST_PAYLOAD):
                output.write(line.ask({"do": "get", "path": file["path"], "offset": offset})[1])
        found = fingerprint(unfinished)
        if found != {"size": file["size"], "sha256": file["sha256"]}:
            raise DataError(f"host {line.host}: {file['path']} arrived other than it was recorded there")
        sync_file(unfinished)
        unfinished.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise RequirementError(f"{target}: {error.strerror}", hint="free disk space or choose another --out") from error
    finally:
        unfinished.unlink(missing_ok=True)


def copy_files(source: HostLine, folder: str, targets: list[HostLine]) -> None:
    """Small files that a server made for its devices (certificates, keys) to the hosts of the devices."""
    for file in source.ask({"do": "list", "folder": folder})[0]["files"]:
        data = source.ask({"do": "get", "path": file["path"], "offset": 0})[1]
        for target in targets:
            target.ask({"do": "put", "path": file["path"]}, data)
