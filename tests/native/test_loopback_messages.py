"""The built-in server against paho clients: QoS, versions, filters, retained, shared subscriptions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from paho.mqtt.subscribeoptions import SubscribeOptions

from tests.support.loopback import CONNECT, PUBLISH, SUBSCRIBE, Device, Running, properties, running
from tests.support.waiting import eventually

BOTH = pytest.mark.parametrize("version", ["3.1.1", "5"])


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def server(request: pytest.FixtureRequest) -> Iterator[Running]:
    """One server for the module; tests use topics of their own."""
    with running(threads=request.param) as started:
        yield started


@pytest.mark.parametrize(("subscriber_version", "publisher_version"), list(itertools.product(["3.1.1", "5"], repeat=2)))
def test_every_pair_of_qos_delivers_in_order_at_the_lower_one(
    server: Running, subscriber_version: str, publisher_version: str
) -> None:
    """Messages arrive once, in order, with the lower QoS of publisher and subscription, whatever the versions."""
    for granted, sent in itertools.product(range(3), repeat=2):
        topic = f"qos/{subscriber_version}/{publisher_version}/{granted}/{sent}"
        with (
            Device(server.port, version=subscriber_version) as subscriber,
            Device(server.port, version=publisher_version) as publisher,
        ):
            assert subscriber.subscribe(topic, granted) == granted
            expected = [str(number).encode() for number in range(10)]
            for payload in expected:
                publisher.publish(topic, payload, sent)

            assert subscriber.wait_for(10) == expected
            assert {message.qos for message in subscriber.received} == {min(granted, sent)}


@BOTH
def test_wildcards_match_levels(server: Running, version: str) -> None:
    """+ stands for one level and # for the rest, the parent included."""
    topic = f"wild{version}"
    with Device(server.port, version=version) as plus, Device(server.port, version=version) as rest:
        plus.subscribe(f"{topic}/+/c")
        rest.subscribe(f"{topic}/#")
        for name in (f"{topic}/b/c", f"{topic}/b/d", f"{topic}/c", topic, f"{topic}/b/c/d", f"{topic}//c"):
            rest.publish(name, name)

        assert [payload.decode() for payload in plus.settle(rest)] == [f"{topic}/b/c", f"{topic}//c"]
        assert len(rest.settle()) == 6


def test_wildcards_at_the_first_level_leave_dollar_topics_alone(server: Running) -> None:
    """# and + do not match topics that begin with $; a filter that names the $ level does."""
    with Device(server.port) as everything, Device(server.port) as named:
        everything.subscribe("#")
        everything.subscribe("+/secret")
        named.subscribe("$private/#")
        named.publish("$private/secret", b"hidden")

        assert named.wait_for(1) == [b"hidden"]
        assert b"hidden" not in everything.settle(named)


@BOTH
def test_overlapping_subscriptions_give_one_copy_with_the_highest_qos(server: Running, version: str) -> None:
    """A device whose filters overlap gets a message once."""
    with Device(server.port, version=version) as device:
        device.subscribe(f"overlap{version}/#", 0)
        device.subscribe(f"overlap{version}/+", 2)
        device.publish(f"overlap{version}/x", b"once", 2)

        assert device.settle() == [b"once"]
        assert device.received[0].qos == 2


def test_overlapping_subscriptions_tell_all_their_identifiers(server: Running) -> None:
    """MQTT 5: the one copy carries the identifier of every matching subscription."""
    with Device(server.port, version="5") as device:
        for number, topic_filter in ((3, "ids/#"), (5, "ids/+")):
            device.subscribe(
                topic_filter,
                options=SubscribeOptions(qos=0),
                properties=properties(SUBSCRIBE, SubscriptionIdentifier=number),
            )
        device.publish("ids/x", b"both")

        device.wait_for(1)
        assert sorted(device.received[0].properties.SubscriptionIdentifier) == [3, 5]


