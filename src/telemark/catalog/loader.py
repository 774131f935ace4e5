"""Reads scenario files. Every problem of every file is found before one error reports them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from telemark.catalog.check import Problems, check_table
from telemark.catalog.expand import SuiteFacts, expand_family
from telemark.catalog.planner import find_problems
from telemark.catalog.prune import known_already, plannable, without
from telemark.catalog.published import PublishedResult, read_results
from telemark.catalog.scenario import Catalog, Scenario, Suite
from telemark.errors import ConfigError
from telemark.host.toml import read_toml

SUITES = Path(__file__).parent / "suites"


def load(extra: Sequence[Path] = ()) -> Catalog:
    """The built-in suites and the scenario files given.

    A given file may have its published results beside it, in `published/<file name>.csv`. Its suite replaces a
    built-in one of the same name.

    Raises:
        ConfigError: with every problem of every file.
    """
    suites = dict(_built_in())
    problems: list[str] = []
    for path in extra:
        suite, found = read_suite(Path(path))
        problems += found
        if suite:
            suites[suite.name] = suite
    if problems:
        raise _error(problems, [str(path) for path in extra])
    return Catalog(suites)


@lru_cache(maxsize=1)
def _built_in() -> dict[str, Suite]:
    suites: dict[str, Suite] = {}
    problems: list[str] = []
    for path in sorted(SUITES.glob("*.toml")):
        suite, found = read_suite(path, deep=False)
        problems += found
        if suite:
            suites[suite.name] = suite
    if problems:
        raise _error(problems, ["the built-in suites"])
    return suites


def _error(problems: Sequence[str], files: Iterable[str]) -> ConfigError:
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    return ConfigError(
        f"{count} in {', '.join(files)}",
        hint="docs/reference/scenario-file.md describes every key",
        problems=tuple(problems),
    )


def read_suite(path: Path, *, deep: bool = True) -> tuple[Suite | None, list[str]]:
    """Read one scenario file: its suite (None when it cannot be used) and every problem found.

    Args:
        path: the file.
        deep: also plan every scenario at every size. The built-in suites leave that to their tests.
    """
    problems = Problems(path.name)
    document = _parse(path, problems)
    if document is None:
        return None, problems.found
    check_table("file", document, "", problems)
    suite = _suite(document, path, problems, deep=deep)
    return (None if problems.found else suite), problems.found


def _parse(path: Path, problems: Problems) -> dict[str, Any] | None:
    try:
        return read_toml(path)
    except OSError as error:
        problems.say(str(path), f"cannot be read ({error.strerror})", "a scenario file")
    except ValueError as error:
        problems.say("the file", str(error), "valid TOML")
    return None


def _published(path: Path, suite: str, problems: Problems) -> tuple[PublishedResult, ...]:
    results_file = path.parent / "published" / f"{path.stem}.csv"
    if not results_file.is_file():
        return ()
    results, found = read_results(results_file, suite)
    problems.found.extend(found)
    return results


def _suite(document: dict[str, Any], path: Path, problems: Problems, *, deep: bool) -> Suite:
    """The suite, and what is wrong with it beyond its tables; parts that are wrong already are left out."""
    wrong = tuple(problems.paths)
    usable = without(document, wrong)
    facts = dict.fromkeys(("name", "title", "source", "date"), "") | usable.get("suite", {})
    results = _published(path, facts["name"], problems)
    shared = SuiteFacts(facts["name"], facts["title"], facts["date"], tuple(facts.get("notes", ())), results)
    scenarios: list[Scenario] = []
    for number, family in enumerate(document["family"] if isinstance(document.get("family"), list) else ()):
        place = f"family[{number}]"
        if plannable(place, wrong):
            found = expand_family(without(family, wrong, place), place, shared, problems)
            scenarios += found
            if deep:
                _plan_all(found, wrong, problems)
    suite = Suite(
        name=facts["name"],
        title=facts["title"],
        source=facts["source"],
        date=facts["date"],
        hardware=tuple(facts.get("hardware", ())),
        notes=shared.notes,
        scenarios=tuple(scenarios),
        file=str(path),
        published=results,
    )
    if not wrong:
        _check_names(suite, problems)
    return suite


def _plan_all(scenarios: Sequence[Scenario], wrong: Sequence[str], problems: Problems) -> None:
    """Every problem that shows only when parameters have values."""
    for scenario in scenarios:
        found = find_problems(scenario)
        for where, text in zip(found.paths, found.found, strict=True):
            if not known_already(where, wrong):
                problems.found.append(f"{problems.file}: {text}")


def _check_names(suite: Suite, problems: Problems) -> None:
    """Two scenarios of one name, and results for a scenario that does not exist."""
    seen: set[str] = set()
    for scenario in suite.scenarios:
        if scenario.name in seen:
            problems.add("family.name", scenario.name, "names that differ: another scenario has this one")
        seen.add(scenario.name)
    for name in {result.scenario for result in suite.published} - seen:
        problems.add("published", name, "the name of one of this suite's scenarios")
