"""The measures of `peers.py`: each plays one load of a tool and reads counters of the server and of the kernel."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from harness import loopback
from peer_adapters import Peer, Programs, Task, Told

from telemark.servers.loopback_faults import parse_faults

RATE = 20_000
QUIET_RATE, QUIET_PUBLISHERS = 1_000, 100  # of the loads whose results are read
SETTLE_S, WINDOW_S = 1.5, 3.0
START_S, LONGEST_S = 30.0, 120.0
SHARES = (1.0, 0.7, 0.4)  # of the rate that arrived
ALL = 0.98  # of what was sent meanwhile has arrived: the rest is under way, not piling up
ENOUGH = 100  # messages after which a load has begun


class NotMeasuredError(Exception):
    """The tool cannot do it, or did not within the time."""


class Server:
    """The built-in server's counters."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.port = ports["plain"]
        self._url = f"http://127.0.0.1:{ports['control']}/counters"

    def counters(self) -> dict[str, int]:
        """What it has counted so far."""
        with urllib.request.urlopen(self._url, timeout=5) as answer:
            counted: dict[str, int] = json.load(answer)
        return counted

    def until(self, counter: str, least: int, timeout_s: float = START_S) -> None:
        """Wait for a counter."""
        end = time.monotonic() + timeout_s
        while (reached := self.counters()[counter]) < least:
            if time.monotonic() > end:
                raise NotMeasuredError(f"{reached} of {least} {counter} after {timeout_s:.0f} s")
            time.sleep(0.05)


