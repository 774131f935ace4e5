"""Processes under watch: CPU, memory, threads, files and switches, from /proc and the process CPU clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from telemark.runner.health.samples import Sample, Throttle

KIB = 1024
BUSIEST_THREADS = 3  # of each process, by name and id


class ProcessSource:
    """All processes of one kind. Processes come and go, but finding them can cost more than watching them.

    Args:
        source: server, engine or consumer.
        pids: finds them.
        ask_every_s: how often it is asked; at once when a process has gone or none was found.
    """

    def __init__(self, source: str, pids: Callable[[], Iterable[int]], ask_every_s: float = 0.0) -> None:
        self._source = source
        self._ask_every_ns = round(ask_every_s * 1e9)
        self._pids = pids
        self._watched: dict[int, WatchedProcess] = {}
        self._ask_again_ns = 0

    def sample(self, now_ns: int) -> list[Sample]:
        """What can be read of each process; one that has gone is left out."""
        if now_ns >= self._ask_again_ns:
            self._watched = {pid: self._watched.get(pid) or WatchedProcess(pid) for pid in sorted(set(self._pids()))}
            self._ask_again_ns = now_ns + self._ask_every_ns if self._watched else 0
        samples: list[Sample] = []
        for pid, process in self._watched.items():
            values = process.values(now_ns)
            if not values:
                self._ask_again_ns = 0
            samples += [Sample(self._source, str(pid), metric, value) for metric, value in values]
            samples += [
                Sample(self._source, f"{pid}/{thread} {name}", "thread_cores", cores)
                for thread, name, cores in process.busiest
            ]
        return samples


class WatchedProcess:
    """One process and the counts of its last look."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._folder = Path("/proc") / str(pid)
        self._last_ns = 0
        self._cpu_ns: int | None = None
        self._threads: dict[str, int] = {}
        self._switches: dict[str, tuple[int, int]] = {}
        self._slow = Throttle()
        self.busiest: list[tuple[str, str, float]] = []  # thread id, name and cores used, of the last look

    def values(self, now_ns: int) -> list[tuple[str, float]]:
        """(metric, value) of everything that can be read now."""
        elapsed_ns = now_ns - self._last_ns if self._last_ns else 0
        self._last_ns = now_ns
        return [*self._cpu(elapsed_ns), *self._memory(), *self._per_thread(elapsed_ns), *self._open_files()]

    def _cpu(self, elapsed_ns: int) -> Iterator[tuple[str, float]]:
        cpu_ns = process_cpu_ns(self._pid)
        if cpu_ns is not None and self._cpu_ns is not None and elapsed_ns > 0:
            yield "cpu_cores", (cpu_ns - self._cpu_ns) / elapsed_ns
        self._cpu_ns = cpu_ns

    def _memory(self) -> Iterator[tuple[str, float]]:
        status = _fields(self._folder / "status")
        if "VmRSS" in status:
            yield "rss_bytes", float(status["VmRSS"].split()[0]) * KIB
        if "Threads" in status:
            yield "threads", float(status["Threads"])
        # Walking the page tables holds the process's memory lock: rarely for a process where that takes long.
        if self._slow.due():
            rollup = _fields(self._folder / "smaps_rollup")
            self._slow.spent()
            if "Pss" in rollup:
                yield "pss_bytes", float(rollup["Pss"].split()[0]) * KIB

    def _per_thread(self, elapsed_ns: int) -> Iterator[tuple[str, float]]:
        """The busiest threads, and switches over the threads that were there at both looks."""
        self.busiest = []
        threads, switches = read_threads(self._folder)
        if elapsed_ns > 0 and self._threads and threads:
            used = {name: (ns - self._threads.get(name, 0)) / elapsed_ns for name, ns in threads.items()}
            order = sorted(used, key=lambda name: used[name], reverse=True)[:BUSIEST_THREADS]
            self.busiest = [(name, thread_name(self._folder, name), used[name]) for name in order if used[name] > 0]
            yield "busiest_thread_cores", max(used.values(), default=0.0)
            both = [(switches[name], self._switches[name]) for name in switches.keys() & self._switches.keys()]
            yield "voluntary_switches", float(sum(now[0] - before[0] for now, before in both))
            yield "involuntary_switches", float(sum(now[1] - before[1] for now, before in both))
        self._threads, self._switches = threads, switches

    def _open_files(self) -> Iterator[tuple[str, float]]:
        folder = self._folder / "fd"
        try:
            # Linux 6.2 and later give the count as the folder's size; before that it is 0 and the names are counted.
            yield "open_files", float(folder.stat().st_size or sum(1 for _ in folder.iterdir()))
        except OSError:
            return


def process_cpu_ns(pid: int) -> int | None:
    """CPU time of a process, ended threads included, to the nanosecond; None when it has gone.

    The clock id of another process's CPU clock is made as the kernel does: ~pid in the upper bits, then
    2 for the scheduler's clock (MAKE_PROCESS_CPUCLOCK in the kernel's posix-timers).
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def read_threads(folder: Path) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """CPU nanoseconds and (voluntary, involuntary) switches of every thread alive, by thread id."""
    cpu, switches = {}, {}
    try:
        names = [thread.name for thread in (folder / "task").iterdir()]
    except OSError:
        return {}, {}
    for name in names:
        thread = folder / "task" / name
        try:
            cpu[name] = int((thread / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            continue  # ended between the two reads
        status = _fields(thread / "status")
        if "nonvoluntary_ctxt_switches" in status:
            switches[name] = (int(status["voluntary_ctxt_switches"]), int(status["nonvoluntary_ctxt_switches"]))
    return cpu, switches


def thread_name(folder: Path, thread: str) -> str:
    """The name that the program gave the thread; empty when it has ended."""
    try:
        return (folder / "task" / thread / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _fields(path: Path) -> dict[str, str]:
    """A file of `name: value` lines; empty when it cannot be read."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
