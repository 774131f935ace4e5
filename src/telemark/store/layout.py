"""Where everything lies: names of runs and campaigns, their folders, and how they are found again.

    <out>/<campaign>/campaign.json
    <out>/<campaign>/<run>/run.json
    <out>/<campaign>/<run>/<record table>/<process:03d>-<number:05d>.parquet
    <out>/<campaign>/results/<result table>/run=<run>/*.parquet

Folders may be local paths or URLs that Spark can read; `Folders` is the little a store of files must offer.
Names beginning with `.` or `_` are unfinished and do not exist for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from typing import Final, Protocol

from telemark.errors import DataError
from telemark.store.documents.reading import Problem, read_bytes, required
from telemark.store.documents.run import RUN_FILE, RunFile, parse_run

RESULTS: Final = "results"
SERVER_FOLDER: Final = "server"
CONTROL_SOCKET: Final = ".control"  # of a campaign, while its runs are made
DEFAULT_OUT: Final = Path("runs")


def slug(text: str) -> str:
    """Letters, digits, dots and dashes only: safe as one name in any file system, URL or table."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "x"


def campaign_name(suite: str, now: datetime | None = None) -> str:
    """`20261115-204600-scalagent`: sorts by time."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{slug(suite)}"


def run_name(number: int, server: str, scenario: str, point: str, repeat: int = 0) -> str:
    """`003-mosquitto-multi-publisher-publishers-4000-qos-1-r1`; no -r for the first repeat."""
    stem = "-".join(slug(part) for part in (f"{number:03d}", server, scenario, point) if part)
    return f"{stem[:200]}-r{repeat}" if repeat else stem[:200]


def unfinished(name: str) -> bool:
    """Whether readers must pass over this file or folder."""
    return name.startswith((".", "_"))


def is_text(name: str) -> bool:
    """Whether a file name is UTF-8: others can be opened, but stand in no table and on no page."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


class Folders(Protocol):
    """Reading of folders that need not be on this host."""

    def children(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty when there is no such folder."""
        ...

    def read_text(self, path: str) -> str:
        """Content of a small file; bytes that are no text are replaced. Raises DataError when it cannot be read."""
        ...


class LocalFolders:
    """Folders of this host. Links in them are passed over: they lead elsewhere."""

    def children(self, folder: str) -> list[str]:
        path = Path(folder)
        return sorted(child.name for child in path.iterdir() if not child.is_symlink()) if path.is_dir() else []

    def read_text(self, path: str) -> str:
        return required(read_bytes(Path(path))).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's place and its run.json. `folder` is a local path or a URL without a slash at the end."""

    folder: str
    facts: RunFile

    @property
    def name(self) -> str:
        """The folder's own name: what tables call `run`."""
        return self.folder.rsplit("/", 1)[-1]

    @property
    def campaign_folder(self) -> str:
        """The folder of its campaign."""
        return self.folder.rsplit("/", 1)[0]

    @property
    def campaign(self) -> str:
        """Name of the campaign's folder: what tables call `campaign`."""
        return self.campaign_folder.rsplit("/", 1)[-1]

    def table(self, name: str) -> str:
        """Folder of a record table."""
        return f"{self.folder}/{name}"


@dataclass(frozen=True, slots=True)
class FoundRuns:
    """What lies under some paths: readable runs, and why others are not."""

    runs: tuple[RunFolder, ...]
    problems: dict[str, DataError]  # run folder -> why it cannot be used


def is_url(path: str) -> bool:
    """Whether a path names its store (`hdfs://...`, `s3a://...`, `file:/...`)."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None


def find_runs(paths: Iterable[Path | str], folders: Folders | None = None) -> FoundRuns:
    """Every run under the paths: run folders, campaign folders, folders of campaigns, or local patterns.

    Raises:
        DataError: a path holds no run at all.
    """
    store = folders or LocalFolders()
    runs: dict[str, RunFolder] = {}
    problems: dict[str, DataError] = {}
    for path in paths:
        folders_found = [run for start in _expanded(str(path)) for run in _run_folders(start, store, depth=2)]
        if not folders_found:
            raise DataError(f"no run in {path}", hint=f"a run is a folder with a {RUN_FILE}; links are not followed")
        for folder in folders_found:
            if not is_text(folder):
                problems[folder] = DataError("the folder's path is not UTF-8 text", hint="rename the folder")
                continue
            try:
                facts = parse_run(store.read_text(f"{folder}/{RUN_FILE}"), folder)
            except DataError as error:
                problems[folder] = error
                continue
            if isinstance(facts, Problem):
                problems[folder] = facts.error()
            else:
                runs[folder] = RunFolder(folder, facts)
    return FoundRuns(tuple(runs.values()), problems)


def _expanded(path: str) -> list[str]:
    if is_url(path):
        return [path.rstrip("/")]
    # glob.glob: Path.glob takes no absolute pattern
    matches = sorted(glob(path)) if has_magic(path) and not Path(path).exists() else [path]  # noqa: PTH207
    return [str(Path(match).resolve()) for match in matches]


def _run_folders(folder: str, store: Folders, depth: int) -> list[str]:
    """The folder itself when it is a run; else the runs at most `depth` levels below."""
    names = store.children(folder)
    if RUN_FILE in names:
        return [folder]
    if depth == 0:
        return []
    below = [name for name in names if not unfinished(name) and name != RESULTS]
    return [run for name in below for run in _run_folders(f"{folder}/{name}", store, depth - 1)]
