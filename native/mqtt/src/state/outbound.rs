//! Sending QoS 1 and 2 [4.3.2, 4.3.3]: packet ids, the in-flight window, and what to resend after a reconnect.
//!
//! A slot's number is its packet id less one. Free slots form a queue (an id rests as long as possible before it is used
//! again), used slots a list in order of sending. Both are linked by slot numbers inside one vector, so every step
//! takes constant time and an idle sender owns no memory but this struct.

use crate::error::ProtocolError;
use crate::version::QoS;

const NONE: u16 = u16::MAX; // slot numbers end at 65,534: there are 65,535 packet ids

/// What a message in flight waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Free,
    Puback,
    Pubrec,
    Pubcomp,
    Request,
}

#[derive(Clone, Debug)]
struct Slot<T> {
    message: Option<T>,
    before: u16,
    after: u16,
    step: Step,
}

/// A linked list of slots.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u16,
    last: u16,
}

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

impl Chain {
    fn append<T>(&mut self, slots: &mut [Slot<T>], at: u16) {
        let slot = &mut slots[usize::from(at)];
        (slot.before, slot.after) = (self.last, NONE);
        match self.last {
            NONE => self.first = at,
            last => slots[usize::from(last)].after = at,
        }
        self.last = at;
    }

    fn unlink<T>(&mut self, slots: &mut [Slot<T>], at: u16) {
        let (before, after) = (slots[usize::from(at)].before, slots[usize::from(at)].after);
        match before {
            NONE => self.first = after,
            before => slots[usize::from(before)].after = after,
        }
        match after {
            NONE => self.last = before,
            after => slots[usize::from(after)].before = before,
        }
    }
}
