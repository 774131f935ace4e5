"""Connects very many devices on this one machine and holds them: CONNBURST against several built-in servers.

A process may open few files, so devices are spread over engine processes and over built-in servers, which are the
addresses of one server. Prints one JSON line: connections a second, and memory of both sides and of the kernel for each
connection. Ends early when the machine runs out of memory, and says so.

    python benchmarks/million_devices.py --devices 128000
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pyarrow.compute as pc
import pyarrow.dataset as ds

from telemark.host.limits import RESERVED_FILES, SERVER_FILES, read_limits

TELEMARK = [str(Path(sys.executable).with_name("telemark"))]
LEAST_FREE_BYTES = 3 << 29  # 1.5 GiB: below this the machine is near to killing programs
HOLD_S = 20


def built_in_servers(count: int, held: ExitStack) -> list[tuple[int, int]]:
    """(process, port) of so many built-in servers, which end with `held`."""
    command = [*TELEMARK, "loopback", "--port", "0", "--json"]
    started = []
    for _ in range(count):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        held.callback(process.wait)
        held.callback(process.terminate)
        started.append(process)
    return [
        (process.pid, json.loads(process.stdout.readline())["ports"]["plain"]) for process in started if process.stdout
    ]


def descendants(pid: int) -> list[int]:
    """A process and all it started."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return []


def proportional_bytes(pids: Iterable[int]) -> int:
    """Memory of processes, shared pages counted by share."""
    found = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return found


class Watch:
    """Looks at the run about once a second: the most memory, and whether the machine has enough left."""

    def __init__(self, program: subprocess.Popen[str], servers: Sequence[int]) -> None:
        self._program = program
        self._servers = servers
        self._ended = threading.Event()
        self._available_before = psutil.virtual_memory().available
        self.most: dict[str, int] = {"server_bytes": 0, "engine_bytes": 0, "connections": 0, "all_bytes": 0}
        self.stopped = ""
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(1.0):
            available = psutil.virtual_memory().available
            if available < LEAST_FREE_BYTES and not self.stopped:
                self.stopped = f"only {available / 2**30:.1f} GiB of memory were left"
                self._program.send_signal(signal.SIGINT)
            self._note("all_bytes", self._available_before - available)
            self._note("connections", open_connections())
            self._note("server_bytes", proportional_bytes(self._servers))
            self._note("engine_bytes", proportional_bytes(descendants(self._program.pid)))

    def _note(self, name: str, value: int) -> None:
        self.most[name] = max(self.most[name], value)


def open_connections() -> int:
    """TCP connections of this host: both ends of those on loopback are sockets here."""
    text = Path("/proc/net/sockstat").read_text(encoding="ascii")
    fields = next(line.split() for line in text.splitlines() if line.startswith("TCP:"))
    return int(fields[fields.index("inuse") + 1]) // 2


def connected(folder: Path) -> dict[str, Any]:
    """What the records say: devices that connected, failures, and the rate from the first SYN to the last CONNACK."""
    rows = ds.dataset(sorted(folder.glob("*/connections/*.parquet"))).to_table()
    good = rows.filter(pc.equal(rows["result"], "ok"))
    took_s = (pc.max(good["connack_ns"]).as_py() - pc.min(good["started_ns"]).as_py()) / 1e9 if good.num_rows else 0.0
    return {
        "connected": good.num_rows,
        "failed_attempts": rows.num_rows - good.num_rows,
        "connect_s": round(took_s, 2),
        "connections_per_second": round(good.num_rows / took_s) if took_s else None,
    }


def run(devices: int, hold_s: int) -> dict[str, Any]:
    """Connect so many devices, hold them, and tell what it took."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="telemark-million-")))
        each = read_limits().open_files - SERVER_FILES - RESERVED_FILES
        servers = built_in_servers(-(-devices // each), held)
        url = "mqtt://" + ",".join(f"127.0.0.1:{port}" for _, port in servers)
        command = [
            *TELEMARK, "run", "messagesight/CONNBURST", "--size", "published", "--server", url, "--no-analyze",
            "--set", "vm=S", "--set", f"devices={devices}", "--duration", str(hold_s),
            "--out", str(folder), "--campaign", "c",
        ]  # fmt: skip
        began = time.monotonic()
        program = held.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True))
        with Watch(program, [pid for pid, _ in servers]) as watch:
            code = program.wait()
        found = connected(folder / "c")
        most = watch.most
        return found | {
            "devices": devices, "servers": len(servers), "exit_code": code, "stopped": watch.stopped,
            "held_connections": most["connections"], "took_s": round(time.monotonic() - began, 1),
            "server_bytes_per_connection": round(most["server_bytes"] / devices),
            "engine_bytes_per_connection": round(most["engine_bytes"] / devices),
            "all_bytes_per_connection": round(most["all_bytes"] / devices),
            "load_average": round(os.getloadavg()[0], 1), "cores": os.cpu_count(),
        }  # fmt: skip


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--hold", type=int, default=HOLD_S, help="seconds to hold all connections")
    given = parser.parse_args()
    print(json.dumps(run(given.devices, given.hold)))


if __name__ == "__main__":
    main()
