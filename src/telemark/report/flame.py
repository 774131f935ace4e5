"""A flame graph of a profile as SVG: one box for each function on each way to it, as wide as its share of samples.

Names come from a server that strangers built: every one is escaped, and boxes too narrow to be seen are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from zlib import crc32

from telemark.report.format import one_line
from telemark.report.model import Profile
from telemark.report.source import RunSource
from telemark.store.documents.profile import Stack, read_profile
from telemark.store.documents.reading import Problem

WIDTH, ROW = 1000, 17  # of the picture, and height of a box
NARROWEST = 0.5  # of a unit of width: a box below that cannot be seen
MOST_BOXES = 4_000
TITLE = "The server's busiest thread"
LETTER = 6.6  # width of one, about


@dataclass(slots=True)
class _Box:
    """One function, called in one way."""

    name: str
    samples: int = 0
    inside: dict[str, _Box] = field(default_factory=dict)


def flame_graph(stacks: Sequence[Stack], title: str) -> str:
    """The picture, complete and safe to stand in a page."""
    root = _tree(stacks)
    boxes = [box for _, box in zip(range(MOST_BOXES), _boxes(root), strict=False)]
    depth = 1 + max((level for _, level, _, _ in boxes), default=0)
    height = depth * ROW + 2
    drawn = "".join(_draw(box, x, height - (level + 1) * ROW, width, root.samples) for box, level, x, width in boxes)
    return (
        f'<svg class="flame" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" '
        f'font-family="monospace" font-size="11" xmlns="http://www.w3.org/2000/svg">{drawn}</svg>'
    )


def _tree(stacks: Sequence[Stack]) -> _Box:
    root = _Box("all")
    for stack in stacks:
        box = root
        box.samples += stack.samples
        for name in stack.frames:
            box = box.inside.setdefault(name, _Box(name))
            box.samples += stack.samples
    return root


def _boxes(root: _Box) -> Iterator[tuple[_Box, int, float, float]]:
    """(box, level, x, width) from the bottom up: when there are too many, the innermost are left out."""
    level: list[tuple[_Box, float]] = [(root, 0.0)]
    scale, number = WIDTH / max(root.samples, 1), 0
    while level:
        above: list[tuple[_Box, float]] = []
        for box, left in level:
            yield box, number, left, box.samples * scale
            x = left
            for inner in sorted(box.inside.values(), key=lambda each: each.name):
                if inner.samples * scale >= NARROWEST:
                    above.append((inner, x))
                x += inner.samples * scale
        level, number = above, number + 1


def _draw(box: _Box, x: float, y: int, width: float, total: int) -> str:
    letters = int(width / LETTER)
    shown = box.name if len(box.name) <= letters else f"{box.name[: letters - 1]}…" if letters > 3 else ""
    text = f'<text x="{x + 2:.1f}" y="{y + 12}" fill="#222">{escape(shown)}</text>' if shown else ""
    hover = escape(f"{box.name}: {box.samples:,} samples, {box.samples / max(total, 1):.1%}")
    return (
        f'<g><title>{hover}</title><rect x="{x:.1f}" y="{y}" width="{max(width - 0.3, 0.2):.1f}" height="{ROW - 1}" '
        f'rx="1" fill="{_colour(box.name)}"/>{text}</g>'
    )


def _colour(name: str) -> str:
    """A warm colour that is always the same for a name."""
    value = crc32(name.encode())
    return f"rgb({205 + value % 50},{110 + value // 50 % 100},{60 + value // 5000 % 40})"


def profile_of(run: RunSource) -> Profile | None:
    """The profile of a run as the report shows it; None when none was asked for."""
    found = read_profile(run.folder)
    if found is None:
        return None
    if isinstance(found, Problem):
        return Profile(TITLE, f"It cannot be read: {one_line(found.error().message, 300)}")
    if found.problem is not None or not found.stacks:
        return Profile(TITLE, f"There is none: {one_line(found.problem or 'it has no samples', 300)}")
    title = f"{TITLE}: {one_line(found.thread_name, 64)} (thread {found.thread_id})"
    shown = sum(stack.samples for stack in found.stacks)
    left_out = f" {found.samples - shown:,} samples of rare stacks are left out." if found.samples > shown else ""
    note = (
        f"{found.samples:,} samples of {found.seconds:g} s. A box is a function, those above it are what it called, "
        f"and the width is its share of the thread's CPU time.{left_out}"
    )
    return Profile(title, note, flame_graph(found.stacks, title))
