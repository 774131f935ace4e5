"""`--size published` plans the numbers of the reports. The numbers here were copied from the reports by hand."""

from __future__ import annotations

import pytest

from telemark.catalog import load, plan_points
from telemark.model.plan import Group, RunPlan

K = 1000
DEVICES = {"S": 128 * K, "M": 256 * K, "L": 512 * K}

# Score card: value in K messages a second for S, M, L (with 100 consumers, one for SINGLE).
SCORE_CARD = {
    "FANIN.Q0.SINGLE": (140, 140, 140),
    "FANIN.SEC.Q0.JMS.SINGLE": (250, 220, 260),
    "FANIN.Q0.SHARED": (330, 340, 380),
    "FANIN.Q0.PARTITIONS": (420, 450, 470),
    "FANIN.SEC.Q0.PARTITIONS": (270, 300, 400),
    "FANIN.Q0.JMS.PARTITIONS": (340, 460, 550),
    "FANIN.SEC.Q0.JMS.PARTITIONS": (250, 275, 320),
    "FANIN.SEC.Q0.JMS.SHARED": (250, 270, 250),
    "FANIN.Q1.PERSISTENT.PARTITIONS": (38, 40, 45),
    "FANIN.SEC.Q1.PERSISTENT.PARTITIONS": (38, 40, 44),
    "FANIN.SEC.Q1.PERSISTENT.JMS.PARTITIONS": (9, 9, 9),
    "FANIN.Q1.PERSISTENT.SHARED": (40, 40, 44),
    "FANIN.SEC.Q1.PERSISTENT.SHARED": (38, 44, 46),
    "FANIN.Q1.PERSISTENT.JMS.SHARED": (9, 9, 9),
    "FANIN.SEC.Q1.PERSISTENT.JMS.SHARED": (9, 9, 9),
    "FANIN.SEC.Q2.PERSISTENT.PARTITIONS": (26, 30, 34),
    "FANIN.SEC.Q2.PERSISTENT.JMS.PARTITIONS": (9, 9, 9),
    "FANIN.Q2.PERSISTENT.SHARED": (28, 32, 33),
    "FANIN.SEC.Q2.PERSISTENT.SHARED": (28, 33, 34),
    "FANIN.Q2.PERSISTENT.JMS.SHARED": (9, 9, 9),
    "FANIN.SEC.Q2.PERSISTENT.JMS.SHARED": (9, 9, 9),
    "FANIN.Q0.HA.PARTITIONS": (390, 480, 490),
    "FANIN.Q1.HA.PERSISTENT.PARTITIONS": (18, 20, 25),
    "FANIN.SEC.Q1.HA.PERSISTENT.PARTITIONS": (17, 20, 25),
    "FANIN.SEC.Q1.HA.PERSISTENT.SHARED": (20, 27, 37),
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.PARTITIONS": (5, 6, 7),
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.SHARED": (5, 5, 6),
}
# Described in the report, but without a value in its score card.
WITHOUT_VALUE = ("FANIN.Q2.PERSISTENT.PARTITIONS", "FANIN.SEC.Q0.SHARED")


def points(name: str) -> list[RunPlan]:
    return plan_points(load().find(name), "published")


def group(plan: RunPlan, name: str) -> Group:
    return next(each for each in plan.groups if each.name == name)


def fanin_names() -> list[str]:
    return sorted([*SCORE_CARD, *WITHOUT_VALUE])


@pytest.mark.parametrize("name", fanin_names())
def test_fanin_has_the_three_sizes_and_both_numbers_of_consumers(name: str) -> None:
    """128K, 256K and 512K producers of 32 bytes; 10 and 100 consumers, one where SINGLE, 100 for MQTT SHARED."""
    consumers = {10, 100}
    if "SINGLE" in name:
        consumers = {1}
    elif name.endswith("SHARED") and "JMS" not in name and ".HA" not in name:
        consumers = {100}
    found = {
        (plan.parameters["vm"], plan.parameters["publishers"], plan.parameters["subscribers"])
        for plan in points(f"messagesight/{name}")
    }

    assert {(vm, DEVICES[vm], count) for vm in DEVICES for count in consumers} == found
    for plan in points(f"messagesight/{name}"):
        producers = group(plan, "publishers")
        assert producers.count == plan.parameters["publishers"]
        assert producers.publish is not None
        assert 32 == producers.publish.size
        assert "{index}" in producers.publish.topic  # a topic of its own
        assert 1_000_000 == plan.server_options["max_queued_messages"]
        assert 300 == plan.phases.measure_s
        assert "buffered_slope_low <= 0" in plan.thresholds


