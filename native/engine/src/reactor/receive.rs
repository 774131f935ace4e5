//! From the socket to the rows: read into one shared buffer, parse in place, answer in one write.

use std::io;
use std::sync::Arc;

use telemark_mqtt::frame::{self, Frame, PacketType};
use telemark_mqtt::packet::{ack::encode_success, AckKind, Publish};
use telemark_mqtt::state::Received;
use telemark_mqtt::topic::Filter;
use telemark_mqtt::{Packet, QoS, Stamp, Version};
use telemark_net::monotonic_ns;

use super::fault::Fault;
use super::{Reactor, READ_BYTES};
use crate::cohort::Cohort;
use crate::device::{Device, State};
use crate::records::{Delivery, FLAG_DUP, FLAG_FOREIGN, FLAG_RETAINED};

/// Reads of one device before others get their turn.
const READS_IN_A_ROW: usize = 4;
/// The engine announces no maximum packet size: only what MQTT itself allows.
const LARGEST_PACKET: u32 = u32::MAX;

impl Reactor {
    /// Reads what the device's socket has; comes back later if it has more than its fair share.
    pub(super) fn read(&mut self, place: usize) {
        let mut buffer = std::mem::take(&mut self.buffer);
        for _ in 0..READS_IN_A_ROW {
            match self.read_once(place, &mut buffer) {
                Ok(true) => {}
                Ok(false) => {
                    self.buffer = buffer;
                    return;
                }
                Err(fault) => {
                    self.buffer = buffer;
                    return self.lose(place, fault);
                }
            }
        }
        self.buffer = buffer;
        self.read_later(place);
    }

    /// Reads the device again in this round, although the poller may be silent about it.
    pub(super) fn read_later(&mut self, place: usize) {
        let device = &mut self.devices[place];
        if !device.again && device.stream.is_some() {
            device.again = true;
            self.again.push(place as u32);
        }
    }

    /// Devices that had more to read than they were allowed in one go.
    pub(super) fn read_again(&mut self) {
        for place in std::mem::take(&mut self.again) {
            let device = &mut self.devices[place as usize];
            device.again = false;
            if device.stream.is_some() && !matches!(device.state, State::Connecting | State::Securing) {
                self.read(place as usize);
            }
        }
    }

    /// One read and everything in it; whether there may be more.
    fn read_once(&mut self, place: usize, buffer: &mut Vec<u8>) -> Result<bool, Fault> {
        let device = &mut self.devices[place];
        let carried = take_unread(device, buffer);
        let state = device.state;
        let Some(stream) = &mut device.stream else {
            return Ok(false);
        };
        let is_tls = stream.is_tls();
        let count = match stream.read(&mut buffer[carried..]) {
            Ok(0) => return Err(Fault::closed(state)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                put_unread(device, &buffer[..carried]);
                return Ok(false);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                put_unread(device, &buffer[..carried]);
                return Ok(true);
            }
            Err(error) => return Err(Fault::broken(state, &error)),
        };
        let now = monotonic_ns();
        device.keep_alive.on_received();
        let filled = carried + count;
        let used = self.parse(place, &buffer[..filled], now)?;
        if used < filled {
            put_unread(&mut self.devices[place], &buffer[used..filled]);
        }
        // A plain socket that did not fill the buffer has nothing more for now: the poller tells when it has.
        Ok(is_tls || filled == buffer.len())
    }

    /// Handles every whole packet; returns how many bytes those had.
    fn parse(&mut self, place: usize, bytes: &[u8], now: i64) -> Result<usize, Fault> {
        let crew = Arc::clone(&self.crew);
        let cohort = &crew.cohorts[self.devices[place].cohort as usize];
        let mut used = 0;
        let wrong = |error: telemark_mqtt::error::DecodeError| Fault::protocol(error.to_string());
        // Messages of one read are told apart by a nanosecond each: the pipeline needs their order, and a time they
        // all shared would hide that the server had swapped two of them.
        let mut order = 0;
        while let Some(frame) = frame::split(&bytes[used..], LARGEST_PACKET).map_err(wrong)? {
            used += frame.length;
            if frame.kind().map_err(wrong)? == PacketType::Publish {
                let message = Publish::decode(frame, cohort.version).map_err(wrong)?;
                self.on_publish(place, cohort, &message, now + order)?;
                order += 1;
            } else {
                self.on_packet(place, frame, cohort.version, now)?;
            }
        }
        if !self.replies.is_empty() {
            let replies = std::mem::take(&mut self.replies);
            self.write(place, &replies);
            self.replies = replies;
            self.replies.clear();
        }
        Ok(used)
    }

