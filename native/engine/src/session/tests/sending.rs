//! Messages to the server.

use super::*;

/// A device that publishes to topic "t" with these other fields, connected.
fn publisher(version: &str, publish: &str) -> World {
    let mut world = World::new(&format!(
        r#""version": "{version}", "publish": {{"topic": "t", {publish}}}"#
    ));
    world.connected(false);
    world
}

impl World {
    /// So many messages are due now.
    fn due(&mut self, messages: usize) {
        for _ in 0..messages {
            self.session.queue(&mut self.context, self.now);
        }
    }

    /// The session's turn to send; the connection takes as many bytes as `room` says of those offered.
    fn sends(&mut self, is_tls: bool, room: impl Fn(usize) -> usize) -> Vec<u8> {
        self.session.listed = false;
        self.context.due.clear();
        let cohort = &self.crew.cohorts[0];
        if !self.session.prepare(cohort, &mut self.context, self.now) {
            return Vec::new();
        }
        let mut bytes = self.context.outgoing.bytes.clone();
        bytes.truncate(room(bytes.len()));
        self.session.settle(&mut self.context, bytes.len(), is_tls, self.now);
        bytes
    }

    fn sends_all(&mut self) -> Vec<String> {
        let bytes = self.sends(false, |all| all);
        self.packets(&bytes)
    }

    /// The connection takes this many of the bytes that wait.
    fn takes_unsent(&mut self, count: usize) -> Vec<u8> {
        let bytes = self.session.unsent()[..count].to_vec();
        self.session.on_unsent_written(&mut self.context, count, self.now);
        bytes
    }

    fn acks(&mut self, kind: AckKind, id: u16) {
        self.hears(&ack(kind, id, ReasonCode::Success)).unwrap();
    }
}

#[test]
fn due_messages_of_a_device_go_out_in_one_write() {
    let mut world = publisher("3.1.1", r#""qos": 0"#);
    world.due(3);
    assert_eq!(world.context.due, [0]);
    assert_eq!(world.sends_all(), ["\"t\" 0 id 0", "\"t\" 1 id 0", "\"t\" 2 id 0"]);
    assert_eq!((world.context.totals.intended, world.context.totals.sent), (3, 3));
    assert!(world.context.due.is_empty() && world.context.arena.is_empty());
}

#[test]
fn what_the_socket_did_not_touch_is_taken_back_and_what_it_cut_is_kept() {
    let mut world = publisher("3.1.1", r#""qos": 1"#);
    world.due(3);
    let size = 2 + 2 + 1 + 2 + 32;
    let mut bytes = world.sends(false, |_| size + 10);
    assert_eq!((world.context.totals.sent, world.context.unsent), (1, 1));
    assert!(world.session.is_blocked());
    assert!(
        world.sends_all().is_empty(),
        "nothing is sent past the rest of a message"
    );
    bytes.extend(world.takes_unsent(20));
    assert_eq!(world.context.totals.sent, 1);
    bytes.extend(world.takes_unsent(9));
    assert_eq!(world.packets(&bytes), ["\"t\" 0 id 1", "\"t\" 1 id 2"]);
    assert_eq!((world.context.totals.sent, world.context.unsent), (2, 0));
    // The third has the number it was given first, and an id that is free.
    assert_eq!(world.context.due, [0]);
    assert_eq!(world.sends_all(), ["\"t\" 2 id 3"]);
}

#[test]
fn what_was_encrypted_cannot_be_taken_back() {
    let mut world = publisher("3.1.1", r#""qos": 0"#);
    world.due(2);
    let bytes = world.sends(true, |_| 0);
    assert!(bytes.is_empty() && world.context.arena.is_empty());
    assert_eq!(world.context.unsent, 2);
    let bytes = world.takes_unsent(world.session.unsent().len());
    assert_eq!(world.packets(&bytes), ["\"t\" 0 id 0", "\"t\" 1 id 0"]);
    assert_eq!(world.context.totals.sent, 2);
}

#[test]
fn a_message_cut_in_two_counts_as_sent_when_the_connection_ends() {
    let mut world = publisher("3.1.1", r#""qos": 0"#);
    world.due(2);
    world.sends(false, |_| 5);
    world.loses(Fault::closed(State::Ready));
    assert_eq!((world.context.totals.sent, world.context.unsent), (1, 0));
    assert!(!world.session.is_blocked());
}

#[test]
fn the_window_is_the_smaller_of_ours_and_the_servers() {
    for (own, maximum, expected) in [(1, 9, 1), (9, 2, 2)] {
        let mut world = World::new(&format!(
            r#""version": "5", "publish": {{"topic": "t", "qos": 1, "in_flight": {own}}}"#
        ));
        world.connect();
        world.hears_connack_with(Property::ReceiveMaximum(maximum)).unwrap();
        world.due(3);
        assert_eq!(world.sends_all().len(), expected);
        world.acks(AckKind::Puback, 1);
        assert_eq!(world.context.due, [0], "an acknowledgement makes room");
        assert_eq!(world.sends_all().len(), 1);
    }
}

#[test]
fn every_step_of_an_acknowledgement_is_a_row() {
    let mut world = publisher("5", r#""qos": 2"#);
    world.due(1);
    world.sends_all();
    world.now += 10;
    world.acks(AckKind::Pubrec, 1);
    assert_eq!(world.said(), ["Pubrel 1"]);
    world.now += 10;
    world.acks(AckKind::Pubcomp, 1);
    assert_eq!(world.column("acks", "step"), ["2", "3"]);
    assert_eq!(world.column("acks", "sent_ns"), ["1000000000", "1000000010"]);
    assert_eq!(world.column("acks", "acked_ns"), ["1000000010", "1000000020"]);
    assert_eq!(world.context.totals.acked, 1);
}

#[test]
fn a_refused_message_is_an_event_and_not_acknowledged() {
    for (qos, kind) in [(1, AckKind::Puback), (2, AckKind::Pubrec)] {
        let mut world = publisher("5", &format!(r#""qos": {qos}"#));
        world.due(1);
        world.sends_all();
        world.hears(&ack(kind, 1, ReasonCode::QuotaExceeded)).unwrap();
        assert_eq!(world.column("events", "kind"), ["publish_refused"]);
        assert_eq!(world.column("acks", "reason"), ["151"]);
        assert_eq!((world.context.totals.acked, world.said().len()), (0, 0));
    }
}

#[test]
fn an_alias_is_introduced_once_in_a_connection() {
    let mut world = World::new(r#""version": "5", "publish": {"topic": "t", "qos": 0, "topic_alias": true}"#);
    for _ in 0..2 {
        world.connect();
        world.hears_connack_with(Property::TopicAliasMaximum(1)).unwrap();
        world.due(2);
        let topics: Vec<String> = world.sends_all().iter().map(|packet| packet[..3].to_owned()).collect();
        assert_eq!(topics, ["\"t\"", "\"\" "]);
        world.loses(Fault::closed(State::Ready));
    }
}

#[test]
fn messages_that_wait_too_long_are_dropped() {
    let mut world = publisher("3.1.1", r#""qos": 1, "in_flight": 1"#);
    world.due(3);
    world.sends_all();
    assert!(world.sends_all().is_empty());
    assert_eq!(world.context.waiting, [0]);
    assert!(world.session.sweep(&mut world.context, world.now + SECOND));
    assert!(!world.session.sweep(&mut world.context, world.now + SECOND + 1));
    assert_eq!((world.context.totals.dropped, world.context.totals.sent), (2, 1));
}
