//! Who connects next: first attempts in plan order and reconnects, at the plan's rate and parallelism.

use std::collections::VecDeque;

use crate::plan::EnginePlan;

/// Paces connection attempts of one thread.
pub struct Dial {
    /// Devices a second; 0: no pacing.
    rate: f64,
    parallel: usize,
    /// Pacing counts from here.
    origin_ns: i64,
    begun: u64,
    /// Attempts under way.
    pub under_way: usize,
    waiting: VecDeque<u32>,
}

impl Dial {
    /// This thread's share of the plan's rate and parallelism, with the threads' attempts interleaved.
    pub fn new(plan: &EnginePlan, thread: usize, now: i64) -> Dial {
        let threads = plan.threads as usize;
        let offset = if plan.connect_rate > 0.0 {
            thread as f64 / plan.connect_rate * 1e9
        } else {
            0.0
        };
        Dial {
            rate: plan.connect_rate / threads as f64,
            parallel: (plan.connect_parallel as usize).div_ceil(threads),
            origin_ns: now + offset as i64,
            begun: 0,
            under_way: 0,
            waiting: VecDeque::new(),
        }
    }

    /// A device wants to connect. Time in which nobody wanted to is not saved up for a storm later.
    pub fn want(&mut self, place: u32, now: i64) {
        if self.waiting.is_empty() && self.begun > 0 && self.due() < now {
            self.origin_ns = now;
            self.begun = 0;
        }
        self.waiting.push_back(place);
    }

    /// When the next attempt may begin; None: nobody waits, or an attempt under way must end first.
    pub fn next(&self, now: i64) -> Option<i64> {
        if self.waiting.is_empty() || self.under_way >= self.parallel {
            return None;
        }
        Some(if self.rate > 0.0 { self.due() } else { now })
    }

    fn due(&self) -> i64 {
        if self.rate <= 0.0 {
            return self.origin_ns;
        }
        self.origin_ns + (self.begun as f64 / self.rate * 1e9) as i64
    }

    /// Takes the device whose attempt may begin now.
    pub fn take(&mut self, now: i64) -> Option<u32> {
        self.next(now).filter(|due| *due <= now)?;
        self.begun += 1;
        self.waiting.pop_front()
    }

    /// Nobody waits any more.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}
