//! A constant rate.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::random::Random;
use crate::schedule::{Arrivals, OpenLoop, Pacing};

/// So many messages a second, publishers in turn.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paced {
    rate: f64,
    #[serde(default)]
    arrivals: Gaps,
}

/// Even or random gaps.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Gaps {
    #[default]
    Steady,
    Poisson,
}

impl LoadShape for Paced {
    fn check(&self, problems: &mut Problems) {
        problems.not_negative("load.rate", self.rate);
    }

    fn pacing(&self, share: Share) -> Pacing {
        let arrivals = match self.arrivals {
            Gaps::Steady => Arrivals::Steady,
            Gaps::Poisson => Arrivals::Poisson(Random::new(share.seed)),
        };
        Pacing::Open(OpenLoop {
            arrivals,
            ..OpenLoop::in_turn(self.rate, share.offset)
        })
    }
}
