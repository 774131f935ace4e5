//! Topic names and filters [4.7], shared subscriptions [4.8.2], and the tree that routes by them.

mod filter;
mod hash;
mod name;
mod subscribers;
mod tree;

pub use filter::{check_filter, matches, Filter, MAXIMUM_LEVELS};
pub use name::{check_name, TopicError};
pub use subscribers::{Group, Target};
pub use tree::SubscriptionTree;
