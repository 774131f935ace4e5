"""Resolved tables of a scenario become the dataclasses of a plan, with the numbers of the whole run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from telemark.model.plan import (
    Group,
    JmsConsumers,
    ListenerPlan,
    Load,
    Phases,
    Publish,
    Reconnect,
    Secret,
    Step,
    Subscription,
    Will,
)

_PLAIN_GROUP_KEYS = (
    "client_id", "version", "clean_start", "session_expiry_s", "keep_alive_s", "receive_maximum", "username",
    "send_buffer", "receive_buffer",
)  # fmt: skip


def build_groups(tables: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[Group, ...], int]:
    """The groups that have devices, numbered over the whole run, and the next free subscription number."""
    groups: list[Group] = []
    device = stream = subscription = 0
    for name, table in tables.items():
        count = int(table["count"])
        if not count:
            continue
        subscriptions = []
        for entry in table.get("subscriptions", ()):
            subscriptions.append(Subscription(**entry, first_subscription=subscription))
            subscription += count
        publish = Publish(**table["publish"], first_stream=stream) if "publish" in table else None
        group = _group(name, table, count)
        groups.append(replace(group, first_device=device, publish=publish, subscriptions=tuple(subscriptions)))
        device += count
        stream += count if publish else 0
    return tuple(groups), subscription


def _group(name: str, table: Mapping[str, Any], count: int) -> Group:
    """The group by itself, without its numbers in the run."""
    plain = {key: table[key] for key in _PLAIN_GROUP_KEYS if key in table}
    plain.setdefault("client_id", f"telemark-{name}-{{index}}")
    return Group(
        name=name,
        count=count,
        endpoints=tuple(table.get("endpoints", ("plain",))),
        password=_secret(table),
        will=Will(**table["will"]) if "will" in table else None,
        source_addresses=tuple(table.get("source_addresses", ())),
        reconnect=Reconnect(**table.get("reconnect", {})),
        **plain,
    )


def _secret(table: Mapping[str, Any]) -> Secret | None:
    if "password_env" in table or "password_file" in table:
        return Secret(env=table.get("password_env"), file=table.get("password_file"))
    return None


def build_listeners(groups: Sequence[Group], tables: Mapping[str, Mapping[str, Any]]) -> tuple[ListenerPlan, ...]:
    """One listener for each name the groups use. A name that starts with tls or psk says its security."""
    names = dict.fromkeys(name for group in groups for name in group.endpoints)
    return tuple(ListenerPlan(**{"name": name, "security": _security(name), **tables.get(name, {})}) for name in names)


def _security(name: str) -> str:
    prefix = name.partition("-")[0]
    return prefix if prefix in ("tls", "psk") else "none"


def build_load(table: Mapping[str, Any]) -> Load:
    """The load of the whole run."""
    steps = tuple(Step(**step) for step in table.get("steps", ()))
    return Load(**({key: value for key, value in table.items() if key != "steps"}), steps=steps)


def build_phases(table: Mapping[str, Any]) -> Phases:
    """Phase lengths; what a size leaves out has the plan's default."""
    return Phases(**{key: float(value) for key, value in table.items()})


def build_consumers(table: Mapping[str, Any] | None, first_subscription: int) -> JmsConsumers | None:
    """The JMS consumers, numbered after all MQTT subscriptions; None when there are none."""
    if not table or not table["count"]:
        return None
    return JmsConsumers(**table, first_subscription=first_subscription)
