//! `Engine` for Python. Methods may be called from several Python threads at once.

use std::collections::HashMap;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::Batch;
use crate::errors::IntoPython;
use crate::wait::{duration, in_slices};

/// Longest wait for devices to disconnect; the threads give up earlier by themselves.
const FINISH_TIMEOUT: Duration = Duration::from_secs(30);

/// Simulated devices of one process. Order of calls: connect, begin, (set_rate, credit)*, halt, finish.
#[pyclass(frozen, module = "telemark._native")]
pub struct Engine {
    engine: telemark_engine::Engine,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (plan_json, secrets=None))]
    fn new(python: Python<'_>, plan_json: &str, secrets: Option<HashMap<String, String>>) -> PyResult<Engine> {
        let secrets = secrets.unwrap_or_default();
        let engine = python.detach(|| telemark_engine::Engine::new(plan_json, &secrets));
        Ok(Engine {
            engine: engine.map_err(IntoPython::into_python)?,
        })
    }

    fn connect(&self, python: Python<'_>) -> PyResult<()> {
        python.detach(|| self.engine.connect()).map_err(IntoPython::into_python)
    }

    fn begin(&self, start_ns: i64) -> PyResult<()> {
        self.engine.begin(start_ns).map_err(IntoPython::into_python)
    }

    #[pyo3(signature = (rate, at_ns=0))]
    fn set_rate(&self, rate: f64, at_ns: i64) -> PyResult<i64> {
        if !rate.is_finite() || rate < 0.0 {
            return Err(crate::errors::PlanProblem::new_err(format!(
                "rate: found {rate}; it must be 0 or more"
            )));
        }
        self.engine.set_rate(rate, at_ns).map_err(IntoPython::into_python)
    }

    fn credit(&self, messages: u64) -> PyResult<()> {
        self.engine.credit(messages).map_err(IntoPython::into_python)
    }

    fn halt(&self) -> PyResult<()> {
        self.engine.halt().map_err(IntoPython::into_python)
    }

    fn flush(&self) -> PyResult<()> {
        self.engine.flush().map_err(IntoPython::into_python)
    }

    fn finish(&self, python: Python<'_>) -> PyResult<()> {
        self.engine.finish();
        let ended = in_slices(python, FINISH_TIMEOUT, |slice| {
            self.engine.wait_ended(slice).then_some(())
        })?;
        match ended {
            Some(()) => Ok(()),
            None => Err(crate::errors::EngineFailure::new_err(
                "the engine's threads did not end within 30 s",
            )),
        }
    }

    fn status<'py>(&self, python: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = self.engine.status();
        let fields = PyDict::new(python);
        let numbers = [
            ("devices", status.devices),
            ("connected", status.connected),
            ("ready", status.ready),
            ("failed", status.failed),
            ("pending", status.pending),
            ("intended", status.intended),
            ("sent", status.sent),
            ("acked", status.acked),
            ("dropped", status.dropped),
            ("received", status.received),
            ("disconnects", status.disconnects),
            ("received_for_credit", status.received_for_credit),
        ];
        for (name, value) in numbers {
            fields.set_item(name, value)?;
        }
        fields.set_item("sending", status.sending)?;
        fields.set_item("finished", status.finished)?;
        Ok(fields)
    }

    fn latency_last_second(&self) -> (u64, u64, u64) {
        self.engine.latency_last_second()
    }

    fn drain(&self, python: Python<'_>, timeout_s: f64) -> PyResult<Vec<Batch>> {
        let batches = in_slices(python, duration(timeout_s), |slice| match self.engine.drain(slice) {
            Ok(batches) if batches.is_empty() && !self.engine.status().finished => None,
            result => Some(result),
        })?;
        let batches = batches
            .transpose()
            .map_err(IntoPython::into_python)?
            .unwrap_or_default();
        Ok(batches.into_iter().map(Batch::from).collect())
    }
}
