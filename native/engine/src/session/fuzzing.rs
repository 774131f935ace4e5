//! A session in the hands of a server, a network and a clock that do anything at all.
//!
//! The bytes are a script: each step is chosen by a byte and takes its details from those that follow.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use telemark_mqtt::packet::{Ack, AckKind, Auth, Connack, Disconnect, Publish, Suback};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::reason::ReasonCode;
use telemark_mqtt::{frame, Packet, Properties, QoS, Stamp};

use super::{Context, Fault, Session, State};
use crate::cohort::{Cohort, Crew};
use crate::hub::Hub;
use crate::plan::EnginePlan;

const SECOND: i64 = 1_000_000_000;
const GROUPS: [&str; 5] = [
    r#""subscriptions": [{"filter": "a", "qos": 2}], "publish": {"topic": "t", "qos": 0}"#,
    r#""version": "5", "publish": {"topic": "t/{sequence}", "qos": 1, "in_flight": 3, "topic_alias": true, "size_max": 90}"#,
    r#""version": "5", "session_expiry_s": 9, "receive_maximum": 2, "keep_alive_s": 5,
        "subscriptions": [{"filter": "a", "qos": 2}, {"filter": "b/#", "qos": 1}], "publish": {"topic": "t", "qos": 2}"#,
    r#""clean_start": false, "publish": {"topic": "t", "qos": 2}, "subscriptions": [{"filter": "+", "qos": 1}]"#,
    r#""version": "5", "keep_alive_s": 0, "publish": {"topic": "t", "qos": 1, "size": 9000}"#,
];

/// Plays one script.
pub fn run(script: &[u8]) {
    let mut script = Script(script);
    let crew = &crews()[script.below(GROUPS.len())];
    let mut play = Play::new(crew, script.flag());
    while !script.0.is_empty() {
        play.step(&mut script);
        play.check();
    }
    play.end();
}

fn crews() -> &'static [Crew] {
    static CREWS: OnceLock<Vec<Crew>> = OnceLock::new();
    CREWS.get_or_init(|| {
        let crew = |group: &&str| {
            let plan = format!(
                r#"{{"run": "fuzz", "process": 0, "seed": 1, "max_packet_size": 20000,
                    "endpoints": [{{"name": "plain", "host": "127.0.0.1", "port": 1, "tls": null}}],
                    "groups": [{{"name": "devices", "count": 1, "client_id": "me", {group},
                        "reconnect": {{"policy": "after", "delay_s": 1, "attempts": 5}}}}]}}"#
            );
            let plan = EnginePlan::read(&plan).expect("the plan of a fuzz target is valid");
            Crew::new(plan, &HashMap::new()).expect("the plan of a fuzz target needs nothing")
        };
        GROUPS.iter().map(crew).collect()
    })
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

    fn bytes(&mut self) -> &'a [u8] {
        let length = self.below(60).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }
}

struct Play {
    crew: &'static Crew,
    is_tls: bool,
    hub: Arc<Hub>,
    context: Context,
    session: Session,
    now: i64,
    /// Everything the connection has taken, of the present connection.
    taken: Vec<u8>,
}

impl Play {
    fn new(crew: &'static Crew, is_tls: bool) -> Play {
        let hub = Arc::new(Hub::new(0, 1, Vec::new()));
        Play {
            crew,
            is_tls,
            context: Context::new(&crew.plan, Arc::clone(&hub), 0, SECOND),
            session: Session::new(&crew.cohorts[0], 0, 0, 0),
            hub,
            now: SECOND,
            taken: Vec::new(),
        }
    }

