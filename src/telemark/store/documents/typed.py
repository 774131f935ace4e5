"""Checks plain data against type hints: every document says in its dataclass what it may hold.

Two ways to read a dataclass: as itself, or with `Annotated[Mapping[str, Any], Fits(kind)]` as a mapping that keeps keys
nobody knows, for parts that are handed on as data. In such a part every key may be missing.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


@dataclass(frozen=True, slots=True)
class Fits:
    """Marks a mapping whose keys have the types of a dataclass's fields."""

    kind: Any


class Mismatch(Exception):  # noqa: N818 - it never leaves the reader
    """A value is not what the hint asks for."""

    def __init__(self, path: str, expected: str, found: object) -> None:
        shown = repr(found)
        super().__init__(f"{path or 'the document'}: expected {expected}, found {shown[:60]}")


def typed(hint: Any, value: Any, path: str = "", plain: bool = False) -> Any:
    """The value in the form of the hint; raises Mismatch with the path of the first part that does not fit."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        fits = next((each for each in arguments[1:] if isinstance(each, Fits)), None)
        return typed(fits.kind, value, path, plain=True) if fits else typed(arguments[0], value, path, plain)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, path, plain)
    if is_dataclass(hint) or is_typeddict(hint):
        return _fields(hint, value, path, plain or is_typeddict(hint))
    if origin in (tuple, list, frozenset):
        return _items(origin, arguments, value, path, plain)
    if origin in (dict, Mapping):
        return {key: typed(arguments[1], item, f"{path}.{key}", plain) for key, item in _mapping(value, path).items()}
    return _simple(hint, origin, value, path)


def _one_of(hints: tuple[Any, ...], value: Any, path: str, plain: bool) -> Any:
    if value is None and type(None) in hints:
        return None
    problem: Mismatch | None = None
    for hint in hints:
        try:
            return typed(hint, value, path, plain)
        except Mismatch as mismatch:
            problem = problem or mismatch
    raise problem or Mismatch(path, "a value", value)


def _fields(hint: Any, value: Any, path: str, plain: bool) -> Any:
    hints = _hints(hint)
    given = _mapping(value, path)
    known = {
        name: typed(hints[name], given[name], f"{path}.{name}" if path else name, plain)
        for name in hints
        if name in given
    }
    missing: frozenset[str] = getattr(hint, "__required_keys__", frozenset()) - known.keys()
    if missing:
        raise Mismatch(path, f"an object with {', '.join(sorted(missing))}", value)
    if plain:
        return dict(given) | known
    for each in fields(hint):
        if each.name not in known and each.default is MISSING and each.default_factory is MISSING:
            raise Mismatch(f"{path}.{each.name}" if path else each.name, "a value", None)
    return hint(**known)


def _items(origin: Callable[[Any], Any], hints: tuple[Any, ...], value: Any, path: str, plain: bool) -> Any:
    if not isinstance(value, list):
        raise Mismatch(path, "a list", value)
    if origin is tuple and (len(hints) != 2 or hints[1] is not Ellipsis):
        if len(value) != len(hints):
            raise Mismatch(path, f"{len(hints)} values", value)
        return tuple(typed(hint, item, path, plain) for hint, item in zip(hints, value, strict=True))
    found = [typed(hints[0], item, f"{path}[{place}]", plain) for place, item in enumerate(value)]
    return found if plain else origin(found)


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Mismatch(path, "an object", value)
    return value


_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}


def _simple(hint: Any, origin: Any, value: Any, path: str) -> Any:
    if hint is Any:
        return value
    if origin is Literal:
        if not any(type(value) is type(each) and value == each for each in get_args(hint)):
            raise Mismatch(path, f"one of {', '.join(map(str, get_args(hint)))}", value)
        return value
    if hint not in _NAMES:
        raise TypeError(f"{path}: documents cannot hold {hint}")  # a fault of ours: any test shows it
    allowed = (int, float) if hint is float else (hint,)
    if not isinstance(value, allowed) or (isinstance(value, bool) and hint is not bool):
        raise Mismatch(path, _NAMES[hint], value)
    return value


@cache
def _hints(hint: Any) -> dict[str, Any]:
    found = get_type_hints(hint, include_extras=True)
    return {name: found[name] for name in ([each.name for each in fields(hint)] if is_dataclass(hint) else found)}
