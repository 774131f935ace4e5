"""The load shapes: one module each, found by being here."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from telemark.errors import ConfigError
from telemark.model.keys import build
from telemark.model.plan.shapes.idle import Idle
from telemark.model.plan.shapes.shape import LoadShape

__all__ = ["SHAPES", "Idle", "LoadShape", "discover", "read_load"]

TAG = "shape"  # the key that names the shape


def discover() -> dict[str, type[LoadShape]]:
    """Every load shape of the modules in this package, by name."""
    found: dict[str, type[LoadShape]] = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        for value in vars(importlib.import_module(f"{__name__}.{module}")).values():
            if isinstance(value, type) and issubclass(value, LoadShape) and value is not LoadShape:
                found[value.shape] = value
    return found


SHAPES: dict[str, type[LoadShape]] = discover()


def read_load(table: Mapping[str, Any] | None) -> LoadShape:
    """The load of a table or JSON object; nothing is sent when there is none.

    Raises:
        ConfigError: no shape of that name, or its fields are others.
    """
    if not table:
        return Idle()
    kind = SHAPES.get(str(table.get(TAG)))
    if kind is None:
        raise ConfigError(f"load.shape: found {table.get(TAG)!r}, expected one of {', '.join(SHAPES)}")
    try:
        return build(kind, {name: value for name, value in table.items() if name != TAG and value is not None})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ConfigError(f"load: the fields of {kind.shape} are others ({error})") from error
