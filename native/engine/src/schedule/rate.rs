//! When things are due at a rate that may change over time.
//!
//! Time is cut into segments of constant rate. Within a segment the n-th tick is computed from the segment's start,
//! so rounding never accumulates; at a change the unfinished part of the gap is carried over, so that a change of
//! rate neither skips a tick nor makes one too many.

use std::collections::VecDeque;

use crate::random::Random;

const SECOND: f64 = 1e9;

/// How the rate changes by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// It does not.
    Constant,
    /// `burst` instead of `base` for `length_ns`, from the start and then every `every_ns`.
    Burst {
        /// Rate between bursts.
        base: f64,
        /// Rate during a burst.
        burst: f64,
        /// Length of a burst.
        length_ns: i64,
        /// From the start of one burst to the start of the next.
        every_ns: i64,
    },
    /// The next stretches, (end, rate after it), relative to the start; the last one ends with rate 0.
    Steps(VecDeque<(i64, f64)>),
}

/// Whether ticks come evenly or at random.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// All gaps are equal.
    Steady,
    /// Gaps are exponentially distributed.
    Poisson(Random),
}

/// The ticks of one schedule, in order.
#[derive(Clone, Debug)]
pub struct Ticks {
    start_ns: i64,
    segment_ns: i64,
    rate: f64,
    /// Distance of the segment's first tick from its start, in ticks: in [0, 1] when steady.
    phase: f64,
    /// Ticks taken in this segment (steady).
    taken: u64,
    arrivals: Arrivals,
    program: Program,
    /// Changes asked for from outside: (when, rate), in order of time.
    changes: VecDeque<(i64, f64)>,
}

impl Ticks {
    /// The first tick is at `start_ns` plus `offset` (0 to 1) of a gap. Poisson arrivals begin with a random gap.
    pub fn new(start_ns: i64, rate: f64, offset: f64, mut arrivals: Arrivals, program: Program) -> Ticks {
        let phase = match &mut arrivals {
            Arrivals::Steady => offset,
            Arrivals::Poisson(random) => random.exponential(),
        };
        Ticks {
            start_ns,
            segment_ns: start_ns,
            rate,
            phase,
            taken: 0,
            arrivals,
            program,
            changes: VecDeque::new(),
        }
    }

    /// When the next tick is due; None: never, as things stand.
    pub fn peek(&mut self) -> Option<i64> {
        loop {
            let due = self.due();
            match self.next_change() {
                Some((at, rate)) if due.map_or(true, |due| due >= at) => self.change(at, rate),
                _ => return due,
            }
        }
    }

    /// Takes the tick that `peek` showed.
    pub fn take(&mut self) {
        match &mut self.arrivals {
            Arrivals::Steady => self.taken += 1,
            Arrivals::Poisson(random) => self.phase += random.exponential(),
        }
    }

    /// From `at_ns` on the rate is `rate`; a program of changes ends there.
    pub fn set_rate(&mut self, at_ns: i64, rate: f64) {
        self.changes.push_back((at_ns, rate));
    }

    fn due(&self) -> Option<i64> {
        if self.rate <= 0.0 {
            return None;
        }
        let gaps = self.phase + self.taken as f64;
        let after = (gaps / self.rate * SECOND).round();
        // Far beyond any run: treat as never rather than overflow.
        (after < 4e18).then(|| self.segment_ns.saturating_add(after as i64))
    }

    fn next_change(&self) -> Option<(i64, f64)> {
        // A change asked for before the start takes effect at the start.
        let asked = self.changes.front().map(|(at, rate)| (self.segment_ns.max(*at), *rate));
        let own = self.program_change();
        match (asked, own) {
            (Some(asked), Some(own)) if own.0 < asked.0 => Some(own),
            (None, own) => own,
            (asked, _) => asked,
        }
    }

    fn program_change(&self) -> Option<(i64, f64)> {
        match &self.program {
            Program::Constant => None,
            Program::Steps(steps) => steps.front().map(|(end, rate)| (self.start_ns + end, *rate)),
            Program::Burst {
                base,
                burst,
                length_ns,
                every_ns,
            } => {
                let into = (self.segment_ns - self.start_ns).rem_euclid(*every_ns);
                let period = self.segment_ns - into;
                Some(if into < *length_ns {
                    (period + length_ns, *base)
                } else {
                    (period + every_ns, *burst)
                })
            }
        }
    }

    fn change(&mut self, at: i64, rate: f64) {
        if self.changes.front().is_some_and(|(asked, _)| *asked <= at) {
            self.changes.pop_front();
            self.program = Program::Constant;
        } else if let Program::Steps(steps) = &mut self.program {
            steps.pop_front();
        }
        let passed = (at - self.segment_ns) as f64 / SECOND * self.rate;
        self.phase = (self.phase + self.taken as f64 - passed).max(0.0);
        self.taken = 0;
        self.segment_ns = at;
        self.rate = rate;
    }
}