@pytest.mark.parametrize("name", fanin_names())
def test_fanin_follows_its_name(name: str) -> None:
    """QoS, TLS on the producers, durable sessions, JMS consumers and the pair are where the name says."""
    qos = int(name.split(".Q")[1][0])
    for plan in points(f"messagesight/{name}"):
        producers = group(plan, "publishers")
        assert producers.publish is not None
        assert qos == producers.publish.qos
        assert "3.1.1" == producers.version
        assert (("tls-1", "tls-2") if ".SEC" in name else ("plain-1", "plain-2")) == producers.endpoints
        assert ("ha-pair" in plan.needs) == (".HA" in name)
        assert plan.profile == ("durable" if "PERSISTENT" in name else "memory")
        for listener in plan.listeners:
            if listener.security == "tls":
                assert ("1.2", "AES256-GCM-SHA384") == (listener.tls_version, listener.cipher)
        assert (plan.consumers is not None) == ("JMS" in name)
        if plan.consumers:
            check_consumers(name, qos, plan)
        else:
            check_subscribers(name, qos, plan)


def check_consumers(name: str, qos: int, plan: RunPlan) -> None:
    consumers = plan.consumers
    assert consumers is not None
    assert plan.parameters["subscribers"] == consumers.count
    assert 100_000 == consumers.prefetch
    kinds = {("SHARED", True): "shared-durable", ("SHARED", False): "shared", ("OTHER", True): "durable"}
    wanted = kinds.get(("SHARED" if "SHARED" in name else "OTHER", "PERSISTENT" in name), "plain")
    assert wanted == consumers.subscription
    if qos:
        assert ("transacted", 100) == (consumers.acknowledge, consumers.acknowledge_every)
    else:
        assert "least" == consumers.acknowledge


def check_subscribers(name: str, qos: int, plan: RunPlan) -> None:
    subscribers = group(plan, "subscribers")
    assert plan.parameters["subscribers"] == subscribers.count
    assert qos == subscribers.subscriptions[0].qos
    assert ("PERSISTENT" in name) != subscribers.clean_start
    assert not any(endpoint.startswith("tls") for endpoint in subscribers.endpoints)
    shared = subscribers.subscriptions[0].filter.startswith("$share/")
    assert shared == ("SHARED" in name)
    assert shared == ("shared" in plan.needs)


@pytest.mark.parametrize("name", sorted(SCORE_CARD))
def test_the_planned_rate_is_the_published_maximum(name: str) -> None:
    """A run at the published size offers what the score card says the server carried."""
    for plan in points(f"messagesight/{name}"):
        value = SCORE_CARD[name]["SML".index(str(plan.parameters["vm"]))]
        assert value * K == plan.load.rate


@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_a_case_without_a_published_value_says_what_it_was_planned_with(name: str) -> None:
    """Nothing is made up silently."""
    for plan in points(f"messagesight/{name}"):
        assert plan.load.rate > 0
        assert any("no value for this case" in note for note in plan.notes)


def test_ten_consumers_are_planned_with_the_rate_of_a_hundred_and_say_so() -> None:
    """The score card has values for 100 consumers only."""
    for plan in points("messagesight/FANIN.Q0.PARTITIONS"):
        assert (plan.parameters["subscribers"] == 10) == any("subscribers=100 only" in note for note in plan.notes)


def test_broadcast_sends_one_message_every_twenty_seconds_in_three_sizes() -> None:
    """One producer, 128K to 512K consumers, 32, 128 and 512 bytes at QoS 0."""
    plans = points("messagesight/BROADCAST")

    assert 9 == len(plans)
    assert {32, 128, 512} == {group(plan, "publishers").publish.size for plan in plans}  # type: ignore[union-attr]
    assert set(DEVICES.items()) == {(plan.parameters["vm"], group(plan, "subscribers").count) for plan in plans}
    for plan in plans:
        assert ("every", 20) == (plan.load.shape, plan.load.every_s)
        assert 1 == group(plan, "publishers").count


# DelayTime of Appendix C in microseconds between the connections of each of two threads.
@pytest.mark.parametrize(
    ("name", "delay_us", "cipher"),
    [
        ("CONNBURST", 5, None),
        ("CONNBURST.SEC", 1000, "AES256-GCM-SHA384"),
        ("CONNBURST.SEC.ECDHE", 1300, "ECDHE-RSA-AES256-GCM-SHA384"),
        ("CONNBURST.SEC.PSK", 1300, "PSK-AES256-CBC-SHA"),
    ],
)
def test_connburst_is_paced_as_in_appendix_c(name: str, delay_us: int, cipher: str | None) -> None:
    """Three sizes, the report's pacing, two listeners and its cipher."""
    plans = points(f"messagesight/{name}")

    assert list(DEVICES.values()) == [group(plan, "devices").count for plan in plans]
    for plan in plans:
        assert int(2e6 / delay_us) == plan.connect_rate
        assert "idle" == plan.load.shape
        assert 2 == len(plan.listeners)
        assert {cipher} == {listener.cipher for listener in plan.listeners}
        if cipher:
            assert {"1.2"} == {listener.tls_version for listener in plan.listeners}


