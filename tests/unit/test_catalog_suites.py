"""The built-in suites: complete, valid, and runnable at every size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from telemark.catalog import Scenario, load, plan_points
from telemark.catalog.loader import SUITES, read_suite
from telemark.catalog.planner import find_problems
from telemark.model.audience import audiences_of
from telemark.model.plan import RunPlan
from telemark.model.slicing import device_count

# Copied from the requirement, not from the catalogue.
MESSAGESIGHT = [
    "FANIN.Q0.SINGLE",
    "FANIN.SEC.Q0.JMS.SINGLE",
    "FANIN.Q0.PARTITIONS",
    "FANIN.Q1.PERSISTENT.PARTITIONS",
    "FANIN.Q2.PERSISTENT.PARTITIONS",
    "FANIN.SEC.Q0.PARTITIONS",
    "FANIN.SEC.Q1.PERSISTENT.PARTITIONS",
    "FANIN.SEC.Q2.PERSISTENT.PARTITIONS",
    "FANIN.Q0.JMS.PARTITIONS",
    "FANIN.SEC.Q0.JMS.PARTITIONS",
    "FANIN.SEC.Q1.PERSISTENT.JMS.PARTITIONS",
    "FANIN.SEC.Q2.PERSISTENT.JMS.PARTITIONS",
    "FANIN.Q0.SHARED",
    "FANIN.Q1.PERSISTENT.SHARED",
    "FANIN.Q2.PERSISTENT.SHARED",
    "FANIN.SEC.Q0.SHARED",
    "FANIN.SEC.Q1.PERSISTENT.SHARED",
    "FANIN.SEC.Q2.PERSISTENT.SHARED",
    "FANIN.SEC.Q0.JMS.SHARED",
    "FANIN.Q1.PERSISTENT.JMS.SHARED",
    "FANIN.Q2.PERSISTENT.JMS.SHARED",
    "FANIN.SEC.Q1.PERSISTENT.JMS.SHARED",
    "FANIN.SEC.Q2.PERSISTENT.JMS.SHARED",
    "FANIN.Q0.HA.PARTITIONS",
    "FANIN.Q1.HA.PERSISTENT.PARTITIONS",
    "FANIN.SEC.Q1.HA.PERSISTENT.PARTITIONS",
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.PARTITIONS",
    "FANIN.SEC.Q1.HA.PERSISTENT.SHARED",
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.SHARED",
    "BROADCAST",
    "CONNBURST",
    "CONNBURST.SEC",
    "CONNBURST.SEC.ECDHE",
    "CONNBURST.SEC.PSK",
]
OPEN_MQTT = [
    "conn-tcp-10K-100",
    "fanout-1-1K-1-1K",
    "p2p-1K-1K-1K-1K",
    "sharedsub-1K-5-1K-1K",
    "conn-tcp-1M-5K",
    "fanout-5-1000-5-250K",
    "p2p-50K-50K-50K-50K",
    "sharedsub-50K-500-50K-50K",
]
OTHERS = {
    "scalagent": ["multi-publisher"],
    "mq-telemetry": [
        "multi-publisher-single-subscriber",
        "multi-publisher-multi-subscriber",
        "message-sizes",
        "memory-for-connections",
        "memory-per-connection",
    ],
    "fanin-jms": ["TPUT.FANIN.JMS", "TPUT.FANIN.JMS.Q1.DURABLE", "TPUT.FANIN.JMS.Q2.TRANSACTED"],
}

ALL = load().scenarios()
ids = [scenario.id for scenario in ALL]


@pytest.mark.parametrize("path", sorted(SUITES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_file_validates_deeply(path: Path) -> None:
    """No unknown key, no wrong value, and every scenario can be planned at each of its sizes."""
    suite, problems = read_suite(path, deep=True)

    assert [] == problems
    assert suite is not None
    assert path.stem == suite.name


def test_messagesight_has_exactly_the_34_cases() -> None:
    """Names are the report's own; none is missing and none was invented."""
    names = [scenario.name for scenario in load().suite("messagesight").scenarios]

    assert 34 == len(names)
    assert sorted(MESSAGESIGHT) == sorted(names)


