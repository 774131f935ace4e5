"""One side of a comparison: a campaign, or one server of a campaign."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from telemark.errors import ConfigError, DataError
from telemark.report.source import CampaignSource, RunSource, open_campaign

Key = tuple[str, str, str, str]  # suite, scenario, point, server (empty when servers are what is compared)


@dataclass(frozen=True)
class Side:
    """The runs of one side and their summaries over repeats."""

    label: str
    source: CampaignSource
    server: str | None  # only this server of the campaign

    @property
    def runs(self) -> tuple[RunSource, ...]:
        """The runs of this side."""
        return tuple(run for run in self.source.runs if self.server in (None, server_of(run.facts)))

    @property
    def servers(self) -> list[str]:
        """Names of the servers of this side."""
        return list(dict.fromkeys(server_of(run.facts) for run in self.runs))

    def summaries(self, by_server: bool) -> dict[Key, dict[str, Mapping[str, Any]]]:
        """Rows of the comparison table by point and metric. Without `by_server` the server is no part of the key."""
        found: dict[Key, dict[str, Mapping[str, Any]]] = {}
        for row in self.source.comparison:
            if self.server in (None, row["server"]):
                key = (row["suite"], row["scenario"], row["point"], row["server"] if by_server else "")
                found.setdefault(key, {})[row["metric"]] = row
        return found

    def runs_by_point(self, by_server: bool) -> dict[Key, list[RunSource]]:
        """The runs of each point."""
        found: dict[Key, list[RunSource]] = {}
        for run in self.runs:
            facts = run.facts
            key = (facts["suite"], facts["scenario"], facts["point"], server_of(facts) if by_server else "")
            found.setdefault(key, []).append(run)
        return found


def paired(a: Iterable[Key], b: Collection[Key], mapping: Mapping[str, tuple[str, str]]) -> list[tuple[Key, Key]]:
    """Points of A with the points of B they are compared with: the same, as mapped, or the only one of each."""
    first = list(a)
    pairs = [(key, mapped) for key in first if (mapped := _mapped(key, mapping)) in b]
    if not pairs and len(first) == len(b) == 1 and first[0][:2] == next(iter(b))[:2]:
        return [(first[0], next(iter(b)))]
    return pairs


def _mapped(key: Key, mapping: Mapping[str, tuple[str, str]]) -> Key:
    """The key of B's point: `rate=1000` of A's label becomes `rate=2000` by the mapping rate=1000:2000."""
    words = {f"{name}={ours}": f"{name}={theirs}" for name, (ours, theirs) in mapping.items()}
    suite, scenario, point, server = key
    return suite, scenario, " ".join(words.get(word, word) for word in point.split(" ")), server


def server_of(facts: Mapping[str, Any]) -> str:
    """Name of the server a run was made against."""
    server = facts.get("server")
    return str(server.get("name", "")) if isinstance(server, Mapping) else ""


def open_side(text: str) -> Side:
    """Open `FOLDER` or `FOLDER:SERVER`.

    Raises:
        DataError: no such campaign, a damaged run in it, or no results.
        ConfigError: the campaign has no run of that server.
    """
    folder, server = _split(text)
    source = open_campaign(folder, tables=("points",))
    if source.problems:
        first = source.problems[0]
        raise DataError(f"{source.name}/{first.folder}: {first.message}", hint=first.hint or None)
    if all(run.point is None for run in source.runs):
        raise DataError(f"{source.name}: expected results to compare, found none", hint=f"telemark analyze {folder}")
    side = Side(f"{source.name}:{server}" if server else source.name, source, server)
    if not side.runs:
        known = sorted({server_of(run.facts) for run in source.runs})
        raise ConfigError(f"{source.name} has no run of server {server!r}", hint=f"it has: {', '.join(known)}")
    return side


def _split(text: str) -> tuple[Path, str | None]:
    """A colon can be part of a folder's name, so the whole text is tried as a folder first."""
    if Path(text).exists() or ":" not in text:
        return Path(text), None
    folder, _, server = text.rpartition(":")
    return Path(folder), server
