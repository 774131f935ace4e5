//! AUTH [3.15]: MQTT 5 only.

use super::ack::{allowed_reason, check_reason};
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::reason::ReasonCode;
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// One step of an extended authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Success, continue, or re-authenticate.
    pub reason: ReasonCode,
    /// Method and data.
    pub properties: Properties<'a>,
}

impl<'a> Auth<'a> {
    /// Reads the body. All of it may be left out [3.15.2.1].
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        if !version.is_v5() {
            return Err(DecodeError::UnknownPacketType(PacketType::Auth as u8));
        }
        let mut reader = Reader::new(body);
        let mut packet = Self::default();
        if !reader.is_empty() {
            packet.reason = allowed_reason(reader.byte()?, PacketType::Auth)?;
            packet.properties = Properties::read(&mut reader, version, Place::Auth)?;
        }
        reader.finish()?;
        Ok(packet)
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

impl Body for Auth<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Auth.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if !version.is_v5() {
            return Err(EncodeError::NeedsVersion5("AUTH"));
        }
        check_reason(self.reason, PacketType::Auth)?;
        self.properties.check_for(version, Place::Auth)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        if self.reason != ReasonCode::Success || !self.properties.is_empty() {
            out.byte(self.reason.code());
            self.properties.write(version, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::{Packet, Property, PropertyBuffer};

    #[test]
    fn a_step_carries_method_and_data() {
        assert_wire(&[0xf0, 0], Packet::Auth(Auth::default()), Version::V5);
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::AuthenticationMethod("X")).unwrap();
        buffer.push(Property::AuthenticationData(&[9])).unwrap();
        let step = Auth {
            reason: ReasonCode::ContinueAuthentication,
            properties: buffer.as_properties(),
        };
        let bytes = [0xf0, 10, 0x18, 8, 0x15, 0, 1, b'X', 0x16, 0, 1, 9];
        assert_wire(&bytes, Packet::Auth(step), Version::V5);
    }

    #[test]
    fn version_3_1_1_does_not_know_it() {
        assert_refused(&[0xf0, 0], Version::V311, DecodeError::UnknownPacketType(15));
        assert_eq!(
            Err(EncodeError::NeedsVersion5("AUTH")),
            Auth::default().encode(Version::V311, &mut Vec::new())
        );
        assert_refused(
            &[0xf0, 2, 0x80, 0],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 0x80, kind: 15 },
        );
        assert_refused(&[0xf0, 1, 0x18], Version::V5, DecodeError::Truncated);
    }
}
