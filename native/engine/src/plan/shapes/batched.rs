//! Many messages at once, then none for a while.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::{OpenLoop, Pacing, Turn};

/// `batch` messages every `period_ms` from each of `partitions` equal runs of publishers, which take turns within the
/// period: partitions stand for programs that know nothing of each other, and such programs do not send at one moment.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batched {
    batch: u32,
    period_ms: f64,
    #[serde(default = "one")]
    partitions: u32,
}

fn one() -> u32 {
    1
}

impl LoadShape for Batched {
    fn check(&self, problems: &mut Problems) {
        problems.check(
            self.batch > 0,
            "load.batch",
            self.batch,
            "at least 1 message per period is needed",
        );
        problems.positive("load.period_ms", self.period_ms);
        problems.check(
            self.partitions > 0,
            "load.partitions",
            self.partitions,
            "at least 1 is needed",
        );
    }

    fn pacing(&self, share: Share) -> Pacing {
        let partitions = self.partitions.clamp(1, share.publishers.max(1));
        let turn = Turn::Batch {
            batch: self.batch,
            partitions,
        };
        Pacing::Open(OpenLoop {
            turn,
            ..OpenLoop::in_turn(f64::from(partitions) * 1000.0 / self.period_ms, share.offset)
        })
    }
}
