//! Which publisher has to send, and when, once a load shape has said how its messages follow each other. Pure: time comes in as a number, nothing here sends or waits.
//!
//! Every reactor thread of a process walks the same schedule and sends only what belongs to its own publishers: no
//! coordination is needed, and the sum over threads is the whole by construction.

mod rate;
#[cfg(test)]
mod tests;
mod windowed;

use rate::Ticks;
pub use rate::{Arrivals, Program};
pub use windowed::{Window, Windowed};

/// A message that has to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When it should go out.
    pub intended_ns: i64,
    /// Which of the plan's publishers sends it, counted from 0 in plan order.
    pub publisher: u32,
}

/// How messages follow each other; a load shape's answer.
#[derive(Clone, Debug)]
pub enum Pacing {
    /// None is sent.
    Idle,
    /// By the clock.
    Open(OpenLoop),
    /// By what was received.
    Closed(Window),
}

/// Ticks over time, and who sends at each.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// Ticks a second at the start.
    pub rate: f64,
    /// The first tick comes this part of a gap after the start.
    pub offset: f64,
    /// Even or random gaps.
    pub arrivals: Arrivals,
    /// How the rate changes by itself.
    pub program: Program,
    /// Who sends at each tick.
    pub turn: Turn,
}

impl OpenLoop {
    /// Publishers in turn at a constant, steady rate.
    pub fn in_turn(rate: f64, offset: f64) -> OpenLoop {
        OpenLoop {
            rate,
            offset,
            arrivals: Arrivals::Steady,
            program: Program::Constant,
            turn: Turn::RoundRobin,
        }
    }
}

/// Who sends at each tick.
#[derive(Clone, Debug)]
pub enum Turn {
    /// One message a tick, publishers in turn.
    RoundRobin,
    /// One message a tick, always the first publisher.
    First,
    /// At each tick, `batch` messages from the next of `partitions` equal runs of publishers.
    Batch {
        /// Messages of a run.
        batch: u32,
        /// Runs; not more than there are publishers.
        partitions: u32,
    },
}

/// The messages of an open-loop load, in order of their due times.
#[derive(Clone, Debug)]
pub struct Schedule {
    ticks: Ticks,
    turn: Turn,
    publishers: u32,
    tick: u64,
    /// Message within the tick.
    within: u64,
    left: u64,
    end_ns: i64,
}

impl Schedule {
    /// At most `limit` messages of at least one publisher, from `start_ns` until before `end_ns`.
    pub fn new(open: OpenLoop, publishers: u32, limit: Option<u64>, start_ns: i64, end_ns: i64) -> Schedule {
        Schedule {
            ticks: Ticks::new(start_ns, open.rate, open.offset, open.arrivals, open.program),
            turn: open.turn,
            publishers,
            tick: 0,
            within: 0,
            left: limit.unwrap_or(u64::MAX),
            end_ns,
        }
    }

    /// When the next message is due; None: never, as things stand.
    pub fn peek(&mut self) -> Option<i64> {
        if self.left == 0 {
            return None;
        }
        self.ticks.peek().filter(|due| *due < self.end_ns)
    }

    /// Takes the next message if it is due by `now_ns`.
    pub fn pop(&mut self, now_ns: i64) -> Option<Due> {
        let intended_ns = self.peek().filter(|due| *due <= now_ns)?;
        let publisher = self.publisher();
        self.left -= 1;
        self.within += 1;
        if self.within == self.per_tick() {
            self.ticks.take();
            self.tick += 1;
            self.within = 0;
        }
        Some(Due { intended_ns, publisher })
    }

    /// Whether nothing will ever be due again, whatever rate is asked for.
    pub fn is_over(&self, now_ns: i64) -> bool {
        self.left == 0 || now_ns >= self.end_ns
    }

    /// New aggregate rate in messages a second from `at_ns` on, which must not lie before anything already popped.
    pub fn set_rate(&mut self, at_ns: i64, rate: f64) {
        let per_tick = self.per_tick() as f64;
        self.ticks.set_rate(at_ns, rate / per_tick);
    }

    fn per_tick(&self) -> u64 {
        match self.turn {
            Turn::Batch { batch, .. } => u64::from(batch),
            _ => 1,
        }
    }

    fn publisher(&self) -> u32 {
        let publishers = u64::from(self.publishers);
        match self.turn {
            Turn::First => 0,
            Turn::RoundRobin => (self.tick % publishers) as u32,
            Turn::Batch { batch, partitions } => {
                let parts = u64::from(partitions);
                let part = self.tick % parts;
                let (first, after) = (part * publishers / parts, (part + 1) * publishers / parts);
                let number = self.tick / parts * u64::from(batch) + self.within;
                (first + number % (after - first)) as u32
            }
        }
    }
}

/// Seconds of a plan on the clock.
pub fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
