//! The closed loop.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::{Pacing, Window};

/// `window` messages at first, then `refill` more for each `refill` received (0: one for one).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windowed {
    window: u64,
    #[serde(default)]
    refill: u64,
}

impl LoadShape for Windowed {
    fn check(&self, problems: &mut Problems) {
        problems.check(
            self.window > 0,
            "load.window",
            self.window,
            "at least 1 outstanding message is needed",
        );
        problems.check(
            self.refill <= self.window,
            "load.refill",
            self.refill,
            "a refill above the window would never happen: lower it",
        );
    }

    fn pacing(&self, _: Share) -> Pacing {
        Pacing::Closed(Window {
            size: self.window,
            refill: self.refill,
        })
    }
}
