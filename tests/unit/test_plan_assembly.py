"""Every plan is assembled in one place: numbered, completed and checked, whoever made it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from telemark.campaigns.calibration_plans import all_cases
from telemark.catalog import load, plan_points
from telemark.catalog.adhoc import AdhocLoad, plan_load
from telemark.errors import ConfigError
from telemark.model.plan import Group, Idle, ListenerPlan, LoadShape, Phases, Publish, RunPlan, Subscription
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.windowed import Windowed

SUBSCRIBERS = Group("subscribers", 2, subscriptions=(Subscription("a/#", 1), Subscription("b/{index}")))
PUBLISHERS = Group("publishers", 3, publish=Publish("a/{index}", 2))


def draft(*groups: Group, load_: LoadShape | None = None, **more: Any) -> RunPlan:
    shape = load_ or (Paced(10.0) if any(group.publish for group in groups) else Idle())
    return RunPlan("suite", "case", "point", "quick", 1, {}, groups, shape, Phases(), **more)


def problems(plan: RunPlan) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        plan.assemble()
    return caught.value.problems


def test_numbers_are_given_without_gaps_and_empty_groups_are_left_out() -> None:
    """Devices, streams and subscriptions over all groups."""
    both = replace(PUBLISHERS, name="both", count=1, subscriptions=(Subscription("c"),))
    plan = draft(SUBSCRIBERS, replace(PUBLISHERS, count=0), replace(PUBLISHERS, name="p"), both).assemble()

    assert [("subscribers", 0), ("p", 2), ("both", 5)] == [(group.name, group.first_device) for group in plan.groups]
    assert [0, 3] == [group.publish.first_stream for group in plan.groups if group.publish]
    assert [0, 2, 4] == [each.first_subscription for group in plan.groups for each in group.subscriptions]


def test_assembling_twice_changes_nothing() -> None:
    """A plan that was changed is assembled again."""
    plan = plan_points(load().find("messagesight/FANIN.Q0.JMS.PARTITIONS"), "quick")[0]

    assert plan == plan.assemble()


def test_needs_and_listeners_follow_from_the_groups() -> None:
    """A name says its security; what the scenario says about a listener wins."""
    shared = Group("s", 1, version="5", endpoints=("tls-1",), subscriptions=(Subscription("$share/g/a", 1),))
    durable = replace(PUBLISHERS, endpoints=("psk", "plain-x"), clean_start=False)
    plan = draft(shared, durable, listeners=(ListenerPlan("tls-1", "tls", "1.3"), ListenerPlan("unused"))).assemble()

    assert [("tls-1", "tls"), ("psk", "psk"), ("plain-x", "none")] == [
        (each.name, each.security) for each in plan.listeners
    ]
    assert {"mqtt-5", "mqtt-3.1.1", "shared", "qos-1", "qos-2", "tls-1.3", "psk", "durable"} == plan.needs


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (draft(), "groups: no devices"),
        (draft(SUBSCRIBERS, load_=Paced(rate=1.0)), "load.shape: found 'paced' and nobody who publishes"),
        (draft(SUBSCRIBERS, SUBSCRIBERS), "groups.subscribers: found 2 groups of this name"),
        (draft(PUBLISHERS, load_=Windowed(2, 5)), "load.refill: found 5"),
        (draft(PUBLISHERS, load_=Paced(-1.0)), "load.rate: found -1.0"),
        (draft(PUBLISHERS, load_=Batched(1, 1.0, 2)), "load.partitions: 3 publishers do not divide into 2"),
        (draft(replace(PUBLISHERS, publish=Publish("a", 3))), "groups.publishers.publish.qos: found 3"),
        (draft(replace(PUBLISHERS, publish=Publish("a", size=64, size_max=40))), "publish.size_max: found 40"),
        (draft(replace(PUBLISHERS, publish=Publish("{index/0}"))), "publish.topic: pattern"),
        (draft(Group("s", 1, subscriptions=(Subscription("$share/a"),))), "expected $share/NAME/FILTER"),
        (draft(Group("s", 2**31)), "groups: found 2,147,483,648 devices"),
        (replace(draft(SUBSCRIBERS), phases=Phases(measure_s=-1)), "phases.measure_s: found -1"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(plan: RunPlan, expected: str) -> None:
    """Before anything starts, with place, value and what is allowed."""
    assert any(expected in problem for problem in problems(plan)), problems(plan)


def test_everything_wrong_is_told_at_once() -> None:
    """One round of repairs."""
    wrong = draft(Group("s", 1, subscriptions=(Subscription("$share/a", 9),)), load_=Paced(-1.0))

    assert 4 == len(problems(wrong))  # nobody publishes, the filter, its QoS, the rate


def test_load_from_the_command_line_is_checked_like_every_other_plan() -> None:
    """It once forgot shared subscriptions and TLS."""
    plan = plan_load(AdhocLoad(share="g", tls=True, qos=1))

    assert {"mqtt-5", "qos-1", "shared", "tls-1.2"} == plan.needs
    assert ["tls"] == [listener.name for listener in plan.listeners]
    with pytest.raises(ConfigError) as caught:
        plan_load(AdhocLoad(topic="a/{nosuch}", topic_filter="$share/x"))
    assert ["groups.subscribers.subscriptions[0].filter", "groups.publishers.publish.topic"] == [
        problem.partition(":")[0] for problem in caught.value.problems
    ]


def test_the_plans_of_a_calibration_are_assembled() -> None:
    """Streams and subscriptions of its runs are numbered, TLS is a need."""
    plans = [case.plan for case in all_cases()]

    assert plans == [plan.assemble() for plan in plans]
    assert any("tls-1.3" in plan.needs for plan in plans)
