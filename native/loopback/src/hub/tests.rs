//! Conversations with a hub that has no sockets and whose time is the test's.

use telemark_mqtt::packet::{Ack, AckKind, Connect, Publish, Subscribe, SubscribeEntry};
use telemark_mqtt::packet::{Disconnect, List};
use telemark_mqtt::{frame, Packet, Properties, Property, PropertyBuffer, QoS, Version};

use super::{Hub, LinkId, Next};
use crate::config::Config;

const SECOND: u64 = 1_000_000_000;

struct World {
    hub: Hub,
    now: u64,
}

impl World {
    fn new(config: &str) -> Self {
        Self {
            hub: Hub::new(Config::from_json(config).unwrap()),
            now: SECOND,
        }
    }

    fn send(&mut self, link: LinkId, packet: &Packet<'_>, version: Version) {
        let mut bytes = Vec::new();
        packet.encode(version, &mut bytes).unwrap();
        self.hub.receive(link, &bytes, self.now);
    }

    /// A connected device of thread 0.
    fn device(&mut self, connect: Connect<'_>) -> LinkId {
        let link = self.hub.open(0, 0, self.now);
        self.send(link, &Packet::Connect(connect), connect.version);
        link
    }

    fn simple(&mut self, name: &str) -> LinkId {
        let link = self.device(Connect::new(Version::V311, name));
        self.received(link);
        link
    }

    fn subscribe(&mut self, link: LinkId, filter: &str, qos: QoS) {
        let entries = [SubscribeEntry::new(filter, qos)];
        let packet = Subscribe {
            packet_id: 1,
            properties: Properties::NONE,
            entries: List::given(&entries),
        };
        self.send(link, &Packet::Subscribe(packet), Version::V311);
        self.received(link);
    }

    fn publish(&mut self, link: LinkId, topic: &str, payload: &str, qos: QoS) {
        let packet_id = u16::from(qos != QoS::AtMostOnce) * 7;
        let packet = Publish {
            topic,
            payload: payload.as_bytes(),
            qos,
            packet_id,
            ..Publish::default()
        };
        self.send(link, &Packet::Publish(packet), Version::V311);
    }

    /// All bytes for a connection; None when it has been told to close.
    fn bytes(&mut self, link: LinkId) -> (Vec<u8>, bool) {
        let (mut bytes, mut done) = (Vec::new(), None);
        loop {
            match self.hub.next_block(link, done.take()) {
                Next::Block(block) => {
                    bytes.extend_from_slice(&block.bytes);
                    done = Some(block);
                }
                Next::Nothing => return (bytes, false),
                Next::Close => return (bytes, true),
            }
        }
    }

    /// Debug texts of the packets a connection gets.
    fn received(&mut self, link: LinkId) -> Vec<String> {
        let (bytes, _) = self.bytes(link);
        packets(&bytes, Version::V311)
    }

    fn payloads(&mut self, link: LinkId) -> Vec<String> {
        let (bytes, _) = self.bytes(link);
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        while let Some(frame) = frame::split(rest, u32::MAX).unwrap() {
            if let Packet::Publish(publish) = Packet::decode(frame, Version::V311).unwrap() {
                found.push(String::from_utf8(publish.payload.to_vec()).unwrap());
            }
            rest = &rest[frame.length..];
        }
        found
    }
}

fn packets(bytes: &[u8], version: Version) -> Vec<String> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while let Some(frame) = frame::split(rest, u32::MAX).unwrap() {
        found.push(format!("{:?}", Packet::decode(frame, version).unwrap()));
        rest = &rest[frame.length..];
    }
    found
}

#[test]
fn a_qos_0_message_is_passed_on_byte_for_byte() {
    let mut world = World::new("{}");
    let (publisher, subscriber) = (world.simple("p"), world.simple("s"));
    world.subscribe(subscriber, "t/#", QoS::AtMostOnce);
    let packet = Publish {
        topic: "t/1",
        payload: b"hello",
        ..Publish::default()
    };
    let mut sent = Vec::new();
    packet.encode(Version::V311, &mut sent).unwrap();
    world.hub.receive(publisher, &sent, world.now);
    assert_eq!((sent, false), world.bytes(subscriber));
}

