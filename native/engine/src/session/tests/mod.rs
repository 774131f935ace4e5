//! Conversations with a session that has no socket and whose time is the test's.

mod connecting;
mod ending;
mod receiving;
mod sending;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use telemark_mqtt::packet::{Ack, AckKind, Connack, Publish, Suback};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::reason::ReasonCode;
use telemark_mqtt::{frame, Packet, Properties, QoS, Stamp};

use super::{Context, Fault, Session, State};
use crate::cohort::{Cohort, Crew};
use crate::hub::Hub;
use crate::plan::EnginePlan;
use crate::records::{Batch, Values};

const SECOND: i64 = 1_000_000_000;

/// A session with everything it needs, and the server's part played by the test.
pub(super) struct World {
    crew: Crew,
    hub: Arc<Hub>,
    context: Context,
    session: Session,
    now: i64,
    batches: Vec<Batch>,
}

impl World {
    /// The only device of a group with these fields.
    pub(super) fn new(group: &str) -> World {
        let plan = format!(
            r#"{{"run": "test", "process": 3, "seed": 1,
                "endpoints": [{{"name": "plain", "host": "127.0.0.1", "port": 1, "tls": null}}],
                "groups": [{{"name": "devices", "count": 1, "first_device": 7, "client_id": "me", {group}}}]}}"#
        );
        let crew = Crew::new(EnginePlan::read(&plan).unwrap(), &HashMap::new()).unwrap();
        let hub = Arc::new(Hub::new(3, 1, Vec::new()));
        World {
            context: Context::new(&crew.plan, Arc::clone(&hub), 0, SECOND),
            session: Session::new(&crew.cohorts[0], 0, 0, 0),
            crew,
            hub,
            now: SECOND,
            batches: Vec::new(),
        }
    }

    fn cohort(&self) -> &Cohort {
        &self.crew.cohorts[0]
    }

    /// Begins an attempt and sends CONNECT.
    fn connect(&mut self) -> Vec<String> {
        self.session.begin_attempt(&mut self.context, self.now);
        self.session.on_tcp(self.now + 1);
        let cohort = &self.crew.cohorts[0];
        self.session.greet(cohort, &mut self.context).unwrap();
        self.said()
    }

    /// Connects, is accepted, and subscribes if it has to; the server remembers it if `present`.
    fn connected(&mut self, present: bool) {
        self.connect();
        self.hears(&connack(present)).unwrap();
        if self.session.state == State::Subscribing {
            let codes = vec![1; self.cohort().filters.len()];
            self.hears(&suback(&codes)).unwrap();
        }
        assert_eq!(self.session.state, State::Ready);
        self.context.out.clear();
    }

    /// The server answers CONNECT, with one property of MQTT 5.
    fn hears_connack_with(&mut self, property: Property<'_>) -> Result<(), Fault> {
        let mut properties = PropertyBuffer::new();
        properties.push(property).unwrap();
        self.hears(&Packet::Connack(Connack {
            session_present: false,
            reason: ReasonCode::Success,
            properties: properties.as_properties(),
        }))
    }

    /// The server sends a packet.
    fn hears(&mut self, packet: &Packet<'_>) -> Result<(), Fault> {
        let mut bytes = Vec::new();
        packet.encode(self.cohort().version, &mut bytes).unwrap();
        self.receives(&bytes)
    }

    pub(super) fn receives(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let cohort = &self.crew.cohorts[0];
        self.session.receive(cohort, &mut self.context, bytes, self.now)
    }

    /// What the session wants written, packet by packet.
    fn said(&mut self) -> Vec<String> {
        let bytes = std::mem::take(&mut self.context.out);
        self.packets(&bytes)
    }

    fn packets(&self, mut bytes: &[u8]) -> Vec<String> {
        let mut packets = Vec::new();
        while let Some(frame) = frame::split(bytes, u32::MAX).unwrap() {
            bytes = &bytes[frame.length..];
            let packet = Packet::decode(frame, self.cohort().version).unwrap();
            packets.push(match packet {
                Packet::Ack(ack) => format!("{:?} {}", ack.kind, ack.packet_id),
                Packet::Publish(publish) => {
                    let sequence = Stamp::decode(publish.payload).map(|stamp| stamp.sequence);
                    let again = if publish.dup { " again" } else { "" };
                    let (topic, id) = (publish.topic, publish.packet_id);
                    format!("{topic:?} {} id {id}{again}", sequence.unwrap_or(u64::MAX))
                }
                other => format!("{other:?}"),
            });
        }
        assert!(bytes.is_empty(), "a packet is cut off");
        packets
    }

    fn loses(&mut self, fault: Fault) {
        let cohort = &self.crew.cohorts[0];
        self.session.lose(cohort, &mut self.context, fault, self.now);
    }

    /// One column of a table's rows as text, null as "-".
    fn column(&mut self, table: &str, name: &str) -> Vec<String> {
        self.context.recorder.flush();
        self.batches.extend(self.hub.drain(Duration::ZERO));
        let batches = self.batches.iter().filter(|batch| batch.table == table);
        let columns = batches.flat_map(Batch::columns).filter(|column| column.name == name);
        columns
            .flat_map(|column| {
                (0..column.rows).map(move |row| {
                    let bit = |bytes: &[u8]| bytes[row / 8] >> (row % 8) & 1 == 1;
                    match &column.values {
                        _ if column.valid.as_ref().is_some_and(|valid| !bit(valid.bytes())) => "-".to_owned(),
                        Values::Int8(values) => values[row].to_string(),
                        Values::Int16(values) => values[row].to_string(),
                        Values::Int32(values) => values[row].to_string(),
                        Values::Int64(values) => values[row].to_string(),
                        Values::Bool(values) => bit(values.bytes()).to_string(),
                        Values::Text(values) => values[row].to_string(),
                    }
                })
            })
            .collect()
    }
}

fn connack(session_present: bool) -> Packet<'static> {
    Packet::Connack(Connack {
        session_present,
        reason: ReasonCode::Success,
        properties: Properties::NONE,
    })
}

fn suback(codes: &[u8]) -> Packet<'_> {
    Packet::Suback(Suback {
        packet_id: 1,
        properties: Properties::NONE,
        codes,
    })
}

fn ack(kind: AckKind, packet_id: u16, reason: ReasonCode) -> Packet<'static> {
    Packet::Ack(Ack {
        kind,
        packet_id,
        reason,
        properties: Properties::NONE,
    })
}

fn message<'a>(topic: &'a str, qos: QoS, packet_id: u16, payload: &'a [u8]) -> Packet<'a> {
    Packet::Publish(Publish {
        topic,
        qos,
        packet_id,
        payload,
        ..Publish::default()
    })
}
