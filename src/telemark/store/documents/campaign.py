"""campaign.json: which runs a campaign was meant to have, and how far it has come."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from telemark import __version__
from telemark.errors import ConfigError, RequirementError
from telemark.model.plan import RunPlan
from telemark.store.atomic import make_folder, write_atomically
from telemark.store.documents.reading import Problem, Refused, read_document, required

CAMPAIGN_FILE: Final = "campaign.json"
_RUN_NAME: Final = re.compile(r"\d{1,9}-[^/\0]+")  # a folder beside campaign.json, nowhere else


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
    format: Literal[1] = 1

    def finished_keys(self) -> frozenset[str]:
        """Keys of runs that need not be made again."""
        return frozenset(run.key for run in self.runs if run.state == "complete")

    def next_number(self) -> int:
        """Number of the next run folder: one that was cut short keeps its own."""
        return 1 + max((int(run.run.partition("-")[0]) for run in self.runs), default=-1)

    def with_run(self, run: CampaignRun) -> CampaignFile:
        """A copy with the run added, or replaced when it is already listed."""
        others = tuple(each for each in self.runs if each.run != run.run)
        return replace(self, runs=(*others, run))

    def write(self, folder: Path) -> None:
        """Replace campaign.json.

        Raises:
            RequirementError: the folder cannot be written.
        """
        try:
            make_folder(folder)
            write_atomically(folder / CAMPAIGN_FILE, json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise unwritable(folder, error) from error

    @classmethod
    def read(cls, folder: Path) -> CampaignFile:
        """Read it back, to resume.

        Raises:
            ConfigError: there is none. DataError: it cannot be understood.
        """
        if not (folder / CAMPAIGN_FILE).exists():
            raise no_campaign(folder)
        return required(read_campaign(folder))


def read_campaign(folder: Path) -> CampaignFile | Problem:
    """campaign.json of a folder on this host, or why it cannot be used."""
    return read_document(folder / CAMPAIGN_FILE, CampaignFile, _check_run_names)


def _check_run_names(content: Any) -> Any:
    """`--resume` renames folders by these names: a stranger's file must not reach other folders through them."""
    runs = content.get("runs") if isinstance(content, dict) else None
    for run in runs if isinstance(runs, list) else ():
        name = run.get("run") if isinstance(run, dict) else None
        if isinstance(name, str) and not _RUN_NAME.fullmatch(name):
            raise Refused(f"runs: {name[:60]!r} is not the name of a run folder")
    return content


def no_campaign(folder: Path) -> ConfigError:
    """There is nothing to resume."""
    return ConfigError(f"no campaign to resume in {folder}", hint="leave out --resume to begin it")


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
