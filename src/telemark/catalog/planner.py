"""Scenario x size x overrides -> the points to run, each a complete `RunPlan`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from telemark.catalog.build import build_consumers, build_groups, build_listeners, build_load, build_phases
from telemark.catalog.check import Problems, check_table, check_value
from telemark.catalog.expand import matches, merge
from telemark.catalog.expression import ExpressionError, Scalar, substitute
from telemark.catalog.format import BODY
from telemark.catalog.needs import derive_needs
from telemark.catalog.parameters import DURATION, Overrides, Point, points_of
from telemark.catalog.scenario import Scenario
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan, Size
from telemark.verdicts.thresholds import parse_thresholds

# Parts of a scenario that are read with the values of a point in them.
_RESOLVED = (
    "groups", "listeners", "load", "consumers", "server", "profile", "needs", "thresholds", "connect_rate",
    "connect_parallel", "notes",
)  # fmt: skip


def plan_points(scenario: Scenario, size: Size, overrides: Overrides | None = None) -> list[RunPlan]:
    """Every point of a scenario at one size, ready to run.

    Args:
        scenario: from the catalogue.
        size: quick, laptop or published.
        overrides: parameter -> value or list of values; `duration` sets the seconds that are measured.

    Raises:
        ConfigError: the scenario has no such size, or a value does not fit; all problems are listed.
    """
    overrides = overrides or {}
    planner = _Planner(scenario, size, _size_of(scenario, size), _duration(overrides.get(DURATION)))
    points = points_of(scenario, planner.spec, overrides)
    plans = [plan for plan in map(planner.plan, points) if plan is not None]
    found = planner.problems.found
    if found:
        raise ConfigError(
            f"{scenario.id} cannot be planned at size {size}: {len(found)} problem{'s' if len(found) > 1 else ''}",
            hint=f"`telemark show {scenario.id}` lists its parameters and their meaning",
            problems=tuple(dict.fromkeys(found)),
        )
    return plans


def find_problems(scenario: Scenario) -> list[str]:
    """Everything that keeps a scenario from being planned at any of its sizes; empty when it is fine."""
    found: list[str] = []
    for size in scenario.sizes:
        try:
            plan_points(scenario, size)
        except ConfigError as error:
            found += [f"size {size}: {problem}" for problem in error.problems or (error.message,)]
    return found or ([] if scenario.sizes else [f"{scenario.id}: sizes missing, expected quick, laptop or published"])


def _size_of(scenario: Scenario, size: Size) -> Mapping[str, Any]:
    sizes: Mapping[str, Mapping[str, Any]] = scenario.body.get("sizes", {})
    if size not in sizes:
        raise ConfigError(
            f"{scenario.id} has no size {size!r}, it has {', '.join(sizes) or 'none'}",
            hint="add [family.sizes." + size + "] to the scenario file",
        )
    return sizes[size]


def _duration(value: Scalar | Sequence[Scalar] | None) -> float | None:
    """The length of the measure phase the user asked for."""
    seconds = value[0] if isinstance(value, list | tuple) else value
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        raise ConfigError(f"duration: found {seconds!r}, expected seconds above 0")
    return float(seconds)


@dataclass
class _Planner:
    """Plans the points of one scenario at one size and collects what is wrong with them."""

    scenario: Scenario
    size: Size
    spec: Mapping[str, Any]  # the size's table
    duration_s: float | None
    problems: Problems = field(init=False)

    def __post_init__(self) -> None:
        self.problems = Problems(self.scenario.id)

    def plan(self, point: Point) -> RunPlan | None:
        """The plan of one point; None when problems were found."""
        known = len(self.problems.found)
        body = self._body(point)
        tables = {key: self._resolve(body[key], point, key) for key in _RESOLVED if key in body}
        tables["phases"] = self._resolve(self.spec.get("phases", {}), point, "phases")
        notes = self._resolve(self.spec.get("notes", []), point, "notes")
        _check(tables, self.problems)
        if len(self.problems.found) > known:
            return None
        if self.duration_s is not None:
            # a run that sends nothing is as long as it holds its connections
            idle = tables.get("load", {}).get("shape", "idle") == "idle"
            tables["phases"]["hold_s" if idle else "measure_s"] = self.duration_s
        tables["notes"] = (*self.scenario.suite_notes, *tables.get("notes", ()), *notes, *point.notes)
        return self._assemble(point, tables)

    def _body(self, point: Point) -> Mapping[str, Any]:
        """The scenario with the changes this point calls for."""
        body: Mapping[str, Any] = self.scenario.body
        for change in self.scenario.point_changes:
            if matches(change["match"], point.parameters):
                body = merge(body, {key: value for key, value in change.items() if key != "match"})
        return body

    def _resolve(self, value: Any, point: Point, path: str) -> Any:
        """The value with every `<parameter>` replaced, in tables and lists too."""
        if isinstance(value, Mapping):
            return {key: self._resolve(item, point, f"{path}.{key}") for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolve(item, point, f"{path}[{number}]") for number, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        try:
            return substitute(value, point.parameters)
        except ExpressionError as error:
            self.problems.add(path, value, f"known parameters ({error})")
            return value

    def _assemble(self, point: Point, tables: Mapping[str, Any]) -> RunPlan:
        groups, next_subscription = build_groups(tables.get("groups", {}))
        listeners = build_listeners(groups, tables.get("listeners", {}))
        consumers = build_consumers(tables.get("consumers"), next_subscription)
        return RunPlan(
            suite=self.scenario.suite,
            scenario=self.scenario.name,
            point=point.label,
            size=self.size,
            seed=zlib.crc32(f"{self.scenario.id} {point.label}".encode()),  # the same point is the same run again
            parameters=dict(point.parameters),
            groups=groups,
            load=build_load(tables.get("load", {})),
            phases=build_phases(tables["phases"]),
            profile=tables.get("profile", "memory"),
            needs=derive_needs(groups, listeners, consumers) | frozenset(tables.get("needs", ())),
            thresholds=tuple(tables.get("thresholds", ())),
            consumers=consumers,
            connect_rate=float(tables.get("connect_rate", 1000.0)),
            connect_parallel=int(tables.get("connect_parallel", 256)),
            server_options=dict(tables.get("server", {})),
            notes=tuple(dict.fromkeys(tables["notes"])),
            listeners=listeners,
        )


def _check(tables: Mapping[str, Any], problems: Problems) -> None:
    """The format's rules once more, now that every `<parameter>` has its value."""
    for key in ("load", "consumers", "phases"):
        if key in tables:
            check_table(key, tables[key], key, problems)
    for key in ("profile", "connect_rate", "connect_parallel", "needs"):
        if key in tables:
            check_value(BODY[key], tables[key], key, problems)
    for key, definition in (("groups", "group"), ("listeners", "listener")):
        for name, table in tables.get(key, {}).items():
            check_table(definition, table, f"{key}.{name}", problems)
    for number, text in enumerate(tables.get("thresholds", ())):
        wrong = _threshold_problem(text)
        if wrong:
            problems.found.append(f"{problems.file}: thresholds[{number}]: {wrong}")
    if not any(table.get("count") for table in tables.get("groups", {}).values()):
        problems.say("groups", "no devices", "a group whose count is above 0")


@lru_cache(maxsize=1024)
def _threshold_problem(text: str) -> str | None:
    """What is wrong with a rule; None when it can be judged."""
    try:
        parse_thresholds(text)
    except ConfigError as error:
        return "; ".join(error.problems) or error.message
    return None
