//! CONNACK [3.2].

use super::ack::{allowed_reason, check_reason};
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::reason::ReasonCode;
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// The server's answer to CONNECT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connack<'a> {
    /// The server has a session of this client and resumes it.
    pub session_present: bool,
    /// Success or why not; 3.1.1 return codes are translated both ways.
    pub reason: ReasonCode,
    /// MQTT 5 only; see [`crate::limits::Limits`] for what they mean together.
    pub properties: Properties<'a>,
}

impl<'a> Connack<'a> {
    /// Reads the body.
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let session_present = match reader.byte()? {
            flags @ (0 | 1) => flags == 1,
            flags => return Err(DecodeError::InvalidFlagsByte(flags)),
        };
        let reason = read_reason(reader.byte()?, version)?;
        let properties = Properties::read(&mut reader, version, Place::Connack)?;
        reader.finish()?;
        Ok(Self {
            session_present,
            reason,
            properties,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

fn read_reason(code: u8, version: Version) -> Result<ReasonCode, DecodeError> {
    match version {
        Version::V5 => allowed_reason(code, PacketType::Connack),
        Version::V311 => ReasonCode::from_connack_311(code).ok_or(DecodeError::InvalidReasonCode {
            code,
            kind: PacketType::Connack as u8,
        }),
    }
}

impl Body for Connack<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Connack.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        check_reason(self.reason, PacketType::Connack)?;
        self.properties.check_for(version, Place::Connack)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.byte(u8::from(self.session_present));
        out.byte(match version {
            Version::V5 => self.reason.code(),
            Version::V311 => self.reason.to_connack_311(),
        });
        self.properties.write(version, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::{Packet, Property, PropertyBuffer};

    #[test]
    fn acceptance_says_whether_a_session_was_there() {
        let accepted = Connack {
            session_present: true,
            ..Connack::default()
        };
        assert_wire(&[0x20, 2, 1, 0], Packet::Connack(accepted), Version::V311);
        assert_wire(&[0x20, 3, 1, 0, 0], Packet::Connack(accepted), Version::V5);
    }

    #[test]
    fn a_refusal_has_the_code_of_its_version() {
        let refused = Connack {
            reason: ReasonCode::NotAuthorized,
            ..Connack::default()
        };
        assert_wire(&[0x20, 2, 0, 5], Packet::Connack(refused), Version::V311);
        assert_wire(&[0x20, 3, 0, 0x87, 0], Packet::Connack(refused), Version::V5);
    }

    #[test]
    fn limits_come_as_properties() {
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::ReceiveMaximum(20)).unwrap();
        buffer.push(Property::MaximumQos(1)).unwrap();
        let limited = Connack {
            properties: buffer.as_properties(),
            ..Connack::default()
        };
        assert_wire(
            &[0x20, 8, 0, 0, 5, 0x21, 0, 20, 0x24, 1],
            Packet::Connack(limited),
            Version::V5,
        );
    }

    #[test]
    fn broken_answers_are_refused() {
        assert_refused(&[0x20, 2, 2, 0], Version::V311, DecodeError::InvalidFlagsByte(2));
        assert_refused(
            &[0x20, 2, 0, 6],
            Version::V311,
            DecodeError::InvalidReasonCode { code: 6, kind: 2 },
        );
        assert_refused(
            &[0x20, 3, 0, 5, 0],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 5, kind: 2 },
        );
        assert_refused(&[0x20, 2, 0, 0], Version::V5, DecodeError::Truncated);
        assert_refused(&[0x20, 3, 0, 0, 0], Version::V311, DecodeError::TrailingBytes(1));
    }
}
