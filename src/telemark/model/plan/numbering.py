"""Numbers of devices, streams and subscriptions: unique in the run, without gaps, given here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from telemark.model.plan.groups import Group


def number_groups(groups: Iterable[Group]) -> tuple[tuple[Group, ...], int]:
    """The groups that have devices, numbered over the whole run, and the next free subscription number."""
    numbered: list[Group] = []
    device = stream = subscription = 0
    for group in groups:
        if not group.count:
            continue
        subscriptions = []
        for entry in group.subscriptions:
            subscriptions.append(replace(entry, first_subscription=subscription))
            subscription += group.count
        publish = group.publish and replace(group.publish, first_stream=stream)
        numbered.append(
            replace(group, first_index=0, first_device=device, publish=publish, subscriptions=tuple(subscriptions))
        )
        device += group.count
        stream += group.count if publish else 0
    return tuple(numbered), subscription
