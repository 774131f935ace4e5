//! Any packet that can be written returns from its bytes unchanged.
#![allow(clippy::unwrap_used)] // a test may

mod strategies;

use proptest::collection::vec;
use proptest::prelude::*;
use strategies::{name, own_properties, packet_id, payload, properties, qos, text, version, Place};
use telemark_mqtt::packet::{
    Ack, AckKind, Auth, Connack, Connect, Disconnect, List, Publish, PublishTemplate, RetainHandling, Suback,
    Subscribe, SubscribeEntry, Unsuback, Unsubscribe, Will,
};
use telemark_mqtt::{frame, Packet, PacketType, Properties, PropertyBuffer, QoS, ReasonCode, Version};

fn assert_returns(packet: Packet<'_>, version: Version) {
    let mut bytes = Vec::new();
    packet.encode(version, &mut bytes).unwrap();
    let frame = frame::split(&bytes, u32::MAX).unwrap().unwrap();
    assert_eq!(bytes.len(), frame.length);
    assert_eq!(Ok(packet), Packet::decode(frame, version));
    for cut in 0..bytes.len() {
        assert_eq!(
            Ok(None),
            frame::split(&bytes[..cut], u32::MAX),
            "a part of a packet is not a packet"
        );
    }
}

/// Properties where the version has them.
fn fit(buffer: &PropertyBuffer, version: Version) -> Properties<'_> {
    match version {
        Version::V5 => buffer.as_properties(),
        Version::V311 => Properties::NONE,
    }
}

