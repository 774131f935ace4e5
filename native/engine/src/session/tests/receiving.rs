//! Messages from the server.

use proptest::prelude::*;

use super::*;

const TWO_FILTERS: &str = r#""subscriptions": [{"filter": "a/+", "qos": 2, "first_subscription": 10},
    {"filter": "b/#", "qos": 2, "first_subscription": 20}]"#;
const RECEIVER: &str =
    r#""version": "5", "receive_maximum": 2, "subscriptions": [{"filter": "a", "qos": 2, "first_subscription": 10}]"#;

#[test]
fn each_quality_of_service_is_answered_in_its_way() {
    let mut world = World::new(RECEIVER);
    world.connected(false);
    world.hears(&message("a", QoS::AtMostOnce, 0, b"x")).unwrap();
    world.hears(&message("a", QoS::AtLeastOnce, 5, b"x")).unwrap();
    world.hears(&message("a", QoS::ExactlyOnce, 6, b"x")).unwrap();
    world.hears(&ack(AckKind::Pubrel, 6, ReasonCode::Success)).unwrap();
    assert_eq!(world.said(), ["Puback 5", "Pubrec 6", "Pubcomp 6"]);
    assert_eq!(world.column("deliveries", "qos"), ["0", "1", "2"]);
    assert_eq!(world.context.totals.received, 3);
}

#[test]
fn a_repeated_qos_2_message_is_answered_and_not_counted_again() {
    let mut world = World::new(RECEIVER);
    world.connected(false);
    world.hears(&message("a", QoS::ExactlyOnce, 6, b"x")).unwrap();
    world.hears(&message("a", QoS::ExactlyOnce, 6, b"x")).unwrap();
    assert_eq!(world.said(), ["Pubrec 6", "Pubrec 6"]);
    world.hears(&ack(AckKind::Pubrel, 6, ReasonCode::Success)).unwrap();
    world.hears(&message("a", QoS::ExactlyOnce, 6, b"x")).unwrap();
    assert_eq!(world.context.totals.received, 2);
}

#[test]
fn more_than_the_receive_maximum_is_a_protocol_error_that_leaves_nothing_to_write() {
    let mut world = World::new(RECEIVER);
    world.connected(false);
    world.hears(&message("a", QoS::ExactlyOnce, 1, b"x")).unwrap();
    world.hears(&message("a", QoS::ExactlyOnce, 2, b"x")).unwrap();
    let fault = world.hears(&message("a", QoS::ExactlyOnce, 3, b"x")).unwrap_err();
    assert_eq!(fault.kind, "protocol_error");
    world.loses(fault);
    // The buffer is shared: what stayed in it would reach another device's server.
    assert!(world.context.out.is_empty());
}

#[test]
fn a_delivery_says_whose_it_is_and_what_is_special_about_it() {
    let mut world = World::new(TWO_FILTERS);
    world.connected(false);
    let stamp = Stamp {
        stream: 9,
        sequence: 8,
        intended_ns: 70,
        sent_ns: 60,
    };
    let payload = stamp.encode();
    let messages = [("a/x", false, false), ("b/x/y", true, false), ("c", true, true)];
    for (topic, retain, dup) in messages {
        let qos = if dup { QoS::AtLeastOnce } else { QoS::AtMostOnce };
        let packet = Publish {
            topic,
            retain,
            dup,
            qos,
            packet_id: u16::from(dup),
            payload: &payload,
            ..Publish::default()
        };
        world.hears(&Packet::Publish(packet)).unwrap();
    }
    world.hears(&message("a/x", QoS::AtMostOnce, 0, b"not ours")).unwrap();
    assert_eq!(world.column("deliveries", "subscription"), ["10", "20", "-1", "10"]);
    assert_eq!(world.column("deliveries", "flags"), ["0", "2", "3", "4"]);
    assert_eq!(world.column("deliveries", "sequence"), ["8", "8", "8", "0"]);
    assert_eq!(world.column("deliveries", "size"), ["32", "32", "32", "8"]);
}

#[test]
fn messages_of_one_read_keep_their_order() {
    let mut world = World::new(RECEIVER);
    world.connected(false);
    let mut bytes = Vec::new();
    for _ in 0..3 {
        let packet = message("a", QoS::AtMostOnce, 0, b"x");
        packet.encode(world.cohort().version, &mut bytes).unwrap();
    }
    world.receives(&bytes).unwrap();
    assert_eq!(
        world.column("deliveries", "received_ns"),
        ["1000000000", "1000000001", "1000000002"]
    );
}

#[test]
fn a_large_message_in_many_pieces_is_copied_once() {
    let mut world = World::new(RECEIVER);
    world.connected(false);
    let payload = vec![0; 4 << 20];
    let mut bytes = Vec::new();
    let packet = message("a", QoS::AtMostOnce, 0, &payload);
    packet.encode(world.cohort().version, &mut bytes).unwrap();
    let mut moves = 0;
    let mut place = 0;
    for piece in bytes.chunks(1_000) {
        world.receives(piece).unwrap();
        let at = world
            .session
            .backlog
            .as_ref()
            .map_or(0, |backlog| backlog.unread.as_ptr() as usize);
        moves += usize::from(at != place);
        place = at;
    }
    assert_eq!(world.context.totals.received, 1);
    assert!(
        moves < 40,
        "the buffer was made anew {moves} times for {} pieces",
        bytes.len() / 1_000
    );
    assert!(world.session.backlog.is_none());
}

proptest! {
    #[test]
    fn it_does_not_matter_how_the_stream_is_cut(cuts in proptest::collection::vec(1usize..60, 1..200)) {
        let packets = [
            message("a/1", QoS::ExactlyOnce, 1, b"one"),
            message("b/2", QoS::AtLeastOnce, 2, &[7; 300]),
            ack(AckKind::Pubrel, 1, ReasonCode::Success),
            Packet::Pingresp,
            message("a/3", QoS::AtMostOnce, 0, b""),
        ];
        let mut whole = World::new(TWO_FILTERS);
        whole.connected(false);
        let mut bytes = Vec::new();
        for packet in &packets {
            packet.encode(whole.cohort().version, &mut bytes).unwrap();
        }
        whole.receives(&bytes).unwrap();
        let mut pieces = World::new(TWO_FILTERS);
        pieces.connected(false);
        let mut rest = bytes.as_slice();
        for cut in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.receives(piece).unwrap();
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole.said(), pieces.said());
        for name in ["subscription", "qos", "size"] {
            prop_assert_eq!(whole.column("deliveries", name), pieces.column("deliveries", name));
        }
    }
}
