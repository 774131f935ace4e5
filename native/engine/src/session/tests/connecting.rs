//! Handshake and subscriptions.

use super::*;

const SUBSCRIBER: &str = r#""subscriptions": [{"filter": "a/#", "qos": 1, "first_subscription": 40}]"#;

#[test]
fn a_device_connects_subscribes_and_is_ready() {
    let mut world = World::new(&format!(r#""keep_alive_s": 9, {SUBSCRIBER}"#));
    let connect = world.connect();
    assert!(
        connect[0].contains("\"me\"") && connect[0].contains("keep_alive: 9"),
        "{connect:?}"
    );
    world.now = 2 * SECOND;
    world.hears(&connack(false)).unwrap();
    assert!(world.said()[0].contains("a/#"));
    assert_eq!((world.context.totals.connected, world.context.totals.ready), (1, 0));
    world.now = 3 * SECOND;
    world.hears(&suback(&[1])).unwrap();
    assert_eq!(world.session.state, State::Ready);
    assert_eq!((world.context.totals.ready, world.context.dial.under_way), (1, 0));
    let row = [
        "device",
        "attempt",
        "tcp_ns",
        "tls_ns",
        "connack_ns",
        "suback_ns",
        "result",
        "session_present",
    ]
    .map(|name| world.column("connections", name).concat());
    assert_eq!(
        row,
        ["7", "0", "1000000001", "-", "2000000000", "3000000000", "ok", "false"]
    );
}

#[test]
fn a_device_without_filters_is_ready_with_connack() {
    let mut world = World::new(r#""version": "5""#);
    world.connect();
    world.hears(&connack(false)).unwrap();
    assert_eq!((world.session.state, world.said().len()), (State::Ready, 0));
}

#[test]
fn what_the_server_refuses_is_told_with_its_code() {
    let cases: [(&str, Packet<'_>, &str, Option<i32>); 4] = [
        (
            r#""version": "3.1.1""#,
            Packet::Connack(Connack {
                session_present: false,
                reason: ReasonCode::NotAuthorized,
                properties: Properties::NONE,
            }),
            "connect_refused",
            Some(5),
        ),
        (
            r#""version": "5""#,
            Packet::Connack(Connack {
                session_present: false,
                reason: ReasonCode::NotAuthorized,
                properties: Properties::NONE,
            }),
            "connect_refused",
            Some(0x87),
        ),
        (SUBSCRIBER, suback(&[0x80]), "subscribe_refused", Some(0x80)),
        (SUBSCRIBER, suback(&[1, 1]), "subscribe_refused", None),
    ];
    for (group, packet, kind, code) in cases {
        let mut world = World::new(group);
        world.connect();
        if matches!(packet, Packet::Suback(_)) {
            world.hears(&connack(false)).unwrap();
        }
        let fault = world.hears(&packet).unwrap_err();
        assert_eq!((fault.kind, fault.code), (kind, code), "{packet:?}");
        assert_eq!(fault.is_final, kind == "subscribe_refused");
    }
}

#[test]
fn a_suback_that_answers_another_request_is_a_violation() {
    for group in [
        SUBSCRIBER.to_owned(),
        format!(r#"{SUBSCRIBER}, "publish": {{"topic": "t"}}"#),
    ] {
        let mut world = World::new(&group);
        world.connect();
        world.hears(&connack(false)).unwrap();
        let other = Packet::Suback(Suback {
            packet_id: 0x7f7f,
            properties: Properties::NONE,
            codes: &[1],
        });
        let fault = world.hears(&other).unwrap_err();
        assert_eq!(
            (fault.kind, fault.detail.as_ref()),
            ("protocol_error", "SUBACK with another packet id than SUBSCRIBE")
        );
    }
}

#[test]
fn a_server_that_cannot_do_what_the_plan_publishes_is_refused_for_good() {
    let mut world = World::new(r#""version": "5", "publish": {"topic": "t", "qos": 2}"#);
    world.connect();
    let fault = world.hears_connack_with(Property::MaximumQos(1)).unwrap_err();
    assert!(fault.is_final && fault.detail.contains("QoS 1 at most"), "{fault:?}");
}

#[test]
fn packets_out_of_place_are_protocol_errors() {
    let early: [Packet<'_>; 4] = [
        message("a", QoS::AtMostOnce, 0, b"x"),
        suback(&[0]),
        Packet::Pingresp,
        ack(AckKind::Puback, 1, ReasonCode::Success),
    ];
    for packet in &early {
        let mut world = World::new(r#""publish": {"topic": "t"}"#);
        world.connect();
        assert_eq!(world.hears(packet).unwrap_err().kind, "protocol_error", "{packet:?}");
        assert_eq!(world.context.totals.received, 0);
    }
    let later = [
        connack(false),
        suback(&[0]),
        Packet::Pingreq,
        ack(AckKind::Puback, 1, ReasonCode::Success),
        ack(AckKind::Pubrec, 1, ReasonCode::Success),
        ack(AckKind::Pubcomp, 1, ReasonCode::Success),
    ];
    for packet in &later {
        for group in [r#""publish": {"topic": "t"}"#, r#""version": "5""#] {
            let mut world = World::new(group);
            world.connected(false);
            assert_eq!(world.hears(packet).unwrap_err().kind, "protocol_error", "{packet:?}");
        }
    }
    let mut world = World::new(r#""version": "5""#);
    world.connect();
    assert_eq!(world.receives(&[0xff, 0xff]).unwrap_err().kind, "protocol_error");
}

#[test]
fn an_attempt_that_takes_too_long_says_what_it_waited_for() {
    let mut world = World::new(SUBSCRIBER);
    let mut waited = Vec::new();
    world.session.begin_attempt(&mut world.context, 0);
    let fires = world.context.wheel.next();
    for state in [State::Connecting, State::Securing, State::Greeting, State::Subscribing] {
        world.session.state = state;
        waited.push(
            world
                .session
                .on_timer(&mut world.context, 30 * SECOND)
                .unwrap_err()
                .detail,
        );
    }
    assert_eq!(fires, Some(30 * SECOND));
    for (found, expected) in waited.iter().zip(["TCP", "TLS", "CONNACK", "SUBACK"]) {
        assert!(found.contains(expected) && found.contains("30 s"), "{found}");
    }
}

#[test]
fn the_server_may_shorten_the_keep_alive_and_silence_ends_the_connection() {
    let mut world = World::new(r#""version": "5", "keep_alive_s": 600"#);
    world.connect();
    world.hears_connack_with(Property::ServerKeepAlive(8)).unwrap();
    assert_eq!(world.context.wheel.next(), Some(SECOND + 7 * SECOND));
    world.session.on_timer(&mut world.context, 8 * SECOND).unwrap();
    assert_eq!(world.said(), ["Pingreq"]);
    world.hears(&Packet::Pingresp).unwrap();
    world.session.on_timer(&mut world.context, 16 * SECOND).unwrap();
    assert_eq!(world.said(), ["Pingreq"]);
    let fault = world.session.on_timer(&mut world.context, 24 * SECOND).unwrap_err();
    assert_eq!((fault.kind, fault.is_final), ("disconnected", false));
}

#[test]
fn the_largest_packet_is_announced_and_a_larger_one_refused_with_its_header() {
    let mut world = World::new(r#""version": "5""#);
    let connect = world.connect();
    assert!(connect[0].contains("MaximumPacketSize(16777216)"), "{connect:?}");
    world.hears(&connack(false)).unwrap();
    world.receives(&[0x30, 0xff, 0xff, 0xff]).unwrap();
    let fault = world.receives(&[0x07]).unwrap_err();
    assert_eq!(fault.kind, "protocol_error");
    assert!(fault.detail.contains("16777216"), "{}", fault.detail);
}