#[test]
fn packets_cut_anywhere_are_put_together_again() {
    let mut world = World::new("{}");
    let (publisher, subscriber) = (world.simple("p"), world.simple("s"));
    world.subscribe(subscriber, "t", QoS::AtMostOnce);
    let mut bytes = Vec::new();
    for number in 0..5 {
        let payload = format!("{number}").repeat(200);
        let packet = Publish {
            topic: "t",
            payload: payload.as_bytes(),
            ..Publish::default()
        };
        packet.encode(Version::V311, &mut bytes).unwrap();
    }
    for piece in bytes.chunks(3) {
        world.hub.receive(publisher, piece, world.now);
    }
    assert_eq!(5, world.payloads(subscriber).len());
}

#[test]
fn a_full_queue_drops_and_counts_and_the_sum_is_exact() {
    let mut world = World::new(r#"{"max_queued_messages": 3}"#);
    let (publisher, subscriber) = (world.simple("p"), world.simple("s"));
    world.subscribe(subscriber, "t", QoS::AtMostOnce);
    for number in 0..10 {
        world.publish(publisher, "t", &number.to_string(), QoS::AtMostOnce);
    }
    let counters = world.hub.counters();
    assert_eq!(
        (3, 7),
        (counters.totals.buffered_messages, counters.totals.messages_dropped)
    );
    assert_eq!((3, 7), (counters.deepest[0].depth, counters.deepest[0].dropped));
    assert_eq!(vec!["0", "1", "2"], world.payloads(subscriber));
    assert_eq!((3, 3), (counters.largest_queue, counters.largest_queue_hwm));
    let after = world.hub.counters();
    assert_eq!((0, 3), (after.largest_queue, after.largest_queue_hwm));
    let totals = after.totals;
    assert_eq!(
        (0, 3, 3),
        (totals.buffered_messages, totals.messages_out, totals.buffered_hwm)
    );
}

#[test]
fn an_absent_device_finds_its_messages_and_the_unfinished_ones_first() {
    let mut world = World::new("{}");
    let stay = Connect {
        clean_start: false,
        ..Connect::new(Version::V311, "s")
    };
    let (publisher, subscriber) = (world.simple("p"), world.device(stay));
    world.subscribe(subscriber, "t", QoS::AtLeastOnce);
    world.publish(publisher, "t", "unfinished", QoS::AtLeastOnce);
    world.received(subscriber);
    world.hub.closed(subscriber, None, world.now);
    world.publish(publisher, "t", "queued", QoS::AtLeastOnce);
    let again = world.device(stay);
    assert_eq!(vec!["unfinished", "queued"], world.payloads(again));
    for packet_id in [1, 2] {
        world.send(again, &Packet::Ack(Ack::new(AckKind::Puback, packet_id)), Version::V311);
    }
    assert_eq!(0, world.hub.counters().totals.buffered_messages);
}

#[test]
fn a_silent_device_is_ended_in_time_and_not_before() {
    let mut world = World::new("{}");
    let device = world.device(Connect {
        keep_alive: 10,
        ..Connect::new(Version::V311, "s")
    });
    world.received(device);
    world.now += 10 * SECOND;
    world
        .hub
        .receive(device, &telemark_mqtt::packet::ping::REQUEST, world.now);
    world.hub.tick(world.now + 15 * SECOND - 1);
    assert!(!world.bytes(device).1);
    world.hub.tick(world.now + 15 * SECOND);
    assert!(world.bytes(device).1);
    world.hub.tick(world.now + 60 * SECOND);
    assert_eq!(None, world.hub.next_deadline());
}

#[test]
fn a_held_message_goes_alone_when_no_successor_comes() {
    let mut world = World::new(r#"{"faults": {"reorder": 2}}"#);
    let (publisher, subscriber) = (world.simple("p"), world.simple("s"));
    world.subscribe(subscriber, "#", QoS::AtMostOnce);
    for topic in ["a", "b"] {
        world.publish(publisher, topic, topic, QoS::AtMostOnce); // one of the two is the second message
    }
    assert_eq!(1, world.payloads(subscriber).len());
    world.hub.tick(world.now + SECOND);
    assert_eq!(1, world.payloads(subscriber).len());
    assert_eq!(
        (0, 1),
        (world.hub.faults.account.reordered, world.hub.faults.account.released)
    );
    assert_eq!(0, world.hub.counters().totals.buffered_messages);
}

#[test]
fn only_threads_with_something_to_write_are_woken() {
    let mut world = World::new(r#"{"threads": 3}"#);
    let publisher = world.simple("p");
    let other = world.hub.open(2, 5, world.now);
    world.send(other, &Packet::Connect(Connect::new(Version::V311, "s")), Version::V311);
    world.subscribe(other, "t", QoS::AtMostOnce);
    world.hub.take_wakes(None);
    let mut tokens = Vec::new();
    world.hub.take_dirty(2, &mut tokens);
    world.publish(publisher, "t", "x", QoS::AtMostOnce);
    world.publish(publisher, "t", "y", QoS::AtMostOnce);
    assert_eq!(0b100, world.hub.take_wakes(Some(0)));
    world.hub.take_dirty(2, &mut tokens);
    assert_eq!(vec![5], tokens);
}

#[test]
fn after_everyone_has_left_nothing_is_left() {
    let mut world = World::new("{}");
    for round in 0..3 {
        let links: Vec<LinkId> = (0..4).map(|number| world.simple(&format!("d{number}"))).collect();
        for link in &links {
            world.subscribe(*link, "t/+", QoS::ExactlyOnce);
            world.subscribe(*link, "$share/g/t/#", QoS::AtLeastOnce);
        }
        world.publish(links[0], "t/x", "message", QoS::ExactlyOnce);
        for link in &links {
            if round == 1 {
                world.send(*link, &Packet::Disconnect(Disconnect::default()), Version::V311);
            }
            world.hub.closed(*link, None, world.now);
        }
        let totals = world.hub.counters().totals;
        assert_eq!((0, 0, 0), (totals.connections, totals.sessions, totals.subscriptions));
        assert_eq!(0, totals.buffered_messages, "round {round}");
    }
}

#[test]
fn a_connection_without_connect_is_closed_in_time_however_much_it_sends() {
    let mut world = World::new("{}");
    let (silent, dripping, connected) = (
        world.hub.open(0, 0, world.now),
        world.hub.open(0, 1, world.now),
        world.simple("d"),
    );
    world.hub.receive(dripping, &[0x10], world.now + 29 * SECOND);
    world.hub.tick(world.now + 30 * SECOND - 1);
    assert!(!world.bytes(silent).1 && !world.bytes(dripping).1);
    world.hub.tick(world.now + 30 * SECOND);
    assert!(world.bytes(silent).1 && world.bytes(dripping).1);
    assert!(!world.bytes(connected).1);
}

#[test]
fn little_is_kept_of_a_connection_before_its_connect() {
    let mut world = World::new("{}");
    let stranger = world.hub.open(0, 0, world.now);
    world.hub.receive(stranger, &[0x10, 0x81, 0x80, 0x20], world.now); // a CONNECT of 524,289 bytes
    assert!(world.bytes(stranger).1);
    let mut will = Connect::new(Version::V311, "d");
    let payload = vec![0; 65_535];
    will.will = Some(telemark_mqtt::packet::Will {
        topic: "w",
        payload: &payload,
        ..Default::default()
    });
    let device = world.device(will);
    assert!(world.received(device)[0].starts_with("Connack"));
}

/// What becomes of a session whose CONNECT and DISCONNECT announce these expiry intervals, so many seconds later.
fn session_after(connect_s: u32, disconnect_s: u32, seconds: u64) -> (u64, bool) {
    let mut world = World::new("{}");
    let (mut connect_properties, mut disconnect_properties) = (PropertyBuffer::new(), PropertyBuffer::new());
    for (properties, interval) in [
        (&mut connect_properties, connect_s),
        (&mut disconnect_properties, disconnect_s),
    ] {
        properties.push(Property::SessionExpiryInterval(interval)).unwrap();
    }
    let watcher = world.simple("watcher");
    world.subscribe(watcher, "w", QoS::AtMostOnce);
    let device = world.device(Connect {
        properties: connect_properties.as_properties(),
        will: Some(telemark_mqtt::packet::Will {
            topic: "w",
            ..Default::default()
        }),
        ..Connect::new(Version::V5, "d")
    });
    world.bytes(device);
    let disconnect = Disconnect {
        properties: disconnect_properties.as_properties(),
        ..Disconnect::default()
    };
    world.send(device, &Packet::Disconnect(disconnect), Version::V5);
    world.hub.tick(world.now + seconds * SECOND);
    let has_will = !world.payloads(watcher).is_empty();
    (world.hub.counters().totals.sessions - 1, has_will)
}

#[test]
fn disconnect_may_change_the_expiry_of_a_session() {
    assert_eq!((0, false), session_after(100, 0, 0), "ended at once");
    assert_eq!((1, false), session_after(100, 10, 9));
    assert_eq!((0, false), session_after(100, 10, 10), "shortened");
    assert_eq!((1, false), session_after(10, 100, 99), "prolonged");
    // A session that ends with its connection cannot be prolonged: that is an error, so the will is sent.
    assert_eq!((0, true), session_after(0, 10, 0));
}
