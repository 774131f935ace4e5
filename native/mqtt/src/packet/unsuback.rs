//! UNSUBACK [3.11].

use super::suback::check_codes;
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// The server's answer to UNSUBSCRIBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsuback<'a> {
    /// That of the UNSUBSCRIBE.
    pub packet_id: u16,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
    /// MQTT 5: one code for each filter, in order. 3.1.1: empty, and ignored when written.
    pub codes: &'a [u8],
}

impl<'a> Unsuback<'a> {
    /// Reads the body.
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let packet_id = reader.packet_id()?;
        let properties = Properties::read(&mut reader, version, Place::Unsuback)?;
        let mut codes: &[u8] = &[];
        if version.is_v5() {
            codes = reader.remainder();
            check_codes(codes, version, PacketType::Unsuback)?;
        }
        reader.finish()?;
        Ok(Self {
            packet_id,
            properties,
            codes,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

impl Body for Unsuback<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Unsuback.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if self.packet_id == 0 {
            return Err(EncodeError::PacketIdMismatch);
        }
        if version.is_v5() {
            check_codes(self.codes, version, PacketType::Unsuback)
                .map_err(|_| EncodeError::Forbidden("UNSUBACK codes are missing or not allowed"))?;
        }
        self.properties.check_for(version, Place::Unsuback)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.short(self.packet_id);
        self.properties.write(version, out);
        if version.is_v5() {
            out.put(self.codes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::Packet;

    #[test]
    fn version_5_has_codes_and_version_3_1_1_none() {
        let packet = Unsuback {
            packet_id: 3,
            properties: Properties::NONE,
            codes: &[0, 0x11],
        };
        assert_wire(&[0xb0, 5, 0, 3, 0, 0, 0x11], Packet::Unsuback(packet), Version::V5);
        let bare = Unsuback { codes: &[], ..packet };
        assert_wire(&[0xb0, 2, 0, 3], Packet::Unsuback(bare), Version::V311);
    }

    #[test]
    fn broken_answers_are_refused() {
        assert_refused(&[0xb0, 3, 0, 1, 0], Version::V311, DecodeError::TrailingBytes(1));
        assert_refused(&[0xb0, 3, 0, 1, 0], Version::V5, DecodeError::EmptyList);
        assert_refused(
            &[0xb0, 4, 0, 1, 0, 1],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 1, kind: 11 },
        );
    }
}
