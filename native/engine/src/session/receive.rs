//! From received bytes to rows: packets are read where they are, answers are collected.

use telemark_mqtt::error::DecodeError;
use telemark_mqtt::frame::{self, Frame, PacketType};
use telemark_mqtt::packet::{ack::encode_success, AckKind, Publish};
use telemark_mqtt::state::Received;
use telemark_mqtt::topic::Filter;
use telemark_mqtt::{Packet, QoS, Stamp};

use super::{Context, Fault, Session, State};
use crate::cohort::Cohort;
use crate::records::{Delivery, FLAG_DUP, FLAG_FOREIGN, FLAG_RETAINED};

impl Session {
    /// Bytes came: handles every whole packet and keeps the rest.
    pub fn receive(&mut self, cohort: &Cohort, context: &mut Context, bytes: &[u8], now: i64) -> Result<(), Fault> {
        self.keep_alive.on_received();
        // Messages of one read are told apart by a nanosecond each: the pipeline needs their order, and a time they
        // all shared would hide that the server had swapped two of them.
        let mut time = now;
        let mut rest = bytes;
        if self.backlog.as_ref().is_some_and(|backlog| !backlog.unread.is_empty()) {
            let Some(packet) = self.complete_unread(&mut rest, context.max_packet_size)? else {
                return Ok(());
            };
            self.parse(cohort, context, &mut packet.as_slice(), &mut time)?;
        }
        self.parse(cohort, context, &mut rest, &mut time)?;
        if !rest.is_empty() {
            self.backlog.get_or_insert_with(Box::default).unread = rest.to_vec();
        }
        Ok(())
    }

    /// Moves bytes to the packet that has begun until it is whole; it costs one copy of each byte, however many reads
    /// a large packet takes.
    fn complete_unread(&mut self, rest: &mut &[u8], maximum: u32) -> Result<Option<Vec<u8>>, Fault> {
        let Some(backlog) = &mut self.backlog else {
            return Ok(None);
        };
        loop {
            // Until the length is known, it may be that the next byte already belongs to the next packet.
            let wanted = frame::length(&backlog.unread, maximum).map_err(Fault::protocol)?;
            let missing = wanted.map_or(1, |length| length - backlog.unread.len());
            if missing == 0 {
                let packet = std::mem::take(&mut backlog.unread);
                if backlog.is_empty() {
                    self.backlog = None;
                }
                return Ok(Some(packet));
            }
            if rest.is_empty() {
                return Ok(None);
            }
            let (now, later) = rest.split_at(missing.min(rest.len()));
            backlog.unread.extend_from_slice(now);
            *rest = later;
        }
    }

    /// Handles every whole packet and takes it off the front.
    #[inline]
    fn parse(
        &mut self,
        cohort: &Cohort,
        context: &mut Context,
        bytes: &mut &[u8],
        time: &mut i64,
    ) -> Result<(), Fault> {
        let wrong = |error: DecodeError| Fault::protocol(error);
        while let Some(frame) = frame::split(bytes, context.max_packet_size).map_err(wrong)? {
            *bytes = &bytes[frame.length..];
            let kind = frame.kind().map_err(wrong)?;
            if self.state == State::Greeting && kind != PacketType::Connack {
                return Err(Fault::protocol("the server's first packet is not CONNACK"));
            }
            if kind == PacketType::Publish {
                let message = Publish::decode(frame, cohort.version).map_err(wrong)?;
                self.on_publish(cohort, context, &message, *time)?;
                *time += 1;
            } else {
                self.on_packet(cohort, context, frame, *time)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn on_publish(
        &mut self,
        cohort: &Cohort,
        context: &mut Context,
        message: &Publish<'_>,
        now: i64,
    ) -> Result<(), Fault> {
        match message.qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce => encode_success(AckKind::Puback, message.packet_id, &mut context.out),
            QoS::ExactlyOnce => {
                encode_success(AckKind::Pubrec, message.packet_id, &mut context.out);
                let maximum = cohort.plan.receive_maximum.map_or(u16::MAX, |maximum| maximum as u16);
                let inbound = self.inbound.get_or_insert_with(Box::default);
                let received = inbound.on_publish(message.packet_id, maximum);
                match received.map_err(Fault::protocol)? {
                    Received::New => {}
                    Received::Duplicate => return Ok(()),
                }
            }
        }
        let counts = context.timeline.at(now);
        counts.received += 1;
        counts.received_bytes += message.payload.len() as i64;
        context.totals.received += 1;
        let stamp = Stamp::decode(message.payload);
        if let Some(stamp) = &stamp {
            context.histogram.record(now - stamp.intended_ns);
        }
        if context.record_deliveries {
            let subscription = self.subscription(cohort, message.topic);
            context.recorder.delivery(delivery(message, stamp, subscription, now));
        }
        Ok(())
    }

    fn on_packet(&mut self, cohort: &Cohort, context: &mut Context, frame: Frame<'_>, now: i64) -> Result<(), Fault> {
        let packet = Packet::decode(frame, cohort.version).map_err(Fault::protocol)?;
        match packet {
            Packet::Ack(ack) => self.on_ack(context, &ack, now),
            Packet::Connack(connack) => self.on_connack(cohort, context, &connack, now),
            Packet::Suback(suback) => self.on_suback(cohort, context, &suback, now),
            Packet::Pingresp => Ok(()),
            Packet::Disconnect(disconnect) => {
                let code = Some(i32::from(disconnect.reason.code()));
                let detail = format!("the server sent DISCONNECT: {}", disconnect.reason.name());
                Err(Fault::new("closed", "disconnected", code, detail))
            }
            _ => Err(Fault::protocol("a packet that a server does not send")),
        }
    }

    /// The number of the subscription a message belongs to; -1 when none of the device's filters matches its topic.
    #[inline]
    fn subscription(&self, cohort: &Cohort, topic: &str) -> i32 {
        match cohort.filters.len() {
            0 => -1,
            1 => cohort.filters[0].first_subscription + self.within(cohort),
            _ => {
                let matching = |filter: &str| Filter::parse(filter).is_ok_and(|filter| filter.matches(topic));
                let found = self.filters.iter().position(|filter| matching(filter));
                found.map_or(-1, |number| {
                    cohort.filters[number].first_subscription + self.within(cohort)
                })
            }
        }
    }
}

#[inline]
fn delivery(message: &Publish<'_>, stamp: Option<Stamp>, subscription: i32, now: i64) -> Delivery {
    let mut flags = 0;
    if message.dup {
        flags |= FLAG_DUP;
    }
    if message.retain {
        flags |= FLAG_RETAINED;
    }
    let (stream, sequence, intended_ns, sent_ns) = match stamp {
        Some(stamp) => (
            stamp.stream as i32,
            stamp.sequence as i64,
            stamp.intended_ns,
            stamp.sent_ns,
        ),
        None => {
            flags |= FLAG_FOREIGN;
            (-1, 0, 0, 0)
        }
    };
    Delivery {
        stream,
        sequence,
        intended_ns,
        sent_ns,
        received_ns: now,
        subscription,
        qos: message.qos.bits() as i8,
        flags,
        size: message.payload.len() as i32,
    }
}
