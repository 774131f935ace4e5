"""The published numbers: all of them, as printed, and put beside the right points."""

from __future__ import annotations

import pytest

from telemark.catalog import PublishedResult, load, plan_points
from telemark.catalog.published import find_value, match


def published(suite: str, scenario: str) -> tuple[PublishedResult, ...]:
    return load().find(f"{suite}/{scenario}").published


def values(suite: str, scenario: str, metric: str, **parameters: object) -> list[float]:
    return [
        result.value
        for result in published(suite, scenario)
        if result.metric == metric and all(result.parameters.get(name) == value for name, value in parameters.items())
    ]


# High water marks of the section "Additional test results data": consumers -> S, M, L.
HIGH_WATER_MARKS: dict[str, dict[int, list[float]]] = {
    "FANIN.Q0.PARTITIONS": {10: [1288, 7825, 8424], 100: [144, 275, 223]},
    "FANIN.SEC.Q0.PARTITIONS": {10: [], 100: [77, 66, 125]},
    "FANIN.SEC.Q1.PERSISTENT.PARTITIONS": {10: [347, 706, 970], 100: [111, 280, 462]},
    "FANIN.SEC.Q2.PERSISTENT.PARTITIONS": {10: [429, 712, 1099], 100: [83, 317, 909]},
    "FANIN.Q0.JMS.PARTITIONS": {10: [4374, 3812, 27686], 100: [216, 6075, 11484]},
    "FANIN.SEC.Q0.JMS.PARTITIONS": {10: [785, 1229, 13871], 100: [122, 145, 315]},
    "FANIN.Q0.SHARED": {10: [], 100: [1502, 5335, 3871]},
    "FANIN.Q0.HA.PARTITIONS": {10: [1720, 2826, 2257], 100: [128, 312, 407]},
    "FANIN.Q1.HA.PERSISTENT.PARTITIONS": {10: [275, 221, 459], 100: [169, 172, 246]},
    "FANIN.SEC.Q1.HA.PERSISTENT.PARTITIONS": {10: [89, 149, 535], 100: [138, 212, 299]},
    "FANIN.SEC.Q1.HA.PERSISTENT.SHARED": {10: [6835, 2785, 6232], 100: [13718, 23330, 30683]},
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.PARTITIONS": {10: [436, 321, 1007], 100: [184, 228, 218]},
    "FANIN.SEC.Q1.HA.PERSISTENT.JMS.SHARED": {10: [1686, 2853, 1020], 100: [9247, 9369, 9042]},
}


@pytest.mark.parametrize("name", sorted(HIGH_WATER_MARKS))
def test_high_water_marks_are_as_printed(name: str) -> None:
    """For 10 and 100 consumers and the three virtual machines."""
    for consumers, expected in HIGH_WATER_MARKS[name].items():
        assert expected == values("messagesight", name, "buffered_hwm", subscribers=consumers)


def test_no_other_case_has_high_water_marks() -> None:
    """The report prints thirteen tables."""
    names = {result.scenario for result in load().suite("messagesight").published if result.metric == "buffered_hwm"}

    assert set(HIGH_WATER_MARKS) == names


