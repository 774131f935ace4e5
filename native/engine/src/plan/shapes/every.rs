//! One message every few seconds.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::{OpenLoop, Pacing, Turn};

/// The plan's first publisher sends one message every `every_s` seconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    every_s: f64,
}

impl LoadShape for Every {
    fn check(&self, problems: &mut Problems) {
        problems.positive("load.every_s", self.every_s);
    }

    fn pacing(&self, _: Share) -> Pacing {
        Pacing::Open(OpenLoop {
            turn: Turn::First,
            ..OpenLoop::in_turn(1.0 / self.every_s, 0.0)
        })
    }
}
