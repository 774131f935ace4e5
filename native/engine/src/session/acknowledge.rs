//! What follows a QoS 1 or 2 message: its acknowledgements, or its sending again after a reconnect.

use telemark_mqtt::packet::{ack::encode_success, Ack, AckKind};
use telemark_mqtt::state::{Pubrec, Resend};

use super::publisher::InFlight;
use super::{Context, Fault, Session};
use crate::cohort::Cohort;
use crate::records::Acknowledged;

impl Session {
    /// PUBACK, PUBREC, PUBCOMP of own messages; PUBREL of received ones.
    pub(super) fn on_ack(&mut self, context: &mut Context, ack: &Ack<'_>, now: i64) -> Result<(), Fault> {
        if ack.kind == AckKind::Pubrel {
            if let Some(inbound) = &mut self.inbound {
                inbound.on_pubrel(ack.packet_id);
            }
            encode_success(AckKind::Pubcomp, ack.packet_id, &mut context.out);
            return Ok(());
        }
        let Some(publisher) = &mut self.publisher else {
            return Err(Fault::protocol("an acknowledgement to a device that does not publish"));
        };
        let (outbound, stream) = (&mut publisher.outbound, publisher.stream);
        let (message, step) = match ack.kind {
            AckKind::Puback => (outbound.on_puback(ack.packet_id).map_err(Fault::protocol)?, 1),
            AckKind::Pubcomp => (outbound.on_pubcomp(ack.packet_id).map_err(Fault::protocol)?, 3),
            _ => {
                let step = outbound.on_pubrec(ack.packet_id, ack.reason.is_error());
                match step.map_err(Fault::protocol)? {
                    Pubrec::Refused(message) => (message, 2),
                    Pubrec::Release => {
                        encode_success(AckKind::Pubrel, ack.packet_id, &mut context.out);
                        if let Some(message) = outbound.message_mut(ack.packet_id) {
                            record_ack(context, stream, message, ack, 2, now);
                            message.step_ns = now;
                        }
                        return Ok(());
                    }
                }
            }
        };
        record_ack(context, stream, &message, ack, step, now);
        if ack.reason.is_error() {
            let code = Some(i32::from(ack.reason.code()));
            let name = ack.reason.name();
            context.recorder.event(now, self.number, "publish_refused", code, name);
        } else {
            publisher.acked += 1;
            context.totals.acked += 1;
            context.timeline.at(now).acked += 1;
        }
        self.list_due(context);
        Ok(())
    }

    /// Sends everything in flight again after a reconnect, in the order of the first sending.
    pub(super) fn resend(&mut self, cohort: &Cohort, context: &mut Context) {
        let Some(publisher) = &mut self.publisher else {
            return;
        };
        let again: Vec<(u16, Option<InFlight>)> = publisher
            .outbound
            .resend()
            .map(|packet| match packet {
                Resend::Publish { packet_id, message, .. } => (packet_id, Some(*message)),
                Resend::Pubrel { packet_id } => (packet_id, None),
            })
            .collect();
        for (packet_id, message) in again {
            match message {
                None => encode_success(AckKind::Pubrel, packet_id, &mut context.out),
                Some(message) => {
                    // What could be encoded once can be encoded again.
                    let encoder = &mut context.outgoing.encoder;
                    let _ = encoder.encode(&mut context.out, cohort, publisher, packet_id, true, &message);
                }
            }
        }
    }
}

fn record_ack(context: &mut Context, stream: u32, message: &InFlight, ack: &Ack<'_>, step: i8, now: i64) {
    if context.record_acks {
        context.recorder.ack(Acknowledged {
            stream: stream as i32,
            sequence: message.sequence as i64,
            sent_ns: message.step_ns,
            acked_ns: now,
            step,
            reason: i16::from(ack.reason.code()),
        });
    }
}
