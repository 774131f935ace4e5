//! The load engine: simulated MQTT devices, an absolute schedule, and a row for every message.
//!
//! [`Engine`] is the whole interface. Reactor threads own the devices; the caller only gives orders, looks at the
//! status and takes finished batches of rows.

mod cohort;
mod dial;
mod engine;
mod histogram;
mod hub;
pub mod parquet;
mod pending;
pub mod plan;
mod ports;
mod random;
mod reactor;
mod recorder;
pub mod records;
pub mod schedule;
mod session;
mod timeline;
mod wheel;

pub use engine::{Engine, EngineFailure};
pub use hub::Status;
#[cfg(feature = "fuzzing")]
pub use session::fuzzing;
