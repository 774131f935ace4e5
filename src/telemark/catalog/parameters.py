"""From a scenario, a size and the user's overrides to the parameters of every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from telemark.catalog.expression import REFERENCE, ExpressionError, Scalar, substitute
from telemark.catalog.published import find_value
from telemark.catalog.scenario import Scenario
from telemark.errors import ConfigError

Overrides = Mapping[str, Scalar | Sequence[Scalar]]

# Not a parameter of any scenario: it sets the length of the measure phase.
DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Point:
    """One cell: its parameters, what to call it, and what its values deviate from."""

    parameters: Mapping[str, Scalar]
    label: str
    notes: tuple[str, ...]


def points_of(scenario: Scenario, size: Mapping[str, Any], overrides: Overrides) -> list[Point]:
    """Every point of the sweep, in order.

    Raises:
        ConfigError: an override names no parameter, or a value cannot be computed.
    """
    changes = {name: _as_list(value) for name, value in overrides.items() if name != DURATION}
    _refuse_unknown(scenario, size, changes)
    changes = {name: _typed(size, name, values) for name, values in changes.items()}
    fixed = {name: value for name, value in size.get("set", {}).items() if name not in changes}
    rows: Sequence[Mapping[str, Any]] = _rows(size.get("points", [{}]), changes)
    swept = {name: _as_list(values) for name, values in size.get("sweep", {}).items() if name not in changes}
    swept |= {name: values for name, values in changes.items() if not all(name in row for row in rows)}
    named = _named(rows, swept, changes, fixed)
    problems: dict[str, str | None] = {}  # with the remedy, where there is one
    points = [
        _point(scenario, dict(row) | dict(zip(swept, values, strict=True)), fixed, named, problems)
        for row in rows
        for values in product(*swept.values())
    ]
    if problems:
        hint = next(filter(None, problems.values()), None)
        raise ConfigError(f"{scenario.id}: a parameter has no value", hint=hint, problems=tuple(problems))
    return points


def parameter_names(scenario: Scenario, size: Mapping[str, Any]) -> list[str]:
    """Every parameter a user may override at this size."""
    rows = size.get("points", [{}])
    return list(dict.fromkeys([*size.get("set", {}), *(name for row in rows for name in row), *size.get("sweep", {})]))


def _as_list(value: Any) -> list[Scalar]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _refuse_unknown(scenario: Scenario, size: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    known = parameter_names(scenario, size)
    problems = []
    for name, values in changes.items():
        if name in scenario.case:
            problems.append(
                f"{name}={values[0]}: {scenario.id} is the case for {name}={scenario.case[name]}; choose another case"
            )
        elif name not in known:
            problems.append(f"{name}: not a parameter of {scenario.id}, expected one of {', '.join(known)}")
    if problems:
        raise ConfigError(
            f"{scenario.id} cannot be changed like this: {problems[0]}",
            hint=f"`telemark show {scenario.id}` lists its parameters",
            problems=tuple(problems),
        )


def _typed(size: Mapping[str, Any], name: str, values: Sequence[Scalar]) -> list[Scalar]:
    """Values as text where the scenario has text: `1.2` on the command line may be a TLS version."""
    rows = size.get("points", [{}])
    present = [
        size.get("set", {}).get(name),
        *(row.get(name) for row in rows),
        *_as_list(size.get("sweep", {}).get(name)),
    ]
    is_text = any(isinstance(value, str) and not REFERENCE.search(value) for value in present)
    return [str(value) if is_text else value for value in values]


def _rows(rows: Sequence[Mapping[str, Any]], changes: Mapping[str, Sequence[Scalar]]) -> list[Mapping[str, Any]]:
    """The linked rows an override leaves.

    Overriding with values that are in the rows chooses those rows. Another value breaks the link: the first row stays
    and the value replaces its own.
    """
    chosen: list[Mapping[str, Any]] = list(rows)
    for name, values in changes.items():
        if not any(name in row for row in chosen):
            continue
        known = [row for row in chosen if row.get(name) in values]
        if {row[name] for row in known} == set(values):
            chosen = known
        else:
            chosen = [{key: value for key, value in chosen[0].items() if key != name}]
    return chosen


def _named(
    rows: Sequence[Mapping[str, Any]],
    swept: Mapping[str, Any],
    changes: Mapping[str, Any],
    fixed: Mapping[str, Any],
) -> list[str]:
    """Parameters that tell the points of this sweep apart, for the label."""
    names = list(dict.fromkeys([*(name for row in rows for name in row), *swept, *changes]))
    return names or [name for name in ("publishers", "subscribers", "devices", "qos") if name in fixed]


def _point(
    scenario: Scenario,
    chosen: Mapping[str, Scalar],
    fixed: Mapping[str, Any],
    named: Sequence[str],
    problems: dict[str, str | None],
) -> Point:
    parameters: dict[str, Scalar] = dict(scenario.case) | dict(chosen)
    notes: list[str] = []
    for name, value in fixed.items():
        try:
            parameters[name] = _value(scenario, name, value, parameters, notes)
        except ConfigError as error:
            problems[error.message] = error.hint
    label = " ".join(f"{name}={parameters.get(name)}" for name in named)
    return Point(parameters, label or "only", tuple(notes))


def _value(scenario: Scenario, name: str, value: Any, parameters: Mapping[str, Scalar], notes: list[str]) -> Scalar:
    if isinstance(value, Mapping):
        return _published_value(scenario, name, value, parameters, notes)
    if isinstance(value, str):
        try:
            return substitute(value, parameters)
        except ExpressionError as error:
            raise ConfigError(f"parameter {name}: {error}") from error
    result: Scalar = value
    return result


def _published_value(
    scenario: Scenario, name: str, lookup: Mapping[str, Any], parameters: Mapping[str, Scalar], notes: list[str]
) -> Scalar:
    """The value the report gives for this point, with a note when it was published for another."""
    other = lookup.get("like", {}).get(scenario.name)
    found = find_value(
        scenario.published_for(other or scenario.name), lookup["published"], parameters, lookup.get("by", ())
    )
    if found is None:
        raise ConfigError(
            f"parameter {name}: no published {lookup['published']} for "
            + ", ".join(f"{key}={parameters.get(key)}" for key in lookup.get("by", ())),
            hint="add the result to the published CSV, or name a like case",
        )
    if other is not None:
        notes.append(f"{name}: the report gives no value for this case; planned with that of {other}")
    differing = {
        key: value
        for key, value in found.parameters.items()
        if key in parameters and str(parameters[key]) != str(value)
    }
    if differing:
        published_for = ", ".join(f"{key}={value}" for key, value in differing.items())
        notes.append(f"{name}: the report gives a value for {published_for} only; planned with that")
    return int(found.value) if found.value.is_integer() else found.value