def test_scalagent_builds_partitions_of_a_thousand() -> None:
    """1 msg/s each in batches of 100 per 100 ms, 64 B, one minute of warm-up in five, 2,000 to 100,000 publishers."""
    plans = points("scalagent/multi-publisher")
    publishers = sorted({int(plan.parameters["publishers"]) for plan in plans})

    assert (2000, 100_000) == (publishers[0], publishers[-1])
    assert {8000, 10_000, 12_000, 20_000, 44_000, 48_000, 60_000} < set(publishers)
    assert {0, 1} == {plan.parameters["qos"] for plan in plans}
    for plan in plans:
        sends = group(plan, "publishers")
        assert sends.publish is not None
        assert 64 == sends.publish.size
        assert sends.count == 1000 * group(plan, "subscribers").count
        assert ("batched", 100, 100, sends.count // 1000) == (
            plan.load.shape,
            plan.load.batch,
            plan.load.period_ms,
            plan.load.partitions,
        )
        assert "3g" == plan.server_options["heap"]
        assert (60, 240) == (plan.phases.warmup_s, plan.phases.measure_s)
        assert {"plain-publishers": 1024, "plain-subscribers": 32_768} == {
            listener.name: listener.socket_buffer for listener in plan.listeners
        }
        assert "lost == 0" in plan.thresholds
        assert (plan.parameters["qos"] == 0) == group(plan, "subscribers").clean_start


def test_scalagent_topics_are_a_tree_of_1_10_100_10() -> None:
    """Ten thousand parameter topics per partition."""
    plan = next(plan for plan in points("scalagent/multi-publisher") if plan.parameters["publishers"] == 2000)
    publish = group(plan, "publishers").publish
    assert publish is not None
    from telemark.model.pattern import parse  # noqa: PLC0415 - only this test

    topics = {parse(publish.topic).expand(index, sequence) for index in range(1000) for sequence in range(10)}

    assert 10_000 == len(topics)
    assert [1, 10, 1000, 10_000] == [
        len({tuple(topic.split("/")[:depth]) for topic in topics}) for depth in (1, 2, 3, 4)
    ]


CONNECTIONS = [1000, *range(10_000, 100_001, 10_000)]


@pytest.mark.parametrize("name", ["multi-publisher-single-subscriber", "multi-publisher-multi-subscriber"])
def test_mq_telemetry_closes_the_loop_over_500000_messages(name: str) -> None:
    """500 first, 100 more per 100 received, 256 B, QoS 0, 1, 2, 1,000 to 100,000 connections."""
    plans = points(f"mq-telemetry/{name}")

    assert {(qos, count) for qos in (0, 1, 2) for count in CONNECTIONS} == {
        (plan.parameters["qos"], group(plan, "publishers").count) for plan in plans
    }
    for plan in plans:
        assert ("windowed", 500, 100, 500_000) == (plan.load.shape, plan.load.window, plan.load.refill, plan.load.limit)
        publish = group(plan, "publishers").publish
        assert publish is not None
        assert (256, plan.parameters["qos"]) == (publish.size, publish.qos)
        single = "single" in name
        assert (publish.topic == "TOPIC1") == single
        assert bool(group(plan, "publishers").subscriptions) != single
        assert ([1] if single else []) == [each.count for each in plan.groups if each.name == "subscribers"]


def test_mq_telemetry_message_sizes_are_those_of_table_5() -> None:
    """32 to 65,536 bytes at QoS 2, up to 50,000 connections."""
    found = {
        (plan.parameters["payload"], plan.parameters["publishers"], plan.parameters["qos"])
        for plan in points("mq-telemetry/message-sizes")
    }

    assert {(size, count, 2) for size in (32, 256, 2048, 16_384, 65_536) for count in CONNECTIONS[:6]} == found


def test_mq_telemetry_measures_memory_idle_and_under_load() -> None:
    """Tables 6 to 9: connected, connected and subscribed at QoS 2, and N connections with messages at QoS 2."""
    idle = points("mq-telemetry/memory-per-connection")
    loaded = points("mq-telemetry/memory-for-connections")

    for plan in idle:
        levels = [each.qos for each in group(plan, "devices").subscriptions]
        assert ([2] if plan.parameters["state"] == "subscribed" else []) == levels
        assert plan.phases.hold_s > 0
    assert CONNECTIONS == [plan.parameters["publishers"] for plan in loaded]
    assert {(2, 256)} == {(plan.parameters["qos"], plan.parameters["payload"]) for plan in loaded}


