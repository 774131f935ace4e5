"""What the command line may change about a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.catalog import load, plan_points
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan, Size


def plans(name: str, size: Size = "quick", **overrides: Any) -> list[RunPlan]:
    return plan_points(load().find(name), size, overrides)


def test_publishers_rate_payload_and_duration_are_changed() -> None:
    """The plan follows, its label says so, and what depends on a parameter follows too."""
    (plan,) = plans("messagesight/FANIN.Q0.PARTITIONS", publishers=50, rate=500, payload=128, duration=3, subscribers=5)

    assert {"subscribers": 5, "publishers": 50} == {group.name: group.count for group in plan.groups}
    assert (500, 3.0) == (plan.load.rate, plan.phases.measure_s)
    publish = plan.groups[1].publish
    assert publish is not None
    assert (128, "p{index%5}/t{index}") == (publish.size, publish.topic)
    assert plan.point == "publishers=50 rate=500 payload=128 subscribers=5"


def test_several_values_make_a_sweep() -> None:
    """--publishers 100,200 --qos 0,1 are four points."""
    found = plans("scalagent/multi-publisher", publishers=[100, 200], qos=[0, 1])

    assert {(100, 0), (100, 1), (200, 0), (200, 1)} == {
        (plan.parameters["publishers"], plan.parameters["qos"]) for plan in found
    }


def test_a_parameter_computed_from_another_follows_it() -> None:
    """p2p has as many subscribers as publishers and one message a second each."""
    (plan,) = plans("open-mqtt/p2p-1K-1K-1K-1K", publishers=30)

    assert [30, 30] == [group.count for group in plan.groups]
    assert 30 == plan.load.rate


def test_a_value_of_linked_rows_chooses_its_row() -> None:
    """256,000 publishers are the middle size with its published rate."""
    found = plans("messagesight/FANIN.Q0.PARTITIONS", "published", publishers=256_000)

    assert {"M"} == {plan.parameters["vm"] for plan in found}
    assert {450_000} == {plan.load.rate for plan in found}


def test_another_value_breaks_the_link_and_keeps_the_first_row() -> None:
    """A number that no row has is planned with the values of the first."""
    found = plans("messagesight/FANIN.Q0.PARTITIONS", "published", publishers=1000, subscribers=100)

    assert [("S", 1000, 420_000)] == [(p.parameters["vm"], p.parameters["publishers"], p.load.rate) for p in found]


def test_duration_holds_connections_where_nothing_is_sent() -> None:
    """A connection case has no measuring; its length is the hold."""
    (plan,) = plans("messagesight/CONNBURST", duration=7)

    assert (7.0, 0.0) == (plan.phases.hold_s, plan.phases.measure_s)


def test_text_stays_text() -> None:
    """1.2 is a TLS version here, not a number."""
    found = plans("fanin-jms/TPUT.FANIN.JMS", tls_version=1.2, cipher="ECDHE-RSA-AES256-GCM-SHA384")

    assert {("1.2", "ECDHE-RSA-AES256-GCM-SHA384")} == {
        (p.listeners[0].tls_version, p.listeners[0].cipher) for p in found
    }
    assert all("tls-1.2" in plan.needs for plan in found)


def test_a_parameter_of_the_name_cannot_be_changed() -> None:
    """FANIN.Q0... with QoS 1 would be another case under a wrong name."""
    with pytest.raises(ConfigError, match="choose another case"):
        plans("messagesight/FANIN.Q0.PARTITIONS", qos=1)


def test_unknown_parameters_are_all_named_with_those_that_exist() -> None:
    """Two mistakes, two lines."""
    with pytest.raises(ConfigError) as caught:
        plans("messagesight/FANIN.Q0.PARTITIONS", colour=1, weight=2)

    assert 2 == len(caught.value.problems)
    assert "publishers" in caught.value.problems[0]


@pytest.mark.parametrize("overrides", [{"qos": 7}, {"payload": 3}, {"publishers": -1}, {"publishers": "many"}])
def test_values_out_of_range_are_refused(overrides: dict[str, Any]) -> None:
    """The same rules as in a scenario file."""
    with pytest.raises(ConfigError) as caught:
        plans("scalagent/multi-publisher", **overrides)

    assert caught.value.problems or caught.value.message


@pytest.mark.parametrize("duration", [0, -1, "long", True])
def test_a_duration_must_be_seconds_above_zero(duration: object) -> None:
    """Zero seconds measure nothing."""
    with pytest.raises(ConfigError, match="duration"):
        plans("scalagent/multi-publisher", duration=duration)


def test_an_unknown_size_is_refused_with_those_that_exist() -> None:
    """User files may have fewer sizes than ours."""
    with pytest.raises(ConfigError, match="quick, laptop, published"):
        plans("scalagent/multi-publisher", "huge")  # type: ignore[arg-type]


def test_the_same_point_has_the_same_seed() -> None:
    """A repeated run is the same run; another point is not."""
    first, again = plans("scalagent/multi-publisher"), plans("scalagent/multi-publisher")

    assert [plan.seed for plan in first] == [plan.seed for plan in again]
    assert len(first) == len({plan.seed for plan in first})
