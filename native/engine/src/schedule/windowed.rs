//! The closed loop: so many messages outstanding, more only for what arrived.

use crate::random::Random;
use crate::schedule::Due;

/// The messages of a windowed load. Message k goes to a publisher that depends on the seed and k only, so that every
/// thread that walks the sequence agrees on it.
#[derive(Clone, Debug)]
pub struct Windowed {
    random: Random,
    publishers: u32,
    taken: u64,
    limit: u64,
}

impl Windowed {
    /// Nothing is granted yet.
    pub fn new(publishers: u32, seed: u64, limit: Option<u64>) -> Windowed {
        Windowed {
            random: Random::new(seed),
            publishers,
            taken: 0,
            limit: limit.unwrap_or(u64::MAX),
        }
    }

    /// Whether the limit is reached.
    pub fn is_over(&self) -> bool {
        self.taken >= self.limit
    }

    /// The next message if fewer than `granted` were taken.
    pub fn pop(&mut self, granted: u64, now_ns: i64) -> Option<Due> {
        if self.taken >= granted.min(self.limit) || self.publishers == 0 {
            return None;
        }
        self.taken += 1;
        let publisher = self.random.below(self.publishers);
        Some(Due {
            intended_ns: now_ns,
            publisher,
        })
    }
}

/// How many messages are granted in all: the window, and `refill` more for each `refill` received.
pub fn granted(window: u64, refill: u64, received: u64) -> u64 {
    match refill {
        0 => window + received,
        _ => window + received / refill * refill,
    }
}
