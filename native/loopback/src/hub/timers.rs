//! Things that happen later, soonest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due. The serial tells whether the slot still has the same owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A connection may have been silent for too long.
    KeepAlive {
        /// Slot of the connection.
        link: u32,
        /// Its serial.
        serial: u64,
    },
    /// A connection should have sent its CONNECT by now.
    Connect {
        /// Slot of the connection.
        link: u32,
        /// Its serial.
        serial: u64,
    },
    /// A will's delay is over.
    Will {
        /// Slot of the session.
        session: u32,
        /// Number of the disconnect it belongs to.
        serial: u64,
    },
    /// A session without connection ends.
    Expiry {
        /// Slot of the session.
        session: u32,
        /// Number of the disconnect it belongs to.
        serial: u64,
    },
    /// Messages held back for reordering have waited long enough.
    Held {
        /// Slot of the session.
        session: u32,
    },
}

/// All timers of the hub.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, Timer)>>,
}

impl Timers {
    /// Sets a timer; true when it is now the first, so that the sleeping thread has to be told.
    pub fn set(&mut self, due_ns: u64, timer: Timer) -> bool {
        let first = self.next().map_or(true, |next| due_ns < next);
        self.heap.push(Reverse((due_ns, timer)));
        first
    }

    /// When the first is due.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }

    /// Takes the first if it is due.
    pub fn pop(&mut self, now_ns: u64) -> Option<Timer> {
        if self.next()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse((_, timer))| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_and_not_early() {
        let mut timers = Timers::default();
        assert!(timers.set(20, Timer::Held { session: 2 }));
        assert!(timers.set(10, Timer::Held { session: 1 }));
        assert!(!timers.set(30, Timer::Held { session: 3 }));
        assert_eq!(None, timers.pop(9));
        assert_eq!(Some(Timer::Held { session: 1 }), timers.pop(25));
        assert_eq!(Some(Timer::Held { session: 2 }), timers.pop(25));
        assert_eq!((None, Some(30)), (timers.pop(25), timers.next()));
    }
}
