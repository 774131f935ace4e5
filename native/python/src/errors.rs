//! The one place where native errors become Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::PyErr;

create_exception!(
    telemark._native,
    PlanProblem,
    PyValueError,
    "The plan cannot be used. The message names the field, the value and the remedy."
);
create_exception!(
    telemark._native,
    EngineFailure,
    PyRuntimeError,
    "A native thread failed. What was recorded before is still returned by `Engine.drain`."
);

/// A native error that has a Python counterpart.
pub trait IntoPython {
    /// The exception to raise.
    fn into_python(self) -> PyErr;
}

impl IntoPython for telemark_engine::plan::PlanProblem {
    fn into_python(self) -> PyErr {
        PlanProblem::new_err(self.to_string())
    }
}

impl IntoPython for telemark_engine::EngineFailure {
    fn into_python(self) -> PyErr {
        EngineFailure::new_err(self.to_string())
    }
}

impl IntoPython for std::io::Error {
    fn into_python(self) -> PyErr {
        PyOSError::new_err((self.raw_os_error(), self.to_string()))
    }
}

impl IntoPython for telemark_mqtt::pattern::PatternError {
    fn into_python(self) -> PyErr {
        PlanProblem::new_err(self.to_string())
    }
}

impl IntoPython for telemark_mqtt::topic::TopicError {
    fn into_python(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}

impl IntoPython for telemark_mqtt::error::DecodeError {
    fn into_python(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}
