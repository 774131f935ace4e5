//! From due messages to the socket. A message gets its number and its stamp at the moment of writing; several due
//! messages of one connection go out in one write.

use std::sync::Arc;

use telemark_mqtt::error::EncodeError;
use telemark_mqtt::packet::{ack::encode_success, Ack, AckKind, Publish};
use telemark_mqtt::properties::{Property, PropertyBuffer};
use telemark_mqtt::state::{AliasUse, Pubrec, Resend};
use telemark_mqtt::{QoS, Stamp};
use telemark_net::monotonic_ns;

use super::attempt::Fault;
use super::write::{keep_messages, write_some};
use super::Reactor;
use crate::cohort::Cohort;
use crate::device::{InFlight, Publisher, NO_PUBLISHER};
use crate::plan::EnginePlan;
use crate::random::Random;
use crate::records::Acknowledged;
use crate::wheel::TICK_NS;

/// Bytes of one write, unless a single message is larger. It bounds the time other devices wait.
const WRITE_BYTES: usize = 32 << 10;

/// A message in the write being prepared.
struct Prepared {
    end: usize,
    intended_ns: i64,
    size: u32,
    packet_id: u16,
}

/// The write being prepared, and what payloads are filled with.
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    messages: Vec<Prepared>,
    filler: Vec<u8>,
    topic: String,
}

impl Outgoing {
    pub(super) fn new(plan: &EnginePlan) -> Outgoing {
        let publishes = plan.groups.iter().filter_map(|group| group.publish.as_ref());
        let largest = publishes
            .map(|publish| publish.size_max.unwrap_or(publish.size))
            .max()
            .unwrap_or(0);
        // Not zeros: a server or link that compresses must not look faster than it is.
        let mut random = Random::new(plan.seed);
        let filler = (0..largest).map(|_| random.bits() as u8).collect();
        Outgoing {
            bytes: Vec::new(),
            messages: Vec::new(),
            filler,
            topic: String::new(),
        }
    }

    /// Appends one PUBLISH with its stamp.
    fn append(
        &mut self,
        cohort: &Cohort,
        index: u64,
        publisher: &mut Publisher,
        packet_id: u16,
        dup: bool,
        message: &InFlight,
    ) -> Result<(), EncodeError> {
        let stamp = Stamp {
            stream: publisher.stream,
            sequence: message.sequence,
            intended_ns: message.intended_ns,
            sent_ns: message.sent_ns,
        };
        let size = message.size as usize;
        match &publisher.template {
            Some(template) => template.append_header(&mut self.bytes, packet_id, dup, size)?,
            None => self.append_variable_header(cohort, index, publisher, packet_id, dup, message)?,
        }
        let stamp = stamp.encode();
        self.bytes.extend_from_slice(&stamp);
        self.bytes.extend_from_slice(&self.filler[stamp.len()..size]);
        Ok(())
    }

    /// The header of a message whose topic or alias is its own.
    fn append_variable_header(
        &mut self,
        cohort: &Cohort,
        index: u64,
        publisher: &mut Publisher,
        packet_id: u16,
        dup: bool,
        message: &InFlight,
    ) -> Result<(), EncodeError> {
        self.topic.clear();
        if let Some(pattern) = &cohort.topic {
            pattern.expand(index, message.sequence, &mut self.topic);
        }
        let alias = publisher
            .aliases
            .as_mut()
            .map_or(AliasUse::None, |aliases| aliases.resolve(&self.topic));
        let mut properties = PropertyBuffer::new();
        let topic = match alias {
            AliasUse::None => self.topic.as_str(),
            AliasUse::Introduce(number) => {
                properties.push(Property::TopicAlias(number))?;
                self.topic.as_str()
            }
            AliasUse::Known(number) => {
                properties.push(Property::TopicAlias(number))?;
                ""
            }
        };
        let retain = cohort.plan.publish.as_ref().is_some_and(|publish| publish.retain);
        let properties = properties.as_properties();
        let header = Publish {
            qos: cohort.publish_qos,
            retain,
            topic,
            properties,
            ..Publish::default()
        };
        let template = telemark_mqtt::packet::PublishTemplate::new(&header, cohort.version)?;
        template.append_header(&mut self.bytes, packet_id, dup, message.size as usize)
    }
}

