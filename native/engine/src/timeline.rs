//! Counts per second, by the time of each thing counted.

use std::collections::{BTreeMap, VecDeque};

use crate::records::{Batch, Count};

const SECOND: i64 = 1_000_000_000;
/// Before the common start is known, things are counted in pieces this long, to be put into seconds later.
const PIECE: i64 = SECOND / 10;

/// What one thread did in one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as in the counters table
pub struct Counts {
    pub intended: i64,
    pub sent: i64,
    pub acked: i64,
    pub dropped: i64,
    pub received: i64,
    pub sent_bytes: i64,
    pub received_bytes: i64,
    pub connected: i32,
    pub connects: i32,
    pub disconnects: i32,
    pub pushed_back: i64,
    pub loop_lag_max_ns: i64,
    pub send_delay_max_ns: i64,
    pub cpu_ns: i64,
}

impl Counts {
    /// Adds what happened in the same second elsewhere. `connected` is a level: the caller says how it combines.
    fn add(&mut self, other: &Counts) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.acked += other.acked;
        self.dropped += other.dropped;
        self.received += other.received;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.connects += other.connects;
        self.disconnects += other.disconnects;
        self.pushed_back += other.pushed_back;
        self.cpu_ns += other.cpu_ns;
        self.loop_lag_max_ns = self.loop_lag_max_ns.max(other.loop_lag_max_ns);
        self.send_delay_max_ns = self.send_delay_max_ns.max(other.send_delay_max_ns);
    }
}

/// One thread's counts in stretches of equal width; the last few are still open.
pub struct Timeline {
    origin: i64,
    width: i64,
    /// Number of the first open stretch.
    first: i64,
    open: VecDeque<Counts>,
    /// The stretch used last: almost always the one wanted next.
    recent: (i64, i64, usize),
}

impl Timeline {
    /// Counts in pieces from now on, until `start` says where the seconds begin.
    pub fn new(now: i64) -> Timeline {
        Timeline {
            origin: now,
            width: PIECE,
            first: 0,
            open: VecDeque::from([Counts::default()]),
            recent: (0, 0, 0),
        }
    }

    /// The counts of the stretch that contains `time`; a time before the open ones counts for the first of them.
    #[inline]
    pub fn at(&mut self, time: i64) -> &mut Counts {
        let (from, until, place) = self.recent;
        if (from..until).contains(&time) {
            return &mut self.open[place];
        }
        self.find(time)
    }

    fn find(&mut self, time: i64) -> &mut Counts {
        let number = (time - self.origin).div_euclid(self.width).max(self.first);
        let place = (number - self.first) as usize;
        if place >= self.open.len() {
            // A level stays what it was until somebody says otherwise.
            let connected = self.open.back().map_or(0, |last| last.connected);
            self.open.resize(
                place + 1,
                Counts {
                    connected,
                    ..Counts::default()
                },
            );
        }
        let from = self.origin + number * self.width;
        self.recent = (from, from + self.width, place);
        &mut self.open[place]
    }

    /// The common start is known: what was counted so far is put into seconds before (or after) it.
    pub fn start(&mut self, start: i64, now: i64) {
        let mut seconds: BTreeMap<i64, Counts> = BTreeMap::new();
        for (place, counts) in self.open.iter().enumerate() {
            let from = self.origin + (self.first + place as i64) * self.width;
            let second = seconds.entry((from - start).div_euclid(SECOND)).or_default();
            second.add(counts);
            second.connected = counts.connected;
        }
        let first = seconds.keys().next().copied().unwrap_or(0);
        let connected = self.open.back().map_or(0, |last| last.connected);
        *self = Timeline {
            origin: start,
            width: SECOND,
            first,
            open: VecDeque::new(),
            recent: (0, 0, 0),
        };
        self.find(now);
        for (second, counts) in seconds {
            let place = (second - first) as usize;
            if place < self.open.len() {
                self.open[place] = counts;
            }
        }
        self.find(now).connected = connected;
    }

    /// Whether seconds are counted (and not pieces of the time before the start is known).
    pub fn is_started(&self) -> bool {
        self.width == SECOND
    }

    /// Takes the seconds that ended before `time`, oldest first; none while the start is not known.
    pub fn close_before(&mut self, time: i64) -> Vec<(i64, Counts)> {
        self.at(time);
        let current = (time - self.origin).div_euclid(self.width);
        let ended = (current - self.first).clamp(0, self.open.len() as i64) as usize;
        if ended == 0 || !self.is_started() {
            return Vec::new();
        }
        let first = self.first;
        self.first += ended as i64;
        self.recent = (0, 0, 0);
        self.open
            .drain(..ended)
            .enumerate()
            .map(|(place, counts)| (first + place as i64, counts))
            .collect()
    }

