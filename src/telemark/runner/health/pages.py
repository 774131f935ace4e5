"""A server on another host, from the Prometheus pages of its host (node_exporter) and of the server itself."""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from telemark.errors import ConfigError, RequirementError
from telemark.runner.health.host import HostChanges, HostReading
from telemark.runner.health.samples import Sample
from telemark.servers.counter_pages import PATIENCE_S, fetch_text
from telemark.servers.prometheus import by_labels
from telemark.store.health_metrics import SERVER

Metrics = Mapping[str, Mapping[str, float]]  # by name, then by labels as they stand on the page

_MODES: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_CORES: Final = "node_cpu_seconds_total"
# metric of ours -> (their counters, label with the instance, factor)
_COUNTS: Final[Mapping[str, tuple[tuple[str, ...], str, float]]] = {
    "disk_write_bytes": (("node_disk_written_bytes_total",), "device", 1.0),
    "disk_busy": (("node_disk_io_time_seconds_total",), "device", 1000.0),  # milliseconds, as /proc counts
    "network_bytes": (("node_network_receive_bytes_total", "node_network_transmit_bytes_total"), "device", 1.0),
    "network_packets": (("node_network_receive_packets_total", "node_network_transmit_packets_total"), "device", 1.0),
    "tcp_retransmits": (("node_netstat_Tcp_RetransSegs",), "", 1.0),
    "listen_overflows": (("node_netstat_TcpExt_ListenOverflows",), "", 1.0),
}
# What Prometheus' client libraries call the process that serves the page; some servers put their name before it.
_PROCESS: Final[Mapping[str, str]] = {
    "rss_bytes": "process_resident_memory_bytes",
    "open_files": "process_open_fds",
    "threads": "process_threads",
}
_PROCESS_CPU: Final = "process_cpu_seconds_total"
_PASSED_OVER: Final = re.compile(r"^(loop|ram|zram|dm-|sr)")  # as for this host's own disks


class PageSource:
    """One page, read once a second. A page that does not answer leaves a gap in the rows.

    Args:
        url: http or https, without a password.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--server-metrics: found {url!r}, expected http://host:port/metrics")
        if parts.password:
            raise ConfigError(
                "--server-metrics: a password in the URL would be visible to every user, expected a URL without"
            )
        self.url = url
        self.host = parts.hostname
        self._changes = HostChanges()
        self._cpu: tuple[int, float] | None = None  # (time, CPU seconds) of the last look

    def check(self) -> None:
        """Raise RequirementError when the page does not answer, or tells nothing about a host or a process."""
        text = fetch_text(self.url, 5.0)
        if text is None:
            raise RequirementError(f"--server-metrics {self.url}: no answer", hint="is the exporter running there?")
        found = by_labels(text)
        if _CORES not in found and not any(_of_process(found, name) is not None for name in _PROCESS.values()):
            raise RequirementError(
                f"--server-metrics {self.url}: neither {_CORES} (node_exporter) nor process_* metrics are on the page"
            )

    def sample(self, now_ns: int) -> list[Sample]:
        """What the page tells now. Numbers that are finite one by one need not be so together."""
        return [sample for sample in self._samples() if math.isfinite(sample.value)]

    def _samples(self) -> list[Sample]:
        text = fetch_text(self.url, PATIENCE_S)
        read_ns = time.monotonic_ns()
        found = by_labels(text) if text is not None else {}
        if _CORES in found:  # the process_* metrics of this page are those of the exporter
            return self._changes.samples(read_ns, host_reading(found))
        return [*self._process_cpu(read_ns, found), *_process_values(found)]

    def _process_cpu(self, now_ns: int, found: Metrics) -> Iterator[Sample]:
        seconds, before = _of_process(found, _PROCESS_CPU), self._cpu
        self._cpu = None if seconds is None else (now_ns, seconds)
        if seconds is not None and before is not None and seconds >= before[1] and now_ns > before[0]:
            yield Sample(SERVER, "", "cpu_cores", (seconds - before[1]) * 1e9 / (now_ns - before[0]))


def host_reading(found: Metrics) -> HostReading:
    """A page of node_exporter as one look at its host."""
    names = {"MemAvailable": "node_memory_MemAvailable_bytes", "MemTotal": "node_memory_MemTotal_bytes"}
    memory = {ours: sum(found[theirs].values()) for ours, theirs in names.items() if theirs in found}
    return HostReading(_cores(found), memory, dict(_counts(found)))


def _cores(found: Metrics) -> dict[str, tuple[float, ...]]:
    times: dict[str, dict[str, float]] = defaultdict(dict)
    for labels, value in found[_CORES].items():
        times[f"cpu{_label(labels, 'cpu')}"][_label(labels, "mode")] = value
    return {name: tuple(modes.get(mode, 0.0) for mode in _MODES) for name, modes in times.items()}


def _counts(found: Metrics) -> Iterator[tuple[tuple[str, str], float]]:
    for metric, (theirs, label, factor) in _COUNTS.items():
        summed: dict[str, float] = defaultdict(float)
        for name in theirs:
            for labels, value in found.get(name, {}).items():
                summed[_label(labels, label) if label else ""] += value * factor
        yield from (((each, metric), value) for each, value in summed.items() if not _PASSED_OVER.match(each))


def _process_values(found: Metrics) -> Iterator[Sample]:
    for ours, theirs in _PROCESS.items():
        value = _of_process(found, theirs)
        if value is not None:
            yield Sample(SERVER, "", ours, value)


def _of_process(found: Metrics, name: str) -> float | None:
    """The metric of that name, or of one that ends with it (rabbitmq_process_open_fds)."""
    known = [name] if name in found else [each for each in found if each.endswith(f"_{name}")]
    return sum(found[known[0]].values()) if known else None


def _label(labels: str, name: str) -> str:
    match = re.search(rf'(?:^|,)\s*{name}="([^"]*)"', labels)
    return match[1] if match else ""
