//! The Python module `telemark._native`; its types are described in `src/telemark/_native.pyi`.

mod batch;
mod engine;
mod errors;
mod loopback;
mod protocol;
mod record_file;
mod wait;

use pyo3::prelude::*;

/// The module's contents.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let python = module.py();
    module.add("PlanProblem", python.get_type::<errors::PlanProblem>())?;
    module.add("EngineFailure", python.get_type::<errors::EngineFailure>())?;
    module.add_class::<batch::Column>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<record_file::RecordFile>()?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<loopback::Loopback>()?;
    module.add_function(wrap_pyfunction!(protocol::monotonic_ns, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::expand, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::topic_matches, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::decode, module)?)?;
    Ok(())
}
