"""What a run folder says about the machine and the software it was made with."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import ssl
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TypedDict

from telemark import __version__

_PACKAGES = ("pyarrow", "pyspark", "psutil", "rich")


class HostPart(TypedDict, total=False):
    """The machine of a run. What is not known is null."""

    name: str | None
    cpu: str | None
    cores: int | None
    memory_bytes: int | None
    kernel: str | None
    os: str | None
    boot_id: str | None
    fingerprint: str | None


@cache
def host_facts() -> HostPart:
    """Name, CPU, memory, kernel and system. Unknown facts are null.

    The fingerprint is equal for two runs whose CPU, cores, memory and kernel are equal: such runs may be compared.
    """
    facts: HostPart = {
        "name": socket.gethostname(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "os": _os_name(),
        "boot_id": _read("/proc/sys/kernel/random/boot_id"),
    }
    parts = [str(facts[name]) for name in ("cpu", "cores", "memory_bytes", "kernel")]
    return facts | {"fingerprint": hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]}


@cache
def software_versions() -> dict[str, str]:
    """Versions of what takes part in a run; a package that is not installed is left out."""
    versions = {"telemark": __version__, "python": platform.python_version(), "openssl": ssl.OPENSSL_VERSION}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions | {"platform": sys.platform}


def _cpu_model() -> str | None:
    text = _read("/proc/cpuinfo") or ""
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), None)


def _os_name() -> str | None:
    text = _read("/etc/os-release") or ""
    names = [line.partition("=")[2].strip('"') for line in text.splitlines() if line.startswith("PRETTY_NAME=")]
    return names[0] if names else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
