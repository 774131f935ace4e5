//! A base rate with bursts.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::{nanoseconds, OpenLoop, Pacing, Program};

/// `burst_rate` instead of `rate` for `burst_s`, from the start and then every `burst_every_s`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    rate: f64,
    burst_rate: f64,
    burst_s: f64,
    burst_every_s: f64,
}

impl LoadShape for Burst {
    fn check(&self, problems: &mut Problems) {
        problems.not_negative("load.rate", self.rate);
        problems.positive("load.burst_rate", self.burst_rate);
        problems.positive("load.burst_s", self.burst_s);
        problems.check(
            self.burst_every_s > self.burst_s,
            "load.burst_every_s",
            self.burst_every_s,
            format_args!("it must be longer than burst_s = {}", self.burst_s),
        );
    }

    fn pacing(&self, share: Share) -> Pacing {
        let program = Program::Burst {
            base: self.rate,
            burst: self.burst_rate,
            length_ns: nanoseconds(self.burst_s),
            every_ns: nanoseconds(self.burst_every_s),
        };
        Pacing::Open(OpenLoop {
            program,
            ..OpenLoop::in_turn(self.burst_rate, share.offset)
        })
    }
}
