//! Load shapes, one file each: its fields, its rules, and how it becomes a schedule.
//!
//! A new shape is a file with a type that implements [`LoadShape`], and one line in the list below. Nothing else in the
//! engine knows which shapes there are.

#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::Problems;
use crate::schedule::Pacing;

/// What a load shape has to say of itself.
pub trait LoadShape {
    /// Adds what is wrong with the shape's own fields.
    fn check(&self, problems: &mut Problems);

    /// How this process's share of the messages follows each other.
    fn pacing(&self, share: Share) -> Pacing;

    /// Whether it ever sends, and so needs a publisher.
    fn sends(&self) -> bool {
        true
    }
}

/// A process's part in the load, as far as a shape may depend on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Publishers of the plan.
    pub publishers: u32,
    /// Part of a gap by which this process is later than the first of several, so that they interleave evenly.
    pub offset: f64,
    /// For random choices.
    pub seed: u64,
}

macro_rules! shapes {
    ($($file:ident :: $Shape:ident),* $(,)?) => {
        $(mod $file; pub use $file::$Shape;)*

        /// One of the load shapes; the JSON field `shape` says which.
        #[derive(Clone, Debug, Deserialize)]
        #[serde(tag = "shape", rename_all = "lowercase")]
        #[allow(missing_docs)] // each is described in its file
        pub enum Shape {
            $($Shape($Shape)),*
        }

        impl Shape {
            /// Its name in a plan.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Shape::$Shape(_) => stringify!($file)),*
                }
            }
        }

        impl std::ops::Deref for Shape {
            type Target = dyn LoadShape;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Shape::$Shape(shape) => shape),*
                }
            }
        }
    };
}

shapes!(
    idle::Idle,
    paced::Paced,
    batched::Batched,
    windowed::Windowed,
    every::Every,
    burst::Burst,
    steps::Steps,
);
