"""Services that the MessageSight report stops on its client machines before it measures (Appendix B)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from telemark.runner.doctor.findings import Finding

# service of the report -> programs that show it runs, by the names that Debian and Red Hat give them
STOPPED: Final = {
    "cpuspeed": ("cpuspeed",),
    "cups": ("cupsd",),
    "crond": ("cron", "crond"),
    "atd": ("atd",),
    "auditd": ("auditd",),
    "autofs": ("automount",),
    "rhnsd": ("rhnsd",),
    "rhsmcertd": ("rhsmcertd",),
    "postfix": ("qmgr",),  # its other programs have names that others share
    "mdmonitor": ("mdadm",),
    "firewalls": ("firewalld", "ufw"),
}
WHY = "a service that wakes up while something is measured takes its CPU time"
FIREWALL_WHY = "the report switches firewalls off because each packet passes them"


def check_services(proc: Path = Path("/proc")) -> Iterator[Finding]:
    """Which of them run, and whether a packet filter has tables."""
    running = programs(proc)
    found = {service: sorted(running & set(names)) for service, names in STOPPED.items()}
    active = [name for names in found.values() for name in names]
    should = f"stopped: {', '.join(STOPPED)}"
    fix = f"systemctl stop {' '.join(active)}" if active else None
    yield Finding("services", "differs" if active else "ok", should, ", ".join(active) or "none of them runs", WHY, fix)
    tables = [name for file in ("ip_tables_names", "ip6_tables_names") for name in _text(proc / "net" / file).split()]
    has = f"tables {', '.join(sorted(set(tables)))}" if tables else "no tables"
    fix = "iptables -F; ip6tables -F  # removes all rules until they are loaded again" if tables else None
    yield Finding("packet filter", "differs" if tables else "ok", "no tables of iptables", has, FIREWALL_WHY, fix)


def programs(proc: Path) -> set[str]:
    """Names of all programs that run."""
    return {_text(folder / "comm").strip() for folder in proc.glob("[0-9]*")}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
