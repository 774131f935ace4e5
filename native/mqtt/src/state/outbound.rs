//! Sending QoS 1 and 2 [4.3.2, 4.3.3]: packet ids, the in-flight window, and what to resend after a reconnect.
//!
//! A slot's number is its packet id less one. Free slots form a queue (an id rests as long as possible before it is used
//! again), used slots a list in order of sending. Both are linked by slot numbers inside one vector, so every step
//! takes constant time and an idle sender owns no memory but this struct.

use super::slots::{Chain, Slot, Step, NONE};
use crate::error::ProtocolError;
use crate::version::QoS;

/// Answer to a PUBREC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pubrec<T> {
    /// Send PUBREL; the message waits for PUBCOMP.
    Release,
    /// The receiver refused the message (reason 0x80 and above): it is done, no PUBREL follows [4.3.3].
    Refused(T),
}

/// What to send again after a reconnect with the session present [4.4], in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend<'s, T> {
    /// PUBLISH with DUP set and the same packet id.
    Publish {
        /// Its packet id.
        packet_id: u16,
        /// Its quality of service.
        qos: QoS,
        /// What the caller stored with it.
        message: &'s T,
    },
    /// PUBREL with the same packet id.
    Pubrel {
        /// Its packet id.
        packet_id: u16,
    },
}

/// Messages sent and not yet acknowledged. `T` is whatever the caller needs to know when the ack comes
/// (a sequence number and a time) or to send the message again.
#[derive(Clone, Debug)]
pub struct Outbound<T> {
    slots: Vec<Slot<T>>,
    free: Chain,
    used: Chain,
    in_flight: u16,
    window: u16,
}

impl<T> Outbound<T> {
    /// With a window of so many messages: the smaller of one's own and the peer's receive maximum.
    pub const fn new(window: u16) -> Self {
        let nothing = Chain {
            first: NONE,
            last: NONE,
        };
        Self {
            slots: Vec::new(),
            free: nothing,
            used: nothing,
            in_flight: 0,
            window,
        }
    }

    /// Changes the window, as after a reconnect. Messages in flight stay so even if they are more.
    pub fn set_window(&mut self, window: u16) {
        self.window = window;
    }

    /// Messages in flight (SUBSCRIBE and UNSUBSCRIBE do not count).
    pub const fn in_flight(&self) -> u16 {
        self.in_flight
    }

