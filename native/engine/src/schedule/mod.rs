//! Load shapes: which publisher has to send, and when. Pure: time comes in as a number, nothing here sends or waits.
//!
//! Every reactor thread of a process walks the same schedule and sends only what belongs to its own publishers: no
//! coordination is needed, and the sum over threads is the whole by construction.

mod rate;
#[cfg(test)]
mod tests;
mod windowed;

use std::collections::VecDeque;

use crate::plan::{Arrivals as PlanArrivals, Load, Shape};
use crate::random::Random;
use rate::{Arrivals, Program, Ticks};
pub use windowed::{granted, Windowed};

/// A message that has to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When it should go out.
    pub intended_ns: i64,
    /// Which of the plan's publishers sends it, counted from 0 in plan order.
    pub publisher: u32,
}

/// Who sends at each tick.
#[derive(Clone, Debug)]
enum Turn {
    /// One message a tick, publishers in turn.
    RoundRobin,
    /// One message a tick, always the first publisher.
    First,
    /// At each tick, `batch` messages from each of `partitions` equal runs of publishers.
    Batch { batch: u32, partitions: u32 },
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
    /// The schedule of an open-loop shape from `start_ns` until before `end_ns`; None for idle and windowed loads.
    pub fn new(load: &Load, publishers: u32, seed: u64, start_ns: i64, end_ns: i64) -> Option<Schedule> {
        if publishers == 0 {
            return None;
        }
        let offset = f64::from(load.slot) / f64::from(load.slots.max(1));
        let (turn, rate, offset, program) = match load.shape {
            Shape::Idle | Shape::Windowed => return None,
            Shape::Paced => (Turn::RoundRobin, load.rate, offset, Program::Constant),
            Shape::Every => (Turn::First, 1.0 / load.every_s, 0.0, Program::Constant),
            Shape::Batched => {
                let turn = Turn::Batch {
                    batch: load.batch,
                    partitions: load.partitions.clamp(1, publishers),
                };
                (turn, 1000.0 / load.period_ms, 0.0, Program::Constant)
            }
            Shape::Burst => (Turn::RoundRobin, load.burst_rate, offset, burst(load)),
            Shape::Steps => {
                let first = load.steps.first().map_or(0.0, |step| step.rate);
                (Turn::RoundRobin, first, offset, steps(load))
            }
        };
        let arrivals = match load.arrivals {
            PlanArrivals::Poisson if load.shape == Shape::Paced => Arrivals::Poisson(Random::new(seed)),
            _ => Arrivals::Steady,
        };
        Some(Schedule {
            ticks: Ticks::new(start_ns, rate, offset, arrivals, program),
            turn,
            publishers,
            tick: 0,
            within: 0,
            left: load.limit.unwrap_or(u64::MAX),
            end_ns,
        })
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
            Turn::Batch { batch, partitions } => u64::from(batch) * u64::from(partitions),
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
                let part = self.within % parts;
                let (first, after) = (part * publishers / parts, (part + 1) * publishers / parts);
                let number = self.tick * u64::from(batch) + self.within / parts;
                (first + number % (after - first)) as u32
            }
        }
    }
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

fn burst(load: &Load) -> Program {
    Program::Burst {
        base: load.rate,
        burst: load.burst_rate,
        length_ns: nanoseconds(load.burst_s),
        every_ns: nanoseconds(load.burst_every_s),
    }
}

/// Each step's end with the rate that follows it. After the last step nothing is sent.
fn steps(load: &Load) -> Program {
    let following = load.steps.iter().skip(1).map(|step| step.rate).chain([0.0]);
    let mut end = 0.0;
    let changes: VecDeque<(i64, f64)> = load
        .steps
        .iter()
        .zip(following)
        .map(|(step, rate)| {
            end += step.seconds;
            (nanoseconds(end), rate)
        })
        .collect();
    Program::Steps(changes)
}
