"""What the catalogue knows about a scenario: its description, what it measures, where it was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from telemark.catalog import Catalog, PublishedResult, load
from telemark.errors import ConfigError


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


@cache
def case_facts(suite: str, scenario: str) -> CaseFacts:
    """Look a scenario up; a user's own scenario file is not in the catalogue and has no published numbers."""
    try:
        found = _catalog().find(f"{suite}/{scenario}")
        about = _catalog().suite(suite)
    except ConfigError:
        return CaseFacts()
    source = ", ".join(part for part in (about.title, about.date, found.where) if part)
    return CaseFacts(found.title, found.about or found.title, source, found.measures, about.title, found.published)


def suite_title(facts: Sequence[CaseFacts], suite: str) -> str:
    """The title of the report a suite comes from; its name when the catalogue does not know it."""
    return next((case.suite_title for case in facts if case.suite_title), suite)
