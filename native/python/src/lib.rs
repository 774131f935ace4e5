//! The Python module `telemark._native`; its types are described in `src/telemark/_native.pyi`.

mod batch;
mod client;
mod clock_exchange;
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
    module.add_class::<clock_exchange::ClockResponder>()?;
    module.add_class::<clock_exchange::ClockAsker>()?;
    module.add_function(wrap_pyfunction!(protocol::monotonic_ns, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::expand, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::topic_matches, module)?)?;
    module.add_function(wrap_pyfunction!(protocol::decode, module)?)?;
    module.add_class::<client::ReceivedPacket>()?;
    module.add_function(wrap_pyfunction!(client::encode_connect, module)?)?;
    module.add_function(wrap_pyfunction!(client::encode_subscribe, module)?)?;
    module.add_function(wrap_pyfunction!(client::encode_pingreq, module)?)?;
    module.add_function(wrap_pyfunction!(client::encode_disconnect, module)?)?;
    module.add_function(wrap_pyfunction!(client::decode_packet, module)?)?;
    Ok(())
}
