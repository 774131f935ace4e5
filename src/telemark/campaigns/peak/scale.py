"""Searches that raise the number of devices instead of the rate: ScalAgent's question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from telemark.catalog import plan_points
from telemark.catalog.parameters import Overrides
from telemark.catalog.scenario import Scenario
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan, Size

CONNECT_WITHIN_S = 20.0  # more devices connect faster, so that a try with many is not all connecting


@dataclass(frozen=True, slots=True)
class Scale:
    """The same case with another number of devices."""

    parameter: str
    step: int  # the number grows and shrinks by this much: publishers of a partition stay together
    at: Callable[[int], RunPlan]


@dataclass(frozen=True, slots=True)
class SearchCase:
    """One point of a case, and what a search changes about it."""

    plan: RunPlan
    scale: Scale | None = None  # None: the rate

    def changed(self, change: Callable[[RunPlan], RunPlan]) -> SearchCase:
        """The same search of a changed case, whatever the number of devices."""
        scale = self.scale
        if scale is None:
            return SearchCase(change(self.plan))
        return SearchCase(change(self.plan), replace(scale, at=lambda number: change(scale.at(number))))


def search_cases(scenario: Scenario, size: Size, overrides: Overrides) -> list[SearchCase]:
    """The points of a scenario to search; a parameter that is searched for is no axis of its sweep.

    Raises:
        ConfigError: as planning does.
    """
    parameter = scenario.search_over
    plans = plan_points(scenario, size, overrides)
    if parameter is None:
        return [SearchCase(plan) for plan in plans]
    lowest = min(_number(plan, parameter) for plan in plans)
    return [
        SearchCase(plan, _scale(scenario, size, overrides, plan, parameter))
        for plan in plans
        if _number(plan, parameter) == lowest
    ]


def _scale(scenario: Scenario, size: Size, overrides: Overrides, plan: RunPlan, parameter: str) -> Scale:
    spec = scenario.body["sizes"][size]
    varied = {*spec.get("sweep", {}), *(name for row in spec.get("points", ()) for name in row), *overrides}
    chosen = {name: plan.parameters[name] for name in varied if name in plan.parameters}
    length = {name: value for name, value in overrides.items() if name not in plan.parameters}

    def at(number: int) -> RunPlan:
        (made,) = plan_points(scenario, size, length | chosen | {parameter: number})
        return replace(made, connect_rate=max(made.connect_rate, number / CONNECT_WITHIN_S))

    return Scale(parameter, plan.load.unit(int(_number(plan, parameter))), at)


def _number(plan: RunPlan, parameter: str) -> float:
    value = plan.parameters.get(parameter)
    if not isinstance(value, int | float):
        raise ConfigError(f"{plan.suite}/{plan.scenario}: parameter {parameter} is {value!r}, expected a number")
    return value
