//! The built-in server: MQTT 3.1.1 and 5 in memory, as thin as it can be, and wrong on command.
//!
//! It is an instrument. The engine's own ceiling is measured against it, so a message costs one read shared with
//! the socket's other messages, one hash lookup, one copy, and one write shared with the destination's other
//! messages. And it can delay, stall, drop, duplicate, reorder, refuse and disconnect exactly as told, keeping an
//! account of it, so that tests know the true answer a report must find.
//!
//! ```no_run
//! let config = telemark_loopback::Config::from_json(r#"{"listeners": [{"name": "plain", "port": 1883}]}"#)?;
//! let mut server = telemark_loopback::Server::start(config)?;
//! println!("{:?}", server.ports());
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alarm;
mod choice;
mod config;
mod connection;
mod control;
mod counters;
mod faults;
mod hub;
mod listener;
mod message;
mod outbox;
mod reactor;
mod retained;
mod server;
mod shared;

pub use config::{Config, ConfigProblems, ListenerConfig, Security};
pub use counters::{CounterReport, Counters, SubscriptionDepth};
pub use faults::{Affected, FaultSettings};
#[cfg(feature = "fuzzing")]
pub use hub::fuzzing;
pub use server::{Server, StartError};
