"""campaign.json: which runs a campaign was meant to have, and how far it has come."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from telemark import __version__
from telemark.errors import ConfigError, DataError, RequirementError
from telemark.model.plan import RunPlan
from telemark.store.layout import CAMPAIGN_FILE

FORMAT = 1


@dataclass(frozen=True, slots=True)
class CampaignRun:
    """One run of a campaign, in the order they were made."""

    key: str  # equal keys: same point, same server, same repeat
    run: str  # folder name
    server: str
    suite: str
    scenario: str
    point: str
    repeat: int
    state: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """The content of campaign.json. Replaced in one step after every run."""

    campaign: str
    state: str = "running"  # running, complete, failed, interrupted
    started_at: str = ""
    ended_at: str | None = None
    servers: tuple[str, ...] = ()
    planned: int = 0
    runs: tuple[CampaignRun, ...] = ()
    skipped: tuple[str, ...] = ()  # points a server lacks a capability for, in words
    telemark_version: str = __version__
    format: int = FORMAT
    extra: dict[str, Any] = field(default_factory=dict)

    def finished_keys(self) -> frozenset[str]:
        """Keys of runs that need not be made again."""
        return frozenset(run.key for run in self.runs if run.state == "complete")

    def next_number(self) -> int:
        """Number of the next run folder: one that was cut short keeps its own."""
        return len(self.runs)

    def with_run(self, run: CampaignRun) -> CampaignFile:
        """A copy with the run added, or replaced when it is already listed."""
        others = tuple(each for each in self.runs if each.run != run.run)
        return replace(self, runs=(*others, run))

    def write(self, folder: Path) -> None:
        """Replace campaign.json in one step.

        Raises:
            RequirementError: the folder cannot be written.
        """
        temporary = folder / f".{CAMPAIGN_FILE}.{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            temporary.replace(folder / CAMPAIGN_FILE)
        except OSError as error:
            raise unwritable(folder, error) from error

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read it back, to resume.

        Raises:
            ConfigError: there is none. DataError: it cannot be understood.
        """
        path = folder / CAMPAIGN_FILE
        if not path.exists():
            raise ConfigError(f"no campaign to resume in {folder}", hint="leave out --resume to begin it")
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            runs = tuple(CampaignRun(**run) for run in content.pop("runs"))
            content |= {name: tuple(content[name]) for name in ("servers", "skipped")}
            return cls(**content, runs=runs)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path} cannot be read: {error}") from error


def unwritable(folder: Path, error: OSError) -> RequirementError:
    """A folder this host does not let us write."""
    return RequirementError(f"campaign folder {folder}: {error.strerror}", hint="choose another --out")


def run_key(plan: RunPlan, server: str, repeat: int) -> str:
    """What makes two runs the same: every value of the plan, the server, the repeat."""
    content = json.dumps([plan.as_dict(), server, repeat], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:20]


def server_labels(servers: Sequence[str]) -> tuple[str, ...]:
    """Servers as they may be written to disk: a URL loses its user and password."""
    return tuple(without_credentials(server) for server in servers)


def without_credentials(server: str) -> str:
    """`mqtt://user:secret@host:1883` -> `mqtt://host:1883`; a name stays as it is."""
    scheme, separator, rest = server.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if separator else server
