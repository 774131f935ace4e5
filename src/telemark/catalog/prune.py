"""A checked document without what is wrong in it: the rest can be checked further, and all mistakes be told at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

# Without these a family has no cases or parameters, and everything below would seem wrong.
_ESSENTIAL = re.compile(r"\.(name|axes|cases|match|set|sweep|points)\b|\.sizes$|\.sizes\.[a-z]+$")
_OUTER = re.compile(r"^family\[\d+\]\.(?:when\[\d+\]\.)?(?:sizes\.[a-z]+\.(?=phases|notes))?")


def without(value: Any, paths: Collection[str], path: str = "") -> Any:
    """The value without everything at the paths, which are written as the checker writes them."""
    if isinstance(value, Mapping):
        inner = {key: f"{path}.{key}" if path else key for key in value}
        return {key: without(value[key], paths, inner[key]) for key in value if inner[key] not in paths}
    if isinstance(value, list):
        places = [f"{path}[{number}]" for number in range(len(value))]
        return [without(item, paths, place) for item, place in zip(value, places, strict=True) if place not in paths]
    return value


def plannable(family: str, paths: Collection[str]) -> bool:
    """Whether a family with problems at these paths still has cases, sizes and parameters."""
    return not any(path == family or (path.startswith(family) and _ESSENTIAL.search(path)) for path in paths)


def known_already(path: str, paths: Collection[str]) -> bool:
    """Whether a problem met while planning follows from one of those the document was checked for."""
    return any(_touch(path, _OUTER.sub("", other)) for other in paths)


def _touch(one: str, other: str) -> bool:
    """Equal, or one inside the other."""
    return one == other or one.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{one}.", f"{one}["))