    /// Whether another message may be sent now.
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.in_flight < self.window
    }

    /// Takes a packet id for a QoS 1 or 2 message about to be sent; gives the message back when the window
    /// is full. (QoS 0 needs none of this; it is treated as QoS 1.)
    #[inline]
    pub fn begin(&mut self, qos: QoS, message: T) -> Result<u16, T> {
        if !self.has_room() {
            return Err(message);
        }
        let step = if qos == QoS::ExactlyOnce {
            Step::Pubrec
        } else {
            Step::Puback
        };
        let packet_id = self.occupy(step, message)?;
        self.in_flight += 1;
        Ok(packet_id)
    }

    /// Takes a packet id for SUBSCRIBE or UNSUBSCRIBE: outside of the window, never resent.
    pub fn begin_request(&mut self, message: T) -> Result<u16, T> {
        self.occupy(Step::Request, message)
    }

    /// SUBACK or UNSUBACK came.
    pub fn on_request_ack(&mut self, packet_id: u16) -> Result<T, ProtocolError> {
        self.finish(packet_id, Step::Request)
    }

    /// PUBACK came: the message is done, whatever its reason code.
    #[inline]
    pub fn on_puback(&mut self, packet_id: u16) -> Result<T, ProtocolError> {
        self.finish(packet_id, Step::Puback)
    }

    /// PUBREC came; `refused` when its reason is an error. A repeated PUBREC asks for PUBREL again.
    pub fn on_pubrec(&mut self, packet_id: u16, refused: bool) -> Result<Pubrec<T>, ProtocolError> {
        let step = self.step(packet_id)?;
        if refused && step == Step::Pubrec {
            return self.finish(packet_id, Step::Pubrec).map(Pubrec::Refused);
        }
        if step != Step::Pubrec && step != Step::Pubcomp {
            return Err(ProtocolError::UnexpectedAck(packet_id));
        }
        self.slots[index(packet_id)].step = Step::Pubcomp;
        Ok(Pubrec::Release)
    }

    /// What was stored with a message in flight, as to note the time of its PUBREL.
    pub fn message_mut(&mut self, packet_id: u16) -> Option<&mut T> {
        self.slots.get_mut(index(packet_id))?.message.as_mut()
    }

    /// PUBCOMP came: the message is done.
    pub fn on_pubcomp(&mut self, packet_id: u16) -> Result<T, ProtocolError> {
        self.finish(packet_id, Step::Pubcomp)
    }

    /// Everything in flight in order of sending, for a resumed session. If the peer's receive maximum shrank,
    /// the caller sends no more of the PUBLISHes than that before acks come.
    pub fn resend(&self) -> impl Iterator<Item = Resend<'_, T>> {
        let mut at = self.used.first;
        std::iter::from_fn(move || {
            let slot = self.slots.get(usize::from(at))?;
            let packet_id = at + 1;
            at = slot.after;
            Some((packet_id, slot))
        })
        .filter_map(|(packet_id, slot)| resend_of(packet_id, slot))
    }

    /// Forgets everything, as when the session ended; returns the messages in order of sending (requests included).
    pub fn clear(&mut self) -> Vec<T> {
        let mut messages = Vec::new();
        while self.used.first != NONE {
            let packet_id = self.used.first + 1;
            messages.extend(self.release(packet_id));
        }
        *self = Self::new(self.window);
        messages
    }

    /// Forgets SUBSCRIBE and UNSUBSCRIBE of a lost connection, which are never resent; returns what was stored.
    pub fn clear_requests(&mut self) -> Vec<T> {
        let requests: Vec<u16> = (1..=self.slots.len() as u16)
            .filter(|&packet_id| self.slots[index(packet_id)].step == Step::Request)
            .collect();
        requests
            .into_iter()
            .filter_map(|packet_id| self.release(packet_id))
            .collect()
    }

    fn step(&self, packet_id: u16) -> Result<Step, ProtocolError> {
        let slot = self.slots.get(index(packet_id));
        slot.map(|slot| slot.step)
            .filter(|&step| step != Step::Free)
            .ok_or(ProtocolError::UnknownPacketId(packet_id))
    }

    fn finish(&mut self, packet_id: u16, expected: Step) -> Result<T, ProtocolError> {
        if self.step(packet_id)? != expected {
            return Err(ProtocolError::UnexpectedAck(packet_id));
        }
        self.release(packet_id).ok_or(ProtocolError::UnknownPacketId(packet_id))
    }

    fn occupy(&mut self, step: Step, message: T) -> Result<u16, T> {
        let at = match self.free.first {
            NONE if self.slots.len() == usize::from(NONE) => return Err(message),
            NONE => {
                self.slots.push(Slot {
                    message: None,
                    before: NONE,
                    after: NONE,
                    step: Step::Free,
                });
                (self.slots.len() - 1) as u16
            }
            at => {
                self.free.unlink(&mut self.slots, at);
                at
            }
        };
        self.used.append(&mut self.slots, at);
        let slot = &mut self.slots[usize::from(at)];
        slot.step = step;
        slot.message = Some(message);
        Ok(at + 1)
    }

    fn release(&mut self, packet_id: u16) -> Option<T> {
        let at = packet_id - 1;
        let slot = &mut self.slots[usize::from(at)];
        let message = slot.message.take();
        self.in_flight -= u16::from(slot.step != Step::Request);
        slot.step = Step::Free;
        self.used.unlink(&mut self.slots, at);
        self.free.append(&mut self.slots, at);
        message
    }
}

/// Slot of a packet id; packet id zero has none.
const fn index(packet_id: u16) -> usize {
    (packet_id as usize).wrapping_sub(1)
}

