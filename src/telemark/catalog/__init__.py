"""The test cases: suites as TOML, published results as CSV, and the planner that turns them into runs."""

from __future__ import annotations

from telemark.catalog.loader import load
from telemark.catalog.parameters import Overrides
from telemark.catalog.planner import plan_points
from telemark.catalog.published import PublishedResult
from telemark.catalog.scenario import Catalog, Scenario, Suite

__all__ = ["Catalog", "Overrides", "PublishedResult", "Scenario", "Suite", "load", "plan_points"]
