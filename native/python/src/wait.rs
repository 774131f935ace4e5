//! Waiting without holding the GIL, in slices short enough for Ctrl-C.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

const SLICE: Duration = Duration::from_millis(50);

/// A duration from Python's seconds; what cannot be a duration (negative, not a number) is none.
pub fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

/// Calls `step` with slices of the timeout until it gives something or the time is over. Signals are handled between.
pub fn in_slices<T: Send>(
    python: Python<'_>,
    timeout: Duration,
    mut step: impl FnMut(Duration) -> Option<T> + Send,
) -> PyResult<Option<T>> {
    let end = Instant::now() + timeout.min(Duration::from_secs(1 << 30));
    loop {
        let left = end.saturating_duration_since(Instant::now()).min(SLICE);
        let found = python.detach(|| step(left));
        if found.is_some() {
            return Ok(found);
        }
        python.check_signals()?;
        if Instant::now() >= end {
            return Ok(None);
        }
    }
}
