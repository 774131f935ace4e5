"""Limits of this user's processes (setrlimit)."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from telemark.host.limits import SERVER_FILES
from telemark.runner.doctor.findings import Finding

UNLIMITED = resource.RLIM_INFINITY

# name, resource, published (MessageSight Appendix B), unit to divide by for `ulimit`, `ulimit` letter, why
_PUBLISHED: tuple[tuple[str, int, int, int, str, str], ...] = (
    ("nproc", resource.RLIMIT_NPROC, UNLIMITED, 1, "u", "servers that use a thread for each connection"),
    ("core", resource.RLIMIT_CORE, UNLIMITED, 1024, "c", "a crash of the server can be examined"),
    ("memlock", resource.RLIMIT_MEMLOCK, UNLIMITED, 1024, "l", "huge pages of the report's harness; not used here"),
    ("rtprio", resource.RLIMIT_RTPRIO, 100, 1, "r", "real-time threads of the report's harness; not used here"),
)


def check_limits(devices: int) -> Iterator[Finding]:
    """Open files first: it is the limit that stops a run."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield check_open_files(devices, soft, hard)
    yield from check_stack(*resource.getrlimit(resource.RLIMIT_STACK))
    for name, number, published, unit, letter, why in _PUBLISHED:
        soft, _ = resource.getrlimit(number)
        enough = soft == UNLIMITED or (published != UNLIMITED and soft >= published)
        fix = None if enough else f"ulimit -{letter} {_show(published, unit)}"
        yield Finding(
            f"limit {name}", "ok" if enough else "differs", _show(published, unit), _show(soft, unit), why, fix
        )


def check_open_files(devices: int, soft: int, hard: int) -> Finding:
    """Devices are spread over several engine processes, but the server is one process and needs a file for each."""
    needed = devices + SERVER_FILES
    has = f"{_show(soft)} (hard {_show(hard)})"
    why = "a server process needs one open file for each device; engine processes share them out"
    if soft == UNLIMITED or soft >= needed:
        return Finding("limit nofile", "ok", f">= {needed}", has, why)
    if hard == UNLIMITED or hard >= needed:
        return Finding("limit nofile", "short", f">= {needed}", has, why, f"ulimit -n {needed}")
    fix = f"printf '* soft nofile {needed}\\n* hard nofile {needed}\\n' > /etc/security/limits.d/telemark.conf"
    return Finding("limit nofile", "short", f">= {needed}", has, why, f"{fix}  # as root; then log in again")


def check_stack(soft: int, hard: int) -> Iterator[Finding]:
    """Appendix B: soft 4096 KiB, hard 32768 KiB: small stacks for servers with many threads."""
    enough = soft != UNLIMITED and soft <= 8192 * 1024
    why = "memory of servers that use a thread for each connection"
    fix = None if enough else "ulimit -s 4096"
    yield Finding(
        "limit stack", "ok" if enough else "differs", "4096 to 8192 KiB", f"{_show(soft, 1024)} KiB", why, fix
    )


def _show(value: int, unit: int = 1) -> str:
    return "unlimited" if value == UNLIMITED else str(value // unit)
