//! Arbitrary and damaged input: never a panic, always "more", a packet or a typed error.
#![allow(clippy::unwrap_used)] // a test may

#[path = "../fuzz/src/checks.rs"]
mod checks;

use proptest::collection::vec;
use proptest::prelude::*;
use telemark_mqtt::packet::{Ack, AckKind, Connect, List, Publish, Suback, Subscribe, SubscribeEntry};
use telemark_mqtt::properties::VariableInteger;
use telemark_mqtt::{frame, Packet, Properties, Property, PropertyBuffer, QoS, Version};

/// A stream of MQTT 5 packets that has a bit of everything, and where each packet ends.
fn stream() -> (Vec<u8>, Vec<usize>) {
    let mut buffer = PropertyBuffer::new();
    buffer.push(Property::UserProperty(("key", "value"))).unwrap();
    buffer
        .push(Property::SubscriptionIdentifier(VariableInteger(7)))
        .unwrap();
    let properties = buffer.as_properties();
    let entries = [
        SubscribeEntry::new("a/+", QoS::AtLeastOnce),
        SubscribeEntry::new("b/#", QoS::ExactlyOnce),
    ];
    let message = Publish {
        topic: "a/b",
        qos: QoS::ExactlyOnce,
        packet_id: 9,
        properties,
        payload: &[1; 200],
        ..Publish::default()
    };
    let packets = [
        Packet::Connect(Connect {
            username: Some("u"),
            ..Connect::new(Version::V5, "device-1")
        }),
        Packet::Subscribe(Subscribe {
            packet_id: 1,
            properties,
            entries: List::given(&entries),
        }),
        Packet::Suback(Suback {
            packet_id: 1,
            properties: Properties::NONE,
            codes: &[1, 2],
        }),
        Packet::Publish(message),
        Packet::Ack(Ack::new(AckKind::Pubrec, 9)),
        Packet::Pingreq,
    ];
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for packet in packets {
        packet.encode(Version::V5, &mut bytes).unwrap();
        ends.push(bytes.len());
    }
    (bytes, ends)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..300)) {
        checks::packets(&bytes);
        checks::topics(&bytes);
        checks::window(&bytes);
    }

    #[test]
    fn arbitrary_bodies_of_every_type_never_panic(first in any::<u8>(), body in vec(any::<u8>(), 0..100)) {
        let length = body.len() as u8;
        for version in [0, 1] {
            checks::packets(&[&[version, first, length][..], &body].concat());
        }
    }

    #[test]
    fn damaged_packets_never_panic(at in any::<prop::sample::Index>(), flip in 1..=u8::MAX) {
        let (mut bytes, _) = stream();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        checks::packets(&[&[1], &bytes[..]].concat());
    }

    #[test]
    fn topics_and_filters_made_of_tricky_levels_are_routed_right(
        lines in vec(vec(prop::sample::select(vec!["", "a", "b", "+", "#", "$x", "$share", "g"]), 1..5), 1..12),
    ) {
        let text: Vec<String> = lines.iter().map(|levels| levels.join("/")).collect();
        checks::topics(text.join("\n").as_bytes());
    }

    #[test]
    fn any_sequence_of_steps_keeps_the_window_right(size in 1_u8..16, steps in vec((0_u8..7, 0_u8..18), 0..200)) {
        let mut bytes = vec![size];
        steps.iter().for_each(|(action, id)| bytes.extend([*action, *id]));
        checks::window(&bytes);
    }
}

#[test]
fn a_stream_cut_at_any_byte_gives_the_same_packets() {
    let (bytes, ends) = stream();
    for cut in 0..=bytes.len() {
        let (mut at, mut found) = (0, Vec::new());
        for arrived in [cut, bytes.len()] {
            while let Some(frame) = frame::split(&bytes[at..arrived], 4096).unwrap() {
                Packet::decode(frame, Version::V5).unwrap();
                at += frame.length;
                found.push(at);
            }
        }
        assert_eq!(ends, found, "cut at {cut}");
    }
}

#[test]
fn a_body_cut_short_is_an_error_or_a_shorter_packet_but_never_a_panic() {
    let (bytes, ends) = stream();
    let mut start = 0;
    for end in ends {
        let frame = frame::split(&bytes[start..end], 4096).unwrap().unwrap();
        for length in 0..frame.body.len() {
            let mut cut = vec![1, frame.first];
            cut.extend(if length < 128 {
                vec![length as u8]
            } else {
                vec![length as u8 | 0x80, (length >> 7) as u8]
            });
            cut.extend_from_slice(&frame.body[..length]);
            checks::packets(&cut);
        }
        start = end;
    }
}
