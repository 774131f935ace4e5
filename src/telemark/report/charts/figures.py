"""Which figures and tables each suite's report has; a suite we do not know gets the general ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from telemark.report.charts import fanin_jms, general, messagesight, mq_telemetry, open_mqtt, scalagent
from telemark.report.model import Chart, Table
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
    charts = tuple(item for item in drawn if isinstance(item, Chart) and item.has_data)
    return Figures(charts, tuple(item for item in drawn if isinstance(item, Table) and item.rows))
