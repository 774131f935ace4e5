"""Makes long series short enough to draw, without inventing values.

Of each stretch only its smallest and its largest value are kept, so that every spike survives and every point drawn
is a point measured. The report says when it did so.
"""

from __future__ import annotations

from collections.abc import Sequence

DRAWN = 240  # seconds of a run that are drawn one by one; longer runs are thinned

Drawn = tuple[float | str, float | None]


def thin(points: Sequence[Drawn], limit: int = DRAWN) -> tuple[Drawn, ...]:
    """At most about `limit` of the points, in order, extremes kept."""
    if len(points) <= limit:
        return tuple(points)
    stretch = -(-2 * len(points) // limit)
    kept: list[Drawn] = []
    for start in range(0, len(points), stretch):
        kept += _extremes(points[start : start + stretch])
    return tuple(kept)


def stretch_note(points: int, limit: int = DRAWN) -> str:
    """What the reader must be told about a thinned series; empty when nothing was left out."""
    if points <= limit:
        return ""
    return (
        f"Drawn: the smallest and largest value of every {-(-2 * points // limit)} seconds; the result tables have all."
    )


def _extremes(points: Sequence[Drawn]) -> list[Drawn]:
    known = [index for index, (_, y) in enumerate(points) if y is not None]
    if not known:
        return [points[0]]
    values = [points[index][1] or 0.0 for index in known]
    low, high = known[values.index(min(values))], known[values.index(max(values))]
    return [points[index] for index in sorted({low, high})]
