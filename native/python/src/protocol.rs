//! Small functions of the protocol crate, so that Python and the engine can never disagree.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use telemark_mqtt::pattern::Pattern;
use telemark_mqtt::topic::Filter;
use telemark_mqtt::{frame, Packet, Version};

use crate::errors::IntoPython;

/// CLOCK_MONOTONIC in nanoseconds: the clock of every time in a run folder.
#[pyfunction]
pub fn monotonic_ns() -> i64 {
    telemark_net::monotonic_ns()
}

/// The pattern language of plans, as the engine reads it. Raises PlanProblem.
#[pyfunction]
#[pyo3(signature = (pattern, index, sequence=0))]
pub fn expand(pattern: &str, index: u64, sequence: u64) -> PyResult<String> {
    let mut text = String::new();
    let compiled = Pattern::compile(pattern).map_err(IntoPython::into_python)?;
    compiled.expand(index, sequence, &mut text);
    Ok(text)
}

/// Whether an MQTT topic filter ($share/name/ prefix allowed) matches a topic name.
#[pyfunction]
pub fn topic_matches(filter: &str, topic: &str) -> PyResult<bool> {
    Ok(Filter::parse(filter).map_err(IntoPython::into_python)?.matches(topic))
}

/// Debug text of every MQTT packet in the bytes; raises ValueError on malformed input. For tests and fuzzing.
#[pyfunction]
pub fn decode(data: &[u8], version: &str) -> PyResult<Vec<String>> {
    let version = match version {
        "3.1.1" => Version::V311,
        "5" => Version::V5,
        other => {
            return Err(PyValueError::new_err(format!(
                "version: found {other:?}; use \"3.1.1\" or \"5\""
            )))
        }
    };
    let mut packets = Vec::new();
    let mut rest = data;
    while let Some(frame) = frame::split(rest, u32::MAX).map_err(IntoPython::into_python)? {
        rest = &rest[frame.length..];
        packets.push(format!(
            "{:?}",
            Packet::decode(frame, version).map_err(IntoPython::into_python)?
        ));
    }
    if rest.is_empty() {
        return Ok(packets);
    }
    Err(PyValueError::new_err(format!(
        "{} bytes of an incomplete packet are left",
        rest.len()
    )))
}
