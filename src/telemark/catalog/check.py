"""Checks the tables of a scenario file against `format.py` and collects every problem instead of stopping at one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from telemark.catalog.expression import REFERENCE
from telemark.catalog.format import definition_of
from telemark.model.keys import Key, shown


@dataclass
class Problems:
    """What is wrong with one file, in the words shown to the user."""

    file: str
    resolved: bool = False  # every `<parameter>` has its value: none may be left
    found: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)  # where each was found

    def add(self, path: str, found: object, expected: str) -> None:
        """One problem: where, the value found, what is allowed there."""
        self.say(path, f"found {shown(found)}", expected)

    def say(self, path: str, statement: str, expected: str) -> None:
        """One problem that is no value: a key that is missing or unknown."""
        self.note(path, f"{statement}, expected {expected}")

    def note(self, path: str, sentence: str) -> None:
        """One problem in its own words."""
        if self.resolved and path in self.paths:
            return  # other points of the sweep meet the same mistake with other values
        self.found.append(f"{self.file}: {path}: {sentence}")
        self.paths.append(path)


def check_table(name: str | type, table: object, path: str, problems: Problems, *, partial: bool = False) -> None:
    """Check one table. `partial` tables (in `when`) may leave required keys out."""
    if not isinstance(table, Mapping):
        problems.add(path, table, "a table")
        return
    definition = definition_of(name, table)
    for key, value in table.items():
        if key not in definition:
            near = difflib.get_close_matches(key, definition, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            problems.say(_join(path, key), f"unknown key{hint}", f"one of {', '.join(definition)}")
        else:
            check_value(definition[key], value, _join(path, key), problems, partial=partial)
    if not partial:
        for key, rule in definition.items():
            if rule.required and key not in table:
                problems.say(_join(path, key), "missing", rule.about)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def check_value(key: Key, value: object, path: str, problems: Problems, *, partial: bool = False) -> None:
    """Check one value against its key's rule, tables inside it included."""
    if key.kind == "table" and key.table:
        check_table(key.table, value, path, problems, partial=partial)
    elif key.kind == "tables" and key.table:
        _check_tables(key.table, value, path, problems)
    elif key.kind == "map" and key.table:
        _check_map(key.table, value, path, problems, partial)
    elif key.kind in _CONTAINERS:
        _CONTAINERS[key.kind](key, value, path, problems)
    else:
        check_scalar(key, value, path, problems)


def _check_tables(name: str | type, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, list):
        problems.add(path, value, "a list of tables")
        return
    for number, table in enumerate(value):
        # What a `when` changes is partial: the family has the rest.
        check_table(name, table, f"{path}[{number}]", problems, partial=name == "when")
        if name == "when" and isinstance(table, Mapping) and "match" not in table:
            problems.say(f"{path}[{number}].match", "missing", "the values it applies to")


def _check_map(name: str | type, value: object, path: str, problems: Problems, partial: bool) -> None:
    if not isinstance(value, Mapping):
        problems.add(path, value, "a table of tables")
        return
    for key, table in value.items():
        check_table(name, table, _join(path, key), problems, partial=partial)


def _check_texts(key: Key, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, list):
        problems.add(path, value, "a list of texts")
        return
    for number, text in enumerate(value):
        each = Key("text", key.about, allowed=key.allowed, rule=key.rule, expression=key.expression)
        check_scalar(each, text, f"{path}[{number}]", problems)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | int | float | bool)


def _check_scalars(key: Key, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, Mapping):
        problems.add(path, value, "a table of values")
        return
    for name, item in value.items():
        if isinstance(item, Mapping) and path.endswith(".set"):
            _check_lookup(item, _join(path, name), problems)
        elif not _is_scalar(item):
            problems.add(_join(path, name), item, "a text, number or true/false")


def _check_lookup(item: Mapping[str, Any], path: str, problems: Problems) -> None:
    """`{ published = metric, by = [parameters], like = { CASE = CASE } }`."""
    for name, value in item.items():
        kinds = {"published": str, "by": list, "like": Mapping}
        if name not in kinds:
            problems.say(_join(path, name), "unknown key", "one of published, by, like")
        elif not isinstance(value, kinds[name]):
            problems.add(
                _join(path, name), value, {"published": "a metric's name", "by": "a list"}.get(name, "a table")
            )
    if "published" not in item:
        problems.say(_join(path, "published"), "missing", "a metric's name")


def _check_lists(key: Key, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, Mapping):
        problems.add(path, value, "a table of lists")
        return
    for name, items in value.items():
        values = items if isinstance(items, list) else [items]
        if not values or not all(map(_is_scalar, values)):
            problems.add(_join(path, name), items, "a value or a list of values, not empty")
        elif any(isinstance(value, str) and REFERENCE.search(value) for value in values):
            problems.add(_join(path, name), items, "plain values: parameters get theirs here, <...> is not computed")


def _check_rows(key: Key, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, list) or not value:
        problems.add(path, value, "a list of rows, not empty")
        return
    for number, row in enumerate(value):
        _check_lists(key, row, f"{path}[{number}]", problems)


def _check_names(key: Key, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, Mapping):
        problems.add(path, value, "a table of axes")
        return
    for axis, texts in value.items():
        if not isinstance(texts, Mapping) or not texts or not all(isinstance(text, str) for text in texts.values()):
            problems.add(_join(path, axis), texts, "a table: value -> text it puts into the name")


_CONTAINERS: dict[str, Callable[[Key, object, str, Problems], None]] = {
    "texts": _check_texts,
    "scalars": _check_scalars,
    "lists": _check_lists,
    "rows": _check_rows,
    "names": _check_names,
}


def check_scalar(key: Key, value: object, path: str, problems: Problems) -> None:
    """Check a single value: its type, range, allowed values and, for patterns, its braces."""
    if key.expression and not problems.resolved and isinstance(value, str) and REFERENCE.search(value):
        return  # checked again when the parameters have values
    if sentence := key.problem(value):
        problems.note(path, sentence)
