"""Memory, disk, clock, CPU frequency and network cards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from telemark.runner.doctor.findings import Finding
from telemark.runner.doctor.kernel import read_setting

# Rough and on the safe side: the engine's own memory (2 KiB), both kernel sockets (about 5 KiB each), and the
# session a server keeps for a device.
BYTES_PER_DEVICE = 20_000
MIB = 1 << 20
SLOW_CLOCKS = ("acpi_pm", "hpet", "jiffies", "pit")


def check_machine(devices: int, out: Path) -> Iterator[Finding]:
    """Findings that are no kernel setting and no process limit."""
    yield check_memory(devices)
    yield check_source_addresses(devices)
    yield check_disk(out)
    yield check_clock()
    yield from check_governor()
    yield from check_network_cards()


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
    ports = read_setting("net.ipv4.ip_local_port_range") or "32768 60999"
    low, high = map(int, ports.split())
    addresses = -(-devices // (high - low + 1))
    why = "one connection needs one port; the engine spreads devices over source addresses by itself on loopback"
    return Finding("source addresses", "ok", f"{addresses} for {devices} devices", f"{high - low + 1} ports each", why)


def check_disk(out: Path) -> Finding:
    """Room for the records."""
    folder = next((parent for parent in (out.absolute(), *out.absolute().parents) if parent.exists()), Path("/"))
    free = shutil.disk_usage(folder).free
    why = "every message is a row: about 20 to 30 bytes on disk, 100,000 messages a second fill 10 GiB in an hour"
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


def check_network_cards() -> Iterator[Finding]:
    """Appendix B's card settings; they matter only when the server is on another host."""
    for card in sorted(Path("/sys/class/net").glob("*")):
        if card.name == "lo" or not (card / "device").exists():
            continue
        queue, mtu = ((card / name).read_text().strip() for name in ("tx_queue_len", "mtu"))
        good = int(queue) >= 1000 and int(mtu) >= 1500
        fix = None if good else f"ip link set {card.name} txqueuelen 1000 mtu 1500"
        has = f"txqueuelen {queue}, MTU {mtu}"
        why = "only for a server on another host"
        yield Finding(f"card {card.name}", "ok" if good else "differs", "txqueuelen 1000, MTU 1500", has, why, fix)
        rings = f"ethtool -G {card.name} rx 8192 tx 8192"
        coalescing = f"ethtool -C {card.name} adaptive-rx off rx-usecs 10 rx-frames 0 tx-usecs 0 tx-frames 0"
        should = "rx and tx 8192; adaptive-rx off, rx-usecs 10, others 0"
        has = f"ask: ethtool -g {card.name}; ethtool -c {card.name}"
        yield Finding(f"card {card.name} rings", "unknown", should, has, why, f"{rings}; {coalescing}")


def _available_memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
