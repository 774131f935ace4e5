"""Where the deliveries of a test's runs are counted: small runs would only ever take one of three ways."""

from __future__ import annotations

from typing import Final

import pytest

WAYS: Final = ("rows leave Spark", "counts leave Spark", "nothing leaves Spark")


def take(way: str, patch: pytest.MonkeyPatch, part_rows: int = 500) -> None:
    """Have every run take this way, as runs of its size would. `part_rows`: of a part on an executor."""
    messages = "telemark.pipeline.messages"
    if way != WAYS[0]:
        patch.setattr(f"{messages}.deliveries.COUNTED_HERE_ROWS", -1)
    if way == WAYS[2]:
        patch.setattr(f"{messages}.counted.HERE_BYTES", 0)
        patch.setattr(f"{messages}.counted.PART_ROWS", part_rows)
