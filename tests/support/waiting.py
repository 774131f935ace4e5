"""Waiting for something to happen: generous, because other programs may use the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0  # for what happens at once on a quiet machine
PROMPT_S = 30.0  # what takes less did not wait for something that lasts a minute


def eventually(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> bool:
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
