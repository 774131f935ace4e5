//! The rules of a load shape.

use super::{EnginePlan, Load, Problems, Shape};

pub(super) fn check_load(plan: &EnginePlan, problems: &mut Problems) {
    let load = &plan.load;
    let sends = load.shape != Shape::Idle;
    problems.check(
        !sends || plan.publishers() > 0,
        "load.shape",
        format_args!("{:?} without a publisher", load.shape),
        "give a group `publish`, or use the idle shape",
    );
    problems.check(
        load.slot < load.slots,
        "load.slot",
        load.slot,
        format_args!("it must be below slots = {}", load.slots),
    );
    positive(problems, "load.max_lateness_s", load.max_lateness_s);
    problems.check(
        load.partitions > 0,
        "load.partitions",
        load.partitions,
        "at least 1 is needed",
    );
    check_shape(load, problems);
}

fn check_shape(load: &Load, problems: &mut Problems) {
    match load.shape {
        Shape::Idle => {}
        Shape::Paced => not_negative(problems, "load.rate", load.rate),
        Shape::Every => positive(problems, "load.every_s", load.every_s),
        Shape::Batched => {
            problems.check(
                load.batch > 0,
                "load.batch",
                load.batch,
                "at least 1 message per period is needed",
            );
            positive(problems, "load.period_ms", load.period_ms);
        }
        Shape::Windowed => {
            problems.check(
                load.window > 0,
                "load.window",
                load.window,
                "at least 1 outstanding message is needed",
            );
            problems.check(
                load.refill <= load.window,
                "load.refill",
                load.refill,
                "a refill above the window would never happen: lower it",
            );
        }
        Shape::Burst => check_burst(load, problems),
        Shape::Steps => {
            problems.check(!load.steps.is_empty(), "load.steps", "none", "give at least one step");
            for (number, step) in load.steps.iter().enumerate() {
                positive(problems, &format!("load.steps[{number}].seconds"), step.seconds);
                not_negative(problems, &format!("load.steps[{number}].rate"), step.rate);
            }
        }
    }
}

fn check_burst(load: &Load, problems: &mut Problems) {
    not_negative(problems, "load.rate", load.rate);
    positive(problems, "load.burst_rate", load.burst_rate);
    positive(problems, "load.burst_s", load.burst_s);
    problems.check(
        load.burst_every_s > load.burst_s,
        "load.burst_every_s",
        load.burst_every_s,
        format_args!("it must be longer than burst_s = {}", load.burst_s),
    );
}

pub(super) fn positive(problems: &mut Problems, field: &str, value: f64) {
    problems.check(
        value.is_finite() && value > 0.0,
        field,
        value,
        "a number above 0 is needed",
    );
}

pub(super) fn not_negative(problems: &mut Problems, field: &str, value: f64) {
    problems.check(
        value.is_finite() && value >= 0.0,
        field,
        value,
        "it must not be negative",
    );
}
