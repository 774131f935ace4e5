"""A runner with a thousand host agents: real lines, real clock exchanges, no engines.

    python benchmarks/thousand_agents.py [--agents 1000] [--seconds 10]

Agents are the real ones, many to a process. All are on one machine, so the true offset of every clock is 0: what the
runner takes for a host's start is off by exactly the error that it made.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil

from telemark._native import monotonic_ns
from telemark.bed.agent import _serve
from telemark.bed.clock_service import FIRST_BURST
from telemark.bed.host_line import HostLine
from telemark.bed.invitation import Invitation
from telemark.bed.switchboard import Switchboard
from telemark.runner.fleet import TELL_NS
from telemark.runner.phases import LEAD_NS

AT_ONCE = 50  # agents of one process
START_MS, STATUSES_PER_S, LOST_S = 10.0, 1.0, 10.0


def main() -> int:
    """Measure, print one JSON line, and say whether the limits were kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=10.0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="telemark-agents-") as folder:
        board = Switchboard("c", "127.0.0.1", encrypted=True)
        processes = start_agents(board.invitation(folder), chosen.agents)
        try:
            measured = Measurement(board, chosen.agents, chosen.seconds, Path(folder)).all(processes[-1])
        finally:
            for process in processes:
                process.kill()
                process.join()
            board.close()
    kept = (
        measured["start_off_ms"] <= START_MS
        and measured["start_spare_s"] >= 0
        and measured["least_statuses_per_s"] >= STATUSES_PER_S
        and measured["lost_noticed_s"] <= LOST_S
    )
    print(json.dumps(measured | {"kept": kept}))
    return 0 if kept else 1


def start_agents(invitation: Invitation, count: int) -> list[BaseProcess]:
    """Processes with many agents each; the last one has a single agent, which is going to be lost."""
    spawn = multiprocessing.get_context("spawn")
    names = [f"h{number}" for number in range(count)]
    groups = [names[:-1][at : at + AT_ONCE] for at in range(0, count - 1, AT_ONCE)] + [names[-1:]]
    processes = [spawn.Process(target=be_agents, args=(invitation, group), daemon=True) for group in groups]
    for process in processes:
        process.start()
    return processes


def be_agents(invitation: Invitation, names: list[str]) -> None:
    """Serve for all of these hosts."""

    async def serve_all() -> None:
        await asyncio.gather(*(_serve(invitation, name) for name in names), return_exceptions=True)

    asyncio.run(serve_all())


@dataclass
class Measurement:
    """What the runner sees of its agents."""

    board: Switchboard
    count: int
    seconds: float
    folder: Path  # of all agents

    @property
    def lines(self) -> list[HostLine]:
        """All of them."""
        return list(self.board.lines.values())

    def all(self, last: BaseProcess) -> dict[str, float]:
        """Every figure."""
        begun = time.monotonic()
        missing = self.board.wait_for({f"h{number}" for number in range(self.count)}, 120.0)
        if missing:
            raise SystemExit(f"{len(missing)} agents did not come")
        while any(len(line.exchanges) < FIRST_BURST for line in self.lines):
            self.refuse_lost(())
            time.sleep(0.05)
        joined_s = time.monotonic() - begun
        quiet = self.quiet()
        start = self.start()
        return {"agents": self.count, "joined_s": joined_s, **quiet, **start, "lost_noticed_s": self.loss(last)}

    def quiet(self) -> dict[str, float]:
        """Cost of the lines while nothing happens, and the age of what the runner knows."""
        runner = psutil.Process()
        cpu, begun, oldest_ns = sum(runner.cpu_times()[:2]), time.monotonic(), 0
        statuses: Counter[str] = Counter()
        known = {line.host: len(line.exchanges) for line in self.lines}
        while time.monotonic() < begun + self.seconds:
            time.sleep(0.1)
            self.refuse_lost(())
            now, seen = monotonic_ns(), {line.host: len(line.exchanges) for line in self.lines}
            statuses.update(host for host, count in seen.items() if count > known[host])
            known = seen
            oldest_ns = max(oldest_ns, *(now - line.exchanges[-1].told_ns for line in self.lines))
        passed = time.monotonic() - begun
        return {
            "runner_cores": (sum(runner.cpu_times()[:2]) - cpu) / passed,
            "runner_mib": runner.memory_info().rss / 2**20,
            "oldest_status_s": oldest_ns / 1e9,
            "least_statuses_per_s": min(statuses[line.host] for line in self.lines) / passed,
        }

    def start(self) -> dict[str, float]:
        """Tell every agent the common start on its own clock; all must know it before it comes."""
        begun, at_ns = time.monotonic(), monotonic_ns() + LEAD_NS + self.count * TELL_NS
        wall_ns = time.time_ns() + at_ns - monotonic_ns()
        off_ns = []
        for line in self.lines:  # one after the other and without an answer, as the runner does
            own_ns = line.own_time(at_ns)
            off_ns.append(abs(own_ns - at_ns))
            line.tell({"do": "put", "path": "start"}, str(own_ns).encode())
        told_s = time.monotonic() - begun
        while len(heard := list(self.folder.rglob("start"))) < self.count:
            self.refuse_lost(())
            time.sleep(0.1)
        spare_ns = wall_ns - max(path.stat().st_mtime_ns for path in heard)
        return {"start_told_s": told_s, "start_off_ms": max(off_ns) / 1e6, "start_spare_s": spare_ns / 1e9}

    def loss(self, last: BaseProcess) -> float:
        """Stop one agent, as when a cable is pulled; until the runner says that it is lost."""
        line = self.board.lines[f"h{self.count - 1}"]
        begun = time.monotonic()
        assert last.pid is not None  # it was started
        os.kill(last.pid, signal.SIGSTOP)
        while line.lost is None:
            time.sleep(0.01)
        noticed_s = time.monotonic() - begun
        self.refuse_lost((line,))
        return noticed_s

    def refuse_lost(self, expected: Sequence[HostLine]) -> None:
        """An agent that is lost although nobody stopped it: the machine is too small for so many."""
        lost = [str(each.lost) for each in self.lines if each.lost is not None and each not in expected]
        if lost:
            raise SystemExit(f"{len(lost)} of {self.count} agents were lost: {lost[0]}")


if __name__ == "__main__":
    raise SystemExit(main())
