"""The host's cores, memory, disks, network and TCP, from /proc."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from telemark.runner.health.samples import Sample
from telemark.store.health_metrics import HOST

SECTOR = 512  # bytes; /proc/diskstats counts in these whatever the disk's own sector size is
KIB = 1024


@dataclass(frozen=True, slots=True)
class HostReading:
    """One look at a host. Counts are cumulative; what cannot be read is left out."""

    cores: Mapping[str, tuple[float, ...]]  # time by core: user nice system idle iowait irq softirq steal
    memory: Mapping[str, float]  # bytes by the names of /proc/meminfo
    counts: Mapping[tuple[str, str], float]  # by (instance, metric); disk_busy is in milliseconds here


class HostChanges:
    """Differences between two looks at a host's counters, and its memory."""

    def __init__(self) -> None:
        self._last_ns = 0
        self._before = HostReading({}, {}, {})

    def samples(self, now_ns: int, found: HostReading) -> list[Sample]:
        """Everything about the host; increments need a look before, so the first one gives memory only."""
        elapsed_s = (now_ns - self._last_ns) / 1e9 if self._last_ns else 0.0
        samples = [*self._of_cores(found), *_of_memory(found.memory)]
        if elapsed_s > 0:
            samples += self._increments(found.counts, elapsed_s)
        self._last_ns, self._before = now_ns, found
        return samples

    def _of_cores(self, found: HostReading) -> Iterator[Sample]:
        for name, times in found.cores.items():
            before = self._before.cores.get(name)
            if before is not None:
                yield from core_shares(name, before, times)

    def _increments(self, counts: Mapping[tuple[str, str], float], elapsed_s: float) -> Iterator[Sample]:
        for (instance, metric), value in counts.items():
            before = self._before.counts.get((instance, metric))
            if before is None or value < before:  # new, or wrapped: unknown, not zero
                continue
            grown = float(value - before)
            if metric == "disk_busy":
                grown = min(1.0, grown / 1000.0 / elapsed_s)
            yield Sample(HOST, instance, metric, grown)


def _of_memory(memory: Mapping[str, float]) -> Iterator[Sample]:
    if "MemAvailable" in memory:
        yield Sample(HOST, "", "memory_available_bytes", memory["MemAvailable"])
        if "MemTotal" in memory:
            yield Sample(HOST, "", "memory_used_bytes", memory["MemTotal"] - memory["MemAvailable"])


class HostSource:
    """This host, from /proc."""

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc = proc
        self._disks = whole_disks(sys)
        self._changes = HostChanges()

    def sample(self, now_ns: int) -> list[Sample]:
        """Everything about the host."""
        cores = dict(read_cores(_text(self._proc / "stat")))
        memory = read_memory(_text(self._proc / "meminfo"))
        return self._changes.samples(now_ns, HostReading(cores, memory, self._read_counts()))

    def _read_counts(self) -> dict[tuple[str, str], float]:
        counts: dict[tuple[str, str], float] = {}
        counts |= read_disks(_text(self._proc / "diskstats"), self._disks)
        counts |= read_network(_text(self._proc / "net/dev"))
        tcp = read_protocol_table(_text(self._proc / "net/snmp"), "Tcp")
        extended = read_protocol_table(_text(self._proc / "net/netstat"), "TcpExt")
        if "RetransSegs" in tcp:
            counts["", "tcp_retransmits"] = tcp["RetransSegs"]
        if "ListenOverflows" in extended:
            counts["", "listen_overflows"] = extended["ListenOverflows"]
        return counts


def core_shares(name: str, before: tuple[float, ...], now: tuple[float, ...]) -> Iterator[Sample]:
    """Shares of one core between two looks: user nice system idle iowait irq softirq steal."""
    user, nice, system, idle, waiting, irq, softirq, steal = (b - a for a, b in zip(before, now, strict=True))
    total = user + nice + system + idle + waiting + irq + softirq + steal
    if total <= 0:
        return
    yield Sample(HOST, name, "cpu_user", (user + nice) / total)
    yield Sample(HOST, name, "cpu_system", (system + irq + softirq) / total)
    yield Sample(HOST, name, "cpu_idle", (idle + waiting) / total)
    yield Sample(HOST, name, "cpu_wait", waiting / total)
    yield Sample(HOST, name, "cpu_steal", steal / total)
    yield Sample(HOST, name, "cpu_busy", (total - idle - waiting - steal) / total)


def read_cores(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The per-core lines of /proc/stat, their first eight numbers (guest time is part of user time)."""
    for line in text.splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu" and len(numbers) >= 8:
            yield name, tuple(map(int, numbers[:8]))


def read_memory(text: str) -> dict[str, float]:
    """Bytes by name from /proc/meminfo."""
    facts = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith("kB"):
            facts[name] = float(rest.split()[0]) * KIB
    return facts


def read_disks(text: str, disks: frozenset[str]) -> dict[tuple[str, str], int]:
    """Bytes written and milliseconds busy of the whole disks in /proc/diskstats."""
    counts = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) >= 13 and fields[2] in disks:
            counts[fields[2], "disk_write_bytes"] = int(fields[9]) * SECTOR
            counts[fields[2], "disk_busy"] = int(fields[12])
    return counts


def read_network(text: str) -> dict[tuple[str, str], int]:
    """Bytes and packets, both directions, of every interface in /proc/net/dev."""
    counts = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        numbers = rest.split()
        if colon and len(numbers) >= 10:
            counts[name.strip(), "network_bytes"] = int(numbers[0]) + int(numbers[8])
            counts[name.strip(), "network_packets"] = int(numbers[1]) + int(numbers[9])
    return counts


def read_protocol_table(text: str, protocol: str) -> dict[str, int]:
    """One protocol of /proc/net/snmp or netstat, where a line of names is followed by a line of numbers."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{protocol}:")]
    return {name: int(value) for name, value in zip(*lines, strict=True)} if len(lines) == 2 else {}


def whole_disks(sys: Path) -> frozenset[str]:
    """Names of real disks: no partitions (they would count twice), no RAM disks, no loop devices."""
    try:
        names = [entry.name for entry in (sys / "block").iterdir()]
    except OSError:
        return frozenset()
    return frozenset(name for name in names if not name.startswith(("loop", "ram", "zram", "dm-", "sr")))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