# Score card, Connection Rates: value in K/s, then AVG, 50P, 95P, 99P, STDV in milliseconds.
CONNECTION_RATES = {
    ("CONNBURST", "S"): (33.9, 0.7, 0.4, 0.7, 0.8, 14.8),
    ("CONNBURST", "M"): (31.5, 0.8, 0.4, 0.6, 1.4, 15.9),
    ("CONNBURST", "L"): (31.8, 0.9, 0.4, 0.6, 1.3, 17.2),
    ("CONNBURST.SEC", "S"): (1.8, 9.8, 8.1, 22.2, 36.7, 7.5),
    ("CONNBURST.SEC", "M"): (1.8, 3.7, 3.2, 6.2, 9.3, 1.7),
    ("CONNBURST.SEC", "L"): (1.8, 3.4, 2.9, 4.6, 7.9, 3.6),
    ("CONNBURST.SEC.ECDHE", "S"): (1.4, 2.7, 1.0, 14.4, 33.4, 6.2),
    ("CONNBURST.SEC.ECDHE", "M"): (1.4, 6.0, 5.5, 9.2, 14.0, 2.0),
    ("CONNBURST.SEC.ECDHE", "L"): (1.4, 5.4, 4.9, 7.2, 11.4, 3.9),
    ("CONNBURST.SEC.PSK", "S"): (1.4, 0.9, 0.9, 1.1, 1.3, 0.5),
    ("CONNBURST.SEC.PSK", "M"): (1.4, 1.1, 1.0, 1.3, 1.5, 0.5),
    ("CONNBURST.SEC.PSK", "L"): (1.4, 1.2, 1.1, 1.4, 1.9, 1.6),
}


@pytest.mark.parametrize(("name", "vm"), sorted(CONNECTION_RATES))
def test_connection_rates_and_latencies_are_as_printed(name: str, vm: str) -> None:
    """All six columns of the score card."""
    rate, *latencies = CONNECTION_RATES[name, vm]

    assert [pytest.approx(rate * 1000)] == values("messagesight", name, "connect_rate", vm=vm)
    for column, value in zip(("mean", "p50", "p95", "p99", "stdev"), latencies, strict=True):
        assert [value] == values("messagesight", name, f"connect_{column}_us", vm=vm)


def test_broadcast_rates_do_not_depend_on_the_size() -> None:
    """25K, 50K and 100K messages a second for every message size."""
    for size in (32, 128, 512):
        assert [25_000, 50_000, 100_000] == values("messagesight", "BROADCAST", "peak_egress_rate", payload=size)


def test_mq_telemetry_tables_have_all_their_cells() -> None:
    """Tables 1-4: 11 and 6 rows x 3 QoS x rate and CPU; 5: 6 x 5; 6-7: 2 x 2; 8: 12 x 3; 9: 7 x 2."""
    results = load().suite("mq-telemetry").published
    cells = {1: 66, 2: 66, 3: 36, 4: 36, 5: 30, 6: 4, 7: 4, 8: 36, 9: 14}

    assert cells == {table: sum(result.source == f"Table {table}" for result in results) for table in cells}


@pytest.mark.parametrize(
    ("scenario", "metric", "parameters", "expected"),
    [
        ("multi-publisher-single-subscriber", "received_rate", {"publishers": 1000, "qos": 0}, [2780, 3200]),
        ("multi-publisher-single-subscriber", "host_cpu_not_idle_mean", {"publishers": 100_000, "qos": 2}, [89]),
        ("multi-publisher-multi-subscriber", "received_rate", {"publishers": 50_000, "qos": 2}, [1023, 684]),
        ("multi-publisher-multi-subscriber", "host_cpu_not_idle_mean", {"publishers": 40_000, "qos": 1}, [80, 77]),
        ("message-sizes", "received_rate", {"publishers": 20_000, "payload": 65_536}, [221]),
        ("memory-per-connection", "server_bytes_per_connection", {"state": "subscribed"}, [25.0, 15.0]),
        ("memory-per-connection", "server_heap_bytes_per_connection", {"state": "connected"}, [6.0, 4.0]),
        ("memory-for-connections", "host_memory_used_bytes_max", {"publishers": 0}, [746, 1320]),
        ("memory-for-connections", "server_heap_bytes_max", {"publishers": 100_000}, [690]),
        ("memory-for-connections", "server_open_files_max", {"publishers": 100_000}, [100_099]),
    ],
)
def test_cells_of_the_mq_telemetry_tables(
    scenario: str, metric: str, parameters: dict[str, object], expected: list[float]
) -> None:
    """A cell of each table, Linux before Windows."""
    assert expected == values("mq-telemetry", scenario, metric, **parameters)


