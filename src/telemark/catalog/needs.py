"""What a plan asks of a server, read off the plan itself so that no scenario can forget to say it."""

from __future__ import annotations

from collections.abc import Sequence

from telemark.model.plan import Group, JmsConsumers, ListenerPlan


def derive_needs(
    groups: Sequence[Group], listeners: Sequence[ListenerPlan], consumers: JmsConsumers | None
) -> frozenset[str]:
    """Names of the capabilities in `telemark.servers.contract`."""
    needs: set[str] = set()
    for group in groups:
        needs |= _of_group(group)
    for listener in listeners:
        if listener.security == "tls":
            needs.add(f"tls-{listener.tls_version or '1.2'}")
        elif listener.security == "psk":
            needs.add("psk")
    if consumers:
        needs.add("jms")
        if consumers.subscription.startswith("shared"):
            needs.add("jms-shared")
        if consumers.tls:
            needs.add("tls-1.2")
    return frozenset(needs)


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
