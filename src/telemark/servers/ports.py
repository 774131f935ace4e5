"""Free TCP ports for servers under test.

Ports come from below the kernel's ephemeral range: thousands of simulated devices take their source ports from that
range, and one of them could sit on a server's port at the moment the server is restarted.
"""

from __future__ import annotations

import random
import socket
import threading
from pathlib import Path

from telemark.errors import RequirementError, ServerError

LOOPBACK = "127.0.0.1"
LOWEST, HIGHEST = 15_000, 32_000  # well above the ports of installed services
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

_given: set[int] = set()  # ports handed out by this process: two servers starting at once must not meet
_given_lock = threading.Lock()


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen on the port now. SO_REUSEADDR as servers set it, so TIME_WAIT is no obstacle."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Distinct free ports that this process has not given out before."""
    choices = list(_candidates())
    random.Random().shuffle(choices)  # seeded by the system, ten times faster than SystemRandom
    found: list[int] = []
    with _given_lock:
        for port in choices:
            if len(found) == count:
                break
            if port not in _given and is_free(port):
                found.append(port)
        _given.update(found)
    if len(found) < count:
        raise RequirementError(f"{count} free TCP ports expected on {LOOPBACK}, {len(found)} found")
    return found


def require_free(port: int, listener: str) -> None:
    """Refuse a port someone else listens on, before the server is started and fails in its own words."""
    if not is_free(port):
        raise ServerError(
            f"port {port} (listener {listener}) is already in use on {LOOPBACK}",
            hint="stop the program that listens there, or leave the port out: a free one is chosen",
        )


def _candidates() -> range:
    """Port numbers below the ephemeral range, or the top of the usual range when it has been widened."""
    try:
        ephemeral_from = int(_EPHEMERAL_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        ephemeral_from = 32_768
    return range(LOWEST, min(HIGHEST, ephemeral_from)) if ephemeral_from > LOWEST + 1000 else range(LOWEST, HIGHEST)
