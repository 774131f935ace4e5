"""Draws the clock exchanges of a run on a bed: `python docs/clock_picture.py RUN HOST docs/images/clocks.svg`.

Every vertical bar is one exchange of the host: between its ends the offset must lie. The band is what all of them,
with the limit of drift, leave. The run must be one that was made on a bed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from telemark.model.clock import Correction, Exchange, correction
from telemark.store.reader import read_records

WIDTH, HEIGHT, LEFT, BOTTOM = 820, 360, 64, 40
SECONDS = 5.0


def exchanges_of(run: Path, host: str) -> list[Exchange]:
    """The first seconds of a host's exchanges."""
    rows = [row for row in read_records(run, "clock").to_pylist() if row["host"] == host]
    found = [Exchange(row["asked_ns"], row["told_ns"], row["answered_ns"]) for row in rows]
    return [each for each in found if each.asked_ns < found[0].asked_ns + SECONDS * 1e9]


class Picture:
    """Maps times and offsets to places, and collects shapes."""

    def __init__(self, exchanges: list[Exchange], found: Correction) -> None:
        self._first_ns = exchanges[0].asked_ns
        self._middle_ns = found.correction_ns[len(found.correction_ns) // 2]
        trips = sorted(each.answered_ns - each.asked_ns for each in exchanges)
        self._range_us = trips[int(len(trips) * 0.8)] / 1e3
        self.shapes: list[str] = []

    def x(self, host_ns: float) -> float:
        """Of a time of the host."""
        return LEFT + (host_ns - self._first_ns) / 1e9 / SECONDS * (WIDTH - LEFT - 10)

    def y(self, offset_ns: float) -> float:
        """Of an offset; what is far off ends at the border."""
        part = (offset_ns - self._middle_ns) / 1e3 / self._range_us
        return (HEIGHT - BOTTOM) / 2 - max(-1.0, min(1.0, part)) * (HEIGHT - BOTTOM) / 2 * 0.95

    def band(self, found: Correction) -> None:
        """The guaranteed interval."""
        times = [found.first_ns + found.step_ns * number for number in range(len(found.correction_ns))]
        knots = list(zip(times, found.correction_ns, found.error_ns, strict=True))
        upper = [f"{self.x(at):.1f},{self.y(value + error):.1f}" for at, value, error in knots]
        lower = [f"{self.x(at):.1f},{self.y(value - error):.1f}" for at, value, error in reversed(knots)]
        middle = [f"{self.x(at):.1f},{self.y(value):.1f}" for at, value, _ in knots]
        self.shapes.append(f'<polygon points="{" ".join(upper + lower)}" fill="#8ecae6" fill-opacity="0.8"/>')
        self.shapes.append(f'<polyline points="{" ".join(middle)}" fill="none" stroke="#023047" stroke-width="1.5"/>')

    def bar(self, each: Exchange) -> None:
        """One exchange."""
        x, low, high = self.x(each.asked_ns), each.told_ns - each.answered_ns, each.told_ns - each.asked_ns
        self.shapes.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y(low):.1f}" y2="{self.y(high):.1f}" stroke="#fb8500"/>'
        )

    def axes(self) -> None:
        """Seconds below, microseconds on the left."""
        for second in range(int(SECONDS) + 1):
            x = self.x(self._first_ns + second * 1e9)
            self._text(x, HEIGHT - BOTTOM + 18, f"{second} s", "middle")
        for part in (-0.9, -0.45, 0.0, 0.45, 0.9):
            y = self.y(self._middle_ns + part * self._range_us * 1e3)
            self._text(LEFT - 8, y + 4, f"{part * self._range_us:+.0f} us" if part else "0", "end")
        self._text(LEFT, HEIGHT - 4, "bars: single exchanges; band: what all of them leave; line: its middle", "start")

    def _text(self, x: float, y: float, words: str, anchor: str) -> None:
        self.shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>')

    def svg(self) -> str:
        """The whole."""
        style = 'font-family="sans-serif" font-size="12" fill="#555"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>'
        return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *self.shapes, "</svg>", ""])


def main(run: Path, host: str, target: Path) -> None:
    """Read, compute, draw; the error goes to the page's text."""
    exchanges = exchanges_of(run, host)
    found = correction(exchanges)
    picture = Picture(exchanges, found)
    for each in exchanges:
        picture.bar(each)
    picture.band(found)
    picture.axes()
    target.write_text(picture.svg(), encoding="utf-8")
    errors = sorted(found.error_ns)
    trips = sorted(each.answered_ns - each.asked_ns for each in exchanges)
    print(f"{len(exchanges)} exchanges, round trips {trips[0] / 1e3:.0f} to {trips[-1] / 1e3:.0f} us")
    print(f"error: median {errors[len(errors) // 2] / 1e3:.0f} us, worst {errors[-1] / 1e3:.0f} us")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
