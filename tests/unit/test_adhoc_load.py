"""`telemark load`: from options to a plan. Pinning is read from the same command line."""

from __future__ import annotations

import os

import pytest

from telemark.catalog.adhoc import AdhocLoad, plan_load
from telemark.errors import ConfigError
from telemark.model.plan import Secret
from telemark.model.plan.shapes.windowed import Windowed
from telemark.runner.pinning import describe, parse_pins


def test_subscribers_take_every_topic_of_the_publishers_unless_told_otherwise() -> None:
    """A pattern becomes a wildcard of its level; a division inside braces is no level."""
    assert AdhocLoad(topic="a/{index/10}/b{index}").filter() == "a/+/+"
    assert AdhocLoad(topic="a/{index}", share="g").filter() == "$share/g/a/+"
    assert AdhocLoad(topic_filter="a/#").filter() == "a/#"


def test_every_wrong_option_is_named_at_once() -> None:
    """One message for all of them, each with what was found and what is expected."""
    with pytest.raises(ConfigError) as caught:
        AdhocLoad.from_settings({"rate": -1.0, "payload": 8, "ca": "x.pem", "password_env": "SECRET"})

    assert caught.value.problems == (
        "--rate is -1, expected 0 or more messages a second",
        "--payload is 8, expected 32 or more bytes",
        "--ca and --insecure need --tls",
        "a password needs --username",
    )


def test_the_plan_names_the_password_but_does_not_hold_it() -> None:
    """Where it is found is part of the plan; the value never is."""
    plan = plan_load(AdhocLoad(username="device-{index}", password_env="MQTT_PASSWORD"))

    assert {group.password for group in plan.groups} == {Secret(env="MQTT_PASSWORD")}
    assert "password_env" not in plan.parameters


def test_numbers_of_devices_do_not_overlap() -> None:
    """Subscribers are numbered first, publishers after them; without devices a group is left out."""
    plan = plan_load(AdhocLoad(publishers=3, subscribers=2, qos=1))

    assert [(group.name, group.first_device, group.count) for group in plan.groups] == [
        ("subscribers", 0, 2),
        ("publishers", 2, 3),
    ]
    assert [group.name for group in plan_load(AdhocLoad(subscribers=0)).groups] == ["publishers"]
    assert plan.needs == {"mqtt-5", "qos-1"}


def test_an_unpaced_load_is_a_closed_loop() -> None:
    """It needs somebody who receives: each message received allows the next."""
    plan = plan_load(AdhocLoad(unpaced=True, window=50))

    assert plan.load == Windowed(50)
    assert plan.point == "publishers=1 subscribers=1 window=50 payload=64 qos=0"
    with pytest.raises(ConfigError) as caught:
        AdhocLoad.from_settings({"unpaced": True, "subscribers": 0})
    assert caught.value.problems[0].startswith("--unpaced needs a publisher and a subscriber")


def test_where_nothing_is_sent_there_is_no_rate() -> None:
    """`--publishers 0` measures connections: a rate in its name would be false."""
    assert plan_load(AdhocLoad(publishers=0)).point == "publishers=0 subscribers=1 qos=0"


def test_a_load_has_no_size() -> None:
    """Its user chose numbers, no size."""
    assert plan_load(AdhocLoad()).size == ""


def test_connections_are_made_as_fast_as_the_server_takes_them() -> None:
    """Unless a rate is asked for."""
    assert plan_load(AdhocLoad()).connect_rate == 0
    assert plan_load(AdhocLoad(connect_rate=50.0)).connect_rate == 50


def test_required_thresholds_replace_the_usual_one() -> None:
    """They are part of the run, so that every later report judges alike."""
    assert plan_load(AdhocLoad()).thresholds == ("lost == 0", "dropped == 0", "violations == 0")
    assert plan_load(AdhocLoad(required=("p99 < 10 ms",))).thresholds == ("p99 < 10 ms",)


def test_pins_are_read_and_recorded() -> None:
    """A role that is not pinned is null in run.json: the scheduler was free."""
    cpu = min(os.sched_getaffinity(0))

    assert describe(parse_pins([f"server={cpu}"])) == {"server": [cpu], "engine": None, "consumer": None}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("broker=0", "role 'broker'"),
        ("server=x", "expected CPU numbers"),
        ("engine=4000", "CPU 4000 is not usable here"),
    ],
)
def test_a_pin_that_cannot_be_is_refused(text: str, words: str) -> None:
    """Unknown role, no number, no such CPU."""
    with pytest.raises(ConfigError) as caught:
        parse_pins([text])

    assert words in caught.value.problems[0]