@BOTH
def test_an_unsubscribed_filter_gets_nothing_more(server: Running, version: str) -> None:
    """UNSUBSCRIBE ends the deliveries."""
    with Device(server.port, version=version) as device:
        device.subscribe(f"gone{version}")
        device.publish(f"gone{version}", b"1")
        assert device.wait_for(1) == [b"1"]
        device.unsubscribe(f"gone{version}")
        device.publish(f"gone{version}", b"2")

        assert device.settle() == [b"1"]


@BOTH
def test_a_shared_subscription_divides_messages_evenly(server: Running, version: str) -> None:
    """Each message goes to one member, in turn, over all topics of the group."""
    topic = f"shared{version}"
    with (
        Device(server.port, version=version) as first,
        Device(server.port, version=version) as second,
        Device(server.port) as other,
    ):
        for member in (first, second):
            assert member.subscribe(f"$share/group/{topic}/#", 1) == 1
        other.subscribe(f"{topic}/#", 1)
        for number in range(20):
            other.publish(f"{topic}/{number}", str(number), 1)

        halves = first.wait_for(10), second.wait_for(10)
        assert [len(half) for half in halves] == [10, 10]
        assert sorted(map(int, halves[0] + halves[1])) == list(range(20))
        assert len(other.wait_for(20)) == 20


@BOTH
def test_messages_of_a_leaving_group_member_go_to_the_others(server: Running, version: str) -> None:
    """A member that goes without acknowledging leaves its messages to the rest of the group."""
    topic = f"heirs{version}"
    with Device(server.port, version=version) as heir, Device(server.port) as publisher:
        leaver = Device(server.port, version=version)
        leaver.client.manual_ack_set(True)
        with leaver:
            for member in (heir, leaver):
                member.subscribe(f"$share/heirs/{topic}", 1)
            for number in range(10):
                publisher.publish(topic, str(number), 1)
            assert len(leaver.wait_for(5)) == 5

        assert sorted(map(int, heir.wait_for(10))) == list(range(10))


@BOTH
def test_the_last_retained_message_greets_new_subscribers(server: Running, version: str) -> None:
    """Retained messages come with the flag set at subscribing, without it when live, and an empty one ends them."""
    topic = f"retained{version}"
    with Device(server.port, version=version) as publisher, Device(server.port, version=version) as subscriber:
        publisher.publish(f"{topic}/a", b"old", 1, retain=True)
        publisher.publish(f"{topic}/a", b"new", 1, retain=True)
        publisher.publish(f"{topic}/b", b"other", 1, retain=True)
        subscriber.subscribe(f"{topic}/+", 1)
        assert sorted(subscriber.wait_for(2)) == [b"new", b"other"]
        assert all(message.retain for message in subscriber.received)

        publisher.publish(f"{topic}/a", b"live", 1, retain=True)
        assert subscriber.wait_for(3)[2] == b"live"
        assert not subscriber.received[2].retain

        for name in "ab":
            publisher.publish(f"{topic}/{name}", b"", 1, retain=True)
        with Device(server.port, version=version) as late:
            late.subscribe(f"{topic}/#", 1)
            assert late.settle() == []


def test_retain_handling_and_retain_as_published_are_honoured(server: Running) -> None:
    """MQTT 5: 1 sends retained messages to new subscriptions only, 2 never; the flag can be left alone."""
    with Device(server.port, version="5") as device:
        device.publish("handling", b"kept", 1, retain=True)
        for handling, total in ((2, 0), (1, 0), (0, 1)):
            options = SubscribeOptions(qos=1, retainHandling=handling, retainAsPublished=True)
            device.subscribe("handling", options=options)
            assert len(device.settle()) == total

        device.publish("handling", b"live", 1, retain=True)
        assert device.settle() == [b"kept", b"live"]
        live = next(message for message in device.received if message.payload == b"live")
        assert live.retain
        device.publish("handling", b"", 1, retain=True)


def test_no_local_keeps_a_devices_own_messages_away(server: Running) -> None:
    """MQTT 5: the device hears others but not itself."""
    with Device(server.port, version="5") as device, Device(server.port) as other:
        device.subscribe("local", options=SubscribeOptions(qos=0, noLocal=True))
        device.publish("local", b"mine", 1)
        other.publish("local", b"theirs", 1)

        assert device.settle() == [b"theirs"]


