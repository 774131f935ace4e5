"""What the catalogue knows about a scenario: its description, its source, and the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from telemark.catalog import Catalog, PublishedResult, load
from telemark.catalog.published import match
from telemark.errors import ConfigError
from telemark.report.format import one_line
from telemark.report.headline import Headline
from telemark.report.model import Published, Series

# What one published unit is in the units of the result tables.
IN_OUR_UNITS: dict[str, float] = {
    "msg/s": 1.0, "conn/s": 1.0, "us": 1.0, "ms": 1000.0, "s": 1e6, "B": 1.0, "KB": 1024.0, "KiB": 1024.0,
    "MB": 1024.0**2, "MiB": 1024.0**2, "messages": 1.0, "msgs": 1.0, "cores": 1.0, "count": 1.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A scenario as the catalogue describes it; empty texts for one that is not in the catalogue."""

    title: str = ""
    description: str = ""
    source: str = ""
    measures: str = ""
    suite_title: str = ""
    results: tuple[PublishedResult, ...] = ()


@cache
def _catalog() -> Catalog:
    return load()


def case_facts(suite: str, scenario: str) -> CaseFacts:
    """Look a scenario up; a user's own scenario file is not in the catalogue and has no published numbers."""
    try:
        found = _catalog().find(f"{suite}/{scenario}")
        about = _catalog().suite(suite)
    except ConfigError:
        return CaseFacts()
    source = ", ".join(part for part in (about.title, about.date, found.where) if part)
    return CaseFacts(found.title, found.about or found.title, source, found.measures, about.title, found.published)


def beside(
    case: CaseFacts, headline: Headline, value: float | None, parameters: Mapping[str, Any], server: str
) -> Published | None:
    """The published value nearest to this point: same point before other sizes, same server before others."""
    same_metric = [
        result for result in case.results if result.metric == headline.metric and result.unit in IN_OUR_UNITS
    ]
    matches = match(same_metric, parameters)
    if not matches:
        return None
    best = min(
        matches,
        key=lambda entry: (
            not entry.exact,
            not _same_server(entry.result, server),
            _distance(entry.result, parameters),
        ),
    )
    result = best.result
    published = result.value * IN_OUR_UNITS[result.unit]
    conditions = " ".join(f"{name}={value}" for name, value in result.parameters.items())
    return Published(
        value=published,
        unit=headline.unit,
        ratio=value / published if value is not None and published else None,
        server=result.server,
        source=result.source,
        conditions=conditions or "its one size",
        same_point=best.exact,
    )


def published_lines(case: CaseFacts, metric: str, x: str, most: int = 6) -> tuple[Series, ...]:
    """Published curves of a metric over parameter x, dotted, one per server and remaining parameters."""
    groups: dict[str, list[tuple[float | str, float | None]]] = {}
    for result in case.results:
        at = result.parameters.get(x)
        if result.metric == metric and isinstance(at, int | float) and result.unit in IN_OUR_UNITS:
            others = " ".join(f"{name}={value}" for name, value in result.parameters.items() if name != x)
            name = " ".join(part for part in ("published:", result.server, others) if part)
            groups.setdefault(one_line(name), []).append((at, result.value * IN_OUR_UNITS[result.unit]))
    lines = [Series(name, tuple(sorted(points)), "dotted") for name, points in groups.items()]
    return tuple(lines[:most])


def _same_server(result: PublishedResult, server: str) -> bool:
    return result.server.lower().split(" ")[0] == server.lower()


def _distance(result: PublishedResult, parameters: Mapping[str, Any]) -> float:
    """How far the published point is from ours, as the sum of the logarithm-like ratios of its sizes."""
    total = 0.0
    for name, value in result.parameters.items():
        ours = parameters.get(name)
        if isinstance(value, int | float) and isinstance(ours, int | float) and value > 0 and ours > 0:
            total += max(value / ours, ours / value)
        elif ours != value:
            total += 1.0
    return total


def suite_title(facts: Sequence[CaseFacts], suite: str) -> str:
    """The title of the report a suite comes from; its name when the catalogue does not know it."""
    return next((case.suite_title for case in facts if case.suite_title), suite)
