"""Suites and scenarios as the rest of the program sees them: values, no I/O."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from telemark.catalog.expression import Scalar
from telemark.catalog.published import PublishedResult
from telemark.errors import ConfigError
from telemark.model.plan import Size


@dataclass(frozen=True, slots=True)
class Scenario:
    """One test case. `body` holds its checked tables; the planner gives them values."""

    suite: str
    name: str
    title: str
    about: str
    where: str  # section, table or page of the report
    measures: str  # throughput, latency, connections, memory or scaling
    search: bool  # the published value is a maximum, found by `telemark search`
    case: Mapping[str, Scalar]  # parameters its name stands for
    meanings: Mapping[str, str]  # parameter -> what it means
    body: Mapping[str, Any]
    point_changes: tuple[Mapping[str, Any], ...]  # `when` tables that depend on a point's parameters
    search_over: str | None = None  # the parameter a search raises; None: the rate
    suite_title: str = ""
    suite_date: str = ""
    suite_notes: tuple[str, ...] = ()
    results: tuple[PublishedResult, ...] = ()  # of the whole suite

    @property
    def published(self) -> tuple[PublishedResult, ...]:
        """What was published for this scenario."""
        return self.published_for(self.name)

    def published_for(self, name: str) -> tuple[PublishedResult, ...]:
        """What was published for a scenario of the same suite."""
        return tuple(result for result in self.results if result.scenario == name)

    @property
    def id(self) -> str:
        """SUITE/CASE as written on the command line."""
        return f"{self.suite}/{self.name}"

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes it can run at."""
        return tuple(self.body.get("sizes", {}))

    @property
    def consumers(self) -> str | None:
        """The kind of its back-end consumers; None when it has none."""
        table = self.body.get("consumers", {})
        return table.get("kind") if table.get("count") else None

    @property
    def needs_ha(self) -> bool:
        """Whether it needs a replicated pair of servers."""
        return "ha-pair" in self.body.get("needs", ())


@dataclass(frozen=True, slots=True)
class Suite:
    """The scenarios of one report or published benchmark."""

    name: str
    title: str
    source: str
    date: str
    hardware: tuple[str, ...]
    notes: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    file: str
    published: tuple[PublishedResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalog:
    """All suites that were loaded, by name."""

    suites: Mapping[str, Suite] = field(default_factory=dict)

    def scenarios(self) -> tuple[Scenario, ...]:
        """Every scenario, suite by suite."""
        return tuple(scenario for suite in self.suites.values() for scenario in suite.scenarios)

    def suite(self, name: str) -> Suite:
        """The suite of that name, or ConfigError with the names there are."""
        if name not in self.suites:
            raise _unknown("suite", name, list(self.suites))
        return self.suites[name]

    def find(self, name: str) -> Scenario:
        """The scenario `SUITE/CASE`, or ConfigError with the nearest names."""
        suite_name, slash, case = name.partition("/")
        suite = self.suite(suite_name)
        for scenario in suite.scenarios:
            if scenario.name == case:
                return scenario
        if not slash and len(suite.scenarios) == 1:
            return suite.scenarios[0]
        raise _unknown("scenario", name, [scenario.id for scenario in suite.scenarios])

    def select(self, name: str) -> tuple[Scenario, ...]:
        """`SUITE` gives all of its scenarios, `SUITE/CASE` the one."""
        return (self.find(name),) if "/" in name else self.suite(name).scenarios


def _unknown(what: str, name: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(name, known, 3, 0.5) or known[:5]
    return ConfigError(
        f"{what} {name!r} is not in the catalogue; near it: {', '.join(near)}",
        hint="`telemark list` shows all of them",
    )
