"""Resolved tables of a scenario become the dataclasses of a plan; `RunPlan.assemble` does the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from telemark.consumers.registry import KINDS, TAG
from telemark.model.keys import build
from telemark.model.plan import ConsumerPlan, Group, ListenerPlan, Secret
from telemark.model.plan.needs import security_by_name

Tables = Mapping[str, Mapping[str, Any]]


def build_groups(tables: Tables) -> tuple[Group, ...]:
    """The groups, in the order of the file."""
    return tuple(_group(name, dict(table)) for name, table in tables.items())


def _group(name: str, table: dict[str, Any]) -> Group:
    env, file = table.pop("password_env", None), table.pop("password_file", None)
    table.setdefault("client_id", f"telemark-{name}-{{index}}")
    return build(Group, table, name=name, password=Secret(env, file) if env or file else None)


def build_listeners(tables: Tables) -> tuple[ListenerPlan, ...]:
    """The listeners the scenario says something about."""
    return tuple(
        build(ListenerPlan, {"security": security_by_name(name), **table}, name=name) for name, table in tables.items()
    )


def build_consumers(table: Mapping[str, Any] | None) -> ConsumerPlan | None:
    """The back-end consumers; None when the scenario has none."""
    if not table:
        return None
    return build(KINDS[table[TAG]], {name: value for name, value in table.items() if name != TAG})
