//! What follows a QoS 1 or 2 message: its acknowledgements, or its sending again after a reconnect.

use std::sync::Arc;

use telemark_mqtt::packet::{ack::encode_success, Ack, AckKind};
use telemark_mqtt::state::{Pubrec, Resend};

use super::fault::Fault;
use super::Reactor;
use crate::device::{InFlight, NO_PUBLISHER};
use crate::records::Acknowledged;

impl Reactor {
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
