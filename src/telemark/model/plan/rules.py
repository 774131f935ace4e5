"""What must hold for a plan as a whole. A field's own range stands at the field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from telemark.errors import ConfigError
from telemark.model.keys import problems_in
from telemark.model.plan.groups import Group

if TYPE_CHECKING:
    from telemark.model.plan.run import RunPlan

MOST_DEVICES = 2**31 - 1  # their numbers are 32 bits wide in the records


def problems_of(plan: RunPlan) -> Iterator[str]:
    """Every rule the plan breaks: where, what was found, what was expected."""
    yield from problems_in(plan.phases, "phases")
    yield from _of_groups(plan)
    yield from problems_in(plan.load, "load")
    yield from (f"load.{problem}" for problem in plan.load.problems())
    if plan.consumers:
        yield from problems_in(plan.consumers, "consumers")
        yield from (f"consumers.{problem}" for problem in plan.consumers.problems())


def _of_groups(plan: RunPlan) -> Iterator[str]:
    devices = sum(group.count for group in plan.groups)
    if devices > MOST_DEVICES:
        yield f"groups: found {devices:,} devices, expected at most {MOST_DEVICES:,}"
    if not plan.groups:
        yield "groups: no devices, expected a group whose count is above 0"
    elif plan.load.sends and not any(group.publish for group in plan.groups):
        yield f"load.shape: found {plan.load.shape!r} and nobody who publishes, expected a group with `publish`"
    for name, times in Counter(group.name for group in plan.groups).items():
        if times > 1:
            yield f"groups.{name}: found {times} groups of this name, expected names that differ"
    for group in plan.groups:
        yield from problems_in(group, f"groups.{group.name}")
        yield from _of_group(group)
        if group.publish:
            yield from _unequal_parts(plan, group)


def _of_group(group: Group) -> Iterator[str]:
    publish = group.publish
    if publish and publish.size_max is not None and publish.size_max < publish.size:
        yield f"groups.{group.name}.publish.size_max: found {publish.size_max}, expected at least size = {publish.size}"
    for number, subscription in enumerate(group.subscriptions):
        shared = subscription.filter.split("/", 2)
        if shared[0] == "$share" and (len(shared) < 3 or not all(shared)):
            place = f"groups.{group.name}.subscriptions[{number}].filter"
            yield f"{place}: found {subscription.filter!r}, expected $share/NAME/FILTER"


def _unequal_parts(plan: RunPlan, group: Group) -> Iterator[str]:
    try:
        plan.load.unit(group.count)
    except ConfigError as error:
        yield error.message
