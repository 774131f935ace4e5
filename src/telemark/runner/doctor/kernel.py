"""Kernel settings: what N devices need, and what the reports set on their client machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from telemark.runner.doctor.findings import Finding

SPARE_FILES = 1_000  # libraries, logs, record files, the other programs of the host
SYSCTL = Path("/proc/sys")

Rule = Literal["at least", "exactly", "at most", "ports"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A kernel setting with its wanted value. Several numbers (tcp_rmem) are compared one by one."""

    name: str
    rule: Rule
    published: str  # Appendix B of the MessageSight report, unless `why` says otherwise
    why: str
    needed: Callable[[int], int] | None = None  # least value for N devices; below it a run is cut short


SETTINGS: tuple[Setting, ...] = (
    Setting("fs.nr_open", "at least", "2000000", "upper bound of a process's open files", lambda n: n + SPARE_FILES),
    Setting("fs.file-max", "at least", "2000000", "open files of the whole host; both ends of a connection count",
            lambda n: 2 * n + SPARE_FILES),
    Setting("net.ipv4.ip_local_port_range", "ports", "5000 65000",
            "ports of one source address (MQ Telemetry report: 8192 65535); more devices need more source addresses"),
    Setting("net.core.somaxconn", "at least", "4096", "accept queue of a server slow to accept; not in the reports"),
    Setting("net.ipv4.tcp_max_syn_backlog", "at least", "4096", "half-open connections in a burst; not in the reports"),
    Setting("net.core.netdev_max_backlog", "at least", "2097152", "packets waiting for the kernel, loopback too"),
    Setting("net.core.wmem_max", "at least", "65536", "largest send buffer a scenario may ask for"),
    Setting("net.core.rmem_max", "at least", "8388608", "largest receive buffer a scenario may ask for"),
    Setting("net.core.wmem_default", "at most", "16384", "memory of many sockets; TCP itself uses tcp_wmem"),
    Setting("net.core.rmem_default", "at most", "16384", "memory of many sockets; TCP itself uses tcp_rmem"),
    Setting("net.ipv4.tcp_wmem", "exactly", "2048 16384 65536", "least, first and largest send buffer of a connection"),
    Setting("net.ipv4.tcp_rmem", "exactly", "4096 16384 8388608", "least, first and largest receive buffer"),
    Setting("net.ipv4.tcp_mem", "at least", "65536 8388608 16777216", "pages that all TCP buffers may use"),
    Setting("net.ipv4.tcp_tw_reuse", "at least", "1", "ports of closed connections can be used again at once"),
    Setting("net.ipv4.tcp_timestamps", "exactly", "1", "needed by tcp_tw_reuse"),
    Setting("net.ipv4.tcp_window_scaling", "exactly", "1", "windows above 64 KiB"),
    Setting("net.ipv4.tcp_sack", "exactly", "1", "cheap recovery from loss"),
    Setting("net.ipv4.tcp_synack_retries", "at least", "10", "a burst of connections is retried instead of refused"),
    Setting("net.ipv4.tcp_keepalive_intvl", "at most", "15", "dead peers are noticed"),
    Setting("net.ipv4.tcp_keepalive_probes", "at most", "5", "dead peers are noticed"),
    Setting("net.ipv4.tcp_fin_timeout", "at most", "15", "closed connections free their ports sooner"),
    Setting("kernel.threads-max", "at least", "2000000", "servers that use a thread for each connection"),
    Setting("kernel.pid_max", "at least", "2000000", "servers that use a thread for each connection"),
    Setting("vm.nr_hugepages", "at least", "500", "the harness of the report used them; this one does not"),
    Setting("vm.max_map_count", "at least", "4000000", "servers that map a stack for each connection"),
    Setting("kernel.sched_autogroup_enabled", "exactly", "0",
            "programs of other terminals and services delay the engine (not under systemd); not in the reports"),
    Setting("net.netfilter.nf_conntrack_max", "at least", "2000000",
            "the firewall's table of connections (the report switched firewalls off); absent: no firewall",
            lambda n: 2 * n + SPARE_FILES),
)  # fmt: skip


def check_kernel(devices: int, root: Path = SYSCTL) -> Iterator[Finding]:
    """One finding for each setting, in the order of the table."""
    for setting in SETTINGS:
        yield check_setting(setting, devices, read_setting(setting.name, root))


def read_setting(name: str, root: Path = SYSCTL) -> str | None:
    """Value with single spaces; None when this kernel (or container) does not show it."""
    try:
        return " ".join((root / name.replace(".", "/")).read_text().split())
    except OSError:
        return None


def check_setting(setting: Setting, devices: int, has: str | None) -> Finding:
    """Compare one setting with what the devices need and with what was published."""
    if has is None:
        return Finding(setting.name, "unknown", setting.published, "not shown by this kernel", setting.why)
    if setting.needed and int(has) < setting.needed(devices):
        wanted = str(max(setting.needed(devices), int(setting.published)))
        return Finding(setting.name, "short", wanted, has, setting.why, f"sysctl -w {setting.name}={wanted}")
    if _fits(setting.rule, has, setting.published):
        return Finding(setting.name, "ok", setting.published, has, setting.why)
    fix = f'sysctl -w {setting.name}="{setting.published}"'
    return Finding(setting.name, "differs", setting.published, has, setting.why, fix)


def _fits(rule: Rule, has: str, published: str) -> bool:
    pairs = list(zip(map(int, has.split()), map(int, published.split()), strict=False))
    if rule == "at least":
        return all(mine >= theirs for mine, theirs in pairs)
    if rule == "at most":
        return all(mine <= theirs for mine, theirs in pairs)
    if rule == "ports":
        low, high = map(int, has.split())
        return high - low >= 55_000  # either report's range is about this wide
    return has == published