def test_properties_of_a_message_travel_with_it(server: Running) -> None:
    """MQTT 5: content type, response topic, correlation data, user properties; 3.1.1 gets the payload alone."""
    given = properties(
        PUBLISH,
        ContentType="text/plain",
        ResponseTopic="answers",
        CorrelationData=b"7",
        UserProperty=[("a", "1"), ("a", "2")],
        MessageExpiryInterval=100,
    )
    with Device(server.port, version="5") as five, Device(server.port) as old:
        five.subscribe("travel", 1)
        old.subscribe("travel", 1)
        five.publish("travel", b"payload", 1, properties=given)

        assert old.wait_for(1) == five.wait_for(1) == [b"payload"]
        got = five.received[0].properties
        assert (got.ContentType, got.ResponseTopic, got.CorrelationData) == ("text/plain", "answers", b"7")
        assert got.UserProperty == [("a", "1"), ("a", "2")]
        assert 98 <= got.MessageExpiryInterval <= 100


def test_a_topic_alias_stands_for_its_topic(server: Running) -> None:
    """MQTT 5: once introduced, an empty topic with the alias is routed like the topic."""
    with Device(server.port, version="5") as device:
        device.subscribe("aliased", 1)
        device.publish("aliased", b"1", 1, properties=properties(PUBLISH, TopicAlias=4))
        device.publish("", b"2", 1, properties=properties(PUBLISH, TopicAlias=4))

        assert device.wait_for(2) == [b"1", b"2"]
        assert [message.topic for message in device.received] == ["aliased", "aliased"]


def test_a_device_is_never_sent_more_than_its_receive_maximum(server: Running) -> None:
    """MQTT 5: unacknowledged messages stop at the maximum and go on with each acknowledgement."""
    device = Device(server.port, version="5", properties=properties(CONNECT, ReceiveMaximum=3))
    device.client.manual_ack_set(True)
    with device, Device(server.port) as publisher:
        device.subscribe("window", 1)
        for number in range(10):
            publisher.publish("window", str(number), 1)
        assert len(device.settle()) == 3

        for acknowledged in range(10):
            device.client.ack(device.received_of("window")[acknowledged].mid, 1)
            assert device.wait_until_received("window", min(10, acknowledged + 4))


def test_packets_larger_than_a_device_takes_are_not_sent(server: Running) -> None:
    """MQTT 5: maximum packet size is honoured, and smaller messages still come."""
    with (
        Device(server.port, version="5", properties=properties(CONNECT, MaximumPacketSize=100)) as small,
        Device(server.port) as publisher,
    ):
        small.subscribe("size", 1)
        publisher.publish("size", b"x" * 200, 1)
        publisher.publish("size", b"fits", 1)

        assert small.settle() == [b"fits"]


def test_a_large_message_survives(server: Running) -> None:
    """A megabyte arrives as it was sent, through many reads and writes."""
    payload = bytes(range(256)) * 4096
    with Device(server.port) as device:
        device.subscribe("large", 1)
        device.publish("large", payload, 1)

        assert device.wait_for(1) == [payload]


def test_counters_tell_what_happened(server: Running) -> None:
    """Messages in and out, connections and subscriptions are counted exactly."""
    assert eventually(lambda: server.counter("connections") == 0)  # of the devices of the tests before
    before = server.get("/counters")
    with Device(server.port) as device:
        device.subscribe("counted", 0)
        for _ in range(7):
            device.publish("counted", b"x")
        device.wait_for(7)
        during = server.get("/counters")

        assert during["messages_in"] - before["messages_in"] == 7
        assert during["messages_out"] - before["messages_out"] == 7
        assert during["connections"] - before["connections"] == 1
        assert during["subscriptions"] - before["subscriptions"] == 1
        assert during["buffered_messages"] == 0
        assert any(each["filter"] == "counted" for each in during["deepest"])
