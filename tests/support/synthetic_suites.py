"""Made-up runs for every suite, so that each of its figures has something to show."""

from __future__ import annotations

from itertools import product

from tests.support.synthetic_tables import FakeRun


def _scalagent() -> list[FakeRun]:
    return [
        FakeRun(
            server=server, parameters={"publishers": publishers, "qos": qos}, publishers=publishers, qos=qos,
            cpu=factor / 10, rate=float(publishers), seed=publishers,
            latency_us=500.0 * factor * (1 + publishers / 4000),
        )
        for qos, (server, factor), publishers in product(
            (0, 1), (("mosquitto", 1), ("rabbitmq", 3)), (1000, 2000, 4000)
        )
    ]  # fmt: skip


def _messagesight() -> list[FakeRun]:
    fanin = [
        FakeRun(suite="messagesight", scenario="FANIN.Q0.PARTITIONS", shape="paced", subscribers=consumers, rate=9000.0,
                parameters={"subscribers": consumers}, buffered=4000.0 / consumers)
        for consumers in (10, 100)
    ]  # fmt: skip
    broadcast = [
        FakeRun(suite="messagesight", scenario="BROADCAST", shape="every", publishers=1, subscribers=consumers,
                parameters={"subscribers": consumers, "payload": 32}, payload=32, rate=float(consumers),
                latency_us=900.0 * consumers)
        for consumers in (100, 200)
    ]  # fmt: skip
    bursts = [
        FakeRun(suite="messagesight", scenario=f"CONNBURST{cipher}", shape="idle", connect_rate=rate, server=server,
                parameters={"devices": 500}, publishers=500)
        for (cipher, rate), server in product(
            (("", 9000.0), (".SEC", 1800.0), (".SEC.ECDHE", 1400.0), (".SEC.PSK", 1400.0)), ("mosquitto", "rabbitmq")
        )
    ]  # fmt: skip
    return [*fanin, *broadcast, *bursts]


def _mq_telemetry() -> list[FakeRun]:
    single = [
        FakeRun(suite="mq-telemetry", scenario=f"multi-publisher-{kind}-subscriber", shape="windowed",
                parameters={"publishers": number, "qos": qos}, qos=qos, payload=256, publishers=number,
                rate=9000.0 - 2000 * qos - number / 10)
        for kind, qos, number in product(("single", "multi"), (0, 1, 2), (1000, 2000, 5000))
    ]  # fmt: skip
    sizes = [
        FakeRun(suite="mq-telemetry", scenario="message-sizes", shape="windowed", payload=size, qos=2, publishers=1000,
                parameters={"payload": size}, rate=8000.0 / (1 + size / 8000))
        for size in (32, 2048, 65536)
    ]  # fmt: skip
    memory = [
        FakeRun(suite="mq-telemetry", scenario="memory-per-connection", shape="idle", publishers=number,
                parameters={"connections": number})
        for number in (500, 1000)
    ]  # fmt: skip
    many = [
        FakeRun(suite="mq-telemetry", scenario="memory-for-connections", shape="windowed", publishers=number, qos=2,
                parameters={"publishers": number, "qos": 2}, payload=256)
        for number in (1000, 2000)
    ]  # fmt: skip
    return [*single, *sizes, *memory, *many]


def _fanin_jms() -> list[FakeRun]:
    return [
        FakeRun(suite="fanin-jms", scenario="TPUT.FANIN.JMS", shape="paced", server="artemis", subscribers=subscribers,
                payload=size, parameters={"subscribers": subscribers, "payload": size},
                rate=5000.0 / (1 + size / 20000), latency_us=1000.0 + size / 10)
        for subscribers, size in product((1, 10), (64, 1024, 16384))
    ]  # fmt: skip


def _open_mqtt() -> list[FakeRun]:
    return [
        FakeRun(suite="open-mqtt", scenario=scenario, shape="paced", server=server, rate=1000.0, qos=1,
                parameters={"publishers": 1000}, publishers=1000)
        for scenario, server in product(("p2p-1K-1K-1K-1K", "fanout-1-1K-1-1K"), ("mosquitto", "rabbitmq"))
    ]  # fmt: skip


RUNS_OF_SUITE: dict[str, list[FakeRun]] = {
    "scalagent": _scalagent(),
    "messagesight": _messagesight(),
    "mq-telemetry": _mq_telemetry(),
    "fanin-jms": _fanin_jms(),
    "open-mqtt": _open_mqtt(),
}
