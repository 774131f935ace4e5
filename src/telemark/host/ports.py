"""TCP ports of this host: those the kernel gives to connections, and free ones for servers under test.

Servers get ports from below the kernel's ephemeral range: thousands of simulated devices take their source ports from
that range, and one of them could sit on a server's port at the moment the server is restarted.
"""

from __future__ import annotations

import ipaddress
import random
import socket
import threading
from pathlib import Path

import psutil

from telemark.errors import RequirementError, ServerError

LOOPBACK = "127.0.0.1"
LOWEST, HIGHEST = 15_000, 32_000  # well above the ports of installed services
_EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_KERNEL_DEFAULT = range(32_768, 61_000)

_IP = (socket.AF_INET, socket.AF_INET6)

_given: set[int] = set()  # ports handed out by this process: two servers starting at once must not meet
_given_lock = threading.Lock()


def ephemeral_ports() -> range:
    """Ports the kernel gives to outgoing connections, of each source address."""
    try:
        low, high = map(int, _EPHEMERAL_RANGE.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return _KERNEL_DEFAULT
    return range(low, high + 1)


def own_addresses() -> list[str]:
    """IP addresses of this host's interfaces, without those that only mean something on one link."""
    found = [each.address for several in psutil.net_if_addrs().values() for each in several if each.family in _IP]
    return [address for address in found if not ipaddress.ip_address(address.partition("%")[0]).is_link_local]


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
    ephemeral_from = ephemeral_ports().start
    return range(LOWEST, min(HIGHEST, ephemeral_from)) if ephemeral_from > LOWEST + 1000 else range(LOWEST, HIGHEST)


def is_loopback(host: str) -> bool:
    """Whether an address is this host's own 127.0.0.0/8 (or its name)."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network("127.0.0.0/8")
    except ValueError:
        return host == "localhost"
