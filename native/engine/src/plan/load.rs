//! How often, over time: a shape, and what all shapes have in common.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::shapes::{Idle, Shape};
use super::{EnginePlan, Problems};

/// A load shape with its bounds.
#[derive(Clone, Debug)]
pub struct Load {
    /// Which messages are due when.
    pub shape: Shape,
    /// This process stops after so many messages.
    pub limit: Option<u64>,
    /// A message that cannot be sent within this time of its due time is dropped.
    pub max_lateness_s: f64,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            shape: Shape::Idle(Idle {}),
            limit: None,
            max_lateness_s: 1.0,
        }
    }
}

/// The common fields stand beside those of the shape, so each side takes its own and refuses the rest.
impl<'de> Deserialize<'de> for Load {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Load, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let common = Load::default();
        let limit = fields.remove("limit").unwrap_or_default();
        let lateness = fields.remove("max_lateness_s");
        let lateness = lateness.map_or(Ok(common.max_lateness_s), f64::deserialize);
        Ok(Load {
            limit: Option::deserialize(limit).map_err(|error| D::Error::custom(format!("limit: {error}")))?,
            max_lateness_s: lateness.map_err(|error| D::Error::custom(format!("max_lateness_s: {error}")))?,
            shape: Shape::deserialize(Value::Object(fields)).map_err(D::Error::custom)?,
        })
    }
}

pub(super) fn check_load(plan: &EnginePlan, problems: &mut Problems) {
    let load = &plan.load;
    problems.check(
        !load.shape.sends() || plan.publishers() > 0,
        "load.shape",
        format_args!("{} without a publisher", load.shape.name()),
        "give a group `publish`, or use the idle shape",
    );
    problems.check(
        plan.slot < plan.slots,
        "slot",
        plan.slot,
        format_args!("it must be below slots = {}", plan.slots),
    );
    problems.positive("load.max_lateness_s", load.max_lateness_s);
    load.shape.check(problems);
}
