"""Memory, disk, clock and CPU frequency."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from telemark.host.ports import ephemeral_ports
from telemark.host.sizes import DEVICE_BYTES, ROW_BYTES, SESSION_BYTES, SOCKET_BYTES
from telemark.runner.doctor.findings import Finding

BYTES_PER_DEVICE = DEVICE_BYTES + SOCKET_BYTES + SESSION_BYTES
MIB = 1 << 20
SLOW_CLOCKS = ("acpi_pm", "hpet", "jiffies", "pit")


def check_machine(devices: int, out: Path) -> Iterator[Finding]:
    """Findings that are no kernel setting and no process limit."""
    yield check_memory(devices)
    yield check_source_addresses(devices)
    yield check_disk(out)
    yield check_clock()
    yield from check_governor()


def check_memory(devices: int) -> Finding:
    """Available memory against a rough need."""
    needed = devices * BYTES_PER_DEVICE
    available = _available_memory()
    why = f"about {BYTES_PER_DEVICE // 1000} kB for each device: engine, both sockets, the server's session"
    should = f">= {needed // MIB} MiB free"
    if available is None:
        return Finding("memory", "unknown", should, "not shown", why)
    state = "ok" if available >= needed else "short"
    fix = None if available >= needed else f"telemark run ... --publishers {available // BYTES_PER_DEVICE}"
    return Finding("memory", state, should, f"{available // MIB} MiB free", why, fix)  # type: ignore[arg-type]


def check_source_addresses(devices: int) -> Finding:
    """How many addresses of 127.0.0.0/8 the engine will use; on loopback they need no configuration."""
    ports = len(ephemeral_ports())
    addresses = -(-devices // ports)
    why = "one connection needs one port; the engine spreads devices over source addresses by itself on loopback"
    return Finding("source addresses", "ok", f"{addresses} for {devices} devices", f"{ports} ports each", why)


def check_disk(out: Path) -> Finding:
    """Room for the records."""
    folder = next((parent for parent in (out.absolute(), *out.absolute().parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(folder).free
    an_hour = 100_000 * 3600 * ROW_BYTES / (1 << 30)
    why = f"a delivery is a row of {ROW_BYTES} bytes on disk: 100,000 messages a second take {an_hour:.0f} GiB an hour"
    state = "ok" if free >= 5 << 30 else "differs"
    fix = None if state == "ok" else "telemark run ... --out FOLDER-ON-A-LARGER-DISK"
    return Finding(f"disk {folder}", state, ">= 5 GiB free", f"{free / (1 << 30):.1f} GiB free", why, fix)  # type: ignore[arg-type]


def check_clock() -> Finding:
    """Every message reads the clock several times; some clock sources cost a microsecond each time."""
    folder = Path("/sys/devices/system/clocksource/clocksource0")
    why = "the clock is read several times for each message"
    try:
        current = (folder / "current_clocksource").read_text().strip()
        others = (folder / "available_clocksource").read_text().split()
    except OSError:
        return Finding("clock source", "unknown", "tsc, kvm-clock or arch_sys_counter", "not shown", why)
    if current not in SLOW_CLOCKS:
        return Finding("clock source", "ok", "tsc, kvm-clock or arch_sys_counter", current, why)
    better = next((name for name in others if name not in SLOW_CLOCKS), "tsc")
    fix = f"echo {better} > {folder / 'current_clocksource'}"
    return Finding("clock source", "differs", better, current, why, fix)


def check_governor() -> Iterator[Finding]:
    """A core that changes its frequency measures itself; absent in most virtual machines."""
    files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not files:
        return
    found = sorted({path.read_text().strip() for path in files})
    good = found == ["performance"]
    fix = None if good else "cpupower frequency-set -g performance"
    why = "a constant frequency makes runs comparable; not in the reports"
    yield Finding("CPU governor", "ok" if good else "differs", "performance", ", ".join(found), why, fix)


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
