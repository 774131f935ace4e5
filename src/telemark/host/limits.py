"""What this host allows and has: the limits a plan is cut by, and the memory it is weighed against."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path

import psutil

from telemark.host.ports import ephemeral_ports

RESERVED_FILES = 100  # of an engine process: its own libraries, pipes and record files
SERVER_FILES = 200  # of a server besides one socket for each device: journals, libraries, listeners
_UNLIMITED_FILES = 1_048_576  # what a process without a limit may open unless fs.nr_open was raised


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one host allows; `read_limits` reads it."""

    open_files: int = 1024  # of one process, after raising the soft limit to the hard one
    source_ports: int = 28_232  # ephemeral ports of one source address

    def devices_per_process(self) -> int:
        """Connections one engine process can hold."""
        return max(1, self.open_files - RESERVED_FILES)


def read_limits() -> HostLimits:
    """Open files of one process (the hard limit: engine processes raise the soft one) and ephemeral ports."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = _UNLIMITED_FILES if hard == resource.RLIM_INFINITY else hard
    return HostLimits(open_files=files, source_ports=len(ephemeral_ports()))


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
