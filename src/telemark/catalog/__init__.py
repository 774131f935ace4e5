"""The test cases: suites as TOML, published results as CSV, and the planner that turns them into runs."""

from __future__ import annotations

from telemark.catalog.loader import load
from telemark.catalog.parameters import Overrides
from telemark.catalog.planner import plan_points
from telemark.catalog.published import PublishedMatch, PublishedResult, match
from telemark.catalog.scenario import Catalog, Scenario, Suite

__all__ = [
    "Catalog",
    "Overrides",
    "PublishedMatch",
    "PublishedResult",
    "Scenario",
    "Suite",
    "load",
    "match",
    "plan_points",
    "published",
]


def published(suite: str, scenario: str) -> list[PublishedResult]:
    """What was published for a scenario of a built-in suite; empty when nothing was."""
    suites = load().suites
    if suite not in suites:
        return []
    return [result for result in suites[suite].published if result.scenario == scenario]
