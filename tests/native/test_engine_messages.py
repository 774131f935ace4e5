"""Messages sent and received by the engine, through the built-in server and through Debian's Mosquitto."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import paho.mqtt.publish as paho
import pytest

from telemark._native import Engine
from telemark.model.plan import Group, Subscription, Will
from telemark.model.plan.shapes.batched import Batched
from tests.support.engine import (
    Played,
    engine_plan,
    limited,
    mosquitto,
    play,
    publisher,
    subscriber,
)
from tests.support.loopback import running

MESSAGES, PUBLISHERS = 400, 8


@pytest.fixture(scope="module", params=["loopback", "mosquitto"])
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server of each kind."""
    if request.param == "loopback":
        with running(threads=2) as server:
            yield server.port
    else:
        with mosquitto(tmp_path_factory.mktemp("mosquitto")) as found:
            yield found


@pytest.mark.parametrize("version", ["3.1.1", "5"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_every_message_arrives_once_with_its_four_times(port: int, version: Any, qos: int) -> None:
    """Rows, senders and counters tell the same story, and the times of a message are in order."""
    groups = subscriber("t/#", qos, version=version), publisher(PUBLISHERS, qos, version=version)
    played = play(engine_plan(port, *groups, load=limited(MESSAGES), threads=2))
    expected = {(stream, number) for stream in range(PUBLISHERS) for number in range(MESSAGES // PUBLISHERS)}
    assert Counter(played.messages()) == Counter(expected)
    for row in played.rows("deliveries"):
        assert row["intended_ns"] <= row["sent_ns"] <= row["received_ns"]
        assert (row["qos"], row["flags"], row["size"], row["subscription"]) == (qos, 0, 32, 0)
    for row in played.rows("senders"):
        assert (row["first_sequence"], row["last_sequence"]) == (0, MESSAGES // PUBLISHERS - 1)
        assert (row["sent"], row["dropped"]) == (MESSAGES // PUBLISHERS, 0)
        assert row["acked"] == (row["sent"] if qos else 0)
    assert (
        Counter(row["step"] for row in played.rows("acks"))
        == {0: {}, 1: {1: MESSAGES}, 2: {2: MESSAGES, 3: MESSAGES}}[qos]
    )
    assert all(row["sent_ns"] <= row["acked_ns"] for row in played.rows("acks"))
    counters = played.rows("counters")
    for name in ("intended", "sent", "received"):
        assert sum(row[name] for row in counters) == MESSAGES, name
    assert sum(row["connects"] for row in counters) == PUBLISHERS + 1
    assert played.rows("events") == []


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_shared_subscription_gives_each_message_to_one_member(port: int, version: Any) -> None:
    """Subscription numbers tell the members apart."""
    members = subscriber("$share/group/t/#", 1, count=4, version=version)
    played = play(engine_plan(port, members, publisher(4, 1, version=version), load=limited(200)))
    assert len(set(played.messages())) == len(played.messages()) == 200
    assert {row["subscription"] for row in played.rows("deliveries")} == {0, 1, 2, 3}


def test_deliveries_of_several_filters_are_told_apart_by_topic(port: int) -> None:
    """One device, three filters: the subscription number says which one a message belongs to."""
    filters = (Subscription("a/{index}", 0, 10), Subscription("b/+", 0, 20), Subscription("c/#", 0, 30))
    listener = Group("listener", 1, client_id="l{index}", subscriptions=filters)
    senders = [replace(publisher(1, topic=f"{name}/0"), name=name, client_id=name) for name in "abc"]
    senders = [replace(group, publish=replace(group.publish, first_stream=at)) for at, group in enumerate(senders)]
    played = play(engine_plan(port, listener, *senders, load=limited(30)))
    found = {(row["stream"], row["subscription"]) for row in played.rows("deliveries")}
    assert found == {(0, 10), (1, 20), (2, 30)}


def test_sizes_and_topics_may_differ_from_message_to_message(port: int) -> None:
    """Uniform sizes, topics with {sequence}: every payload arrives whole."""
    groups = subscriber("v/+/0", 1), publisher(2, 1, "v/{index}/{sequence%2}", size=32, size_max=2_000)
    played = play(engine_plan(port, *groups, load=limited(200)), received=100)
    sizes = [row["size"] for row in played.rows("deliveries")]
    assert all(sequence % 2 == 0 for _, sequence in played.messages())
    assert min(sizes) >= 32
    assert max(sizes) <= 2_000
    assert len(set(sizes)) > 20


def test_large_messages_cross_the_buffers(port: int) -> None:
    """Messages larger than socket buffers and read buffer arrive whole, and count as sent only then."""
    groups = subscriber("big", 1), publisher(1, 1, "big", size=1_500_000)
    played = play(engine_plan(port, *groups, load=limited(5, rate=20.0)))
    assert [row["size"] for row in played.rows("deliveries")] == [1_500_000] * 5
    assert sum(row["sent_bytes"] for row in played.rows("counters")) == 7_500_000


def test_topic_aliases_shorten_what_the_server_understands(port: int) -> None:
    """The subscriber sees the full topic; nothing is lost by the alias."""
    groups = subscriber("alias/#", 0, version="5"), publisher(3, 0, "alias/{index}", topic_alias=True, version="5")
    played = play(engine_plan(port, *groups, load=limited(300)))
    assert len(set(played.messages())) == 300


def test_retained_messages_come_first_and_flagged(port: int) -> None:
    """A later subscriber gets the last retained message of the topic."""
    play(engine_plan(port, publisher(1, 1, "kept/{index}", retain=True), load=limited(3)), received=0)
    played = play(engine_plan(port, subscriber("kept/#", 1)), received=1)
    (row,) = played.rows("deliveries")
    assert (row["flags"], row["sequence"]) == (2, 2)
    clear_retained(port, "kept/0")


def clear_retained(port: int, topic: str) -> None:
    """Leave the shared server as it was found."""
    paho.single(topic, b"", 1, retain=True, hostname="127.0.0.1", port=port)


def test_a_device_that_vanishes_leaves_its_will(port: int) -> None:
    """An engine that is dropped without finish closes its sockets: the server sends the wills."""
    watcher = Played(engine_plan(port, subscriber("will/#", 1)))
    watcher.connect()
    dying = Group("dying", 2, client_id="w{index}", will=Will("will/{index}", size=40, qos=1))
    engine = Engine(engine_plan(port, dying).as_json())
    engine.connect()
    while engine.status()["ready"] < 2:
        time.sleep(0.01)
    del engine
    watcher.until(lambda status: status["received"] == 2)
    rows = watcher.finish().rows("deliveries")
    assert [(row["stream"], row["flags"], row["size"]) for row in rows] == [(-1, 4, 40)] * 2


def test_a_normal_end_leaves_no_will(port: int) -> None:
    """DISCONNECT reaches the server before the end of the stream does."""
    watcher = Played(
        engine_plan(port, subscriber("no-will/#", 1), publisher(1, 1, "no-will/end", retain=False), load=limited(1))
    )
    watcher.connect()
    leaving = Group("leaving", 20, client_id="n{index}", will=Will("no-will/{index}", qos=1))
    play(engine_plan(port, leaving), received=0)
    watcher.begin()
    watcher.until(lambda status: status["received"] >= 1)
    assert watcher.finish().messages() == [(0, 0)]


def test_the_in_flight_window_is_kept_and_everything_still_arrives(port: int) -> None:
    """A window of 2 slows QoS 2 down but loses nothing; the wait is counted as pushed back."""
    groups = subscriber("t/#", 2), publisher(2, 2, in_flight=2)
    played = play(engine_plan(port, *groups, load=Batched(batch=100, period_ms=1000, limit=200, max_lateness_s=15)))
    assert Counter(played.messages()) == Counter((stream, number) for stream in range(2) for number in range(100))
    assert sum(row["pushed_back"] for row in played.rows("counters")) > 0