class Processes:
    """The processes of a tool, with all their children."""

    def __init__(self, programs: Programs, folder: Path) -> None:
        self._output = folder / "stdout"
        self._errors = (folder / "stderr").open("w")
        with self._output.open("w") as out:
            self._started = [
                psutil.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out if command is programs[-1] else subprocess.DEVNULL,
                    stderr=self._errors,
                )
                for command in programs
            ]

    def _all(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for program in self._started:
            with suppress(psutil.NoSuchProcess):
                found += [program, *program.children(recursive=True)]
        return found

    def cpu_s(self) -> float:
        """Processor time of all that live."""
        return sum(self._each(lambda process: sum(process.cpu_times()[:2])))

    def memory(self) -> float:
        """Proportional resident bytes of all that live."""
        return sum(self._each(lambda process: process.memory_full_info().pss))

    def _each(self, ask: Callable[[psutil.Process], float]) -> Iterator[float]:
        for process in self._all():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                yield ask(process)

    def output(self) -> str:
        """What the last program printed, once it has ended: its standard output, or its errors when that is empty."""
        try:
            self._started[-1].wait(LONGEST_S)
        except psutil.TimeoutExpired:
            raise NotMeasuredError(f"no result after {LONGEST_S:.0f} s") from None
        return self._output.read_text(errors="replace") or Path(self._errors.name).read_text(errors="replace")

    def end(self) -> None:
        """Ask every process to end, then make it."""
        living = self._all()
        for order in ("terminate", "kill"):
            for process in living:
                with suppress(psutil.NoSuchProcess):
                    getattr(process, order)()
            _, living = psutil.wait_procs(living, timeout=3)
        self._errors.close()


@contextmanager
def playing(programs: Programs, folder: Path) -> Iterator[Processes]:
    """A tool at work; ended when the measurement is over."""
    tool = Processes(programs, folder)
    try:
        yield tool
    finally:
        tool.end()


@contextmanager
def server(*faults: str) -> Iterator[Server]:
    """A built-in server of its own, with these faults."""
    with loopback(faults=parse_faults(faults)) as ports:
        yield Server(ports)


def window(peer: Peer, folder: Path, rate: int) -> dict[str, float]:
    """What the server and the kernel counted in a few seconds of a load."""
    with server() as at, playing(peer.load(Task(at.port, peer.publishers, rate, 15, folder)), folder) as tool:
        at.until("messages_in", ENOUGH)
        time.sleep(SETTLE_S)
        cpu, counted, begin = tool.cpu_s(), at.counters(), time.monotonic()
        time.sleep(WINDOW_S)
        cpu, after, seconds = tool.cpu_s() - cpu, at.counters(), time.monotonic() - begin
    arrived = "messages_out" if peer.subscribes else "messages_in"
    messages = after[arrived] - counted[arrived]
    if messages < ENOUGH or cpu <= 0:
        raise NotMeasuredError("the load ended before it could be measured")
    share = messages / max(1, after["messages_in"] - counted["messages_in"])
    return {
        "us": round(cpu * 1e6 / messages, 1),
        "per_s": round(messages / seconds),
        "arrived": round(share, 3),
        "dropped": after["messages_dropped"],
    }


def without_loss(found: dict[str, float]) -> bool:
    """Whether everything arrived: nothing dropped for want of room, nothing piling up."""
    return found["arrived"] >= ALL and not found["dropped"]


def cost(peer: Peer, folder: Path) -> dict[str, float]:
    """Processor time of a message at 20,000/s, or at whatever rate the tool reaches."""
    return window(peer, folder, RATE if peer.paces else 0)


def greatest(peer: Peer, folder: Path) -> dict[str, float]:
    """Messages a second when the tool sends as fast as it can; if not all arrive, paced, slower and slower."""
    found = window(peer, folder, 0)
    if not peer.paces:
        return found
    for share in SHARES:
        if without_loss(found):
            return found
        paced = window(peer, folder, round(share * found["per_s"]))
        if without_loss(paced):
            return paced
    return found


def memory(peer: Peer, folder: Path) -> dict[str, float]:
    """Memory of the tool with few and with many connections that hardly send."""
    few, many = peer.crowds
    used = []
    for number in (few, many):
        rate = number if peer.paces else 0
        with server() as at, playing(peer.load(Task(at.port, number, rate, 15, folder)), folder) as tool:
            at.until("connections", number)
            time.sleep(SETTLE_S)
            used.append(tool.memory())
    each = (used[1] - used[0]) / (many - few)
    return {"kib": round(each / 1024, 1), "few": few, "many": many, "few_mb": round(used[0] / 1e6)}


def connect_rate(peer: Peer, folder: Path) -> int:
    """Connections a second, from the 10th to the 90th percent of them."""
    number = peer.crowds[1]
    with server() as at, ThreadPoolExecutor() as pool:
        watching = pool.submit(watch_connects, at, number)  # a tool may connect while its processes are started
        with playing(peer.connects(Task(at.port, number, number, 5, folder)), folder):
            seen = watching.result()
    begin, end = (next(look for look in seen if look[1] >= share * number) for share in (0.1, 0.9))
    if begin == end:
        raise NotMeasuredError("all connected within one look at the counter")
    return round((end[1] - begin[1]) / (end[0] - begin[0]))


def watch_connects(at: Server, number: int) -> list[tuple[float, int]]:
    """Time and number of connects, looked at again and again until all have come."""
    seen: list[tuple[float, int]] = []
    end = time.monotonic() + START_S
    while not seen or seen[-1][1] < number:
        if time.monotonic() > end:
            raise NotMeasuredError(f"{seen[-1][1]} of {number} connected after {START_S:.0f} s")
        seen.append((time.monotonic(), at.counters()["connects"]))
        time.sleep(0.002)
    return seen


def time_to_result(peer: Peer, folder: Path) -> float:
    """Seconds from the start of the command to its end, for a load of 5 s."""
    if not peer.paces:
        raise NotMeasuredError("no loads of a given duration")
    with server() as at:
        begin = time.monotonic()
        with playing(peer.load(quiet(peer, at, 5, folder)), folder) as tool:
            tool.output()
            return round(time.monotonic() - begin, 1)


def quiet(peer: Peer, at: Server, seconds: int, folder: Path) -> Task:
    """A load far below what any tool can do."""
    return Task(at.port, min(QUIET_PUBLISHERS, peer.publishers), QUIET_RATE, seconds, folder)


def freeze(peer: Peer, folder: Path) -> dict[str, float | None]:
    """What the tool says of 10 s in which the server stood still for one: 95 % are below 500 ms, 99 % below 900 ms."""
    with server("stall=1@3") as at, playing(peer.latency_load(quiet(peer, at, 10, folder)), folder) as tool:
        told = tool.output()
    found: Told = peer.told(told)
    return {"p95_ms": found.p95_ms, "p99_ms": found.p99_ms}


def drops(peer: Peer, folder: Path) -> dict[str, int | None]:
    """What the tool says of every 100th message dropped."""
    with server("drop=100") as at, playing(peer.load(quiet(peer, at, 5, folder)), folder) as tool:
        told = tool.output()
        counted = at.counters()
    dropped = counted["messages_in"] - counted["messages_out"] if peer.subscribes else None
    return {"found": peer.told(told).lost, "dropped": dropped}


@dataclass(frozen=True)
class Measure:
    """One row of the table."""

    title: str
    take: Callable[[Peer, Path], Any]
    cell: Callable[[Any], str]


def _rate_cell(found: dict[str, float]) -> str:
    short = "" if without_loss(found) else f", {found['arrived']:.0%} of what was sent"
    return f"{found['per_s']:,}{short}"


def _freeze_cell(found: dict[str, float | None]) -> str:
    if found["p99_ms"] is None:
        return "says nothing"
    return f"{found['p95_ms']:g} / {found['p99_ms']:g}"


def _drops_cell(found: dict[str, int | None]) -> str:
    if found["found"] is None:
        return "says nothing"
    return f"{found['found']} of {found['dropped']}"


MEASURES = {
    "cost": Measure(
        "processor time of a message at 20,000/s, us (rate reached)",
        cost,
        lambda got: f"{got['us']} ({got['per_s']:,}/s)",
    ),
    "greatest": Measure("greatest rate at which all arrive, messages/s", greatest, _rate_cell),
    "memory": Measure(
        "memory of a connection, KiB (MB with few)",
        memory,
        lambda got: f"{got['kib']} ({got['few_mb']} with {got['few']})",
    ),
    "connect_rate": Measure("connections/s", connect_rate, lambda got: f"{got:,}"),
    "time_to_result": Measure("start to result of a 5 s load, s", time_to_result, lambda got: f"{got}"),
    "freeze": Measure("server frozen for 1 s: p95 / p99, ms (true 500 / 900)", freeze, _freeze_cell),
    "drops": Measure("every 100th message dropped: found", drops, _drops_cell),
}
