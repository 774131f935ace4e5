"""Figures of one run over its seconds: rate, latency, CPU and memory, with the phases marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from telemark.report.charts.thin import stretch_note, thin
from telemark.report.clock_error import error_of, noted, raised
from telemark.report.model import Axis, Band, Chart, Series
from telemark.report.source import RunSource

MOST_CORES = 8  # of a large host the busiest are drawn: more lines cannot be told apart
SECONDS = Axis("seconds since the common start", "seconds")
Rows = Sequence[Mapping[str, Any]]


def time_charts(run: RunSource, prefix: str) -> tuple[Chart, ...]:
    """All figures over time of one run that have data."""
    rows = sorted(run.rows("intervals"), key=lambda row: row["second"])
    if not rows:
        return ()
    draw = _Drawer(prefix, phase_bands(run.facts, rows), stretch_note(len(rows)))
    charts = [
        draw.chart("rate", "Rate over time", Axis("messages a second", "messages_per_second"), _rates(rows)),
        noted(
            draw.chart("latency", "Latency over time", Axis("time", "us", "log"), _latencies(rows, run)),
            [run.point],
            "latency",
        ),
        draw.chart("cpu", "CPU over time", Axis("cores", "cores"), _cpu(rows)),
        draw.chart("cores", cores_title(run), Axis("busy", "share"), _cores(run.rows("cores"))),
        draw.chart("memory", "Memory of the server", Axis("memory", "bytes"), _memory(rows)),
        draw.chart("buffered", "Messages waiting in the server", Axis("messages", "count"), _buffered(rows)),
        draw.chart("engine", "The engine: was it in time?", Axis("time", "us", "log"), _engine(rows)),
        draw.chart("connected", "Devices connected", Axis("devices", "count"), _connected(rows)),
    ]
    return tuple(chart for chart in charts if chart.has_data)


def cores_title(run: RunSource) -> str:
    """Says when not every core is drawn."""
    cores = len({row["core"] for row in run.rows("cores")})
    return "Each core of the host" if cores <= MOST_CORES else f"The {MOST_CORES} busiest of {cores} cores"


@dataclass(frozen=True, slots=True)
class _Drawer:
    """What all figures of one run share."""

    prefix: str
    bands: tuple[Band, ...]
    note: str

    def chart(self, name: str, title: str, y: Axis, lines: Iterator[Series]) -> Chart:
        kept = tuple(line for line in lines if any(value is not None for _, value in line.points))
        return Chart(f"{self.prefix}-{name}", title, SECONDS, y, kept, bands=self.bands, note=self.note)


def phase_bands(facts: Mapping[str, Any], rows: Rows) -> tuple[Band, ...]:
    """The phases on the axis of seconds: from run.json, else from the phase column of the intervals."""
    start, phases = facts.get("start_ns"), facts.get("phases") or {}
    first, last = rows[0]["second"], rows[-1]["second"] + 1
    if start is not None and phases:
        cuts = [(change["at_ns"], change["rate"]) for change in facts.get("rate_changes") or ()]
        pieces = [piece for name, (a, b) in phases.items() for piece in stretches(name, a, b, cuts)]
        spans = [(name, (a - start) / 1e9, (b - start) / 1e9) for name, a, b in pieces]
        cut = [(name, max(a, first), min(b, last)) for name, a, b in spans]
        return tuple(Band(name, round(a, 3), round(b, 3)) for name, a, b in cut if b > a)
    runs = [(phase, list(group)) for phase, group in groupby(rows, key=lambda row: row["phase"])]
    return tuple(Band(str(phase), group[0]["second"], group[-1]["second"] + 1) for phase, group in runs)


def stretches(name: str, begin: int, end: int, cuts: Sequence[tuple[int, float]]) -> list[tuple[str, int, int]]:
    """A phase, cut where the rate was changed by hand; each piece after a cut is named by its rate."""
    inside = [(at, f"{name}, {rate:,g}/s") for at, rate in cuts if begin < at < end]
    names, times = [name, *(words for _, words in inside)], [begin, *(at for at, _ in inside), end]
    return list(zip(names, times, times[1:], strict=False))


def series(rows: Rows, column: str, name: str, **more: Any) -> Series:
    """One column of the intervals over their seconds."""
    return Series(name, thin([(row["second"], row.get(column)) for row in rows]), **more)


def _rates(rows: Rows) -> Iterator[Series]:
    yield series(rows, "intended", "intended", style="dotted")
    yield series(rows, "sent", "sent")
    yield series(rows, "received", "received")
    for column in ("acked", "dropped"):
        if any(row.get(column) for row in rows):
            yield series(rows, column, column, style="dashed")


def _latencies(rows: Rows, run: RunSource) -> Iterator[Series]:
    error = error_of(run.point, "latency")
    for figure, name in (("max", "maximum"), ("p99", "99P"), ("p95", "95P"), ("p50", "50P"), ("mean", "average")):
        column = f"latency_{figure}_us"
        drawn = [{"second": row["second"], column: raised(row.get(column), error)} for row in rows]
        yield series(drawn, column, name, style="dashed" if figure == "mean" else "solid")


def _cpu(rows: Rows) -> Iterator[Series]:
    yield series(rows, "server_cpu_cores", "server")
    yield series(rows, "engine_cpu_cores", "engine")
    yield series(rows, "host_cpu_busy_max_core", "busiest core of the host", style="dashed")


def _cores(rows: Rows) -> Iterator[Series]:
    by_core: dict[int, list[Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: row["second"]):
        by_core.setdefault(row["core"], []).append(row)
    busiest = sorted(by_core, key=lambda core: -sum(row.get("busy") or 0.0 for row in by_core[core]))[:MOST_CORES]
    for core in sorted(busiest):
        yield series(by_core[core], "busy", f"core {core}")


def _memory(rows: Rows) -> Iterator[Series]:
    yield series(rows, "server_rss_bytes", "resident (RSS)")
    yield series(rows, "server_pss_bytes", "proportional (PSS)", style="dashed")


def _buffered(rows: Rows) -> Iterator[Series]:
    yield series(rows, "buffered_messages", "buffered")


def _engine(rows: Rows) -> Iterator[Series]:
    yield series(rows, "send_delay_p99_us", "send delay 99P")
    yield series(rows, "send_delay_max_us", "send delay maximum")
    yield series(rows, "loop_lag_max_us", "loop lag maximum", style="dashed")


def _connected(rows: Rows) -> Iterator[Series]:
    yield series(rows, "connected", "connected")
