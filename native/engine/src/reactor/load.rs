//! From the schedule to the publishers' queues.

use std::sync::atomic::Ordering;

use super::{Reactor, ROUND_NS};
use crate::plan::shapes::Share;
use crate::schedule::{Due, Pacing, Schedule, Window, Windowed};

/// Where due messages come from.
pub(super) enum Loader {
    /// Nothing is to be sent (yet, or any more).
    Idle,
    /// By the clock.
    Open {
        schedule: Schedule,
        /// Rate changes already applied.
        rates: usize,
    },
    /// By what was received.
    Windowed {
        messages: Windowed,
        window: Window,
        start_ns: i64,
        end_ns: i64,
    },
}

impl Loader {
    pub(super) fn is_sending(&self) -> bool {
        !matches!(self, Loader::Idle)
    }
}

impl Reactor {
    /// The common start is known.
    pub(super) fn begin(&mut self, start_ns: i64) {
        let plan = &self.crew.plan;
        let end_ns = match plan.send_for_s {
            length if length > 0.0 => start_ns.saturating_add((length * 1e9) as i64),
            _ => i64::MAX,
        };
        let publishers = self.places.len() as u32;
        let seed = plan.seed ^ (plan.process as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let share = Share {
            publishers,
            offset: f64::from(plan.slot) / f64::from(plan.slots),
            seed,
        };
        let limit = plan.load.limit;
        self.loader = match plan.load.shape.pacing(share) {
            Pacing::Idle => Loader::Idle,
            Pacing::Open(open) => Loader::Open {
                schedule: Schedule::new(open, publishers, limit, start_ns, end_ns),
                rates: 0,
            },
            Pacing::Closed(window) => Loader::Windowed {
                messages: Windowed::new(publishers, seed, limit),
                window,
                start_ns,
                end_ns,
            },
        };
        if matches!(self.loader, Loader::Open { .. }) {
            // Beside a busy server the kernel lets a waking thread wait for milliseconds. Where it does not know short
            // slices the engine is late as before, and says so.
            let _ = telemark_net::ask_for_short_slices();
        }
        let now = telemark_net::monotonic_ns();
        self.context.timeline.start(start_ns, now);
        self.second_ns = self.context.timeline.next_end(now);
        self.publish_totals();
        self.hub.live(self.thread).has_begun.store(true, Ordering::Relaxed);
    }

    pub(super) fn halt(&mut self) {
        self.loader = Loader::Idle;
    }

    /// When the schedule wants to be asked again.
    pub(super) fn next_due(&mut self) -> Option<i64> {
        match &mut self.loader {
            Loader::Idle => None,
            Loader::Open { schedule, .. } => schedule.peek(),
            Loader::Windowed { start_ns, end_ns, .. } => {
                let now = telemark_net::monotonic_ns();
                if now < *start_ns {
                    Some(*start_ns)
                } else {
                    (*end_ns < i64::MAX).then_some(*end_ns)
                }
            }
        }
    }

    /// Queues everything that is due.
    pub(super) fn load(&mut self) {
        self.share_received();
        match std::mem::replace(&mut self.loader, Loader::Idle) {
            Loader::Idle => {}
            Loader::Open { schedule, rates } => self.load_open(schedule, rates),
            Loader::Windowed {
                messages,
                window,
                start_ns,
                end_ns,
            } => self.load_windowed(messages, window, start_ns, end_ns),
        }
    }

    fn load_open(&mut self, mut schedule: Schedule, mut rates: usize) {
        let (changes, now) = self.hub.rates_since(rates);
        if now < self.last_round_ns + ROUND_NS {
            // Woken by something else: what is due goes out together with what becomes due in this round.
            self.loader = Loader::Open { schedule, rates };
            return;
        }
        rates += changes.len();
        for (at_ns, rate) in changes {
            schedule.set_rate(at_ns, rate);
        }
        while let Some(due) = schedule.pop(now) {
            self.queue(due);
        }
        // A rate of zero may be raised again: only the end of the load ends it.
        if !schedule.is_over(now) {
            self.loader = Loader::Open { schedule, rates };
        }
    }

    fn load_windowed(&mut self, mut messages: Windowed, window: Window, start_ns: i64, end_ns: i64) {
        let now = telemark_net::monotonic_ns();
        if now >= end_ns {
            return;
        }
        if now >= start_ns {
            let granted = self.hub.granted(&window, self.crew.plan.relay_credits);
            while let Some(due) = messages.pop(granted, now) {
                self.queue(due);
            }
        }
        if !messages.is_over() {
            self.loader = Loader::Windowed {
                messages,
                window,
                start_ns,
                end_ns,
            };
        }
    }

    /// Tells what was received: a closed loop sends for it, here and in the other threads.
    pub(super) fn share_received(&mut self) {
        let new = self.context.totals.received - self.received_before;
        if new > 0 {
            let wake = matches!(self.loader, Loader::Windowed { .. }) && !self.crew.plan.relay_credits;
            self.hub.count_received(new as u64, self.thread, wake);
            self.received_before = self.context.totals.received;
        }
    }

    #[inline]
    fn queue(&mut self, due: Due) {
        // The publishers of other threads have no place here.
        if let Some(device) = self.devices.get_mut(self.places[due.publisher as usize] as usize) {
            device.session.queue(&mut self.context, due.intended_ns);
        }
    }
}
