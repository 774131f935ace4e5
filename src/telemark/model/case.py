"""What a run says about its test case: its words, its headline figure and the published values that belong beside it.

All of it travels in the plan and so in run.json: a report made years later needs no catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Statistics = Literal["latency", "connect"]


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """One number somebody published for the test case."""

    metric: str  # a column of `points` where one fits
    value: float
    unit: str  # as published
    server: str
    source: str  # table, figure or page
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # the point it was measured at
    note: str = ""
    exact: bool = False  # published for exactly the point of this run; False: for another size of it


@dataclass(frozen=True, slots=True)
class Case:
    """The test case of a run in words, and how its result is shown."""

    title: str = ""
    about: str = ""
    measures: str = ""  # throughput, latency, connections, memory or scaling
    headline: str = "received_rate"  # the column of `points` that is the result
    statistics: Statistics = "latency"  # whose percentiles stand beside it
    source: str = ""  # report, date, place in it
    suite_title: str = ""
    published: tuple[PublishedValue, ...] = ()