def test_open_mqtt_has_exactly_the_eight_use_cases() -> None:
    """Names are those of the suite."""
    assert sorted(OPEN_MQTT) == sorted(scenario.name for scenario in load().suite("open-mqtt").scenarios)


@pytest.mark.parametrize("suite", sorted(OTHERS))
def test_the_other_suites_are_complete(suite: str) -> None:
    """One scenario for each question their report asks."""
    assert OTHERS[suite] == [scenario.name for scenario in load().suite(suite).scenarios]


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_every_scenario_plans_at_all_three_sizes(scenario: Scenario) -> None:
    """Quick, laptop and published, each with a point at least, and labels that tell the points apart."""
    assert ("quick", "laptop", "published") == scenario.sizes
    assert [] == find_problems(scenario).found
    for size in scenario.sizes:
        labels = [plan.point for plan in plan_points(scenario, size)]
        assert labels
        assert len(labels) == len(set(labels))


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_every_scenario_says_what_it_does_and_how_sizes_differ(scenario: Scenario) -> None:
    """A reader needs words, a source, rules, and a note where a size is not the published one."""
    assert scenario.about
    assert scenario.where
    for size in ("quick", "laptop"):
        for plan in plan_points(scenario, size):
            assert plan.thresholds
            assert any(note.startswith(f"{size}:") for note in plan.notes)
    parameters = {name for plan in plan_points(scenario, "published") for name in plan.parameters}
    assert parameters <= set(scenario.meanings) | set(scenario.case)


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_notes_on_sizes_name_only_the_published_numbers(scenario: Scenario) -> None:
    """The user may override every number of a size, so a note that repeats one becomes false."""
    for size in ("quick", "laptop"):
        for note in (note for plan in plan_points(scenario, size) for note in plan.notes):
            if note.startswith(f"{size}:"):
                own = re.split("published with|the report's", note)[0].replace("QoS 1", "")
                assert not re.search(r"\d", own), note


def seconds(plan: RunPlan) -> float:
    sending = plan.phases.warmup_s + plan.phases.measure_s
    return device_count(plan) / plan.connect_rate + plan.phases.hold_s + sending


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_quick_is_quick(scenario: Scenario) -> None:
    """At most 300 devices and about fifteen seconds for all points of a scenario together."""
    plans = plan_points(scenario, "quick")

    assert all(device_count(plan) <= 300 for plan in plans)
    assert sum(seconds(plan) for plan in plans) <= 16


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_laptop_fits_a_small_machine(scenario: Scenario) -> None:
    """At most 10,000 devices and messages a second, and no point longer than a minute or so."""
    for plan in plan_points(scenario, "laptop"):
        assert device_count(plan) <= 10_000
        assert (plan.load.offered_rate() or 0) <= 10_000
        assert seconds(plan) <= 75


@pytest.mark.parametrize("scenario", ALL, ids=ids)
def test_everything_sent_is_owed_to_someone(scenario: Scenario) -> None:
    """Topics and filters of every quick point fit together: each stream has an audience that is not empty."""
    for plan in plan_points(scenario, "quick"):
        found = audiences_of(plan)
        assert set(found.streams["audience"]) == set(found.audiences["audience"])
        assert 0 not in found.fan_outs


def test_cases_for_mqtt_only_need_what_common_servers_offer() -> None:
    """Built-in server and Mosquitto 2 can run every case without JMS and HA."""
    common = {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "psk", "shared", "durable"}
    for scenario in ALL:
        for plan in plan_points(scenario, "quick"):
            special = {"jms", "jms-shared", "ha-pair"} & plan.needs
            assert bool(special) == (scenario.consumers is not None or scenario.needs_ha)
            assert plan.needs - special <= common
