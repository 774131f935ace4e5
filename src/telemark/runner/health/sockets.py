"""How much waits in the TCP sockets of the run, at the server's end and at the devices' end.

A Recv-Q that grows at one end names the side that does not keep up, which CPU figures alone do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from telemark.runner.health.samples import Sample, Throttle
from telemark.store.health_metrics import ENGINE, SERVER

# sl, local address, remote address, state (01 established, 0A listening), tx_queue:rx_queue; all hexadecimal
_ROW = re.compile(rb" *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) (01|0A) ([0-9A-F]{8}):([0-9A-F]{8})")
_NOTHING_WAITS = b" 01 00000000:00000000 "  # nearly every row; passed over without being taken apart


@dataclass(slots=True)
class Queues:
    """Sums over the sockets of one end."""

    receive: int = 0
    receive_max: int = 0
    send: int = 0
    send_max: int = 0

    def add(self, send: int, receive: int) -> None:
        """Count one socket in which something waits."""
        self.receive += receive
        self.send += send
        self.receive_max = max(self.receive_max, receive)
        self.send_max = max(self.send_max, send)

    def samples(self, source: str) -> list[Sample]:
        """The sums as health samples."""
        values = {
            "receive_queue_bytes": self.receive,
            "receive_queue_max_bytes": self.receive_max,
            "send_queue_bytes": self.send,
            "send_queue_max_bytes": self.send_max,
        }
        return [Sample(source, "", metric, float(value)) for metric, value in values.items()]


class SocketSource:
    """Reads the kernel's socket tables; how often depends on how long that takes with this many sockets."""

    def __init__(self, ports: Callable[[], Iterable[int]], folder: Path = Path("/proc/net")) -> None:
        self._ports = ports
        self._folder = folder
        self._throttle = Throttle()

    def sample(self, now_ns: int) -> list[Sample]:
        """Queues of both ends; an end that is not on this host (or has no socket yet) has no rows."""
        if not self._throttle.due():
            return []
        tables = [_bytes(self._folder / name) for name in ("tcp", "tcp6")]
        samples = queue_samples(tables, frozenset(self._ports()))
        self._throttle.spent()
        return samples


def queue_samples(tables: Iterable[bytes], ports: frozenset[int]) -> list[Sample]:
    """Sum the queues of all sockets whose local (server's end) or remote (device's end) port is one of ours."""
    wanted = {b"%04X" % port for port in ports}
    server, engine = Queues(), Queues()
    devices = listeners = waiting = 0
    for table in tables:
        devices += sum(table.count(b":" + port + b" 01 ") for port in wanted)
        for line in table.split(b"\n"):
            row = None if _NOTHING_WAITS in line else _ROW.match(line)
            if row is None:
                continue
            local, remote, state, send, receive = row.groups()
            if local in wanted and state == b"0A":
                listeners, waiting = listeners + 1, waiting + int(receive, 16)
            elif local in wanted:
                server.add(int(send, 16), int(receive, 16))
            elif remote in wanted and state == b"01":
                engine.add(int(send, 16), int(receive, 16))
    samples = [*server.samples(SERVER), Sample(SERVER, "", "accept_queue", float(waiting))] if listeners else []
    if devices:
        samples += [*engine.samples(ENGINE), Sample(ENGINE, "", "connections_open", float(devices))]
    return samples


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