def test_scalagent_maxima_of_the_servers() -> None:
    """What the two discussion sections say; nothing is written down where they say nothing."""
    results = [result for result in published("scalagent", "multi-publisher") if result.metric == "publishers"]
    found = {(result.server.split()[0], result.parameters["qos"]): result.value for result in results}

    assert {
        ("RabbitMQ", 0): 8000,
        ("Apollo", 0): 20_000,
        ("Mosquitto", 0): 60_000,
        ("JoramMQ", 0): 100_000,
        ("Mosquitto", 1): 4000,  # "above 4000 ... cannot keep up"
        ("Apollo", 1): 10_000,
        ("JoramMQ", 1): 44_000,
    } == found
    assert [2000] == values("scalagent", "multi-publisher", "publishers_max_below", qos=0)  # ActiveMQ
    assert [4000] == values("scalagent", "multi-publisher", "publishers_max_below", qos=1)  # RabbitMQ


def test_open_mqtt_latencies_of_four_servers() -> None:
    """EMQX, Mosquitto, NanoMQ, VerneMQ; and RabbitMQ's own test beside them."""
    assert [3, 5.73, 13.66, 21.55] == values("open-mqtt", "fanout-1-1K-1-1K", "latency_mean_us")
    assert [0.27, 0.25, 0.25, 0.4, 6.74, 2.88] == values("open-mqtt", "p2p-1K-1K-1K-1K", "latency_mean_us")
    assert [0.19, 0.2, 0.18, 0.34] == values("open-mqtt", "sharedsub-1K-5-1K-1K", "latency_mean_us")
    assert [0.74, 0.6, 0.59, 0.89] == values("open-mqtt", "conn-tcp-10K-100", "connect_mean_us")
    assert [13_247, 17_996] == values("open-mqtt", "p2p-1K-1K-1K-1K", "received_rate")


def test_every_result_has_a_unit_and_a_source() -> None:
    """A number without them cannot be checked."""
    for suite in load().suites.values():
        for result in suite.published:
            assert result.unit
            assert result.source


def test_every_published_case_is_measured_by_a_scenario() -> None:
    """Throughput cases of the score card have three values each, one per virtual machine."""
    for scenario in load().suite("messagesight").scenarios:
        rates = [result for result in scenario.published if result.metric == "received_rate"]
        assert len(rates) in (0, 3)


def test_a_published_point_is_matched_exactly() -> None:
    """The plan of the published size finds its own number first."""
    scenario = load().find("messagesight/FANIN.Q0.PARTITIONS")
    plan = next(
        p for p in plan_points(scenario, "published") if (p.parameters["vm"], p.parameters["subscribers"]) == ("M", 100)
    )

    found = [entry for entry in match(scenario.published, plan.parameters) if entry.metric == "buffered_hwm"]

    assert found[0].exact
    assert 275 == found[0].value
    assert not any(entry.exact for entry in found[1:])


def test_another_size_is_matched_by_scenario_but_never_another_qos() -> None:
    """A quick run prints the published numbers with their own conditions; those of another QoS would mislead."""
    scenario = load().find("mq-telemetry/multi-publisher-single-subscriber")
    plan = plan_points(scenario, "quick", {"qos": 2})[0]

    found = match(scenario.published, plan.parameters)

    assert found
    assert not any(entry.exact for entry in found)
    assert {2} == {entry.parameters["qos"] for entry in found}


def test_a_value_is_looked_up_by_the_parameters_asked_for() -> None:
    """Among several that fit, the one that agrees with more of the point."""
    few = PublishedResult("s", "c", {"vm": "S", "subscribers": 10}, "x", "rate", 1.0, "msg/s", "t")
    many = PublishedResult("s", "c", {"vm": "S", "subscribers": 100}, "x", "rate", 2.0, "msg/s", "t")

    assert many == find_value([few, many], "rate", {"vm": "S", "subscribers": 100}, ["vm"])
    assert find_value([few, many], "rate", {"vm": "L"}, ["vm"]) is None