impl Reactor {
    /// Notes that a publisher has something to send and may be able to.
    #[inline]
    pub(super) fn list_due(&mut self, publisher: u32) {
        let state = &mut self.publishers[publisher as usize];
        if !state.listed && !state.queue.is_empty() {
            state.listed = true;
            self.due.push(publisher);
        }
    }

    /// Lets every publisher that is due write once.
    pub(super) fn send_due(&mut self) {
        if self.due.is_empty() {
            return;
        }
        self.last_round_ns = monotonic_ns();
        for publisher in std::mem::take(&mut self.due) {
            self.publishers[publisher as usize].listed = false;
            self.send(publisher as usize);
        }
    }

    fn send(&mut self, at: usize) {
        let place = self.publishers[at].device as usize;
        if !self.is_ready(place) || self.devices[place].is_blocked() {
            if self.is_ready(place) {
                self.count_pushed_back();
            }
            return self.wait_for_room(at);
        }
        let now = monotonic_ns();
        self.drop_late(at, now);
        if !self.prepare(at, now) {
            self.count_pushed_back();
            return self.wait_for_room(at);
        }
        let device = &mut self.devices[place];
        match write_some(device, &self.outgoing.bytes) {
            Ok(written) => {
                device.keep_alive.on_sent(now);
                self.settle(at, written, now);
            }
            Err(error) => {
                self.settle(at, 0, now);
                let fault = Fault::broken(self.devices[place].state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// Encodes due messages as far as the window and one write allow; false when the window is used up.
    fn prepare(&mut self, at: usize, now: i64) -> bool {
        let crew = Arc::clone(&self.crew);
        let publisher = &mut self.publishers[at];
        let device = &self.devices[publisher.device as usize];
        let cohort = &crew.cohorts[device.cohort as usize];
        let qos = cohort.publish_qos;
        self.outgoing.bytes.clear();
        self.outgoing.messages.clear();
        while self.outgoing.bytes.len() < WRITE_BYTES {
            if qos != QoS::AtMostOnce && !publisher.outbound.has_room() {
                break;
            }
            let Some(intended_ns) = self.arena.pop(&mut publisher.queue) else {
                break;
            };
            let size = message_size(cohort, &mut self.random);
            let message = InFlight {
                sequence: publisher.sequence,
                intended_ns,
                sent_ns: now,
                step_ns: now,
                size,
            };
            let packet_id = match qos {
                QoS::AtMostOnce => 0,
                _ => publisher.outbound.begin(qos, message).unwrap_or(0),
            };
            let start = self.outgoing.bytes.len();
            if self
                .outgoing
                .append(cohort, device.index, publisher, packet_id, false, &message)
                .is_err()
            {
                // Checked when the plan was read; a topic that only some sequences make too long ends up here.
                self.outgoing.bytes.truncate(start);
                publisher.dropped += 1;
                self.totals.dropped += 1;
                self.timeline.at(now).dropped += 1;
                continue;
            }
            publisher.sequence += 1;
            self.outgoing.messages.push(Prepared {
                end: self.outgoing.bytes.len(),
                intended_ns,
                size,
                packet_id,
            });
        }
        !self.outgoing.messages.is_empty() || publisher.queue.is_empty()
    }

    /// Counts what the kernel took, takes back what it did not touch, keeps the rest of a message cut in two.
    fn settle(&mut self, at: usize, written: usize, now: i64) {
        let messages = std::mem::take(&mut self.outgoing.messages);
        let whole = messages.iter().take_while(|message| message.end <= written).count();
        for message in &messages[..whole] {
            self.count_sent(at, message.intended_ns, message.size, now);
        }
        if whole < messages.len() {
            let kept = self.kept_messages(at, &messages, whole, written);
            let end = messages[..kept].last().map_or(0, |message| message.end);
            let device = &mut self.devices[self.publishers[at].device as usize];
            if end > written {
                let waiting = messages[whole..kept].iter();
                let marks = waiting.map(|message| (message.end - written, message.intended_ns, message.size));
                keep_messages(device, &self.outgoing.bytes[written..end], marks);
            }
            self.take_back(at, &messages[kept..]);
            self.count_pushed_back();
            self.wait_for_room(at);
        } else {
            self.list_due(at as u32);
        }
        self.outgoing.messages = messages;
    }

    /// How many of the messages can no longer be taken back. TLS has encrypted everything it was given, and a topic
    /// alias may have been introduced by any of them; on a plain socket it is the message that was cut in two.
    fn kept_messages(&self, at: usize, messages: &[Prepared], whole: usize, written: usize) -> usize {
        let publisher = &self.publishers[at];
        let stream = self.devices[publisher.device as usize].stream.as_ref();
        if stream.is_some_and(|stream| stream.is_tls()) || publisher.aliases.is_some() {
            return messages.len();
        }
        let start = messages[..whole].last().map_or(0, |message| message.end);
        whole + usize::from(written > start)
    }

    fn take_back(&mut self, at: usize, messages: &[Prepared]) {
        let publisher = &mut self.publishers[at];
        for message in messages.iter().rev() {
            publisher.sequence -= 1;
            self.arena.push_front(&mut publisher.queue, message.intended_ns);
            if message.packet_id != 0 && publisher.outbound.on_puback(message.packet_id).is_err() {
                // Not QoS 1, so QoS 2, which is released as if it had been refused.
                let _ = publisher.outbound.on_pubrec(message.packet_id, true);
            }
        }
    }

    /// The kernel has taken all bytes of a message.
    pub(super) fn count_sent(&mut self, at: usize, intended_ns: i64, size: u32, now: i64) {
        let publisher = &mut self.publishers[at];
        publisher.sent += 1;
        publisher.bytes += i64::from(size);
        self.totals.sent += 1;
        let counts = self.timeline.at(now);
        counts.sent += 1;
        counts.sent_bytes += i64::from(size);
        counts.send_delay_max_ns = counts.send_delay_max_ns.max(now - intended_ns);
    }

    /// Messages wait for the socket, the window or the connection; they are looked at again when they get late.
    fn wait_for_room(&mut self, at: usize) {
        if self.publishers[at].queue.is_empty() {
            return;
        }
        if self.waiting.is_empty() {
            self.next_sweep_ns = monotonic_ns() + TICK_NS;
        }
        if !self.publishers[at].waits {
            self.publishers[at].waits = true;
            self.waiting.push(at as u32);
        }
    }

    /// A send found the socket full or the window used up.
    fn count_pushed_back(&mut self) {
        self.timeline.at(monotonic_ns()).pushed_back += 1;
    }

    /// Drops what has become too late among the messages that wait.
    pub(super) fn sweep(&mut self, now: i64) {
        if self.waiting.is_empty() || now < self.next_sweep_ns {
            return;
        }
        self.next_sweep_ns = now + TICK_NS;
        for at in std::mem::take(&mut self.waiting) {
            self.drop_late(at as usize, now);
            let publisher = &mut self.publishers[at as usize];
            publisher.waits = !publisher.queue.is_empty();
            if publisher.waits {
                self.waiting.push(at);
            }
        }
    }

    fn drop_late(&mut self, at: usize, now: i64) {
        let latest = now - (self.crew.plan.load.max_lateness_s * 1e9) as i64;
        let mut count = 0;
        let publisher = &mut self.publishers[at];
        while self
            .arena
            .front(&publisher.queue)
            .is_some_and(|intended| intended < latest)
        {
            self.arena.pop(&mut publisher.queue);
            count += 1;
        }
        self.count_dropped(at, count, now);
    }

    pub(super) fn count_dropped(&mut self, at: usize, count: i64, now: i64) {
        if count == 0 {
            return;
        }
        self.publishers[at].dropped += count;
        self.totals.dropped += count;
        self.timeline.at(now).dropped += count;
        self.hub.return_credit(count as u64);
    }

    /// PUBACK, PUBREC, PUBCOMP of own messages; PUBREL of received ones.
    pub(super) fn on_ack(&mut self, place: usize, ack: &Ack<'_>, now: i64) -> Result<(), Fault> {
        if ack.kind == AckKind::Pubrel {
            if let Some(inbound) = &mut self.devices[place].inbound {
                inbound.on_pubrel(ack.packet_id);
            }
            encode_success(AckKind::Pubcomp, ack.packet_id, &mut self.replies);
            return Ok(());
        }
        let publisher = self.devices[place].publisher;
        if publisher == NO_PUBLISHER {
            return Err(Fault::protocol(
                "an acknowledgement to a device that does not publish".to_owned(),
            ));
        }
        let at = publisher as usize;
        let outbound = &mut self.publishers[at].outbound;
        let wrong = |error: telemark_mqtt::error::ProtocolError| Fault::protocol(error.to_string());
        let (message, step) = match ack.kind {
            AckKind::Puback => (outbound.on_puback(ack.packet_id).map_err(wrong)?, 1),
            AckKind::Pubcomp => (outbound.on_pubcomp(ack.packet_id).map_err(wrong)?, 3),
            _ => match outbound
                .on_pubrec(ack.packet_id, ack.reason.is_error())
                .map_err(wrong)?
            {
                Pubrec::Refused(message) => (message, 2),
                Pubrec::Release => {
                    let message = outbound.message_mut(ack.packet_id).map(|message| {
                        let before = *message;
                        message.step_ns = now;
                        before
                    });
                    encode_success(AckKind::Pubrel, ack.packet_id, &mut self.replies);
                    if let Some(message) = message {
                        self.record_ack(at, &message, ack, 2, now);
                    }
                    return Ok(());
                }
            },
        };
        self.record_ack(at, &message, ack, step, now);
        if ack.reason.is_error() {
            let (number, code) = (self.devices[place].number, i32::from(ack.reason.code()));
            self.recorder
                .event(now, number, "publish_refused", Some(code), ack.reason.name());
        } else {
            self.publishers[at].acked += 1;
            self.totals.acked += 1;
            self.timeline.at(now).acked += 1;
        }
        self.list_due(publisher);
        Ok(())
    }

    fn record_ack(&mut self, at: usize, message: &InFlight, ack: &Ack<'_>, step: i8, now: i64) {
        if self.crew.plan.record_acks {
            self.recorder.ack(Acknowledged {
                stream: self.publishers[at].stream as i32,
                sequence: message.sequence as i64,
                sent_ns: message.step_ns,
                acked_ns: now,
                step,
                reason: i16::from(ack.reason.code()),
            });
        }
    }

    /// Sends everything in flight again after a reconnect, in the order of the first sending.
    pub(super) fn resend(&mut self, place: usize) {
        let crew = Arc::clone(&self.crew);
        let device = &self.devices[place];
        let (index, at) = (device.index, device.publisher as usize);
        let cohort = &crew.cohorts[device.cohort as usize];
        let publisher = &mut self.publishers[at];
        let mut again = Vec::new();
        for packet in publisher.outbound.resend() {
            again.push(match packet {
                Resend::Publish { packet_id, message, .. } => (packet_id, Some(*message)),
                Resend::Pubrel { packet_id } => (packet_id, None),
            });
        }
        self.outgoing.bytes.clear();
        for (packet_id, message) in again {
            match message {
                None => encode_success(AckKind::Pubrel, packet_id, &mut self.outgoing.bytes),
                Some(message) => {
                    // What could be encoded once can be encoded again.
                    let _ = self
                        .outgoing
                        .append(cohort, index, publisher, packet_id, true, &message);
                }
            }
        }
        let bytes = std::mem::take(&mut self.outgoing.bytes);
        if !bytes.is_empty() {
            self.write(place, &bytes);
        }
        self.outgoing.bytes = bytes;
    }
}

fn message_size(cohort: &Cohort, random: &mut Random) -> u32 {
    match &cohort.plan.publish {
        None => 0,
        Some(publish) => match publish.size_max {
            Some(largest) if largest > publish.size => publish.size + random.below(largest - publish.size + 1),
            _ => publish.size,
        },
    }
}
