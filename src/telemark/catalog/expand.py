"""A family becomes its scenarios: one for each case, with the changes its case calls for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from telemark.catalog.check import Problems
from telemark.catalog.expression import Scalar
from telemark.catalog.format import ADDING, BODY, TAGGED
from telemark.catalog.published import PublishedResult
from telemark.catalog.scenario import Scenario


@dataclass(frozen=True, slots=True)
class SuiteFacts:
    """What the scenarios of a suite have in common."""

    name: str
    title: str
    date: str
    notes: tuple[str, ...]
    results: tuple[PublishedResult, ...]


_PLACE = re.compile(r"\{([a-z_]+)\}")


def expand_family(family: Mapping[str, Any], path: str, suite: SuiteFacts, problems: Problems) -> list[Scenario]:
    """All scenarios of one checked family."""
    scenarios = []
    for case in _cases(family):
        name = _name(family, case, path, problems)
        body = {key: family[key] for key in BODY if key in family}
        later: list[Mapping[str, Any]] = []
        for number, change in enumerate(family.get("when", ())):
            applies = _applies(change["match"], case)
            if applies is None:
                _refuse_sizes(change, f"{path}.when[{number}]", problems)
                later.append(change)
            elif applies:
                body = merge(body, {key: value for key, value in change.items() if key != "match"})
        scenarios.append(
            Scenario(
                suite=suite.name,
                suite_title=suite.title,
                suite_date=suite.date,
                name=name,
                title=body.get("title", name),
                about=body.get("about", "").strip(),
                where=body.get("where", ""),
                measures=body.get("measures", "throughput"),
                search=body.get("search", False),
                search_over=body.get("search_over"),
                case=case,
                meanings=family.get("parameters", {}),
                body=body,
                point_changes=tuple(later),
                suite_notes=suite.notes,
                results=suite.results,
            )
        )
    return scenarios


def _cases(family: Mapping[str, Any]) -> Iterator[dict[str, Scalar]]:
    """Every combination each row of `cases` stands for, defaults filled in."""
    defaults = {axis: _typed(next(iter(texts))) for axis, texts in family.get("axes", {}).items()}
    for row in family.get("cases", [{}]):
        names = list(row)
        choices = [value if isinstance(value, list) else [value] for value in row.values()]
        for values in product(*choices):
            yield defaults | dict(zip(names, values, strict=True))


def _typed(text: str) -> Scalar:
    """Keys of TOML tables are text: a number among the axis values is meant as one."""
    return int(text) if text.isdigit() else text


def _name(family: Mapping[str, Any], case: Mapping[str, Scalar], path: str, problems: Problems) -> str:
    axes = family.get("axes", {})

    def text_of(place: re.Match[str]) -> str:
        axis = place.group(1)
        if axis not in case:
            problems.add(f"{path}.name", family["name"], f"only axes of this family: {', '.join(case) or 'none'}")
            return ""
        return str(axes.get(axis, {}).get(str(case[axis]), case[axis]))

    for axis, value in case.items():
        if axis in axes and str(value) not in axes[axis]:
            problems.add(f"{path}.cases", {axis: value}, f"{axis} to be one of {', '.join(axes[axis])}")
    return _PLACE.sub(text_of, str(family["name"]))


def _applies(match: Mapping[str, Any], known: Mapping[str, Scalar]) -> bool | None:
    """Whether all conditions hold; None when that depends on parameters which are not known yet."""
    open_question = False
    for name, wanted in match.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if name not in known:
            open_question = True
        elif str(known[name]) not in map(str, values):
            return False
    return None if open_question else True


def matches(match: Mapping[str, Any], parameters: Mapping[str, Scalar]) -> bool:
    """Whether a `when` applies to a point whose parameters are all known."""
    return _applies(match, parameters) is True


def _refuse_sizes(change: Mapping[str, Any], path: str, problems: Problems) -> None:
    if "sizes" in change:
        problems.add(f"{path}.sizes", change["match"], "sizes only in a `when` that matches the case's own axes")


def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Base with the change on top: tables merge, values and lists replace, lists named in ADDING grow."""
    merged = dict(base)
    for key, value in change.items():
        old = merged.get(key)
        if isinstance(value, Mapping) and isinstance(old, Mapping) and not _other_variant(key, value, old):
            merged[key] = merge(old, value)
        elif key in ADDING and isinstance(old, list):
            merged[key] = old + [item for item in value if item not in old]
        else:
            merged[key] = value
    return merged


def _other_variant(key: str, value: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether the change is to another kind of table, such as another load shape, with keys of its own."""
    tag = TAGGED.get(key)
    return tag is not None and tag in value and tag in old and value[tag] != old[tag]
