//! The next time the server stands still, readable by every thread without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

const NEVER: u64 = u64::MAX;

/// From and until, in CLOCK_MONOTONIC nanoseconds.
#[derive(Debug)]
pub struct StallWindow {
    from_ns: AtomicU64,
    until_ns: AtomicU64,
}

impl Default for StallWindow {
    fn default() -> Self {
        Self {
            from_ns: AtomicU64::new(NEVER),
            until_ns: AtomicU64::new(NEVER),
        }
    }
}

impl StallWindow {
    /// Sets the next stall; None for no further one.
    pub fn plan(&self, stall: Option<(u64, u64)>) {
        let (from, until) = stall.unwrap_or((NEVER, NEVER));
        self.until_ns.store(until, Ordering::Release);
        self.from_ns.store(from, Ordering::Release);
    }

    /// The next stall, or the one under way.
    #[inline]
    #[must_use]
    pub fn planned(&self) -> Option<(u64, u64)> {
        let from = self.from_ns.load(Ordering::Acquire);
        (from != NEVER).then(|| (from, self.until_ns.load(Ordering::Acquire)))
    }
}
