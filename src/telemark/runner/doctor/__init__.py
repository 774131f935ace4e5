"""Whether this host can carry so many devices: what it should have, what it has, and the command that fixes it.

Reads only. The published settings are those of the MessageSight report (Appendix B, client machine tuning) and of
the MQ Telemetry report (operating system considerations and client tuning).
"""

from __future__ import annotations

from pathlib import Path

from telemark.runner.doctor.cards import check_cards
from telemark.runner.doctor.findings import Finding
from telemark.runner.doctor.kernel import check_kernel
from telemark.runner.doctor.limits import check_limits
from telemark.runner.doctor.machine import check_machine
from telemark.runner.doctor.services import check_services

__all__ = ["Finding", "examine"]


def examine(devices: int, out: Path) -> list[Finding]:
    """All findings for a run of so many devices whose records go to `out`."""
    return [
        *check_limits(devices),
        *check_kernel(devices),
        *check_machine(devices, out),
        *check_cards(),
        *check_services(),
    ]
