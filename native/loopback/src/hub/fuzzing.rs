//! The hub in the hands of clients, a network and a clock that do anything at all.
//!
//! The bytes are a script: each step is chosen by a byte and takes its details from those that follow.

use std::sync::OnceLock;

use telemark_mqtt::packet::{
    Ack, AckKind, Connect, Disconnect, List, Publish, Subscribe, SubscribeEntry, Unsubscribe, Will,
};
use telemark_mqtt::{frame, Packet, Properties, Property, PropertyBuffer, QoS, ReasonCode, Version};

use super::{Hub, LinkId, Next};
use crate::config::Config;

const SECOND: u64 = 1_000_000_000;
const YEAR: u64 = 365 * 86_400 * SECOND;
const LINKS: usize = 5;
const TOPICS: [&str; 5] = ["a", "a/b", "c", "$SYS/x", "a/b/c"];
const FILTERS: [&str; 8] = ["a", "a/#", "+/b", "#", "$share/g/a/#", "$share/g/+", "$share/h/a", "c"];
const CONFIGS: [&str; 3] = [
    r#"{"session_expiry_s": 50}"#,
    r#"{"session_expiry_s": 50, "max_queued_messages": 2, "receive_maximum": 2, "threads": 2, "max_packet_size": 300}"#,
    r#"{"session_expiry_s": 50, "faults": {"drop": 3, "duplicate": 4, "reorder": 5, "delay_ms": 20}}"#,
];

/// Plays one script.
pub fn run(script: &[u8]) {
    let mut script = Script(script);
    let mut play = Play::new(configs()[script.below(CONFIGS.len())].clone());
    while !script.0.is_empty() {
        play.step(&mut script);
    }
    play.end();
}

fn configs() -> &'static [Config] {
    static READ: OnceLock<Vec<Config>> = OnceLock::new();
    let read = |json: &&str| Config::from_json(json).expect("the configuration of a fuzz target is valid");
    READ.get_or_init(|| CONFIGS.iter().map(read).collect())
}

struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn qos(&mut self) -> QoS {
        QoS::from_bits(self.byte() & 3).unwrap_or_default()
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = self.below(40).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }
}

struct Play {
    hub: Hub,
    threads: usize,
    links: [Option<(LinkId, Version)>; LINKS],
    now: u64,
}

