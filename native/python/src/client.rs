//! The packets of a small MQTT 3.1.1 client, so that Python needs no codec of its own.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use telemark_mqtt::packet::{ping, Connect, Disconnect, List, Subscribe, SubscribeEntry};
use telemark_mqtt::reason::ReasonCode;
use telemark_mqtt::{frame, EncodeError, Packet, Properties, QoS, Version};

use crate::errors::IntoPython;

const VERSION: Version = Version::V311;

/// A packet received; fields that its kind does not have are empty.
#[pyclass(frozen, get_all, module = "telemark._native")]
pub struct ReceivedPacket {
    kind: &'static str,
    /// Return code of a CONNACK.
    code: u8,
    topic: String,
    payload: Py<PyBytes>,
    retain: bool,
}

fn encoded(
    python: Python<'_>,
    encode: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> PyResult<Bound<'_, PyBytes>> {
    let mut bytes = Vec::new();
    encode(&mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(python, &bytes))
}

/// The bytes of CONNECT with a clean session. Raises ValueError for what MQTT 3.1.1 cannot say.
#[pyfunction]
#[pyo3(signature = (client_id, keep_alive_s=0, username=None, password=None))]
pub fn encode_connect<'py>(
    python: Python<'py>,
    client_id: &str,
    keep_alive_s: u16,
    username: Option<&str>,
    password: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    let packet = Connect {
        clean_start: true,
        keep_alive: keep_alive_s,
        username,
        password,
        ..Connect::new(VERSION, client_id)
    };
    encoded(python, |bytes| packet.encode(bytes))
}

/// The bytes of SUBSCRIBE for these filters at QoS 0. Raises ValueError for a filter that is none.
#[pyfunction]
pub fn encode_subscribe(python: Python<'_>, filters: Vec<String>) -> PyResult<Bound<'_, PyBytes>> {
    let entries = filters
        .iter()
        .map(|filter| SubscribeEntry::new(filter, QoS::AtMostOnce));
    let entries: Vec<SubscribeEntry<'_>> = entries.collect();
    let packet = Subscribe {
        packet_id: 1,
        properties: Properties::NONE,
        entries: List::given(&entries),
    };
    encoded(python, |bytes| packet.encode(VERSION, bytes))
}

/// The bytes of PINGREQ.
#[pyfunction]
pub fn encode_pingreq(python: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(python, &ping::REQUEST)
}

/// The bytes of DISCONNECT.
#[pyfunction]
pub fn encode_disconnect(python: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    encoded(python, |bytes| {
        Disconnect::new(ReasonCode::Success).encode(VERSION, bytes)
    })
}

/// The packet at the front of the bytes and its length; None when it is not complete. Raises ValueError.
#[pyfunction]
pub fn decode_packet(python: Python<'_>, data: &[u8]) -> PyResult<Option<(ReceivedPacket, usize)>> {
    let Some(frame) = frame::split(data, u32::MAX).map_err(IntoPython::into_python)? else {
        return Ok(None);
    };
    let packet = Packet::decode(frame, VERSION).map_err(IntoPython::into_python)?;
    let (kind, code, topic, payload, retain) = match packet {
        Packet::Connack(connack) => ("connack", connack.reason.to_connack_311(), "", &[][..], false),
        Packet::Publish(publish) => ("publish", 0, publish.topic, publish.payload, publish.retain),
        _ => ("other", 0, "", &[][..], false),
    };
    let packet = ReceivedPacket {
        kind,
        code,
        topic: topic.to_owned(),
        payload: PyBytes::new(python, payload).unbind(),
        retain,
    };
    Ok(Some((packet, frame.length)))
}
