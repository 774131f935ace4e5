"""Who is owed what: topics against filters, share groups, JMS consumers."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemark.catalog import load, plan_points
from telemark.consumers.jms.plan import JmsConsumers
from telemark.errors import ConfigError
from telemark.host.limits import HostLimits
from telemark.model.audience import Audiences, audiences_of, fan_out
from telemark.model.owners import fan_outs, owed_qos, owners_of
from telemark.model.plan import Endpoint, Group, Phases, Publish, RunPlan, Subscription
from telemark.model.plan.shapes.paced import Paced
from telemark.model.topics import FilterTrie
from telemark.store.audiences import audience_tables
from telemark.store.schemas import AUDIENCES, STREAMS, SUBSCRIPTIONS
from tests.support.slicing import slice_plan


def a_plan(*groups: Group, consumers: JmsConsumers | None = None) -> RunPlan:
    plan = RunPlan("test", "audience", "only", "quick", 1, {}, groups, Paced(rate=1.0), Phases(), consumers=consumers)
    return plan.assemble()


def publishers(topic: str, count: int, **more: Any) -> Group:
    return Group("publishers", count, publish=Publish(topic, 1), **more)


def subscribers(topic_filter: str, count: int, **more: Any) -> Group:
    return Group("subscribers", count, subscriptions=(Subscription(topic_filter, 1),), **more)


def audiences_by_stream(plan: RunPlan) -> list[set[int]]:
    found = audiences_of(plan)
    members: dict[int, set[int]] = {}
    for audience, subscription in zip(found.audiences["audience"], found.audiences["subscription"], strict=True):
        members.setdefault(audience, set()).add(subscription)
    return [members.get(audience, set()) for audience in found.streams["audience"]]


def by_the_standard(topic_filter: str, topic: str) -> bool:
    """Section 4.7 of the standard, written plainly."""
    wanted, found = topic_filter.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for position, level in enumerate(wanted):
        if level == "#":
            return True
        if position >= len(found) or level not in ("+", found[position]):
            return False
    return len(wanted) == len(found)


_LEVEL = st.sampled_from(["a", "b", "", "$SYS"])
_TOPIC = st.lists(_LEVEL, min_size=1, max_size=4).map("/".join).filter(bool)
_FILTER = (
    st.tuples(st.lists(st.one_of(_LEVEL, st.just("+")), min_size=1, max_size=4), st.booleans())
    .map(lambda parts: "/".join([*parts[0], "#"] if parts[1] else parts[0]))
    .filter(bool)
)  # the standard allows neither topics nor filters that are empty


@given(st.lists(_FILTER, max_size=8), _TOPIC)
def test_the_trie_matches_as_the_standard_says(filters: list[str], topic: str) -> None:
    """Every filter that matches is found, and no other."""
    trie = FilterTrie()
    for number, each in enumerate(filters):
        trie.add(each, number)

    assert tuple(n for n, each in enumerate(filters) if by_the_standard(each, topic)) == trie.match(topic)


@given(_FILTER, _TOPIC)
def test_python_and_engine_match_alike(topic_filter: str, topic: str) -> None:
    """The same filter must reach the same topics in the built-in server and in the books."""
    native = importlib.import_module("telemark._native")

    assert by_the_standard(topic_filter, topic) == native.topic_matches(topic_filter, topic)


def test_partitions_are_owed_to_their_own_subscriber() -> None:
    """Six publishers over three partitions."""
    plan = a_plan(subscribers("p{index}/#", 3), publishers("p{index%3}/t{index}", 6))

    assert [{0}, {1}, {2}, {0}, {1}, {2}] == audiences_by_stream(plan)


def test_the_tables_have_the_schemas_of_the_run_folder() -> None:
    """Column names, types and numbers are those of the store."""
    plan = a_plan(subscribers("p{index}/#", 3, clean_start=False), publishers("p{index%3}/t", 6))
    tables = audience_tables(audiences_of(plan))

    assert {"streams": STREAMS, "subscriptions": SUBSCRIPTIONS, "audiences": AUDIENCES} == {
        name: table.schema for name, table in tables.items()
    }
    assert {"stream": 5, "device": 8, "process": 0, "audience": 2, "qos": 1} == tables["streams"].to_pylist()[5]
    assert {
        "subscription": 2,
        "device": 2,
        "filter": "p2/#",
        "share": None,
        "qos": 1,
        "durable": True,
    } == tables["subscriptions"].to_pylist()[2]


def test_a_share_group_is_one_group_in_every_audience() -> None:
    """All members are listed; the share number says they are owed each message once together."""
    plan = a_plan(
        subscribers("$share/g/t/#", 3, version="5"),
        Group("watcher", 1, subscriptions=(Subscription("t/+", 0),)),
        publishers("t/{index}", 2),
    )
    found = audiences_of(plan)

    assert [0, 0, 0, None] == found.subscriptions["share"]
    assert ["$share/g/t/#"] * 3 + ["t/+"] == found.subscriptions["filter"]
    assert [2] == found.fan_outs
    assert [{0, 1, 2, 3}] * 2 == audiences_by_stream(plan)
    assert 2.0 == fan_out(plan)


def test_the_same_share_name_on_other_filters_is_another_group() -> None:
    """A share group is its name and its filter."""
    plan = a_plan(subscribers("$share/g/t{index}", 2, version="5"), publishers("t{index}", 2))

    assert [0, 1] == audiences_of(plan).subscriptions["share"]


def test_jms_consumers_are_numbered_after_the_devices() -> None:
    """They have no device; a shared durable subscription is one share group that survives."""
    consumers = JmsConsumers(count=2, topic="t/#", subscription="shared-durable", share_name="s", qos=1)
    plan = a_plan(subscribers("t/{index}", 3), publishers("t/{index}", 3), consumers=consumers)
    rows = audience_tables(audiences_of(plan))["subscriptions"].to_pylist()

    assert [(-1, 0, True, "$share/s/t/#")] * 2 == [
        (row["device"], row["share"], row["durable"], row["filter"]) for row in rows[3:]
    ]
    assert [{0, 3, 4}, {1, 3, 4}, {2, 3, 4}] == audiences_by_stream(plan)


def test_topics_that_change_with_the_sequence_may_share_an_audience() -> None:
    """Ten parameters below a device: a filter above them catches all."""
    plan = a_plan(subscribers("s{index}/#", 2), publishers("s{index}/p{sequence%10}", 2))

    assert [{0}, {1}] == audiences_by_stream(plan)


def test_literal_filters_that_catch_every_message_are_fine() -> None:
    """The walk looks at every message of the cycle when a filter asks for the changing level."""
    group = Group("both", 1, subscriptions=(Subscription("s/0", 1), Subscription("s/0/#", 1)))
    plan = a_plan(group, publishers("s/{sequence%1}", 1))

    assert [{0, 1}] == audiences_by_stream(plan)


@pytest.mark.parametrize("topic", ["s/{sequence%2}", "s/{sequence}"])
def test_topics_that_reach_others_from_message_to_message_are_refused(topic: str) -> None:
    """The books have one audience per stream; a wrong book would call messages lost."""
    with pytest.raises(ConfigError, match="owed"):
        audiences_of(a_plan(subscribers("s/0", 1), publishers(topic, 1)))


def test_no_local_keeps_a_devices_own_messages_from_it() -> None:
    """MQTT 5: each of three devices gets the messages of the other two."""
    group = Group(
        "devices", 3, version="5", publish=Publish("t", 0), subscriptions=(Subscription("t", 0, no_local=True),)
    )

    assert [{1, 2}, {0, 2}, {0, 1}] == audiences_by_stream(a_plan(group))


def test_streams_name_the_process_that_plays_them() -> None:
    """As the slices say."""
    plan = plan_points(load().find("scalagent/multi-publisher"), "quick")[0]
    endpoints = {name: Endpoint(name, "127.0.0.1", 1883) for name in plan.with_endpoint_names()}
    engines = slice_plan(plan, endpoints, run="run", limits=HostLimits(), processes=2)

    processes = audiences_of(plan, engines).streams["process"]

    assert [0] * 100 + [1] * 100 == processes


def test_half_a_million_devices_stay_small() -> None:
    """512,000 publishers into 100 partitions are 100 audiences; 512,000 subscribers of one topic are one."""
    fan_in = rows_of(audiences_of(plan_points(load().find("messagesight/FANIN.Q0.PARTITIONS"), "published")[-1]))
    broadcast = rows_of(audiences_of(plan_points(load().find("messagesight/BROADCAST"), "published")[-1]))

    assert {"streams": 512_000, "subscriptions": 100, "audiences": 100} == fan_in
    assert {"streams": 1, "subscriptions": 512_000, "audiences": 512_000} == broadcast


def rows_of(found: Audiences) -> dict[str, int]:
    return {name: table.num_rows for name, table in audience_tables(found).items()}


_GROUPS = st.lists(
    st.tuples(
        st.sampled_from(["t/#", "t/{index}", "t/{index%2}", "+/1", "$share/g/t/#", "$share/h/t/{index%2}", "other"]),
        st.integers(1, 4),
        st.booleans(),
    ),
    max_size=4,
)


@given(_GROUPS, st.integers(1, 5))
def test_plan_and_recorded_columns_agree_on_who_is_owed(groups: list[tuple[str, int, bool]], count: int) -> None:
    """Fan-out by the plan, before a run, is fan-out by the run folder's tables, after it."""
    subscribing = [
        Group(
            f"g{number}",
            size,
            version="5",
            publish=Publish("t/{index}") if publishes else None,
            subscriptions=(Subscription(text, 1, no_local=publishes and "$share" not in text),),
        )
        for number, (text, size, publishes) in enumerate(groups)
    ]
    found = audiences_of(a_plan(*subscribing, publishers("t/{index}", count)))
    columns = found.subscriptions
    owners = owners_of(columns["subscription"], columns["share"], columns["filter"], columns["qos"], 1000)
    recorded = fan_outs(owed_qos(found.audiences["audience"], found.audiences["subscription"], owners))

    assert list(found.fan_outs) == [recorded[audience] for audience in range(len(found.fan_outs))]


def test_owners_are_plain_subscriptions_and_share_groups() -> None:
    """The smallest QoS of a group's members in the audience is what it is owed."""
    owners = owners_of([0, 1, 2], [None, 4, 4], ["a", "$share/s/a", "$share/s/a"], [2, 2, 1], 100)

    assert {0: 0, 1: 104, 2: 104} == owners.of_subscription
    assert [1, 2] == owners.by_number[104].members
    assert {(7, 0): 2, (7, 104): 1, (8, 104): 2} == owed_qos([7, 7, 7, 8, 8], [0, 1, 2, 1, 99], owners)
