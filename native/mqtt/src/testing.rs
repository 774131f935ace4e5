//! Helpers of the byte-level tests in this crate.

use crate::{frame, DecodeError, Packet, Version};

/// The packet is exactly these bytes, and the bytes exactly this packet.
#[track_caller]
pub(crate) fn assert_wire(bytes: &[u8], packet: Packet<'_>, version: Version) {
    let mut out = Vec::new();
    packet.encode(version, &mut out).unwrap();
    assert_eq!(bytes, out, "encoded");
    assert_eq!(Ok(packet), decode(bytes, version), "decoded");
}

/// The bytes are refused for this reason.
#[track_caller]
pub(crate) fn assert_refused(bytes: &[u8], version: Version, expected: DecodeError) {
    assert_eq!(Err(expected), decode(bytes, version));
}

/// The one packet these bytes are.
#[track_caller]
pub(crate) fn decode(bytes: &[u8], version: Version) -> Result<Packet<'_>, DecodeError> {
    let frame = frame::split(bytes, u32::MAX)?.expect("the bytes of a test are a whole packet");
    assert_eq!(bytes.len(), frame.length, "the bytes of a test are one packet");
    Packet::decode(frame, version)
}
