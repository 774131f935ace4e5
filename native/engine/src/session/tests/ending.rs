//! Lost connections, new attempts, and the end of the run.

use super::*;

const AGAIN: &str = r#""reconnect": {"policy": "after", "delay_s": 2, "attempts": 2}"#;
const DURABLE: &str = r#""clean_start": false, "subscriptions": [{"filter": "a", "qos": 1, "first_subscription": 5}]"#;

fn closed(world: &World) -> Fault {
    Fault::closed(world.session.state)
}

#[test]
fn a_device_tries_again_as_often_as_planned_and_a_success_starts_over() {
    let mut world = World::new(AGAIN);
    for _ in 0..3 {
        world.connected(false);
        let fault = closed(&world);
        world.loses(fault);
        assert_eq!(
            (world.session.state, world.context.wheel.next()),
            (State::Waiting, Some(3 * SECOND))
        );
        world.context.wheel.pop(i64::MAX);
    }
    for state in [State::Waiting, State::Gone] {
        world.connect();
        let fault = closed(&world);
        world.loses(fault);
        assert_eq!(world.session.state, state);
    }
    assert_eq!((world.context.totals.failed, world.context.totals.disconnects), (1, 3));
    assert_eq!(
        world.column("events", "kind"),
        [
            "disconnected",
            "reconnected",
            "disconnected",
            "reconnected",
            "disconnected",
            "connect_failed",
            "connect_failed"
        ]
    );
    assert_eq!(world.column("connections", "attempt"), ["0", "1", "2", "3", "4"]);
    assert_eq!(world.column("connections", "result")[3..], ["closed", "closed"]);
}

#[test]
fn waiting_devices_queue_up_to_connect_and_late_timers_are_told_apart() {
    let mut world = World::new(AGAIN);
    world.connected(false);
    let before = world.session.generation;
    let fault = closed(&world);
    world.loses(fault);
    world.session.on_timer(&mut world.context, 3 * SECOND).unwrap();
    assert_eq!(world.context.dial.take(3 * SECOND), Some(0));
    world.connect();
    assert_ne!(world.session.generation, before);
}

#[test]
fn a_final_fault_and_the_end_of_the_run_leave_no_second_try() {
    for finishing in [false, true] {
        let mut world = World::new(AGAIN);
        world.connected(false);
        world.context.finishing = finishing;
        let fault = closed(&world);
        world.loses(Fault {
            is_final: !finishing,
            ..fault
        });
        assert_eq!(world.session.state, State::Gone);
    }
}

#[test]
fn after_a_reconnect_messages_in_flight_are_sent_again_in_order() {
    let mut world = World::new(r#""clean_start": false, "publish": {"topic": "t", "qos": 2}"#);
    world.connected(false);
    for _ in 0..3 {
        world.session.queue(&mut world.context, world.now);
    }
    let cohort = &world.crew.cohorts[0];
    assert!(world.session.prepare(cohort, &mut world.context, world.now));
    let all = world.context.outgoing.bytes.len();
    world.session.settle(&mut world.context, all, false, world.now);
    world.hears(&ack(AckKind::Pubrec, 2, ReasonCode::Success)).unwrap();
    let fault = closed(&world);
    world.loses(fault);
    world.connect();
    world.hears(&connack(true)).unwrap();
    assert_eq!(world.said(), ["\"t\" 0 id 1 again", "Pubrel 2", "\"t\" 2 id 3 again"]);
    // A server that has forgotten the session gets nothing again.
    let fault = closed(&world);
    world.loses(fault);
    world.connect();
    world.hears(&connack(false)).unwrap();
    assert!(world.said().is_empty());
    assert_eq!(world.context.totals.sent, 3);
}

#[test]
fn a_kept_subscription_is_in_force_over_a_loss_and_a_forgotten_one_is_not() {
    let mut world = World::new(DURABLE);
    world.connected(false);
    world.now = 2 * SECOND;
    let fault = closed(&world);
    world.loses(fault);
    world.now = 3 * SECOND;
    world.connect();
    world.hears(&connack(true)).unwrap();
    assert_eq!((world.session.state, world.said().len()), (State::Ready, 0));
    world.now = 4 * SECOND;
    let fault = closed(&world);
    world.loses(fault);
    world.now = 5 * SECOND;
    world.connected(false);
    assert_eq!(world.column("subscribed", "from_ns"), ["1000000000"]);
    assert_eq!(world.column("subscribed", "until_ns"), ["4000000000"]);
    let cohort = &world.crew.cohorts[0];
    world.session.close_books(cohort, &mut world.context, world.now);
    assert_eq!(world.column("subscribed", "from_ns"), ["1000000000", "5000000000"]);
    assert_eq!(world.column("subscribed", "until_ns"), ["4000000000", "-"]);
}

#[test]
fn a_session_of_an_earlier_run_is_subscribed_anew() {
    let mut world = World::new(DURABLE);
    world.connect();
    world.hears(&connack(true)).unwrap();
    assert_eq!(world.session.state, State::Subscribing);
}

#[test]
fn a_disconnect_of_the_server_is_told_with_its_reason() {
    let mut world = World::new(r#""version": "5""#);
    world.connected(false);
    let packet = telemark_mqtt::packet::Disconnect::new(ReasonCode::ServerShuttingDown);
    let fault = world.hears(&Packet::Disconnect(packet)).unwrap_err();
    assert_eq!((fault.kind, fault.code), ("disconnected", Some(0x8b)));
}

#[test]
fn at_the_end_a_device_says_goodbye_and_waits_for_the_server() {
    let mut world = World::new(r#""publish": {"topic": "t", "qos": 0}"#);
    world.connected(false);
    world.session.queue(&mut world.context, world.now);
    let cohort = &world.crew.cohorts[0];
    world.session.say_goodbye(cohort, &mut world.context, world.now);
    assert!(world.said()[0].contains("Disconnect"));
    world.session.await_end(&mut world.context);
    assert_eq!((world.session.state, world.context.totals.ready), (State::Leaving, 0));
    let fault = closed(&world);
    world.loses(fault);
    assert_eq!((world.session.state, world.context.totals.connected), (State::Gone, 0));
    assert!(world.column("events", "kind").is_empty(), "a planned end is no event");
    let cohort = &world.crew.cohorts[0];
    world.session.close_books(cohort, &mut world.context, world.now);
    assert_eq!(world.column("senders", "dropped"), ["1"]);
    assert_eq!(world.column("senders", "last_sequence"), ["-"]);
}

#[test]
fn a_device_that_is_still_connecting_goes_without_a_word() {
    let mut world = World::new(r#""version": "5""#);
    world.connect();
    let cohort = &world.crew.cohorts[0];
    world.session.say_goodbye(cohort, &mut world.context, world.now);
    assert_eq!((world.session.state, world.said().len()), (State::Gone, 0));
}