fn reason(kind: PacketType) -> impl Strategy<Value = ReasonCode> {
    let all = (0..=u8::MAX).filter_map(ReasonCode::from_code);
    prop::sample::select(all.filter(|reason| reason.is_allowed_in(kind)).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn publish_returns(
        version in version(), qos in qos(), (dup, retain) in any::<(bool, bool)>(), topic in name(), id in packet_id(),
        buffer in properties(Place::Publish), payload in payload(),
    ) {
        let acked = qos != QoS::AtMostOnce;
        let message = Publish {
            dup: dup && acked, qos, retain, topic: &topic, packet_id: if acked { id } else { 0 },
            properties: fit(&buffer, version), payload: &payload,
        };
        assert_returns(Packet::Publish(message), version);
        let template = PublishTemplate::new(&message, version).unwrap();
        let (mut plain, mut filled) = (Vec::new(), Vec::new());
        message.encode(version, &mut plain).unwrap();
        template.append(&mut filled, message.packet_id, message.dup, &payload).unwrap();
        assert_eq!(plain, filled);
    }

    #[test]
    fn connect_returns(
        version in version(), clean_start in any::<bool>(), keep_alive in any::<u16>(), client_id in text(),
        own in properties(Place::Connect), of_will in properties(Place::Will),
        will in prop::option::of((qos(), any::<bool>(), name(), payload())),
        username in prop::option::of(text()), password in prop::option::of(payload()),
    ) {
        let will = will.as_ref().map(|(qos, retain, topic, payload)| Will {
            qos: *qos, retain: *retain, properties: fit(&of_will, version), topic, payload,
        });
        let may_have_password = version == Version::V5 || username.is_some();
        assert_returns(Packet::Connect(Connect {
            version, clean_start, keep_alive, properties: fit(&own, version), client_id: &client_id, will,
            username: username.as_deref(), password: password.as_deref().filter(|_| may_have_password),
        }), version);
    }

    #[test]
    fn connack_returns(session_present in any::<bool>(), reason in reason(PacketType::Connack), buffer in properties(Place::Connack)) {
        let packet = Connack { session_present, reason, properties: buffer.as_properties() };
        assert_returns(Packet::Connack(packet), Version::V5);
        let old = ReasonCode::from_connack_311(reason.to_connack_311()).unwrap();
        assert_returns(Packet::Connack(Connack { session_present, reason: old, properties: Properties::NONE }), Version::V311);
    }

    #[test]
    fn acks_return(id in packet_id(), publish in reason(PacketType::Puback), release in reason(PacketType::Pubrel), buffer in properties(Place::Ack)) {
        for (kind, reason) in [
            (AckKind::Puback, publish), (AckKind::Pubrec, publish), (AckKind::Pubrel, release), (AckKind::Pubcomp, release),
        ] {
            assert_returns(Packet::Ack(Ack { kind, packet_id: id, reason, properties: buffer.as_properties() }), Version::V5);
            assert_returns(Packet::Ack(Ack::new(kind, id)), Version::V311);
        }
    }

    #[test]
    fn subscribe_and_unsubscribe_return(
        version in version(), id in packet_id(), subscribing in properties(Place::Subscribe), leaving in properties(Place::Unsubscribe),
        filters in vec((text(), qos(), any::<(bool, bool)>(), 0_usize..3), 1..5),
    ) {
        let entries: Vec<_> = filters.iter().map(|(filter, qos, (no_local, retain_as_published), handling)| {
            let plain = SubscribeEntry::new(filter, *qos);
            let retain_handling = [RetainHandling::Always, RetainHandling::OnlyNew, RetainHandling::Never][*handling];
            match version {
                Version::V311 => plain,
                Version::V5 => SubscribeEntry {
                    no_local: *no_local, retain_as_published: *retain_as_published, retain_handling, ..plain
                },
            }
        }).collect();
        let subscribe = Subscribe { packet_id: id, properties: fit(&subscribing, version), entries: List::given(&entries) };
        assert_returns(Packet::Subscribe(subscribe), version);
        let names: Vec<&str> = filters.iter().map(|(filter, ..)| filter.as_str()).collect();
        let unsubscribe = Unsubscribe { packet_id: id, properties: fit(&leaving, version), filters: List::given(&names) };
        assert_returns(Packet::Unsubscribe(unsubscribe), version);
    }

    #[test]
    fn suback_and_unsuback_return(
        id in packet_id(), granted in vec(reason(PacketType::Suback), 1..5), left in vec(reason(PacketType::Unsuback), 1..5),
        subscribed in properties(Place::Suback), unsubscribed in properties(Place::Unsuback),
    ) {
        let codes: Vec<u8> = granted.iter().map(|reason| reason.code()).collect();
        let old: Vec<u8> = granted.iter().map(|reason| reason.to_suback_311()).collect();
        assert_returns(Packet::Suback(Suback { packet_id: id, properties: subscribed.as_properties(), codes: &codes }), Version::V5);
        assert_returns(Packet::Suback(Suback { packet_id: id, properties: Properties::NONE, codes: &old }), Version::V311);
        let codes: Vec<u8> = left.iter().map(|reason| reason.code()).collect();
        assert_returns(Packet::Unsuback(Unsuback { packet_id: id, properties: unsubscribed.as_properties(), codes: &codes }), Version::V5);
        assert_returns(Packet::Unsuback(Unsuback { packet_id: id, properties: Properties::NONE, codes: &[] }), Version::V311);
    }

    #[test]
    fn disconnect_and_auth_return(
        why in reason(PacketType::Disconnect), step in reason(PacketType::Auth),
        leaving in properties(Place::Disconnect), proving in properties(Place::Auth),
    ) {
        assert_returns(Packet::Disconnect(Disconnect { reason: why, properties: leaving.as_properties() }), Version::V5);
        assert_returns(Packet::Disconnect(Disconnect::default()), Version::V311);
        assert_returns(Packet::Auth(Auth { reason: step, properties: proving.as_properties() }), Version::V5);
    }

    #[test]
    fn properties_return_in_order(owned in own_properties(Place::Publish)) {
        let mut buffer = PropertyBuffer::new();
        owned.iter().for_each(|property| buffer.push(property.borrowed()).unwrap());
        let expected: Vec<_> = owned.iter().map(|property| property.borrowed()).collect();
        assert_eq!(expected, buffer.as_properties().iter().collect::<Vec<_>>());
    }
}
