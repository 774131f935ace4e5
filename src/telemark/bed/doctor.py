"""The doctor's findings on every host of a bed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from telemark.bed.bed import open_bed
from telemark.bed.bed_file import BedFile, BedHost
from telemark.runner.doctor import Finding


@dataclass(frozen=True, slots=True)
class HostFindings:
    """What one host was examined for, and what was found."""

    host: str
    devices: int
    findings: tuple[Finding, ...]


def examine_bed(file: BedFile, devices: int, note: Callable[[str], None]) -> list[HostFindings]:
    """Examine every host for its part of the devices.

    Raises:
        RequirementError, HostLostError, ConfigError: the bed cannot be opened.
    """
    with open_bed(file, "doctor", note) as bed:
        return [
            HostFindings(
                host.host,
                share,
                tuple(Finding(**found) for found in bed.servants[host.host].call("examine", share, file.scratch)),
            )
            for host in file.hosts
            for share in [share_of(host, file, devices)]
        ]


def share_of(host: BedHost, file: BedFile, devices: int) -> int:
    """Devices that concern a host: all of them where the server is, else an equal part of its role's."""
    if "server" in host.roles:
        return devices
    loads = [each for each in file.hosts if {"publishers", "subscribers"} & set(each.roles)]
    return -(-devices // len(loads)) if host in loads else 1
