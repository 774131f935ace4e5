"""How commands name scenarios: SUITE, SUITE/CASE, FILE.toml or FILE.toml/CASE."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from telemark.catalog import Catalog, Scenario, load


def load_named(files: Iterable[str]) -> Catalog:
    """The built-in catalogue and the scenario files given."""
    return load([Path(file) for file in files])


def choose(name: str) -> tuple[Scenario, ...]:
    """The scenarios a command-line word names, or ConfigError with the nearest ones."""
    return choose_in_catalog(name)[1]


def choose_in_catalog(name: str) -> tuple[Catalog, tuple[Scenario, ...]]:
    """The same, with the catalogue they were found in."""
    file, suffix, case = name.partition(".toml")
    if not suffix:
        catalog = load()
        return catalog, catalog.select(name)
    path = Path(file + suffix)
    catalog = load([path])
    suite = next(suite for suite in catalog.suites.values() if Path(suite.file) == path)
    return catalog, catalog.select(suite.name + case)
