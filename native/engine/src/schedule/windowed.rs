//! The closed loop: so many messages outstanding, more only for what arrived.

use crate::random::Random;
use crate::schedule::Due;

/// The size of a closed loop.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Messages sent at first.
    pub size: u64,
    /// So many more for each so many received; 0: one for one.
    pub refill: u64,
}

impl Window {
    /// How many messages are granted in all.
    pub fn granted(&self, received: u64) -> u64 {
        match self.refill {
            0 => self.size + received,
            refill => self.size + received / refill * refill,
        }
    }
}

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
