"""The figures of ScalAgent's report: server CPU and latency against the number of publishers (Figures 4 to 7)."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import beside, sweep
from telemark.report.charts.general import spread_charts
from telemark.report.model import Chart, Table
from telemark.report.source import RunSource

FIGURES = {0: ("Figure 4", "Figure 5"), 1: ("Figure 6", "Figure 7")}


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """CPU, latency and delivered rate against publishers, one line per server; one set of figures for each QoS."""
    points = sweep.drawable(runs)
    levels = sorted({point.get("qos") or 0 for point in points})
    charts = [chart for qos in levels for chart in _of_qos(prefix, qos, runs, len(levels) > 1)]
    return [*charts, *spread_charts(prefix, runs, "latency")]


def _of_qos(prefix: str, qos: int, runs: Sequence[RunSource], several: bool) -> list[Chart]:
    mine = [run for run in runs if run.point is not None and (run.point.get("qos") or 0) == qos]
    points = sweep.drawable(mine)
    cpu, latency = FIGURES.get(qos, ("not published", "not published"))
    level = f" at QoS {qos}" if several else ""
    over = [
        ("server_cpu_share_mean", f"Server CPU against publishers{level} ({cpu})"),
        ("latency_mean_us", f"Average latency against publishers{level} ({latency})"),
        ("latency_p99_us", f"99P latency against publishers{level}"),
        ("received_rate", f"Delivered rate against publishers{level}"),
        ("server_rss_bytes_max", f"Server memory against publishers{level}"),
    ]
    drawn = (
        (sweep.against(sweep.Name(f"{prefix}-q{qos}-{y}", title), points, "publishers", y), y) for y, title in over
    )
    return [beside.with_lines(chart, mine, "publishers", y) for chart, y in drawn]