    /// When the present second ends (before the start is known: a second after the engine's own beginning).
    pub fn next_end(&self, now: i64) -> i64 {
        self.origin + ((now - self.origin).div_euclid(SECOND) + 1) * SECOND
    }

    /// Seconds below this one are closed.
    pub fn first_open(&self) -> i64 {
        self.first
    }
}

/// Adds the threads' seconds up; a second becomes a row when every thread has closed it.
pub struct Seconds {
    process: i16,
    sums: BTreeMap<i64, Counts>,
    /// For each thread: all seconds below this one are closed.
    closed: Vec<i64>,
}

impl Seconds {
    /// For so many threads.
    pub fn new(process: i16, threads: usize) -> Seconds {
        Seconds {
            process,
            sums: BTreeMap::new(),
            closed: vec![i64::MIN; threads],
        }
    }

    /// A thread closed these seconds, the last of which is `below - 1`; rows that are complete now come back.
    pub fn close(&mut self, thread: usize, seconds: Vec<(i64, Counts)>, below: i64) -> Option<Batch> {
        for (second, counts) in seconds {
            let sum = self.sums.entry(second).or_default();
            sum.add(&counts);
            sum.connected += counts.connected;
        }
        self.closed[thread] = below;
        let complete = self.closed.iter().copied().min().unwrap_or(below);
        let mut rows = Vec::new();
        while let Some(entry) = self.sums.first_entry() {
            if *entry.key() >= complete {
                break;
            }
            let (second, counts) = entry.remove_entry();
            rows.push(row(self.process, second, &counts));
        }
        Batch::of(rows)
    }
}

fn row(process: i16, second: i64, counts: &Counts) -> Count {
    Count {
        process,
        second: second as i32,
        intended: counts.intended,
        sent: counts.sent,
        acked: counts.acked,
        dropped: counts.dropped,
        received: counts.received,
        sent_bytes: counts.sent_bytes,
        received_bytes: counts.received_bytes,
        connected: counts.connected,
        connects: counts.connects,
        disconnects: counts.disconnects,
        pushed_back: counts.pushed_back,
        loop_lag_max_ns: counts.loop_lag_max_ns,
        send_delay_max_ns: counts.send_delay_max_ns,
        cpu_ns: counts.cpu_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_count_for_the_second_they_happened_in() {
        let mut timeline = Timeline::new(0);
        timeline.start(10 * SECOND, 10 * SECOND);
        timeline.at(10 * SECOND).sent += 1;
        timeline.at(10 * SECOND).connected = 7;
        timeline.at(11 * SECOND - 1).sent += 1;
        timeline.at(11 * SECOND).sent += 5;
        timeline.at(10 * SECOND + 3).intended += 2; // told late, while its second is still open
        let closed = timeline.close_before(11 * SECOND + 1);
        assert_eq!(
            closed.last(),
            Some(&(
                0,
                Counts {
                    sent: 2,
                    intended: 2,
                    connected: 7,
                    ..Counts::default()
                }
            ))
        );
        assert_eq!(timeline.close_before(12 * SECOND)[0].1.sent, 5);
    }

    #[test]
    fn what_happened_before_the_start_gets_negative_seconds() {
        let mut timeline = Timeline::new(0);
        timeline.at(SECOND / 2).connects += 1;
        timeline.at(SECOND + SECOND / 2).connects += 2;
        assert!(timeline.close_before(2 * SECOND).is_empty());
        timeline.start(3 * SECOND, 2 * SECOND + SECOND / 2);
        timeline.at(2 * SECOND + SECOND / 2).connects += 4;
        let closed = timeline.close_before(4 * SECOND);
        let connects: Vec<(i64, i32)> = closed
            .iter()
            .map(|(second, counts)| (*second, counts.connects))
            .collect();
        assert_eq!(connects, [(-3, 1), (-2, 2), (-1, 4), (0, 0)]);
    }

    #[test]
    fn a_second_is_a_row_when_all_threads_have_closed_it() {
        let mut seconds = Seconds::new(3, 2);
        let counts = Counts {
            sent: 5,
            connected: 1,
            send_delay_max_ns: 9,
            ..Counts::default()
        };
        assert!(seconds.close(0, vec![(0, counts)], 1).is_none());
        let batch = seconds
            .close(
                1,
                vec![(
                    0,
                    Counts {
                        sent: 2,
                        connected: 1,
                        ..counts
                    },
                )],
                1,
            )
            .unwrap();
        assert_eq!(batch.rows, 1);
        let column = |name: &str| {
            format!(
                "{:?}",
                batch
                    .columns()
                    .iter()
                    .find(|column| column.name == name)
                    .unwrap()
                    .values
            )
        };
        assert_eq!(column("sent"), "Int64([7])");
        assert_eq!(column("connected"), "Int32([2])");
        assert_eq!(column("send_delay_max_ns"), "Int64([9])");
    }
}
