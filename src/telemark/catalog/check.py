"""Checks the tables of a scenario file against `format.py` and collects every problem instead of stopping at one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from telemark.catalog.expression import REFERENCE
from telemark.catalog.format import TABLES, Key
from telemark.errors import ConfigError
from telemark.model.pattern import parse


@dataclass
class Problems:
    """What is wrong with one file, in the words shown to the user."""

    file: str
    found: list[str] = field(default_factory=list)

    def add(self, path: str, found: object, expected: str) -> None:
        """One problem: where, the value found, what is allowed there."""
        self.say(path, f"found {_shown(found)}", expected)

    def say(self, path: str, statement: str, expected: str) -> None:
        """One problem that is no value: a key that is missing or unknown."""
        self.found.append(f"{self.file}: {path}: {statement}, expected {expected}")


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


def check_table(name: str, table: object, path: str, problems: Problems, *, partial: bool = False) -> None:
    """Check one table. `partial` tables (in `when`) may leave required keys out."""
    definition = TABLES[name]
    if not isinstance(table, Mapping):
        problems.add(path, table, "a table")
        return
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


def _check_tables(name: str, value: object, path: str, problems: Problems) -> None:
    if not isinstance(value, list):
        problems.add(path, value, "a list of tables")
        return
    for number, table in enumerate(value):
        # What a `when` changes is partial: the family has the rest.
        check_table(name, table, f"{path}[{number}]", problems, partial=name == "when")
        if name == "when" and isinstance(table, Mapping) and "match" not in table:
            problems.say(f"{path}[{number}].match", "missing", "the values it applies to")


def _check_map(name: str, value: object, path: str, problems: Problems, partial: bool) -> None:
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
        check_scalar(Key("text", key.about, allowed=key.allowed), text, f"{path}[{number}]", problems)


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
        if not _is_scalar(items) and not (isinstance(items, list) and items and all(map(_is_scalar, items))):
            problems.add(_join(path, name), items, "a value or a list of values, not empty")


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
    if key.expression and isinstance(value, str) and REFERENCE.search(value):
        return  # checked again when the parameters have values
    expected = expectation(key)
    if (
        not _has_kind(key.kind, value)
        or (key.allowed is not None and value not in key.allowed)
        or (key.minimum is not None and isinstance(value, int | float) and value < key.minimum)
    ):
        problems.add(path, value, expected)
    elif key.pattern and isinstance(value, str):
        try:
            parse(value)
        except ConfigError as error:
            problems.found.append(f"{problems.file}: {path}: {error.message}")


def _has_kind(kind: str, value: object) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    kinds: dict[str, tuple[type, ...]] = {"text": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}
    return isinstance(value, kinds[kind])


def expectation(key: Key) -> str:
    """What a key's value may be, in words."""
    if key.allowed is not None:
        return "one of " + ", ".join(map(str, key.allowed))
    words = {"text": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
    limit = f" of at least {key.minimum:g}" if key.minimum else (" not below 0" if key.minimum == 0 else "")
    return words.get(key.kind, key.kind) + limit
