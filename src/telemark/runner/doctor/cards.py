"""Network cards: queue, rings, coalescing and interrupts, as Appendix B of the MessageSight report sets them.

Rings and coalescing are asked of the driver with the request that `ethtool` uses (SIOCETHTOOL), without rights.
"""

from __future__ import annotations

import array
import fcntl
import re
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from telemark.runner.doctor.findings import Finding

SIOCETHTOOL = 0x8946
GET_COALESCE, GET_RINGS = 0x0E, 0x10  # commands of <linux/ethtool.h>
COALESCE_NUMBERS, RING_NUMBERS = 23, 9  # 32-bit numbers of their answers, the command included
PUBLISHED_RING = 8192
PUBLISHED_COALESCING = {"adaptive-rx": 0, "rx-usecs": 10, "rx-frames": 0, "tx-usecs": 0, "tx-frames": 0}
_COALESCE_PLACES = {"adaptive-rx": 10, "rx-usecs": 1, "rx-frames": 2, "tx-usecs": 5, "tx-frames": 6}
WHY = "only for a server on another host"

Ask = Callable[[str, int, int], Sequence[int] | None]  # card, command, numbers of the answer


def check_cards(root: Path = Path("/"), ask: Ask | None = None) -> Iterator[Finding]:
    """Findings about every real card. Each matters only when the server is on another host."""
    for card in sorted((root / "sys/class/net").glob("*")):
        if card.name == "lo" or not (card / "device").exists():
            continue
        yield check_queue(card)
        yield check_rings(card.name, (ask or ask_driver)(card.name, GET_RINGS, RING_NUMBERS))
        yield check_coalescing(card.name, (ask or ask_driver)(card.name, GET_COALESCE, COALESCE_NUMBERS))
        yield check_interrupts(card, root)


def check_queue(card: Path) -> Finding:
    """Length of the send queue, and MTU."""
    queue, mtu = ((card / name).read_text().strip() for name in ("tx_queue_len", "mtu"))
    good = int(queue) >= 1000 and int(mtu) >= 1500
    fix = None if good else f"ip link set {card.name} txqueuelen 1000 mtu 1500"
    has = f"txqueuelen {queue}, MTU {mtu}"
    return Finding(f"card {card.name}", "ok" if good else "differs", "txqueuelen 1000, MTU 1500", has, WHY, fix)


def check_rings(card: str, answer: Sequence[int] | None) -> Finding:
    """Descriptors of the receive and send rings; a card's own maximum is enough."""
    name, should = f"card {card} rings", f"rx and tx {PUBLISHED_RING}, or the card's maximum"
    if answer is None:
        return Finding(name, "unknown", should, "not told by its driver", WHY)
    most_rx, most_tx, rx, tx = answer[1], answer[4], answer[5], answer[8]
    wanted = min(PUBLISHED_RING, most_rx), min(PUBLISHED_RING, most_tx)
    good = rx >= wanted[0] and tx >= wanted[1]
    fix = None if good else f"ethtool -G {card} rx {wanted[0]} tx {wanted[1]}"
    has = f"rx {rx} (at most {most_rx}), tx {tx} (at most {most_tx})"
    return Finding(name, "ok" if good else "differs", should, has, WHY, fix)


def check_coalescing(card: str, answer: Sequence[int] | None) -> Finding:
    """How long the card waits before it interrupts."""
    name, should = f"card {card} coalescing", _words(PUBLISHED_COALESCING)
    if answer is None:
        return Finding(name, "unknown", should, "not told by its driver", WHY)
    found = {key: answer[place] for key, place in _COALESCE_PLACES.items()}
    fix = None
    if found != PUBLISHED_COALESCING:
        fix = f"ethtool -C {card} adaptive-rx off rx-usecs 10 rx-frames 0 tx-usecs 0 tx-frames 0"
    return Finding(name, "differs" if fix else "ok", should, _words(found), WHY, fix)


def check_interrupts(card: Path, root: Path = Path("/")) -> Finding:
    """The CPUs that handle its interrupts. The report keeps them on two CPUs that the harness does not use."""
    name, should = (
        f"card {card.name} interrupts",
        "on few CPUs, which engine and server do not use (the report: CPUs 4 and 5)",
    )
    numbers = interrupts_of(card, _text(root / "proc/interrupts"))
    cpus = {number: _text(root / f"proc/irq/{number}/smp_affinity_list").strip() for number in numbers}
    lists = sorted({text for text in cpus.values() if text})
    if not lists:
        return Finding(name, "unknown", should, "none of its interrupts is shown", WHY)
    used = set().union(*map(cpu_numbers, lists))
    there = cpu_numbers(_text(root / "sys/devices/system/cpu/online").strip() or "0")
    good = len(used) < len(there) or len(there) == 1
    first = min(there)
    fix = None if good else "; ".join(f"echo {first} > /proc/irq/{number}/smp_affinity_list" for number in sorted(cpus))
    has = f"{len(cpus)} interrupts on CPUs {', '.join(lists)}"
    return Finding(name, "ok" if good else "differs", should, has, WHY, fix)


def interrupts_of(card: Path, table: str) -> list[int]:
    """Numbers of the card's interrupts: those of its device, or lines of /proc/interrupts that name card or device."""
    with suppress(OSError):
        own = sorted(int(entry.name) for entry in (card / "device" / "msi_irqs").iterdir())
        if own:
            return own
    words = "|".join(map(re.escape, {card.name, (card / "device").resolve().name}))
    lines = (re.match(r"\s*(\d+):", line) for line in table.splitlines() if re.search(rf"\b({words})\b", line))
    return [int(found[1]) for found in lines if found]


def cpu_numbers(text: str) -> set[int]:
    """`0-2,5` as numbers."""
    parts = (part.partition("-") for part in text.split(",") if part)
    return {number for low, _, high in parts for number in range(int(low), int(high or low) + 1)}


def ask_driver(card: str, command: int, numbers: int) -> Sequence[int] | None:
    """The driver's answer to a command of ethtool; None when it has none, or there is no such card."""
    answer = array.array("I", [command] + [0] * (numbers - 1))
    request = struct.pack("16sP16x", card.encode()[:15], answer.buffer_info()[0])
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)
    except OSError:
        return None
    return answer


def _words(values: dict[str, int]) -> str:
    shown = {name: ("off", "on")[value > 0] if name == "adaptive-rx" else value for name, value in values.items()}
    return ", ".join(f"{name} {value}" for name, value in shown.items())


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
