"""A report whose every text can be printed: what would steer a terminal is written out instead."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from telemark.host.text import visible
from telemark.report.model import Chart

T = TypeVar("T")


def printable(part: T) -> T:
    """The same part of a report with `visible` texts. Charts stay as they are: no terminal draws them."""
    found: Any = part
    if isinstance(found, Chart):
        return part
    if isinstance(found, str):
        found = visible(found)
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(
            found, **{each.name: printable(getattr(found, each.name)) for each in fields(found) if each.init}
        )
    elif isinstance(found, dict):
        found = {printable(key): printable(value) for key, value in found.items()}
    elif isinstance(found, tuple | list):
        found = type(found)(printable(each) for each in found)
    return found  # type: ignore[no-any-return]