    fn cohort(&self) -> &'static Cohort {
        &self.crew.cohorts[0]
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.below(10) {
            0 => self.connect(),
            1..=4 => self.hear(script),
            5 => {
                for _ in 0..script.below(5) {
                    self.session.queue(&mut self.context, self.now);
                }
            }
            6 => self.send(script),
            7 => self.take_unsent(script),
            8 => self.wait(script),
            _ => {
                if script.below(4) == 0 && self.is_connected() {
                    self.lose(Fault::closed(self.session.state));
                }
            }
        }
    }

    fn is_connected(&self) -> bool {
        !matches!(self.session.state, State::Waiting | State::Gone)
    }

    fn connect(&mut self) {
        if self.session.state != State::Waiting {
            return;
        }
        self.taken.clear();
        self.session.begin_attempt(&mut self.context, self.now);
        self.session.on_tcp(self.now);
        let result = self.session.greet(self.cohort(), &mut self.context);
        self.follow(result, usize::MAX);
    }

    /// The server sends something, in two pieces, perhaps damaged.
    fn hear(&mut self, script: &mut Script<'_>) {
        if !matches!(
            self.session.state,
            State::Greeting | State::Subscribing | State::Ready | State::Leaving
        ) {
            return;
        }
        let mut bytes = self.packet(script);
        if script.below(8) == 0 && !bytes.is_empty() {
            let at = script.below(bytes.len());
            bytes[at] = script.byte();
        }
        let (first, second) = bytes.split_at(script.below(bytes.len() + 1));
        let room = script.below(300);
        for piece in [first, second] {
            if self.is_connected() {
                let result = self.session.receive(self.cohort(), &mut self.context, piece, self.now);
                self.follow(result, room);
            }
        }
    }

    fn packet(&mut self, script: &mut Script<'_>) -> Vec<u8> {
        let mut properties = PropertyBuffer::new();
        let _ = match script.below(8) {
            0 => properties.push(Property::ReceiveMaximum(1 + script.below(3) as u16)),
            1 => properties.push(Property::TopicAliasMaximum(script.below(3) as u16)),
            2 => properties.push(Property::ServerKeepAlive(script.below(9) as u16)),
            3 => properties.push(Property::MaximumPacketSize(40 + script.below(90) as u32)),
            _ => Ok(()),
        };
        let reason = ReasonCode::from_code(script.byte()).unwrap_or(ReasonCode::Success);
        let packet_id = 1 + script.below(6) as u16;
        let codes = [script.byte() & 0x81, script.byte() & 3];
        let stamp = Stamp {
            stream: 1,
            sequence: 2,
            intended_ns: 3,
            sent_ns: 4,
        };
        let payload = if script.flag() {
            stamp.encode().to_vec()
        } else {
            script.bytes().to_vec()
        };
        let qos = QoS::from_bits(script.byte() & 3).unwrap_or_default();
        let kinds = [AckKind::Puback, AckKind::Pubrec, AckKind::Pubrel, AckKind::Pubcomp];
        let packet = match script.below(12) {
            0..=2 => Packet::Connack(Connack {
                session_present: script.flag() && !reason.is_error(),
                reason: if script.below(4) == 0 {
                    reason
                } else {
                    ReasonCode::Success
                },
                properties: properties.as_properties(),
            }),
            3 => Packet::Suback(Suback {
                packet_id,
                properties: Properties::NONE,
                codes: &codes[..1 + script.below(2)],
            }),
            4..=6 => Packet::Publish(Publish {
                qos,
                packet_id: if qos == QoS::AtMostOnce { 0 } else { packet_id },
                retain: script.flag(),
                dup: script.flag() && qos != QoS::AtMostOnce,
                topic: ["a", "b/c", "zz"][script.below(3)],
                payload: &payload,
                ..Publish::default()
            }),
            7..=9 => Packet::Ack(Ack {
                reason: if script.below(4) == 0 {
                    reason
                } else {
                    ReasonCode::Success
                },
                ..Ack::new(kinds[script.below(4)], packet_id)
            }),
            10 => match script.below(4) {
                0 => Packet::Disconnect(Disconnect::new(reason)),
                1 => Packet::Auth(Auth::default()),
                2 => Packet::Pingreq,
                _ => Packet::Pingresp,
            },
            _ => return payload,
        };
        let mut bytes = Vec::new();
        // What the version cannot say is not sent.
        let _ = packet.encode(self.cohort().version, &mut bytes);
        bytes
    }

    fn send(&mut self, script: &mut Script<'_>) {
        if !std::mem::take(&mut self.session.listed) {
            return;
        }
        self.context.due.clear();
        if self.session.prepare(self.cohort(), &mut self.context, self.now) {
            let offered = self.context.outgoing.bytes.len();
            let written = if script.flag() {
                offered
            } else {
                script.below(200).min(offered)
            };
            self.taken.extend_from_slice(&self.context.outgoing.bytes[..written]);
            self.session.settle(&mut self.context, written, self.is_tls, self.now);
        }
    }

    fn take_unsent(&mut self, script: &mut Script<'_>) {
        if self.session.is_blocked() {
            let offered = self.session.unsent().len();
            let count = if script.flag() {
                offered
            } else {
                script.below(200).min(offered)
            };
            self.taken.extend_from_slice(&self.session.unsent()[..count]);
            self.session.on_unsent_written(&mut self.context, count, self.now);
        }
    }

    fn wait(&mut self, script: &mut Script<'_>) {
        self.now += script.below(40) as i64 * SECOND / 4;
        while let Some(timers) = self.context.wheel.pop(self.now) {
            for timer in timers {
                if timer.generation == self.session.generation {
                    let result = self.session.on_timer(&mut self.context, self.now);
                    self.follow(result, usize::MAX);
                }
            }
        }
        if self.session.sweep(&mut self.context, self.now) {
            self.context.waiting = vec![0];
        } else {
            self.context.waiting.clear();
        }
    }

    /// Writes what the session said, as far as there is room, or ends the connection.
    fn follow(&mut self, result: Result<(), Fault>, room: usize) {
        if let Err(fault) = result {
            return self.lose(fault);
        }
        let said = std::mem::take(&mut self.context.out);
        if self.session.is_blocked() {
            return self.session.keep(&said);
        }
        let (now, later) = said.split_at(room.min(said.len()));
        self.taken.extend_from_slice(now);
        if !later.is_empty() {
            self.session.keep(later);
        }
    }

    fn lose(&mut self, fault: Fault) {
        self.check_taken();
        self.session.lose(self.cohort(), &mut self.context, fault, self.now);
        assert!(self.context.out.is_empty() && !self.session.is_blocked());
    }

    /// The connection has seen whole packets of a client, and perhaps the beginning of one more.
    fn check_taken(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let mut rest = taken.as_slice();
        while let Some(frame) = frame::split(rest, u32::MAX).expect("a client sends frames") {
            let packet = Packet::decode(frame, self.cohort().version).expect("a client sends MQTT");
            let is_clients = !matches!(packet, Packet::Connack(_) | Packet::Suback(_) | Packet::Pingresp);
            assert!(is_clients, "{packet:?}");
            rest = &rest[frame.length..];
        }
    }

    fn check(&self) {
        let (totals, state) = (&self.context.totals, self.session.state);
        let is_connected = matches!(state, State::Subscribing | State::Ready | State::Leaving);
        assert_eq!(totals.connected, i64::from(is_connected), "{state:?}");
        assert_eq!(totals.ready, i64::from(state == State::Ready));
        assert!(self.context.dial.under_way <= 1);
        assert!(self.session.is_blocked() || self.context.unsent == 0);
        assert!(self.context.out.is_empty());
    }

    /// The run ends: every message that was due is sent or dropped, every delivery is a row.
    fn end(mut self) {
        self.context.finishing = true;
        self.session.say_goodbye(self.cohort(), &mut self.context, self.now);
        self.follow(Ok(()), usize::MAX);
        self.session.await_end(&mut self.context);
        if self.is_connected() {
            self.lose(Fault::closed(self.session.state));
        }
        self.session.close_books(self.cohort(), &mut self.context, self.now);
        let totals = &self.context.totals;
        assert_eq!(totals.intended, totals.sent + totals.dropped);
        assert_eq!((totals.connected, totals.ready, self.context.unsent), (0, 0, 0));
        assert!(self.context.arena.is_empty());
        self.context.recorder.flush();
        let batches = self.hub.drain(Duration::ZERO);
        let deliveries = batches.iter().filter(|batch| batch.table == "deliveries");
        let rows: usize = deliveries.map(|batch| batch.rows).sum();
        assert_eq!(rows as i64, self.context.totals.received);
    }
}
