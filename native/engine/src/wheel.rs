//! Coarse timers for many devices: keep-alive, connect timeouts, reconnects.

use std::collections::BTreeMap;

/// Timers are due at multiples of this.
pub const TICK_NS: i64 = 50_000_000;

/// A timer of one connection of one device; of a later connection it is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Place of the device in its thread.
    pub device: u32,
    /// The device's generation when the timer was set.
    pub generation: u32,
}

/// Timers by the tick they are due at.
#[derive(Default)]
pub struct Wheel {
    ticks: BTreeMap<i64, Vec<Timer>>,
}

impl Wheel {
    /// Sets a timer: it fires at the first tick at or after `time_ns`.
    pub fn set(&mut self, time_ns: i64, timer: Timer) {
        let tick = time_ns.saturating_add(TICK_NS - 1).div_euclid(TICK_NS);
        self.ticks.entry(tick).or_default().push(timer);
    }

    /// When the next timer fires.
    pub fn next(&self) -> Option<i64> {
        self.ticks.keys().next().map(|tick| tick.saturating_mul(TICK_NS))
    }

    /// Takes the timers of one tick that is due by `now_ns`.
    pub fn pop(&mut self, now_ns: i64) -> Option<Vec<Timer>> {
        let first = self.ticks.first_entry()?;
        (first.key().saturating_mul(TICK_NS) <= now_ns).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_in_order_and_never_early() {
        let mut wheel = Wheel::default();
        let timer = |device| Timer { device, generation: 0 };
        wheel.set(3 * TICK_NS + 1, timer(1));
        wheel.set(TICK_NS, timer(2));
        assert_eq!(wheel.next(), Some(TICK_NS));
        assert_eq!(wheel.pop(TICK_NS - 1), None);
        assert_eq!(wheel.pop(TICK_NS), Some(vec![timer(2)]));
        assert_eq!(wheel.pop(4 * TICK_NS - 1), None);
        assert_eq!(wheel.pop(4 * TICK_NS), Some(vec![timer(1)]));
        assert_eq!(wheel.next(), None);
    }
}
