"""Scenario x size x overrides -> the points to run, each a complete `RunPlan`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from telemark.catalog.build import build_consumers, build_groups, build_listeners
from telemark.catalog.case import case_of
from telemark.catalog.check import Problems, check_value
from telemark.catalog.expand import matches, merge
from telemark.catalog.expression import ExpressionError, Scalar, substitute
from telemark.catalog.format import BODY, SIZE
from telemark.catalog.parameters import DURATION, Overrides, Point, points_of
from telemark.catalog.scenario import Scenario
from telemark.errors import ConfigError
from telemark.model.keys import build
from telemark.model.plan import LoadShape, Phases, RunPlan, Size
from telemark.model.plan.shapes import read_load

# Parts of a scenario that are read with the values of a point in them.
_RESOLVED = (
    "groups", "listeners", "load", "consumers", "server", "profile", "needs", "thresholds", "connect_rate",
    "connect_parallel", "notes", "headline",
)  # fmt: skip
# Without these being right no plan can be built, and whether its parts fit together cannot be checked.
_BUILT = ("groups", "listeners", "load", "consumers", "phases", "connect_", "headline")


def plan_points(scenario: Scenario, size: Size, overrides: Overrides | None = None) -> list[RunPlan]:
    """Every point of a scenario at one size, ready to run.

    Args:
        scenario: from the catalogue.
        size: quick, laptop or published.
        overrides: parameter -> value or list of values; `duration` sets the seconds that are measured.

    Raises:
        ConfigError: the scenario has no such size, or a value does not fit; all problems are listed.
    """
    plans, problems = _plan(scenario, size, overrides or {})
    found = tuple(dict.fromkeys(problems.found))
    if found:
        raise ConfigError(
            f"{scenario.id} cannot be planned at size {size}: {len(found)} problem{'s' if len(found) > 1 else ''}",
            hint=f"`telemark show {scenario.id}` lists its parameters and their meaning",
            problems=found,
        )
    return plans


def find_problems(scenario: Scenario) -> Problems:
    """Everything that keeps a scenario from being planned at any of its sizes."""
    found = Problems(scenario.id)
    for size in scenario.sizes:
        try:
            problems = _plan(scenario, size, {})[1]
        except ConfigError as error:
            problems = Problems(scenario.id)
            for sentence in error.problems or (error.message,):
                problems.note(f"sizes.{size}.set", sentence)
        for path, text in zip(problems.paths, problems.found, strict=True):
            if path not in found.paths:
                found.paths.append(path)
                found.found.append(text)
    if not scenario.sizes:
        found.note("sizes", "missing, expected quick, laptop or published")
    return found


def _plan(scenario: Scenario, size: Size, overrides: Overrides) -> tuple[list[RunPlan], Problems]:
    planner = _Planner(scenario, size, _size_of(scenario, size), _duration(overrides.get(DURATION)))
    points = points_of(scenario, planner.spec, overrides)
    plans = [plan for plan in map(planner.plan, points) if plan is not None]
    return plans, planner.problems


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
        self.problems = Problems(self.scenario.id, resolved=True)

    def plan(self, point: Point) -> RunPlan | None:
        """The plan of one point; None when problems were found."""
        body = self._body(point)
        tables = {key: self._resolve(body[key], point, key) for key in _RESOLVED if key in body}
        tables["phases"] = self._resolve(self.spec.get("phases", {}), point, "phases")
        notes = self._resolve(self.spec.get("notes", []), point, "notes")
        _check(tables, self.problems)
        if any(path.startswith(_BUILT) for path in self.problems.paths):
            return None
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
            self.problems.note(path, str(error))
            return value

    def _assemble(self, point: Point, tables: Mapping[str, Any]) -> RunPlan | None:
        load = read_load(tables.get("load"))
        plan = RunPlan(
            suite=self.scenario.suite,
            scenario=self.scenario.name,
            point=point.label,
            size=self.size,
            seed=zlib.crc32(f"{self.scenario.id} {point.label}".encode()),  # the same point is the same run again
            parameters=dict(point.parameters),
            groups=build_groups(tables.get("groups", {})),
            load=load,
            phases=self._phases(tables["phases"], load),
            profile=tables.get("profile", "memory"),
            needs=frozenset(tables.get("needs", ())),
            thresholds=tuple(tables.get("thresholds", ())),
            consumers=build_consumers(tables.get("consumers")),
            connect_rate=float(tables.get("connect_rate", 1000.0)),
            connect_parallel=int(tables.get("connect_parallel", 256)),
            server_options=dict(tables.get("server", {})),
            notes=tuple(dict.fromkeys(tables["notes"])),
            listeners=build_listeners(tables.get("listeners", {})),
            case=case_of(self.scenario, point.parameters, load, tables.get("headline")),
        )
        try:
            return plan.assemble()
        except ConfigError as error:
            for problem in error.problems:
                path, _, sentence = problem.partition(": ")
                self.problems.note(path, sentence)
            return None

    def _phases(self, table: Mapping[str, Any], load: LoadShape) -> Phases:
        """Lengths of the phases. A run that sends nothing is as long as it holds its connections."""
        phases = build(Phases, table)
        if self.duration_s is None:
            return phases
        return replace(phases, measure_s=self.duration_s) if load.sends else replace(phases, hold_s=self.duration_s)


def _check(tables: Mapping[str, Any], problems: Problems) -> None:
    """The format's rules once more, now that every `<parameter>` has its value."""
    for key, value in tables.items():
        check_value(SIZE[key] if key == "phases" else BODY[key], value, key, problems)
