"""What this host allows and has: the limits a plan is cut by, and the memory it is weighed against."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

import psutil

from telemark.model.slicing import HostLimits

_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_UNLIMITED_FILES = 1_048_576  # what a process without a limit may open unless fs.nr_open was raised


def read_limits() -> HostLimits:
    """Open files of one process (the hard limit: engine processes raise the soft one) and ephemeral ports."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = _UNLIMITED_FILES if hard == resource.RLIM_INFINITY else hard
    return HostLimits(open_files=files, source_ports=_source_ports())


def _source_ports() -> int:
    try:
        low, high = map(int, _PORT_RANGE.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return HostLimits().source_ports
    return high - low + 1


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What a plan is compared with."""

    limits: HostLimits
    cores: int
    memory_bytes: int  # available now
    system_files: int  # open files of all processes together


def read_host() -> HostFacts:
    """Look at this host."""
    return HostFacts(
        limits=read_limits(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=int(psutil.virtual_memory().available),
        system_files=_system_files(),
    )


def _system_files() -> int:
    try:
        return int(Path("/proc/sys/fs/file-max").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _UNLIMITED_FILES