impl Play {
    fn new(config: Config) -> Play {
        Play {
            threads: config.threads,
            hub: Hub::new(config),
            links: [None; LINKS],
            now: SECOND,
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let place = script.below(LINKS);
        let Some((link, version)) = self.links[place] else {
            return self.open(place, script);
        };
        match script.below(12) {
            0 => self.close(place),
            1 => {
                self.now += script.below(40) as u64 * SECOND / 8;
                self.hub.tick(self.now);
            }
            2..=4 => self.read(place),
            _ => {
                let mut bytes = packet(script, version);
                if script.below(8) == 0 && !bytes.is_empty() {
                    let at = script.below(bytes.len());
                    bytes[at] = script.byte();
                }
                let (first, second) = bytes.split_at(script.below(bytes.len() + 1));
                self.hub.receive(link, first, self.now);
                self.hub.receive(link, second, self.now);
            }
        }
    }

    fn open(&mut self, place: usize, script: &mut Script<'_>) {
        let link = self.hub.open(place % self.threads, place as u32, self.now);
        let version = if script.flag() { Version::V5 } else { Version::V311 };
        self.links[place] = Some((link, version));
        if script.below(6) > 0 {
            let bytes = connect(script, version);
            self.hub.receive(link, &bytes, self.now);
        }
    }

    /// The client reads what the hub has for it: whole packets of a server.
    fn read(&mut self, place: usize) {
        let Some((link, version)) = self.links[place] else {
            return;
        };
        let mut done = None;
        loop {
            match self.hub.next_block(link, done.take()) {
                Next::Block(block) => {
                    let mut rest = block.bytes.as_slice();
                    while let Some(frame) = frame::split(rest, u32::MAX).expect("a server sends frames") {
                        Packet::decode(frame, version).expect("a server sends MQTT");
                        rest = &rest[frame.length..];
                    }
                    assert!(rest.is_empty(), "a server sends whole packets");
                    done = Some(block);
                }
                Next::Nothing => return,
                Next::Close => return self.close(place),
            }
        }
    }

    fn close(&mut self, place: usize) {
        if let Some((link, _)) = self.links[place].take() {
            self.hub.closed(link, None, self.now);
        }
    }

    /// Everyone goes and all sessions end: nothing is left.
    fn end(mut self) {
        (0..LINKS).for_each(|place| self.close(place));
        // A damaged CONNECT may ask for decades; then wills are sent, perhaps with a delay.
        for years in [140, 141, 142] {
            self.hub.tick(self.now + years * YEAR);
        }
        let totals = self.hub.counters().totals;
        assert_eq!((0, 0, 0), (totals.connections, totals.sessions, totals.subscriptions));
        assert_eq!(0, totals.buffered_messages);
        assert_eq!(None, self.hub.next_deadline());
    }
}

fn connect(script: &mut Script<'_>, version: Version) -> Vec<u8> {
    let mut properties = PropertyBuffer::new();
    if version.is_v5() {
        let _ = properties.push(Property::SessionExpiryInterval(script.below(60) as u32));
        let _ = properties.push(Property::ReceiveMaximum(1 + script.below(3) as u16));
        if script.flag() {
            let _ = properties.push(Property::MaximumPacketSize(20 + u32::from(script.byte())));
        }
    }
    let mut will_properties = PropertyBuffer::new();
    if version.is_v5() {
        let _ = will_properties.push(Property::WillDelayInterval(script.below(9) as u32));
    }
    let will = Will {
        qos: script.qos(),
        retain: script.flag(),
        properties: will_properties.as_properties(),
        topic: TOPICS[script.below(TOPICS.len())],
        payload: b"gone",
    };
    let packet = Connect {
        clean_start: script.flag(),
        keep_alive: script.below(5) as u16,
        properties: properties.as_properties(),
        will: script.flag().then_some(will),
        ..Connect::new(version, ["x", "y", "z", ""][script.below(4)])
    };
    let mut bytes = Vec::new();
    let _ = packet.encode(&mut bytes);
    bytes
}

/// A packet of a client; what the version cannot say is nothing.
fn packet(script: &mut Script<'_>, version: Version) -> Vec<u8> {
    let filters: Vec<&str> = (0..1 + script.below(3))
        .map(|_| FILTERS[script.below(FILTERS.len())])
        .collect();
    let entries = filters.iter().map(|filter| SubscribeEntry::new(filter, script.qos()));
    let entries: Vec<SubscribeEntry<'_>> = entries.collect();
    let packet_id = 1 + script.below(5) as u16;
    let kinds = [AckKind::Puback, AckKind::Pubrec, AckKind::Pubrel, AckKind::Pubcomp];
    let mut properties = PropertyBuffer::new();
    let mut farewell = PropertyBuffer::new();
    if version.is_v5() && script.flag() {
        let _ = properties.push(Property::TopicAlias(script.below(4) as u16));
        let _ = farewell.push(Property::SessionExpiryInterval(script.below(60) as u32));
    }
    let packet = match script.below(12) {
        0 | 1 => Packet::Subscribe(Subscribe {
            packet_id,
            properties: Properties::NONE,
            entries: List::given(&entries),
        }),
        2 => Packet::Unsubscribe(Unsubscribe {
            packet_id,
            properties: Properties::NONE,
            filters: List::given(&filters),
        }),
        3..=6 => {
            let qos = script.qos();
            Packet::Publish(Publish {
                qos,
                retain: script.flag(),
                packet_id: if qos == QoS::AtMostOnce { 0 } else { packet_id },
                topic: TOPICS[script.below(TOPICS.len())],
                properties: properties.as_properties(),
                payload: script.bytes(),
                ..Publish::default()
            })
        }
        7 | 8 => Packet::Ack(Ack::new(kinds[script.below(4)], packet_id)),
        9 => Packet::Pingreq,
        10 => Packet::Disconnect(Disconnect {
            reason: if script.flag() && version.is_v5() {
                ReasonCode::DisconnectWithWill
            } else {
                ReasonCode::Success
            },
            properties: farewell.as_properties(),
        }),
        _ => return script.bytes().to_vec(),
    };
    let mut bytes = Vec::new();
    let _ = packet.encode(version, &mut bytes);
    bytes
}
