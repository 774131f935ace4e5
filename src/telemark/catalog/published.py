"""Published results: CSV files beside the suites, so that a score card can print "published" next to "here".

Columns: scenario, parameters (`name=value` separated by spaces: the point it was published for), server, metric, value,
unit, source (table, figure or page), note. Metric names are those of the result table POINTS where one fits.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from telemark.catalog.expression import Scalar
from telemark.model.case import PublishedValue

COLUMNS = ("scenario", "parameters", "server", "metric", "value", "unit", "source", "note")


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """One published number."""

    suite: str
    scenario: str
    parameters: Mapping[str, Scalar]  # the point it was published for; what is not named was not varied
    server: str
    metric: str
    value: float
    unit: str
    source: str
    note: str = ""

    def fits(self, parameters: Mapping[str, Scalar]) -> bool:
        """Whether it was published for exactly this point: every parameter it names is there and equal."""
        return all(name in parameters and _equal(parameters[name], value) for name, value in self.parameters.items())


def _equal(left: Scalar, right: Scalar) -> bool:
    return left == right or str(left) == str(right)


def match(results: Iterable[PublishedResult], parameters: Mapping[str, Scalar]) -> tuple[PublishedValue, ...]:
    """The numbers that may stand beside a point, those published for exactly this point first.

    A number for another number of devices is worth printing, one for another QoS, payload or topology is not.
    """
    values = [
        PublishedValue(
            each.metric, each.value, each.unit, each.server, each.source, dict(each.parameters), each.note,
            each.fits(parameters),
        )
        for each in results
        if each.fits(parameters) or _comparable(each, parameters)
    ]  # fmt: skip
    return tuple(sorted(values, key=lambda value: not value.exact))


_DEFINING = ("qos", "payload", "topology", "state")


def _comparable(result: PublishedResult, parameters: Mapping[str, Scalar]) -> bool:
    named = [name for name in _DEFINING if name in result.parameters and name in parameters]
    return all(_equal(result.parameters[name], parameters[name]) for name in named)


def find_value(
    results: Sequence[PublishedResult], metric: str, parameters: Mapping[str, Scalar], by: Sequence[str]
) -> PublishedResult | None:
    """The number published for `metric` at the point's values of the parameters named in `by`.

    Among several, the one that agrees with most of the point's other parameters.
    """
    wanted = {name: parameters.get(name, "") for name in by}
    fitting = [
        result
        for result in results
        if result.metric == metric
        and all(name in result.parameters and _equal(result.parameters[name], value) for name, value in wanted.items())
    ]
    return max(fitting, key=lambda result: _agreements(result, parameters), default=None)


def _agreements(result: PublishedResult, parameters: Mapping[str, Scalar]) -> int:
    return sum(name in parameters and _equal(parameters[name], value) for name, value in result.parameters.items())


def read_results(path: Path, suite: str) -> tuple[tuple[PublishedResult, ...], tuple[str, ...]]:
    """Read one CSV file: its results, and every problem found in it."""
    results: list[PublishedResult] = []
    problems: list[str] = []
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            return (), (f"{path.name}: line 1: found columns {reader.fieldnames}, expected {', '.join(COLUMNS)}",)
        for row in reader:
            try:
                results.append(_result(row, suite))
            except ValueError as error:
                problems.append(f"{path.name}: line {reader.line_num}: {error}")
    return tuple(results), tuple(problems)


def _result(row: Mapping[str, str], suite: str) -> PublishedResult:
    missing = [name for name in ("scenario", "server", "metric", "value", "unit", "source") if not row[name]]
    if missing:
        raise ValueError(f"{', '.join(missing)} missing, expected every column but parameters and note to be filled")
    try:
        value = float(row["value"])
    except ValueError as error:
        raise ValueError(f"value: found {row['value']!r}, expected a number") from error
    return PublishedResult(
        suite, row["scenario"], _parameters(row["parameters"]), row["server"], row["metric"], value, row["unit"],
        row["source"], row["note"] or "",
    )  # fmt: skip


def _parameters(text: str) -> dict[str, Scalar]:
    parameters: dict[str, Scalar] = {}
    for pair in text.split():
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"parameters: found {pair!r}, expected name=value")
        parameters[name] = int(value) if value.lstrip("-").isdigit() else value
    return parameters
