//! From the schedule to the publishers' queues.

use std::sync::atomic::Ordering;

use super::{Reactor, ROUND_NS};
use crate::plan::Shape;
use crate::schedule::{Due, Schedule, Windowed};

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
        self.loader = match plan.load.shape {
            Shape::Windowed => Loader::Windowed {
                messages: Windowed::new(publishers, seed, plan.load.limit),
                start_ns,
                end_ns,
            },
            _ => match Schedule::new(&plan.load, publishers, seed, start_ns, end_ns) {
                Some(schedule) => Loader::Open { schedule, rates: 0 },
                None => Loader::Idle,
            },
        };
        let now = telemark_net::monotonic_ns();
        self.timeline.start(start_ns, now);
        self.second_ns = self.timeline.next_end(now);
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
                start_ns,
                end_ns,
            } => self.load_windowed(messages, start_ns, end_ns),
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

    fn load_windowed(&mut self, mut messages: Windowed, start_ns: i64, end_ns: i64) {
        let now = telemark_net::monotonic_ns();
        if now >= end_ns {
            return;
        }
        if now >= start_ns {
            let granted = self.hub.granted(&self.crew.plan.load, self.crew.plan.relay_credits);
            while let Some(due) = messages.pop(granted, now) {
                self.queue(due);
            }
        }
        if !messages.is_over() {
            self.loader = Loader::Windowed {
                messages,
                start_ns,
                end_ns,
            };
        }
    }

    /// Tells what was received: a closed loop sends for it, here and in the other threads.
    pub(super) fn share_received(&mut self) {
        let new = self.totals.received - self.received_before;
        if new > 0 {
            let wake = matches!(self.loader, Loader::Windowed { .. }) && !self.crew.plan.relay_credits;
            self.hub.count_received(new as u64, self.thread, wake);
            self.received_before = self.totals.received;
        }
    }

    #[inline]
    fn queue(&mut self, due: Due) {
        let Some(place) = self.place_of(due.publisher) else {
            return;
        };
        self.totals.intended += 1;
        self.timeline.at(due.intended_ns).intended += 1;
        self.arena.push(&mut self.publishers[place].queue, due.intended_ns);
        self.list_due(place as u32);
    }
}
