"""Which campaigns lie in a folder, from their small files only: no result table is read for a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from telemark.errors import DataError
from telemark.report.format import one_line
from telemark.report.source import run_names
from telemark.store.documents import live as live_file
from telemark.store.documents.campaign import CAMPAIGN_FILE, read_campaign
from telemark.store.documents.reading import Problem
from telemark.store.documents.run import RunFile
from telemark.store.layout import RESULTS, is_text, unfinished


@dataclass(frozen=True, slots=True)
class CampaignEntry:
    """One line of the list."""

    name: str
    state: str
    runs: int
    planned: int | None
    servers: str
    modified: str
    live: bool
    analysed: bool


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run of a campaign, or why it cannot be read."""

    name: str
    state: str
    server: str
    scenario: str
    point: str
    reason: str


def campaigns(root: Path) -> list[CampaignEntry]:
    """All campaigns of a folder, the newest first."""
    if not root.is_dir():
        return []
    found = [child for child in root.iterdir() if is_campaign(child)]
    return [_entry(folder) for folder in sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)]


def is_campaign(folder: Path) -> bool:
    """A real folder (no link that leads elsewhere) with a campaign.json or runs in it."""
    if unfinished(folder.name) or not is_text(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    return (folder / CAMPAIGN_FILE).is_file() or bool(_safe_names(folder))


def _safe_names(folder: Path) -> list[str]:
    try:
        return run_names(folder)
    except DataError:
        return []


def _entry(folder: Path) -> CampaignEntry:
    found = read_campaign(folder)
    known = None if isinstance(found, Problem) else found
    return CampaignEntry(
        name=folder.name,
        state=one_line(known.state if known else "unknown", 20),
        runs=len(_safe_names(folder)),
        planned=known.planned if known else None,
        servers=one_line(", ".join(known.servers) if known else "", 100),
        modified=datetime.fromtimestamp(folder.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M"),
        live=live_file.read(folder) is not None,
        analysed=(folder / RESULTS).is_dir(),
    )


def runs(folder: Path) -> list[RunEntry]:
    """The runs of one campaign, in order."""
    return [_run_entry(folder / name) for name in _safe_names(folder)]


def _run_entry(folder: Path) -> RunEntry:
    try:
        facts = RunFile.read(folder)
    except DataError as error:
        return RunEntry(folder.name, "unreadable", "", "", "", one_line(error.message, 300))
    return RunEntry(
        folder.name,
        facts.state,
        one_line(f"{facts.server.get('name', '')} {facts.server.get('version') or ''}"),
        one_line(f"{facts.suite}/{facts.scenario}"),
        one_line(facts.point),
        one_line(facts.reason or "", 300),
    )
