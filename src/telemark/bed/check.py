"""What `telemark bed check` tells of every host: whether it can be reached, what it has, and how its clock stands."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from telemark.bed.bed import Bed, look_at_bed, other_versions
from telemark.bed.bed_file import BedFile, BedHost

CONSUMERS_JAVA = 17


@dataclass(frozen=True, slots=True)
class HostCheck:
    """One host as it was found. Without facts it could not be reached; `problems` says why."""

    host: str
    roles: tuple[str, ...]
    facts: Mapping[str, Any] | None = None
    clock_offset_ns: int | None = None  # its CLOCK_MONOTONIC minus the runner's, when it was looked at
    clock_error_ns: int | None = None  # by how much the offset may be off at most
    problems: tuple[str, ...] = field(default=())

    @property
    def reachable(self) -> bool:
        """Whether an agent came from there."""
        return self.facts is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return asdict(self) | {"reachable": self.reachable}


def check_bed(file: BedFile, note: Callable[[str], None]) -> list[HostCheck]:
    """Look at every host of a bed; nothing is started there but an agent.

    Raises:
        RequirementError: Spark cannot be reached.
    """
    with look_at_bed(file, note) as bed:
        return [_check(bed, host) for host in file.hosts]


def _check(bed: Bed, host: BedHost) -> HostCheck:
    facts = bed.facts.get(host.host)
    if facts is None:
        return HostCheck(host.host, host.roles, problems=(f"not reached: {bed.missing[host.host]}",))
    clock = bed.lines[host.host].correction()
    versions = other_versions({host.host: facts}).get(host.host, [])
    return HostCheck(
        host.host,
        host.roles,
        facts,
        -clock.correction_ns[-1],
        clock.error_ns[-1],
        (*versions, *problems_of(host, facts)),
    )


def problems_of(host: BedHost, facts: Mapping[str, Any]) -> Iterator[str]:
    """What the bed file promises of a host and the host does not have."""
    for address in host.source_addresses:
        if not _has(facts["addresses"], address):
            yield f"source address {address} is not one of its own"
    if "server" in host.roles and _is_address(host.address) and not _has(facts["addresses"], host.address):
        yield f"address {host.address}, where the server should listen, is not one of its own"
    if absent := sorted(set(host.cpus) - set(facts["cpus"])):
        yield f"CPU {', '.join(map(str, absent))} is not there or not allowed, it has {len(facts['cpus'])}"
    if "consumers" in host.roles and (facts["java"] or 0) < CONSUMERS_JAVA:
        yield f"Java {facts['java'] or 'missing'}: back-end consumers need {CONSUMERS_JAVA}"


def _has(addresses: list[str], address: str) -> bool:
    """All of 127.0.0.0/8 is every host's own."""
    found = ipaddress.ip_address(address)
    return found.is_loopback or any(found == ipaddress.ip_address(each) for each in addresses)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
