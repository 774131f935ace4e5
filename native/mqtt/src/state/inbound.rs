//! Receiving QoS 2 [4.3.3]: which messages were passed on and wait for PUBREL.

use crate::error::ProtocolError;

/// Ids kept in a small list before the bitmap of all ids (8 KiB) is worth it.
const SMALL: usize = 32;
const WORDS: usize = 65_536 / 64;

/// Whether a QoS 2 PUBLISH is to be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Pass it on, then send PUBREC.
    New,
    /// It was passed on before: only send PUBREC again.
    Duplicate,
}

/// Packet ids of received QoS 2 messages until their PUBREL.
#[derive(Clone, Debug, Default)]
pub struct Inbound {
    few: Vec<u16>,
    many: Option<Box<[u64; WORDS]>>,
    count: u16,
}

impl Inbound {
    /// Nothing received; allocates nothing.
    pub const fn new() -> Self {
        Self {
            few: Vec::new(),
            many: None,
            count: 0,
        }
    }

    /// A QoS 2 PUBLISH came. `maximum` is the receive maximum this side announced (65,535 if none).
    pub fn on_publish(&mut self, packet_id: u16, maximum: u16) -> Result<Received, ProtocolError> {
        if self.contains(packet_id) {
            return Ok(Received::Duplicate);
        }
        if self.count >= maximum {
            return Err(ProtocolError::ReceiveMaximumExceeded(maximum));
        }
        self.insert(packet_id);
        Ok(Received::New)
    }

    /// A PUBREL came; answer PUBCOMP in any case. False when the id was unknown (MQTT 5: reason 0x92).
    pub fn on_pubrel(&mut self, packet_id: u16) -> bool {
        let known = self.remove(packet_id);
        self.count -= u16::from(known);
        known
    }

    /// Messages waiting for PUBREL.
    pub const fn len(&self) -> u16 {
        self.count
    }

    /// True when none wait.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets everything: the session ended.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    fn contains(&self, id: u16) -> bool {
        match &self.many {
            Some(bits) => bits[word(id)] & mask(id) != 0,
            None => self.few.contains(&id),
        }
    }

    fn insert(&mut self, id: u16) {
        self.count += 1;
        if let Some(bits) = &mut self.many {
            bits[word(id)] |= mask(id);
        } else if self.few.len() < SMALL {
            self.few.push(id);
        } else {
            self.spread(id);
        }
    }

    /// Moves the list into the bitmap.
    fn spread(&mut self, id: u16) {
        let mut bits = Box::new([0; WORDS]);
        for id in std::mem::take(&mut self.few).into_iter().chain([id]) {
            bits[word(id)] |= mask(id);
        }
        self.many = Some(bits);
    }

    fn remove(&mut self, id: u16) -> bool {
        if let Some(bits) = &mut self.many {
            let known = bits[word(id)] & mask(id) != 0;
            bits[word(id)] &= !mask(id);
            return known;
        }
        let at = self.few.iter().position(|&known| known == id);
        at.map(|at| self.few.swap_remove(at)).is_some()
    }
}

const fn word(id: u16) -> usize {
    id as usize / 64
}

const fn mask(id: u16) -> u64 {
    1 << (id % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_new_once_until_its_pubrel() {
        let mut inbound = Inbound::new();
        assert_eq!(Ok(Received::New), inbound.on_publish(7, 10));
        assert_eq!(Ok(Received::Duplicate), inbound.on_publish(7, 10));
        assert!(inbound.on_pubrel(7));
        assert!(!inbound.on_pubrel(7));
        assert_eq!(Ok(Received::New), inbound.on_publish(7, 10));
    }

    #[test]
    fn the_receive_maximum_is_enforced_but_not_on_duplicates() {
        let mut inbound = Inbound::new();
        inbound.on_publish(1, 1).unwrap();
        assert_eq!(Ok(Received::Duplicate), inbound.on_publish(1, 1));
        assert_eq!(Err(ProtocolError::ReceiveMaximumExceeded(1)), inbound.on_publish(2, 1));
    }

    #[test]
    fn all_ids_fit_and_leave_again() {
        let mut inbound = Inbound::new();
        for id in 1..=u16::MAX {
            assert_eq!(Ok(Received::New), inbound.on_publish(id, u16::MAX));
        }
        assert_eq!(u16::MAX, inbound.len());
        assert!((1..=u16::MAX).all(|id| inbound.on_pubrel(id)));
        assert!(inbound.is_empty());
    }
}
