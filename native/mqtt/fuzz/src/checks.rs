//! What must hold for any bytes at all. The fuzz targets look for bytes that break it; `tests/corpus.rs` replays
//! the checked-in corpus with a stable compiler.
#![allow(dead_code)] // every target uses one of these

use std::collections::BTreeMap;
use telemark_mqtt::state::{Outbound, Pubrec, Resend};
use telemark_mqtt::topic::{check_name, matches, Filter, SubscriptionTree, Target};
use telemark_mqtt::{frame, Packet, QoS, Version};

const MAXIMUM_PACKET: u32 = 1 << 20;

/// The first byte chooses the version, the rest is a stream. Whatever decodes must encode to something that
/// decodes to the same packet; what is incomplete must not become complete by being cut.
pub fn packets(data: &[u8]) {
    let Some((choice, mut stream)) = data.split_first() else {
        return;
    };
    let mut version = if choice & 1 == 0 { Version::V311 } else { Version::V5 };
    while let Ok(Some(frame)) = frame::split(stream, MAXIMUM_PACKET) {
        assert!(frame.length <= stream.len() && frame.length >= 2);
        assert_eq!(Ok(None), frame::split(&stream[..frame.length - 1], MAXIMUM_PACKET));
        let Ok(packet) = Packet::decode(frame, version) else {
            return;
        };
        if let Packet::Connect(connect) = &packet {
            version = connect.version;
        }
        survives(packet, version);
        stream = &stream[frame.length..];
    }
}

fn survives(packet: Packet<'_>, version: Version) {
    let mut bytes = Vec::new();
    packet
        .encode(version, &mut bytes)
        .expect("what was decoded can be encoded");
    let again = frame::split(&bytes, u32::MAX)
        .expect("own bytes are a frame")
        .expect("own bytes are whole");
    assert_eq!(bytes.len(), again.length);
    assert_eq!(Ok(packet), Packet::decode(again, version));
    let _text = format!("{packet:?}"); // reads every property and list entry
}

/// Lines of text: the first is a topic, the others are filters. The tree must find exactly the filters that match.
pub fn topics(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let topic = lines.next().unwrap_or_default();
    let filters: Vec<(usize, Filter<'_>)> = lines
        .enumerate()
        .filter_map(|(key, line)| Some((key, Filter::parse(line).ok()?)))
        .collect();
    let mut tree = SubscriptionTree::new();
    for (key, filter) in &filters {
        assert_eq!(None, tree.insert(filter, *key, ()));
    }
    if check_name(topic).is_ok() {
        let expected: Vec<usize> = filters
            .iter()
            .filter(|(_, filter)| matches(filter.path, topic))
            .map(|(key, _)| *key)
            .collect();
        assert_eq!(expected, found(&tree, topic));
    }
    for (key, filter) in &filters {
        assert_eq!(Some(()), tree.remove(filter, key));
    }
    assert!(found(&tree, topic).is_empty());
}

fn found(tree: &SubscriptionTree<usize, ()>, topic: &str) -> Vec<usize> {
    let mut keys = Vec::new();
    tree.visit(topic, |target| match target {
        Target::Plain(key, ()) => keys.push(*key),
        Target::Shared(group) => keys.extend(group.members().iter().map(|(key, ())| *key)),
    });
    keys.sort_unstable();
    keys
}

/// Pairs of bytes are steps of a session: an action and a packet id. A plain map keeps the truth.
pub fn window(data: &[u8]) {
    let Some((&size, steps)) = data.split_first() else {
        return;
    };
    let window = u16::from(size % 16);
    let mut outbound = Outbound::new(window);
    let mut truth = Truth::default();
    for step in steps.chunks_exact(2) {
        let packet_id = u16::from(step[1]);
        match step[0] % 7 {
            0 => truth.begun(QoS::AtLeastOnce, &outbound.begin(QoS::AtLeastOnce, truth.sent), window),
            1 => truth.begun(QoS::ExactlyOnce, &outbound.begin(QoS::ExactlyOnce, truth.sent), window),
            2 => truth.finished(packet_id, Waits::Puback, outbound.on_puback(packet_id).ok()),
            3 => truth.received(packet_id, outbound.on_pubrec(packet_id, false).ok()),
            4 => truth.received(packet_id, outbound.on_pubrec(packet_id, true).ok()),
            5 => truth.finished(packet_id, Waits::Pubcomp, outbound.on_pubcomp(packet_id).ok()),
            _ => truth.resent(outbound.resend()),
        }
        assert_eq!(truth.in_flight.len(), usize::from(outbound.in_flight()));
    }
    let order: Vec<u64> = truth.in_order().map(|(_, _, number)| number).collect();
    assert_eq!(order, outbound.clear());
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Waits {
    Puback,
    Pubrec,
    Pubcomp,
}

/// What is in flight: by packet id, what it waits for and its number in order of sending.
#[derive(Default)]
struct Truth {
    in_flight: BTreeMap<u16, (Waits, u64)>,
    sent: u64,
}

impl Truth {
    fn begun(&mut self, qos: QoS, result: &Result<u16, u64>, window: u16) {
        assert_eq!(self.in_flight.len() < usize::from(window), result.is_ok());
        let Ok(packet_id) = *result else { return };
        let waits = if qos == QoS::AtLeastOnce {
            Waits::Puback
        } else {
            Waits::Pubrec
        };
        assert_ne!(0, packet_id);
        assert_eq!(
            None,
            self.in_flight.insert(packet_id, (waits, self.sent)),
            "an id in use was given again"
        );
        self.sent += 1;
    }

    fn finished(&mut self, packet_id: u16, waits: Waits, result: Option<u64>) {
        let expected = self
            .in_flight
            .get(&packet_id)
            .filter(|(step, _)| *step == waits)
            .map(|(_, number)| *number);
        assert_eq!(expected, result);
        if result.is_some() {
            self.in_flight.remove(&packet_id);
        }
    }

    fn received(&mut self, packet_id: u16, result: Option<Pubrec<u64>>) {
        match result {
            Some(Pubrec::Refused(number)) => self.finished(packet_id, Waits::Pubrec, Some(number)),
            Some(Pubrec::Release) => {
                let entry = self
                    .in_flight
                    .get_mut(&packet_id)
                    .expect("only messages in flight are released");
                assert_ne!(Waits::Puback, entry.0);
                entry.0 = Waits::Pubcomp;
            }
            None => assert!(self
                .in_flight
                .get(&packet_id)
                .map_or(true, |(waits, _)| *waits == Waits::Puback)),
        }
    }

    fn resent<'s>(&self, resend: impl Iterator<Item = Resend<'s, u64>>) {
        let found: Vec<_> = resend
            .map(|item| match item {
                Resend::Publish {
                    packet_id,
                    qos: QoS::AtLeastOnce,
                    ..
                } => (packet_id, Waits::Puback),
                Resend::Publish { packet_id, .. } => (packet_id, Waits::Pubrec),
                Resend::Pubrel { packet_id } => (packet_id, Waits::Pubcomp),
            })
            .collect();
        let expected: Vec<_> = self
            .in_order()
            .map(|(packet_id, waits, _)| (packet_id, waits))
            .collect();
        assert_eq!(expected, found);
    }

    fn in_order(&self) -> impl Iterator<Item = (u16, Waits, u64)> {
        let mut all: Vec<_> = self
            .in_flight
            .iter()
            .map(|(&id, &(waits, number))| (id, waits, number))
            .collect();
        all.sort_unstable_by_key(|(_, _, number)| *number);
        all.into_iter()
    }
}
