"""Which campaigns lie in a folder, from their small files only: no result table is read for a list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from telemark.errors import DataError
from telemark.report.format import one_line
from telemark.report.source import run_names
from telemark.store import live_file
from telemark.store.layout import CAMPAIGN_FILE, RESULTS, unfinished
from telemark.store.run_file import RunFile


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
    if unfinished(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    return (folder / CAMPAIGN_FILE).is_file() or bool(_safe_names(folder))


def _safe_names(folder: Path) -> list[str]:
    try:
        return run_names(folder)
    except DataError:
        return []


def _entry(folder: Path) -> CampaignEntry:
    content = _campaign_json(folder)
    planned = content.get("planned")
    servers = content.get("servers")
    return CampaignEntry(
        name=folder.name,
        state=one_line(content.get("state") or "unknown", 20),
        runs=len(_safe_names(folder)),
        planned=planned if isinstance(planned, int) else None,
        servers=one_line(", ".join(map(str, servers)) if isinstance(servers, list) else "", 100),
        modified=datetime.fromtimestamp(folder.stat().st_mtime, UTC).strftime("%Y-%m-%d %H:%M"),
        live=live_file.read(folder) is not None,
        analysed=(folder / RESULTS).is_dir(),
    )


def _campaign_json(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / CAMPAIGN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


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
