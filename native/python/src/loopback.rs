//! `Loopback` for Python: the built-in server in native threads of this process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use telemark_loopback::{Config, Server};

use crate::errors::{EngineFailure, IntoPython, PlanProblem};
use crate::wait::{duration, in_slices};

/// The built-in server, running in native threads of this process.
#[pyclass(frozen, module = "telemark._native")]
pub struct Loopback {
    config: Config,
    server: Mutex<Option<Server>>,
}

#[pymethods]
impl Loopback {
    #[new]
    fn new(config_json: &str) -> PyResult<Loopback> {
        let config = Config::from_json(config_json).map_err(IntoPython::into_python)?;
        Ok(Loopback {
            config,
            server: Mutex::new(None),
        })
    }

    /// Listens; returns the port of each listener by name (and `control`, the HTTP port).
    fn start(&self, python: Python<'_>) -> PyResult<BTreeMap<String, u16>> {
        python.detach(|| {
            let mut place = self.place();
            if place.is_some() {
                return Err(PlanProblem::new_err(
                    "the server runs already; stop it before starting it again",
                ));
            }
            let server = Server::start(self.config.clone()).map_err(IntoPython::into_python)?;
            Ok(place.insert(server).ports().clone())
        })
    }

    /// True when it has stopped; raises EngineFailure when it died.
    fn wait(&self, python: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let stopped = in_slices(python, duration(timeout_s), |slice| {
            let place = self.place();
            place.as_ref().map_or(true, |server| server.wait(slice)).then_some(())
        })?;
        match self.place().as_ref().and_then(Server::failure) {
            Some(reason) => Err(EngineFailure::new_err(reason)),
            None => Ok(stopped.is_some()),
        }
    }

    /// Ends the threads and closes every connection. Safe to call twice.
    fn stop(&self, python: Python<'_>) {
        python.detach(|| {
            // Taken out first: stopping waits for the threads, and `wait` must not wait for that.
            let server = self.place().take();
            drop(server);
        });
    }
}

impl Loopback {
    fn place(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IntoPython for telemark_loopback::ConfigProblems {
    fn into_python(self) -> PyErr {
        PlanProblem::new_err(self.to_string())
    }
}

impl IntoPython for telemark_loopback::StartError {
    fn into_python(self) -> PyErr {
        PyOSError::new_err(self.to_string())
    }
}