@pytest.mark.parametrize(
    ("name", "qos", "subscription", "acknowledge"),
    [
        ("TPUT.FANIN.JMS", 0, "shared", "least"),
        ("TPUT.FANIN.JMS.Q1.DURABLE", 1, "shared-durable", "client"),
        ("TPUT.FANIN.JMS.Q2.TRANSACTED", 2, "shared-durable", "transacted"),
    ],
)
def test_fanin_jms_sweeps_publishers_subscribers_and_sizes(
    name: str, qos: int, subscription: str, acknowledge: str
) -> None:
    """1K to 1M publishers x 1, 10, 100 consumers x seven sizes, MQTT 5 over TLS 1.3, ten minutes, three rules."""
    plans = points(f"fanin-jms/{name}")

    sizes = (64, 256, 1024, 4096, 16_384, 65_536, 262_144)
    assert {(p, s, b) for p in (1000, 10_000, 100_000, 1_000_000) for s in (1, 10, 100) for b in sizes} == {
        (plan.parameters["publishers"], plan.parameters["subscribers"], plan.parameters["payload"]) for plan in plans
    }
    for plan in plans:
        assert 600 == plan.phases.measure_s
        assert {"lost == 0", "mean_latency < 500 ms", "host_core_busy_max <= 85 %"} < set(plan.thresholds)
        assert ("5", qos) == (plan.groups[0].version, plan.groups[0].publish.qos if plan.groups[0].publish else None)
        assert [("tls", "1.3", "TLS_AES_256_GCM_SHA384")] == [
            (listener.security, listener.tls_version, listener.cipher) for listener in plan.listeners
        ]
        assert plan.consumers is not None
        assert (subscription, acknowledge, qos) == (
            plan.consumers.subscription,
            plan.consumers.acknowledge,
            plan.consumers.qos,
        )


# publishers, messages a second in and out, subscribers, MQTT version
OPEN_MQTT = {
    "fanout-1-1K-1-1K": (1, 1, 1000, 1000, "3.1.1"),
    "p2p-1K-1K-1K-1K": (1000, 1000, 1000, 1000, "3.1.1"),
    "sharedsub-1K-5-1K-1K": (1000, 1000, 1000, 5, "5"),
    "fanout-5-1000-5-250K": (5, 250, 250_000, 1000, "3.1.1"),
    "p2p-50K-50K-50K-50K": (50_000, 50_000, 50_000, 50_000, "3.1.1"),
    "sharedsub-50K-500-50K-50K": (50_000, 50_000, 50_000, 500, "5"),
}


@pytest.mark.parametrize("name", sorted(OPEN_MQTT))
def test_open_mqtt_message_cases_have_the_suites_rates(name: str) -> None:
    """Publishers x rate, subscribers, messages in and out, QoS 1 both sides, keep-alive 300 s, 30 minutes."""
    from telemark.model.audience import fan_out  # noqa: PLC0415 - only this test

    publishers, incoming, outgoing, subscribers, version = OPEN_MQTT[name]
    (plan,) = points(f"open-mqtt/{name}")

    sends, receives = group(plan, "publishers"), group(plan, "subscribers")
    assert (publishers, subscribers) == (sends.count, receives.count)
    assert incoming == plan.load.rate
    assert outgoing == pytest.approx(plan.load.rate * fan_out(plan))
    assert 1800 == plan.phases.measure_s
    assert {(300, True, version)} == {(each.keep_alive_s, each.clean_start, each.version) for each in plan.groups}
    assert sends.publish is not None
    assert (1, 32, False) == (sends.publish.qos, sends.publish.size, sends.publish.retain)
    assert {1} == {each.qos for each in receives.subscriptions}
    assert any("32 bytes" in note for note in plan.notes)


@pytest.mark.parametrize(
    ("name", "devices", "rate"), [("conn-tcp-10K-100", 10_000, 100), ("conn-tcp-1M-5K", 1_000_000, 5000)]
)
def test_open_mqtt_connection_cases_connect_at_the_suites_rate(name: str, devices: int, rate: int) -> None:
    """Connect at a steady rate and hold for thirty minutes."""
    (plan,) = points(f"open-mqtt/{name}")

    assert (devices, rate, 1800, "idle") == (
        group(plan, "devices").count,
        plan.connect_rate,
        plan.phases.hold_s,
        plan.load.shape,
    )
