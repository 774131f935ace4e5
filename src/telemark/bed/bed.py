"""A bed that is open: agents on all hosts, lines to all agents."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from telemark.bed.bed_file import BedFile
from telemark.bed.clock_service import FIRST_BURST
from telemark.bed.host_line import HostLine
from telemark.bed.servants import ServantLink
from telemark.bed.stage import BarrierStage
from telemark.bed.switchboard import Switchboard
from telemark.errors import ConfigError, HostLostError, RequirementError
from telemark.host.facts import software_versions

SAME_VERSIONS = ("telemark", "pyarrow")
CLOCK_S = 30.0  # for the first exchanges with every host
JOIN_S = 120.0  # for the next agent to dial in once their stage has started; a busy host takes its time


@dataclass(slots=True)
class Bed:
    """One barrier stage, for a whole campaign."""

    file: BedFile
    board: Switchboard
    stage: BarrierStage
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)  # what each host has, by name
    servants: dict[str, ServantLink] = field(default_factory=dict)  # by name
    missing: dict[str, str] = field(default_factory=dict)  # why each host that did not come is not there

    @property
    def lines(self) -> dict[str, HostLine]:
        """By the hosts' names in the bed file."""
        return self.board.lines

    @property
    def fingerprint(self) -> str:
        """Equal for two beds whose hosts are of the same kind and do the same: their calibrations are one."""
        kinds = sorted(
            f"{','.join(host.roles)}={self.facts[host.host]['host']['fingerprint']}" for host in self.file.hosts
        )
        return hashlib.sha256("|".join(kinds).encode()).hexdigest()[:16]

    def refuse_lost(self) -> None:
        """Raise HostLostError when any host is gone."""
        for line in self.lines.values():
            if line.lost is not None:
                raise HostLostError(line.lost)


@contextmanager
def open_bed(file: BedFile, campaign: str, note: Callable[[str], None]) -> Iterator[Bed]:
    """Start the agents of a bed, and end them whatever happens.

    Args:
        file: the bed.
        campaign: its name.
        note: told in words of callers who were refused.

    Raises:
        RequirementError: Spark cannot be reached or lacks a host. HostLostError: an agent did not come.
        ConfigError: hosts have different software.
    """
    with _opened(file, campaign, note) as bed:
        _refuse_without_slot(bed, *bed.stage.wait_for_hosts())
        _call(bed, {host.host for host in file.hosts})
        _refuse_missing(bed)
        _learn(bed)
        if problems := other_versions(bed.facts):
            raise ConfigError(
                "the hosts of the bed do not have the same software",
                hint="install the same wheel everywhere, or let Spark distribute it (`telemark bed pack`)",
                problems=tuple(f"{name}: {text}" for name, texts in problems.items() for text in texts),
            )
        for name, line in bed.lines.items():
            bed.servants[name] = ServantLink(line)
        yield bed


@contextmanager
def look_at_bed(file: BedFile, note: Callable[[str], None]) -> Iterator[Bed]:
    """Agents wherever they can be had, to look at the hosts; `missing` says who did not come."""
    with _opened(file, "check", note) as bed:
        without, seen = bed.stage.wait_for_hosts()
        bed.missing |= dict.fromkeys(without, f"no free slot, and {_waited(bed, seen)}")
        if called := {host.host for host in file.hosts} - set(without):
            _call(bed, called)
        _learn(bed)
        yield bed


@contextmanager
def _opened(file: BedFile, campaign: str, note: Callable[[str], None]) -> Iterator[Bed]:
    """The runner's end of the lines, and Spark."""
    try:
        board = Switchboard(campaign, file.runner, file.port, note=note)
    except OSError as error:
        raise ConfigError(
            f"{file.path}: runner is {file.runner}, port {file.port}: {error.strerror or error}",
            hint="`runner` is an address of this host that the others can reach; `port` must be free here",
        ) from error
    try:
        bed = Bed(file, board, BarrierStage(file, board.wake))
        try:
            yield bed
        finally:
            for servant in bed.servants.values():
                servant.end()
            for line in board.lines.values():
                with suppress(HostLostError):
                    line.tell({"do": "end"})
            bed.stage.end()
    finally:
        board.close()


def _waited(bed: Bed, seen: list[str]) -> str:
    return f"nothing new for {bed.file.wait:.0f} s; Spark has {', '.join(seen) or 'no host'}"


def _refuse_without_slot(bed: Bed, without: list[str], seen: list[str]) -> None:
    if without:
        raise RequirementError(
            f"{bed.file.spark}: no free slot on {', '.join(without)}, and {_waited(bed, seen)}",
            hint="start a Spark worker there, free one of its cores, or correct `host` in the bed file; "
            "`wait` there is the time for a slow cluster",
        )


def _call(bed: Bed, names: set[str]) -> None:
    """Start the agents of those hosts, and wait until they have dialled in."""
    bed.stage.start(bed.board.invitation(bed.file.scratch), sorted(names))
    for name in bed.board.wait_for(names, JOIN_S, lambda: not bed.stage.running):
        bed.missing[name] = bed.stage.failure or f"no word in {JOIN_S:.0f} s"


def _refuse_missing(bed: Bed) -> None:
    if bed.missing:
        raise HostLostError(
            f"no agent came from {', '.join(sorted(bed.missing))}: {next(iter(bed.missing.values()))}",
            hint="is telemark installed there (`python` in the bed file), and can it reach `runner` by TCP and UDP?",
        )


def _learn(bed: Bed) -> None:
    """What every host has, and its clock."""
    for name, line in bed.lines.items():
        bed.facts[name] = line.ask({"do": "facts"})[0]["facts"]
    deadline = time.monotonic() + CLOCK_S
    while silent := [name for name, line in bed.lines.items() if len(line.exchanges) < FIRST_BURST]:
        bed.refuse_lost()
        if time.monotonic() > deadline:
            raise RequirementError(
                f"no clock exchange with {', '.join(silent)} in {CLOCK_S:.0f} s",
                hint=f"UDP port {bed.board.address[1]} of {bed.file.runner} must be reachable from every host",
            )
        time.sleep(0.02)


def other_versions(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """What differs from this host, by host: records of two versions, or of two libraries, are not one run's."""
    ours = software_versions()
    found = {
        name: [
            f"{package} {host['versions'].get(package) or 'missing'}, this host has {ours[package]}"
            for package in SAME_VERSIONS
            if host["versions"].get(package) != ours[package]
        ]
        for name, host in facts.items()
    }
    return {name: texts for name, texts in found.items() if texts}
