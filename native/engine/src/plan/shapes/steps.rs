//! One rate after the other.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::{nanoseconds, OpenLoop, Pacing, Program};

/// Stretches of constant rate; after the last one nothing is sent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    seconds: f64,
    rate: f64,
}

impl LoadShape for Steps {
    fn check(&self, problems: &mut Problems) {
        problems.check(!self.steps.is_empty(), "load.steps", "none", "give at least one step");
        for (number, step) in self.steps.iter().enumerate() {
            problems.positive(&format!("load.steps[{number}].seconds"), step.seconds);
            problems.not_negative(&format!("load.steps[{number}].rate"), step.rate);
        }
    }

    fn pacing(&self, share: Share) -> Pacing {
        let first = self.steps.first().map_or(0.0, |step| step.rate);
        let following = self.steps.iter().skip(1).map(|step| step.rate).chain([0.0]);
        let mut end = 0.0;
        let changes = self.steps.iter().zip(following).map(|(step, rate)| {
            end += step.seconds;
            (nanoseconds(end), rate)
        });
        Pacing::Open(OpenLoop {
            program: Program::Steps(changes.collect()),
            ..OpenLoop::in_turn(first, share.offset)
        })
    }
}
