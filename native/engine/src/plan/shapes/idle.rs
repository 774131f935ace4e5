//! Nothing is sent.

use serde::Deserialize;

use super::{LoadShape, Share};
use crate::plan::Problems;
use crate::schedule::Pacing;

/// Devices connect and stay; none sends.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idle {}

impl LoadShape for Idle {
    fn check(&self, _: &mut Problems) {}

    fn pacing(&self, _: Share) -> Pacing {
        Pacing::Idle
    }

    fn sends(&self) -> bool {
        false
    }
}
