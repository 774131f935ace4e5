//! The rules of the schedule, with a clock that is only a number.

use proptest::prelude::*;

use super::*;
use crate::plan::shapes::Share;
use crate::plan::Load;

const START: i64 = 1_000_000_000_000;
const SECOND: i64 = 1_000_000_000;
const NEVER: i64 = i64::MAX;

fn load(json: &str) -> Load {
    serde_json::from_str(json).unwrap()
}

fn paced(rate: f64) -> Load {
    load(&format!(r#"{{"shape": "paced", "rate": {rate}}}"#))
}

fn schedule(load: &Load, publishers: u32) -> Schedule {
    schedule_of(load, publishers, 0.0, NEVER)
}

fn schedule_of(load: &Load, publishers: u32, offset: f64, end_ns: i64) -> Schedule {
    let share = Share {
        publishers,
        offset,
        seed: 1,
    };
    match load.shape.pacing(share) {
        Pacing::Open(open) => Schedule::new(open, publishers, load.limit, START, end_ns),
        other => panic!("{other:?}"),
    }
}

fn until(schedule: &mut Schedule, time: i64) -> Vec<Due> {
    std::iter::from_fn(|| schedule.pop(time)).collect()
}

fn seconds(dues: &[Due]) -> Vec<f64> {
    dues.iter().map(|due| (due.intended_ns - START) as f64 / 1e9).collect()
}

#[test]
fn the_nth_message_is_due_at_start_plus_n_over_rate() {
    let mut schedule = schedule(&paced(4.0), 3);
    let dues = until(&mut schedule, START + SECOND);
    assert_eq!(seconds(&dues), [0.0, 0.25, 0.5, 0.75, 1.0]);
    let publishers: Vec<u32> = dues.iter().map(|due| due.publisher).collect();
    assert_eq!(publishers, [0, 1, 2, 0, 1]);
}

#[test]
fn lateness_is_never_forgiven_and_never_accumulates() {
    let mut schedule = schedule(&paced(1000.0), 1);
    assert!(schedule.pop(START - 1).is_none());
    let late = until(&mut schedule, START + 10 * SECOND);
    assert_eq!(late.len(), 10_001);
    assert_eq!(schedule.peek(), Some(START + 10 * SECOND + 1_000_000));
}

#[test]
fn fractional_rates_are_kept_exactly() {
    let mut schedule = schedule(&paced(0.7), 1);
    assert_eq!(until(&mut schedule, START + 100 * SECOND).len(), 71);
}

#[test]
fn the_end_is_exclusive_and_the_limit_stops_the_load() {
    let mut ended = schedule_of(&paced(10.0), 1, 0.0, START + SECOND);
    assert_eq!(until(&mut ended, NEVER).len(), 10);
    assert_eq!(ended.peek(), None);
    let mut limited = schedule(
        &Load {
            limit: Some(7),
            ..paced(10.0)
        },
        1,
    );
    assert_eq!(until(&mut limited, NEVER).len(), 7);
}

#[test]
fn a_batch_goes_out_at_once_and_partitions_take_turns() {
    let batched = load(r#"{"shape": "batched", "batch": 2, "period_ms": 500, "partitions": 2}"#);
    let mut schedule = schedule(&batched, 6);
    let dues = until(&mut schedule, START + SECOND - 1);
    assert_eq!(seconds(&dues), [0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]);
    let publishers: Vec<u32> = dues.iter().map(|due| due.publisher).collect();
    assert_eq!(publishers, [0, 1, 3, 4, 2, 0, 5, 3]);
}

#[test]
fn every_is_the_first_publisher_alone() {
    let mut schedule = schedule(&load(r#"{"shape": "every", "every_s": 2.5}"#), 9);
    let dues = until(&mut schedule, START + 5 * SECOND);
    assert_eq!(seconds(&dues), [0.0, 2.5, 5.0]);
    assert!(dues.iter().all(|due| due.publisher == 0));
}

#[test]
fn a_burst_raises_the_rate_for_its_length_only() {
    let burst = load(r#"{"shape": "burst", "rate": 10, "burst_rate": 100, "burst_s": 1, "burst_every_s": 5}"#);
    let mut schedule = schedule(&burst, 1);
    let dues = until(&mut schedule, START + 10 * SECOND - 1);
    let count = |from: i64, to: i64| {
        dues.iter()
            .filter(|due| (from * SECOND..to * SECOND).contains(&(due.intended_ns - START)))
            .count()
    };
    assert_eq!(
        [count(0, 1), count(1, 5), count(5, 6), count(6, 10)],
        [100, 40, 100, 40]
    );
}

#[test]
fn steps_follow_each_other_and_then_nothing_is_sent() {
    let steps = r#"[{"seconds": 1, "rate": 10}, {"seconds": 2, "rate": 0}, {"seconds": 1, "rate": 5}]"#;
    let mut schedule = schedule(&load(&format!(r#"{{"shape": "steps", "steps": {steps}}}"#)), 1);
    let dues = until(&mut schedule, NEVER - 1);
    let count = |from: i64, to: i64| {
        dues.iter()
            .filter(|due| (from * SECOND..to * SECOND).contains(&(due.intended_ns - START)))
            .count()
    };
    assert_eq!([count(0, 1), count(1, 3), count(3, 4), dues.len()], [10, 0, 5, 15]);
}

#[test]
fn a_rate_of_zero_pauses_and_a_new_rate_resumes() {
    let mut schedule = schedule(&paced(10.0), 1);
    until(&mut schedule, START + SECOND);
    schedule.set_rate(START + SECOND + 1, 0.0);
    assert_eq!(schedule.peek(), None);
    schedule.set_rate(START + 5 * SECOND, 10.0);
    let next = schedule.peek().unwrap();
    assert!(next > START + 5 * SECOND && next <= START + 5 * SECOND + SECOND / 10);
}

#[test]
fn poisson_arrivals_have_the_asked_rate_and_irregular_gaps() {
    let poisson = load(r#"{"shape": "paced", "rate": 1000, "arrivals": "poisson"}"#);
    let mut schedule = schedule(&poisson, 1);
    let dues = until(&mut schedule, START + 100 * SECOND);
    assert!((dues.len() as f64 - 100_000.0).abs() < 1500.0, "{}", dues.len());
    let short = dues
        .windows(2)
        .filter(|pair| pair[1].intended_ns - pair[0].intended_ns < 500_000)
        .count();
    let share = short as f64 / dues.len() as f64;
    assert!((share - 0.393).abs() < 0.02, "{share}"); // 1 - e^-0.5
}

#[test]
fn a_window_is_refilled_in_whole_refills() {
    let window = Window { size: 100, refill: 10 };
    assert_eq!([0, 9, 25].map(|received| window.granted(received)), [100, 100, 120]);
    let mut windowed = Windowed::new(4, 1, Some(5));
    let dues: Vec<Due> = std::iter::from_fn(|| windowed.pop(3, START)).collect();
    assert_eq!(dues.len(), 3);
    assert_eq!(std::iter::from_fn(|| windowed.pop(100, START)).count(), 2);
}

proptest! {
    #[test]
    fn no_drift_at_any_rate(rate in 0.01f64..200_000.0, n in 0u64..20_000) {
        let mut schedule = schedule(&paced(rate), 7);
        for _ in 0..n {
            schedule.pop(NEVER);
        }
        let expected = START as f64 + n as f64 / rate * 1e9;
        prop_assert!((schedule.peek().unwrap() as f64 - expected).abs() <= expected * 1e-15 + 1024.0);
    }

    #[test]
    fn the_slots_together_are_the_whole(rate in 1.0f64..10_000.0, slots in 1u32..9) {
        let whole = until(&mut schedule(&paced(rate * f64::from(slots)), 1), START + SECOND);
        let mut parts: Vec<i64> = (0..slots)
            .flat_map(|slot| until(
                &mut schedule_of(&paced(rate), 1, f64::from(slot) / f64::from(slots), NEVER),
                START + SECOND,
            ))
            .map(|due| due.intended_ns)
            .collect();
        parts.sort_unstable();
        prop_assert!((parts.len() as i64 - whole.len() as i64).abs() <= 1);
        for (part, due) in parts.iter().zip(&whole) {
            prop_assert!((part - due.intended_ns).abs() <= 1);
        }
    }

    #[test]
    fn a_change_of_rate_neither_jumps_nor_overshoots(
        first in 1.0f64..5_000.0, second in 1.0f64..5_000.0, change_ms in 1i64..2_000,
    ) {
        let at = START + change_ms * 1_000_000;
        let mut schedule = schedule(&paced(first), 1);
        let mut dues = until(&mut schedule, at - 1);
        schedule.set_rate(at, second);
        dues.extend(until(&mut schedule, at + SECOND));
        let expected = first * change_ms as f64 / 1e3 + second;
        prop_assert!((dues.len() as f64 - expected).abs() <= 2.0, "{} {}", dues.len(), expected);
        let longest = SECOND as f64 / first.min(second) + 2.0;
        for pair in dues.windows(2) {
            let gap = pair[1].intended_ns - pair[0].intended_ns;
            prop_assert!(gap >= 0 && gap as f64 <= longest);
        }
    }
}

#[test]
fn a_change_at_a_future_time_keeps_the_schedule_absolute_on_both_sides() {
    // Two processes, asked at different moments, share the rate: their sum changes at one time.
    let share = |offset: f64| schedule_of(&paced(50.0), 1, offset, NEVER);
    let (mut early, mut late) = (share(0.0), share(0.5));
    early.set_rate(START + 2 * SECOND, 100.0);
    let mut dues = until(&mut early, START + 4 * SECOND - 1);
    // The other one has sent a second of its messages when it hears of the change, and sleeps through the rest.
    dues.extend(until(&mut late, START + SECOND));
    late.set_rate(START + 2 * SECOND, 100.0);
    dues.extend(until(&mut late, START + 4 * SECOND - 1));
    dues.sort_by_key(|due| due.intended_ns);
    let before = dues.iter().filter(|due| due.intended_ns < START + 2 * SECOND).count();
    assert_eq!((before, dues.len() - before), (200, 400));
    let gaps: Vec<i64> = dues
        .windows(2)
        .map(|pair| pair[1].intended_ns - pair[0].intended_ns)
        .collect();
    assert!(gaps[..198].iter().all(|gap| *gap == 10_000_000));
    assert!(gaps[202..].iter().all(|gap| (0..=10_000_000).contains(gap)));
}

proptest! {
    #[test]
    fn changes_of_rate_lose_and_invent_no_message(
        rates in proptest::collection::vec(1u32..5000, 1..6),
        looks in proptest::collection::vec(1i64..900_000_000, 0..20),
    ) {
        // The n-th stretch of one second has its own rate; whenever the schedule is looked at, the messages are the same.
        let make = || {
            let mut made = schedule(&paced(f64::from(rates[0])), 3);
            for (second, rate) in rates.iter().enumerate().skip(1) {
                made.set_rate(START + second as i64 * SECOND, f64::from(*rate));
            }
            made
        };
        let end = START + rates.len() as i64 * SECOND - 1;
        let whole = until(&mut make(), end);
        let mut pieces = make();
        let mut time = START;
        let mut found = Vec::new();
        for look in looks {
            time = (time + look).min(end);
            found.extend(until(&mut pieces, time));
        }
        found.extend(until(&mut pieces, end));
        prop_assert_eq!(&whole, &found);
        let expected: u32 = rates.iter().sum();
        prop_assert!((whole.len() as i64 - i64::from(expected)).abs() <= 1, "{} {}", whole.len(), expected);
    }
}
