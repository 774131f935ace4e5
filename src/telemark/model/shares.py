"""Whole shares of a number."""

from __future__ import annotations

from collections.abc import Sequence


def share_out(total: int, weights: Sequence[int]) -> list[int]:
    """Whole shares of `total` in proportion to the weights; they add up to it exactly."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    ends, seen = [], 0
    for weight in weights:
        seen += weight
        ends.append(total * seen // whole)
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