fn resend_of<T>(packet_id: u16, slot: &Slot<T>) -> Option<Resend<'_, T>> {
    let message = slot.message.as_ref()?;
    match slot.step {
        Step::Puback => Some(Resend::Publish {
            packet_id,
            qos: QoS::AtLeastOnce,
            message,
        }),
        Step::Pubrec => Some(Resend::Publish {
            packet_id,
            qos: QoS::ExactlyOnce,
            message,
        }),
        Step::Pubcomp => Some(Resend::Pubrel { packet_id }),
        Step::Free | Step::Request => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_at_one_and_rest_before_they_return() {
        let mut outbound = Outbound::new(3);
        let ids: Vec<_> = (0..3).map(|n| outbound.begin(QoS::AtLeastOnce, n).unwrap()).collect();
        assert_eq!(vec![1, 2, 3], ids);
        assert_eq!(Ok(1), outbound.on_puback(2));
        assert_eq!(Ok(0), outbound.on_puback(1));
        assert_eq!(Ok(2), outbound.begin(QoS::AtLeastOnce, 9));
    }

    #[test]
    fn a_full_window_gives_the_message_back() {
        let mut outbound = Outbound::new(1);
        outbound.begin(QoS::AtLeastOnce, 'a').unwrap();
        assert_eq!(
            (Err('b'), false),
            (outbound.begin(QoS::ExactlyOnce, 'b'), outbound.has_room())
        );
        outbound.on_puback(1).unwrap();
        assert!(outbound.has_room());
    }

    #[test]
    fn qos_2_takes_two_steps_and_repeats_the_first_harmlessly() {
        let mut outbound = Outbound::new(10);
        let id = outbound.begin(QoS::ExactlyOnce, 'a').unwrap();
        assert_eq!(Err(ProtocolError::UnexpectedAck(id)), outbound.on_pubcomp(id));
        assert_eq!(Err(ProtocolError::UnexpectedAck(id)), outbound.on_puback(id));
        assert_eq!(Ok(Pubrec::Release), outbound.on_pubrec(id, false));
        assert_eq!(Ok(Pubrec::Release), outbound.on_pubrec(id, false));
        assert_eq!(1, outbound.in_flight());
        assert_eq!(Ok('a'), outbound.on_pubcomp(id));
        assert_eq!(0, outbound.in_flight());
    }

    #[test]
    fn a_refused_qos_2_message_is_done_at_once() {
        let mut outbound = Outbound::new(10);
        let id = outbound.begin(QoS::ExactlyOnce, 'a').unwrap();
        assert_eq!(Ok(Pubrec::Refused('a')), outbound.on_pubrec(id, true));
        assert_eq!(Err(ProtocolError::UnknownPacketId(id)), outbound.on_pubcomp(id));
    }

    #[test]
    fn acks_for_nothing_are_errors() {
        let mut outbound = Outbound::<()>::new(10);
        for id in [0, 1, u16::MAX] {
            assert_eq!(Err(ProtocolError::UnknownPacketId(id)), outbound.on_puback(id));
            assert_eq!(Err(ProtocolError::UnknownPacketId(id)), outbound.on_pubrec(id, true));
        }
        let id = outbound.begin(QoS::AtLeastOnce, ()).unwrap();
        assert_eq!(Err(ProtocolError::UnexpectedAck(id)), outbound.on_pubrec(id, false));
    }

    #[test]
    fn requests_share_the_ids_but_not_the_window() {
        let mut outbound = Outbound::new(1);
        assert_eq!(Ok(1), outbound.begin_request("subscribe"));
        assert_eq!(Ok(2), outbound.begin(QoS::AtLeastOnce, "message"));
        assert_eq!(1, outbound.in_flight());
        assert_eq!(Err(ProtocolError::UnexpectedAck(1)), outbound.on_puback(1));
        assert_eq!(Ok("subscribe"), outbound.on_request_ack(1));
    }

    #[test]
    fn after_a_reconnect_everything_unfinished_is_resent_in_order() {
        let mut outbound = Outbound::new(10);
        for (qos, message) in [(1, 'a'), (2, 'b'), (1, 'c'), (2, 'd')] {
            outbound.begin(QoS::from_bits(qos).unwrap(), message).unwrap();
        }
        outbound.begin_request('s').unwrap();
        outbound.on_puback(1).unwrap();
        outbound.on_pubrec(2, false).unwrap();
        assert_eq!(Ok(1), outbound.begin(QoS::AtLeastOnce, 'e'));
        let resent: Vec<_> = outbound.resend().collect();
        let publish = |packet_id, qos, message| Resend::Publish {
            packet_id,
            qos,
            message,
        };
        let expected = vec![
            Resend::Pubrel { packet_id: 2 },
            publish(3, QoS::AtLeastOnce, &'c'),
            publish(4, QoS::ExactlyOnce, &'d'),
            publish(1, QoS::AtLeastOnce, &'e'),
        ];
        assert_eq!(expected, resent);
        assert_eq!(vec!['s'], outbound.clear_requests());
        assert_eq!(4, outbound.in_flight());
        assert_eq!(vec!['b', 'c', 'd', 'e'], outbound.clear());
        assert_eq!(
            (0, Ok(1)),
            (outbound.in_flight(), outbound.begin(QoS::AtLeastOnce, 'f'))
        );
    }

    #[test]
    fn all_65535_ids_can_be_in_flight_and_no_more() {
        let mut outbound = Outbound::new(u16::MAX);
        for n in 1..=u16::MAX {
            assert_eq!(Ok(n), outbound.begin(QoS::AtLeastOnce, n));
        }
        assert_eq!(Err(0), outbound.begin(QoS::AtLeastOnce, 0));
        assert_eq!(Err(0), outbound.begin_request(0));
        assert!((1..=u16::MAX).rev().all(|id| outbound.on_puback(id) == Ok(id)));
        assert_eq!(Ok(u16::MAX), outbound.begin(QoS::AtLeastOnce, 0));
    }

    #[test]
    fn an_idle_sender_is_small() {
        assert!(std::mem::size_of::<Outbound<(u64, i64)>>() <= 40);
        assert!(std::mem::size_of::<Slot<(u64, i64)>>() <= 32);
    }
}
