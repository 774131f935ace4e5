//! Random input for everything that reads bytes of strangers, with a stable compiler.
//!
//! Each target is a function that must hold for any bytes (`telemark_mqtt`'s targets also run under `cargo fuzz`).
//! Input number `n` of a seed is always the same, so a failure is repeated by its two numbers.

#[path = "../../mqtt/fuzz/src/checks.rs"]
mod checks;
mod input;

use std::time::{Duration, Instant};

pub use input::Inputs;

/// A function that must not panic, whatever the bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 5] = [
    ("packets", checks::packets),
    ("topics", checks::topics),
    ("window", checks::window),
    ("hub", telemark_loopback::fuzzing::run),
    ("session", telemark_engine::fuzzing::run),
];

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Inputs tried at most.
    pub inputs: u64,
    /// Time spent at most.
    pub time: Duration,
}

/// Feeds a target with the inputs of a seed from number `first` on; how many it has survived.
pub fn run(name: &str, target: Target, seed: u64, first: u64, limit: Limit) -> u64 {
    let start = Instant::now();
    let mut inputs = Inputs::new(name, seed);
    let mut tried = 0;
    while tried < limit.inputs && (tried % 256 != 0 || start.elapsed() < limit.time) {
        let input = inputs.get(first + tried);
        let _told = Witness(name, seed, first + tried, input);
        target(input);
        tried += 1;
    }
    tried
}

/// Tells which input it was when a target panics.
struct Witness<'a>(&'a str, u64, u64, &'a [u8]);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Witness(name, seed, number, input) = self;
            eprintln!("{name}: input {number} of seed {seed}: {input:02x?}");
        }
    }
}
