"""The words and published values of a scenario, for one of its points."""

from __future__ import annotations

from collections.abc import Mapping

from telemark.catalog.expression import Scalar
from telemark.catalog.published import match
from telemark.catalog.scenario import Scenario
from telemark.model.case import Case, Statistics
from telemark.model.plan import LoadShape


def case_of(scenario: Scenario, parameters: Mapping[str, Scalar], load: LoadShape, headline: str | None) -> Case:
    """Everything a report says about a point of the scenario; `headline` is the scenario's own choice."""
    column = headline or headline_of(scenario.measures, load)
    return Case(
        title=scenario.title,
        about=scenario.about,
        measures=scenario.measures,
        headline=column,
        statistics=statistics_of(column, load),
        source=", ".join(filter(None, (scenario.suite_title, scenario.suite_date, scenario.where))),
        suite_title=scenario.suite_title,
        published=match(scenario.published, parameters),
    )


def headline_of(measures: str, load: LoadShape) -> str:
    """The column of `points` that answers what the scenario measures."""
    if measures == "memory":
        return "server_rss_bytes_max" if load.sends else "server_bytes_per_connection"
    if measures == "latency" and load.sends:
        return "latency_mean_us"
    return "connect_rate" if measures == "connections" else load.headline


def statistics_of(headline: str, load: LoadShape) -> Statistics:
    """Whose percentiles stand beside a headline: of connecting when it is about that or nothing is sent."""
    return "latency" if load.sends and not headline.startswith("connect") else "connect"
