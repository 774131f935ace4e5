//! Exchanges of clock readings for Python: both sides are native threads, Python takes the readings as columns.

use pyo3::prelude::*;
use telemark_net::AskingPlan;

use crate::errors::IntoPython;
use crate::wait::duration;

/// The runner's side of clock exchanges.
#[pyclass(frozen, module = "telemark._native")]
pub struct ClockResponder(telemark_net::ClockResponder);

#[pymethods]
impl ClockResponder {
    #[new]
    fn new(address: (String, u16)) -> PyResult<ClockResponder> {
        let started = telemark_net::ClockResponder::start((address.0.as_str(), address.1));
        Ok(ClockResponder(started.map_err(IntoPython::into_python)?))
    }

    fn admit(&self, line: u32, key: &[u8]) -> PyResult<()> {
        self.0.admit(line, key).map_err(IntoPython::into_python)
    }

    fn dismiss(&self, line: u32) {
        self.0.dismiss(line);
    }

    fn close(&self, python: Python<'_>) {
        python.detach(|| self.0.close());
    }
}

/// The host's side of clock exchanges.
#[pyclass(frozen, module = "telemark._native")]
pub struct ClockAsker(telemark_net::ClockAsker);

#[pymethods]
impl ClockAsker {
    #[new]
    #[pyo3(signature = (address, line, key, *, every_s, patience_s, burst))]
    fn new(
        address: (String, u16),
        line: u32,
        key: &[u8],
        every_s: f64,
        patience_s: f64,
        burst: u64,
    ) -> PyResult<ClockAsker> {
        let plan = AskingPlan {
            every: duration(every_s),
            patience: duration(patience_s),
            burst,
        };
        let started = telemark_net::ClockAsker::start((address.0.as_str(), address.1), line, key, plan);
        Ok(ClockAsker(started.map_err(IntoPython::into_python)?))
    }

    /// Columns asked, told and answered of the exchanges since the last call.
    fn drain(&self) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
        let found = self.0.drain();
        let column = |of: fn(&telemark_net::Exchange) -> i64| found.iter().map(of).collect();
        (
            column(|each| each.asked_ns),
            column(|each| each.told_ns),
            column(|each| each.answered_ns),
        )
    }

    fn close(&self, python: Python<'_>) {
        python.detach(|| self.0.close());
    }
}
