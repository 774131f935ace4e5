"""Keys of scenario files, declared at the fields of the plan's dataclasses.

A field that a scenario file may set is annotated with its meaning: `rate: Annotated[float, Meaning("per second")]`.
The checker, the reference page and the planner read type, default, range and meaning of the key off the field.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from telemark.errors import ConfigError
from telemark.model.pattern import parse

Kind = Literal[
    "text", "integer", "number", "boolean", "texts", "table", "tables", "map", "scalars", "lists", "rows", "names"
]
_KINDS: dict[type, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean"}
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)
}  # fmt: skip
_WORDS = {"text": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
Described = TypeVar("Described")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a field means, and what its type cannot say."""

    about: str
    minimum: float = 0  # of numbers
    above: float | None = None  # numbers must be larger than this
    allowed: tuple[int, ...] | None = None  # for texts use a Literal type
    pattern: bool = False  # text in the pattern language of plans


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table of a scenario file."""

    kind: Kind
    about: str
    required: bool = False
    allowed: tuple[str | int, ...] | None = None
    minimum: float | None = None
    above: float | None = None
    table: str | type | None = None  # kind table, tables and map: the inner table, by name or dataclass
    pattern: bool = False
    expression: bool = True  # may also be "<parameter>" text
    default: object = None
    rule: Callable[[str], str | None] | None = None  # what else is wrong with a text, in words

    def problem(self, value: object) -> str | None:
        """What was found and what was expected; None when a single value is right."""
        if not self._fits(value):
            return f"found {shown(value)}, expected {self.expectation()}"
        if self.pattern and isinstance(value, str):
            try:
                parse(value)
            except ConfigError as error:
                return error.message
        return self.rule(value) if self.rule and isinstance(value, str) else None

    def _fits(self, value: object) -> bool:
        kinds = (bool,) if isinstance(value, bool) else _TYPES[self.kind]
        if not isinstance(value, kinds) or isinstance(value, bool) != (self.kind == "boolean"):
            return False
        if self.allowed is not None:
            return value in self.allowed
        if not isinstance(value, int | float):
            return True
        return (self.minimum is None or value >= self.minimum) and (self.above is None or value > self.above)

    def expectation(self) -> str:
        """What the value may be, in words."""
        if self.allowed is not None:
            return "one of " + ", ".join(map(str, self.allowed))
        limit = f" of at least {self.minimum:g}" if self.minimum else " not below 0" if self.minimum == 0 else ""
        limit = f" above {self.above:g}" if self.above is not None else limit
        return _WORDS.get(self.kind, self.kind) + limit


def shown(value: object) -> str:
    """A value as messages show it."""
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else text[:57] + "..."


@cache
def keys_of(described: Any) -> dict[str, Key]:
    """The keys of a dataclass: its fields that are annotated with a meaning."""
    hints = get_type_hints(described, include_extras=True)
    keys = {}
    for field in sorted(fields(described), key=lambda field: bool(field.kw_only)):  # what a class inherits comes last
        hint = hints[field.name]
        if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Meaning):
            keys[field.name] = _key(field, get_args(hint)[0], hint.__metadata__[0])
    return keys


def _key(field: Field[Any], hint: Any, meaning: Meaning) -> Key:
    kind, inner, allowed = _kind(hint)
    numeric = kind in ("integer", "number") and allowed is None and meaning.allowed is None
    return Key(
        kind,
        meaning.about,
        required=field.default is MISSING and field.default_factory is MISSING,
        allowed=allowed or meaning.allowed,
        minimum=meaning.minimum if numeric else None,
        above=meaning.above if numeric else None,
        table=inner,
        pattern=meaning.pattern,
        default=None if field.default is MISSING else field.default,
    )


def _kind(hint: Any) -> tuple[Kind, Any, tuple[str, ...] | None]:
    """Kind of a type, the dataclass of an inner table, and the values a literal type allows."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(member for member in get_args(hint) if member is not type(None))
    if get_origin(hint) is Literal:
        return "text", None, get_args(hint)
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return ("tables", inner, None) if is_dataclass(inner) else ("texts", None, None)
    return ("table", hint, None) if is_dataclass(hint) else (_KINDS[hint], None, None)


def build(described: type[Described], table: Mapping[str, Any], **more: Any) -> Described:
    """A dataclass from a checked table; `more` are fields that are not keys."""
    hints = get_type_hints(described)
    return described(**{name: _value(hints[name], value) for name, value in table.items()}, **more)


def _value(hint: Any, value: Any) -> Any:
    """A TOML value as its field wants it: whole numbers become floats, lists tuples, tables dataclasses."""
    kind, inner, _ = _kind(hint)
    if inner is not None:
        return build(inner, value) if kind == "table" else tuple(build(inner, each) for each in value)
    if kind == "texts":
        return tuple(value)
    return float(value) if kind == "number" else value


def problems_in(value: Any, path: str) -> Iterator[str]:
    """Every field, inner dataclasses included, whose value its key does not allow."""
    for name, key in keys_of(value.__class__).items():
        here, found = f"{path}.{name}", getattr(value, name)
        if found is None:
            continue
        if key.kind == "table":
            yield from problems_in(found, here)
        elif key.kind == "tables":
            for number, each in enumerate(found):
                yield from problems_in(each, f"{here}[{number}]")
        elif key.kind != "texts" and (problem := key.problem(found)):
            yield f"{here}: {problem}"