    #[inline]
    fn on_publish(&mut self, place: usize, cohort: &Cohort, message: &Publish<'_>, now: i64) -> Result<(), Fault> {
        let device = &mut self.devices[place];
        match message.qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce => encode_success(AckKind::Puback, message.packet_id, &mut self.replies),
            QoS::ExactlyOnce => {
                encode_success(AckKind::Pubrec, message.packet_id, &mut self.replies);
                let maximum = cohort.plan.receive_maximum.map_or(u16::MAX, |maximum| maximum as u16);
                let inbound = device.inbound.get_or_insert_with(Box::default);
                let received = inbound.on_publish(message.packet_id, maximum);
                match received.map_err(|error| Fault::protocol(error.to_string()))? {
                    Received::New => {}
                    Received::Duplicate => return Ok(()),
                }
            }
        }
        let counts = self.timeline.at(now);
        counts.received += 1;
        counts.received_bytes += message.payload.len() as i64;
        self.totals.received += 1;
        let stamp = Stamp::decode(message.payload);
        if let Some(stamp) = &stamp {
            self.histogram.record(now - stamp.intended_ns);
        }
        if self.crew.plan.record_deliveries {
            let subscription = subscription(device, cohort, message.topic);
            self.recorder.delivery(delivery(message, stamp, subscription, now));
        }
        Ok(())
    }

    fn on_packet(&mut self, place: usize, frame: Frame<'_>, version: Version, now: i64) -> Result<(), Fault> {
        let packet = Packet::decode(frame, version).map_err(|error| Fault::protocol(error.to_string()))?;
        if self.devices[place].state == State::Greeting && !matches!(packet, Packet::Connack(_)) {
            return Err(Fault::protocol("the server's first packet is not CONNACK".to_owned()));
        }
        match packet {
            Packet::Ack(ack) => self.on_ack(place, &ack, now),
            Packet::Connack(connack) => self.on_connack(place, &connack, now),
            Packet::Suback(suback) => self.on_suback(place, &suback, now),
            Packet::Pingresp => Ok(()),
            Packet::Disconnect(disconnect) => {
                let code = Some(i32::from(disconnect.reason.code()));
                let detail = format!("the server sent DISCONNECT: {}", disconnect.reason.name());
                Err(Fault::new("closed", "disconnected", code, detail))
            }
            _ => Err(Fault::protocol("a packet that a server does not send".to_owned())),
        }
    }
}

/// Puts the bytes of an incomplete packet at the front of the buffer, with room for more behind them.
fn take_unread(device: &mut Device, buffer: &mut Vec<u8>) -> usize {
    let Some(leftover) = &mut device.leftover else {
        return 0;
    };
    let unread = std::mem::take(&mut leftover.unread);
    if leftover.is_empty() {
        device.leftover = None;
    }
    if buffer.len() < unread.len() + READ_BYTES / 2 {
        buffer.resize(unread.len() + READ_BYTES, 0);
    }
    buffer[..unread.len()].copy_from_slice(&unread);
    unread.len()
}

fn put_unread(device: &mut Device, bytes: &[u8]) {
    if !bytes.is_empty() && device.stream.is_some() {
        device.leftover.get_or_insert_with(Box::default).unread = bytes.to_vec();
    }
}

/// The number of the subscription a message belongs to; -1 when none of the device's filters matches its topic.
#[inline]
fn subscription(device: &Device, cohort: &Cohort, topic: &str) -> i32 {
    let within = (device.index - cohort.plan.first_index) as i32;
    match cohort.filters.len() {
        0 => -1,
        1 => cohort.filters[0].first_subscription + within,
        _ => {
            let matching = |filter: &str| Filter::parse(filter).is_ok_and(|filter| filter.matches(topic));
            let found = device.filters.iter().position(|filter| matching(filter));
            found.map_or(-1, |number| cohort.filters[number].first_subscription + within)
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
