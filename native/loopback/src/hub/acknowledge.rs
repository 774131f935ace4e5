//! PUBACK, PUBREC, PUBREL and PUBCOMP.

use telemark_mqtt::packet::ack::encode_success;
use telemark_mqtt::packet::{Ack, AckKind};
use telemark_mqtt::state::Pubrec;
use telemark_mqtt::{ProtocolError, ReasonCode, Version};

use super::{Fatal, Hub};
use crate::message::Delivery;

impl Hub {
    /// Handles an acknowledgement. Ids nobody knows are answered where the standard has an answer, else ignored.
    pub(super) fn acknowledge(&mut self, link: u32, ack: &Ack<'_>, now_ns: u64) -> Result<(), Fatal> {
        let (slot, session) = self.session_of(link)?;
        match ack.kind {
            AckKind::Puback => {
                let finished = session.window.on_puback(ack.packet_id);
                self.finish(slot, finished, now_ns)
            }
            AckKind::Pubcomp => {
                let finished = session.window.on_pubcomp(ack.packet_id);
                self.finish(slot, finished, now_ns)
            }
            AckKind::Pubrec => match session.window.on_pubrec(ack.packet_id, ack.reason.is_error()) {
                Ok(Pubrec::Refused(delivery)) => self.finish(slot, Ok(delivery), now_ns),
                Ok(Pubrec::Release) => {
                    self.answer(link, AckKind::Pubrel, ack.packet_id, true);
                    Ok(())
                }
                Err(error) => self.unknown(link, AckKind::Pubrel, error),
            },
            AckKind::Pubrel => {
                let known = session.incoming.on_pubrel(ack.packet_id);
                self.answer(link, AckKind::Pubcomp, ack.packet_id, known);
                Ok(())
            }
        }
    }

    fn unknown(&mut self, link: u32, answer: AckKind, error: ProtocolError) -> Result<(), Fatal> {
        let ProtocolError::UnknownPacketId(packet_id) = error else {
            return Err(error.into());
        };
        self.answer(link, answer, packet_id, false);
        Ok(())
    }

    fn answer(&mut self, link: u32, kind: AckKind, packet_id: u16, known: bool) {
        let version = self.link(link).map_or(Version::V311, |link| link.version);
        self.write(link, |out| {
            if known || !version.is_v5() {
                return encode_success(kind, packet_id, out);
            }
            let reason = ReasonCode::PacketIdentifierNotFound;
            // A PUBREL or PUBCOMP with this reason is always valid.
            let _ = Ack {
                reason,
                ..Ack::new(kind, packet_id)
            }
            .encode(version, out);
        });
    }

    /// A message is done: it no longer waits, and the next one may go.
    fn finish(&mut self, session: u32, finished: Result<Delivery, ProtocolError>, now_ns: u64) -> Result<(), Fatal> {
        let delivery = match finished {
            Ok(delivery) => delivery,
            Err(ProtocolError::UnknownPacketId(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.counters.unbuffer(1);
        let Some(owner) = self.session(session) else {
            return Ok(());
        };
        if let Some(subscription) = owner.subscription(delivery.subscription) {
            subscription.depth = subscription.depth.saturating_sub(1);
        }
        if !owner.queue.is_empty() {
            self.drain_queue(session, now_ns);
        }
        Ok(())
    }
}
