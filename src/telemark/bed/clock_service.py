"""How often a host compares its clock with the runner's. Both sides are native (`native/net/src/clock_exchange.rs`)."""

from __future__ import annotations

from telemark._native import ClockAsker

EVERY_S = 0.1
PATIENCE_S = 0.09  # an answer that takes longer limits nothing that the next one does not limit better
FIRST_BURST = 20  # exchanges at once when a host joins: it is known well from the beginning


def ask_clock(address: tuple[str, int], line: int, key: bytes) -> ClockAsker:
    """Ask the runner's clock until it is closed."""
    return ClockAsker(address, line, key, every_s=EVERY_S, patience_s=PATIENCE_S, burst=FIRST_BURST)
