"""The figures of ScalAgent's report: server CPU and latency against the number of publishers (Figures 4 to 7)."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.report.charts import sweep
from telemark.report.charts.general import spread_charts
from telemark.report.model import Chart, Table
from telemark.report.source import RunSource


def of_scenario(prefix: str, runs: Sequence[RunSource]) -> list[Chart | Table]:
    """CPU, latency and delivered rate against publishers, one line per server."""
    points = sweep.drawable(runs)
    cpu, latency = ("Figure 6", "Figure 7") if any(point.get("qos") for point in points) else ("Figure 4", "Figure 5")
    over = [
        ("server_cpu_cores_mean", f"Server CPU against publishers ({cpu})"),
        ("latency_mean_us", f"Average latency against publishers ({latency})"),
        ("latency_p99_us", "99P latency against publishers"),
        ("received_rate", "Delivered rate against publishers"),
        ("server_rss_bytes_max", "Server memory against publishers"),
    ]
    charts = [sweep.against(sweep.Name(f"{prefix}-{y}", title), points, "publishers", y, ("qos",)) for y, title in over]
    return [*charts, *spread_charts(prefix, runs, "latency")]
