//! PINGREQ [3.12] and PINGRESP [3.13]: two bytes, the same in both versions.

use crate::error::DecodeError;
use crate::frame::PacketType;

/// PINGREQ as it stands on the wire.
pub const REQUEST: [u8; 2] = [PacketType::Pingreq.first_byte(), 0];
/// PINGRESP as it stands on the wire.
pub const RESPONSE: [u8; 2] = [PacketType::Pingresp.first_byte(), 0];

/// Appends a PINGREQ.
pub fn encode_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&REQUEST);
}

/// Appends a PINGRESP.
pub fn encode_response(out: &mut Vec<u8>) {
    out.extend_from_slice(&RESPONSE);
}

/// Neither has a body.
pub(crate) const fn decode(body: &[u8]) -> Result<(), DecodeError> {
    match body.len() {
        0 => Ok(()),
        left => Err(DecodeError::TrailingBytes(left)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_refused, assert_wire};
    use crate::{DecodeError, Packet, Version};

    #[test]
    fn both_are_two_bytes_in_both_versions() {
        for version in [Version::V311, Version::V5] {
            assert_wire(&[0xc0, 0], Packet::Pingreq, version);
            assert_wire(&[0xd0, 0], Packet::Pingresp, version);
            assert_refused(&[0xc0, 1, 0], version, DecodeError::TrailingBytes(1));
        }
    }
}
