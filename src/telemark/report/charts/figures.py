"""Which figures and tables each suite's report has; a suite we do not know gets the general ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from telemark.report import format as fmt
from telemark.report.charts import fanin_jms, general, messagesight, mq_telemetry, open_mqtt, scalagent
from telemark.report.model import Axis, Chart, Series, Table
from telemark.report.source import RunSource

Drawer = Callable[[str, Sequence[RunSource]], list[Chart | Table]]


@dataclass(frozen=True, slots=True)
class Figures:
    """What is drawn over several runs."""

    charts: tuple[Chart, ...]
    tables: tuple[Table, ...]


OF_SCENARIO: dict[str, Drawer] = {
    "scalagent": scalagent.of_scenario,
    "messagesight": messagesight.of_scenario,
    "mq-telemetry": mq_telemetry.of_scenario,
    "fanin-jms": fanin_jms.of_scenario,
    "open-mqtt": general.of_scenario,
}
OF_SUITE: dict[str, Drawer] = {
    "messagesight": messagesight.of_suite,
    "mq-telemetry": mq_telemetry.of_suite,
    "open-mqtt": open_mqtt.of_suite,
}


def scenario_figures(suite: str, prefix: str, runs: Sequence[RunSource]) -> Figures:
    """The figures over the runs of one scenario."""
    return _kept(OF_SCENARIO.get(suite, general.of_scenario)(prefix, runs))


def suite_figures(suite: str, prefix: str, runs: Sequence[RunSource]) -> Figures:
    """The figures over all runs of a suite."""
    drawer = OF_SUITE.get(suite)
    return _kept(drawer(prefix, runs)) if drawer else Figures((), ())


def _kept(drawn: Sequence[Chart | Table]) -> Figures:
    charts = [as_bars(item) for item in drawn if isinstance(item, Chart)]
    kept = tuple(chart for chart in charts if not is_single_number(chart))
    return Figures(kept, tuple(item for item in drawn if isinstance(item, Table) and item.rows))


def as_bars(chart: Chart) -> Chart:
    """A figure over a sweep of one point shows dots above each other: its lines become bars side by side."""
    lines = [line for line in chart.series if line.kind == "line" and line.style == "solid"]
    if not lines or any(len(line.points) > 1 for line in chart.series):
        return chart
    at = chart.x.name and fmt.value_in(chart.x.unit, lines[0].points[0][0])  # type: ignore[arg-type]
    bars = tuple(Series(line.name, ((f"{at} {chart.x.name}", line.points[0][1]),), kind="bar") for line in lines)
    return replace(chart, x=Axis("", "text", "category"), series=bars)


def is_single_number(chart: Chart) -> bool:
    """A figure of one value says no more than the score card does."""
    return sum(y is not None for line in chart.series for _, y in line.points) <= 1
