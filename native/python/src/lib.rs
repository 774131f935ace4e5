//! The Python module `telemark._native`.
use pyo3::prelude::*;

/// The module's contents.
#[pymodule]
fn _native(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
