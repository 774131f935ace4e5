"""What a plan asks of a server, read off the plan itself so that no scenario can forget to say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from telemark.model.plan.consumers import ConsumerPlan
from telemark.model.plan.groups import Group, ListenerPlan

_SECURITY: dict[str, Literal["tls", "psk"]] = {"tls": "tls", "psk": "psk"}


def derive_needs(
    groups: Iterable[Group], listeners: Iterable[ListenerPlan], consumers: ConsumerPlan | None
) -> frozenset[str]:
    """Names of the capabilities in `telemark.model.capabilities`."""
    needs: set[str] = set(consumers.needs()) if consumers else set()
    for group in groups:
        needs |= _of_group(group)
    for listener in listeners:
        if listener.security == "tls":
            needs.add(f"tls-{listener.tls_version or '1.2'}")
        elif listener.security == "psk":
            needs.add("psk")
    return frozenset(needs)


def derive_listeners(groups: Sequence[Group], given: Iterable[ListenerPlan]) -> tuple[ListenerPlan, ...]:
    """One listener for each name the groups use. A name that starts with tls or psk says its security."""
    known = {listener.name: listener for listener in given}
    names = dict.fromkeys(name for group in groups for name in group.endpoints)
    return tuple(known.get(name) or ListenerPlan(name, security_by_name(name)) for name in names)


def security_by_name(name: str) -> Literal["none", "tls", "psk"]:
    """The security of a listener that says no other."""
    return _SECURITY.get(name.partition("-")[0], "none")


def _of_group(group: Group) -> set[str]:
    needs = {f"mqtt-{group.version}"}
    levels = [subscription.qos for subscription in group.subscriptions]
    if group.publish:
        levels.append(group.publish.qos)
    needs |= {f"qos-{level}" for level in levels if level}
    if any(subscription.filter.startswith("$share/") for subscription in group.subscriptions):
        needs.add("shared" if group.version == "5" else "shared-3.1.1")
    if not group.clean_start:
        needs.add("durable")
    return needs
