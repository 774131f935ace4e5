//! DISCONNECT [3.14].

use super::ack::{allowed_reason, check_reason};
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::reason::ReasonCode;
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// The last packet of a connection. In 3.1.1 only clients send it, without a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disconnect<'a> {
    /// Why; success is a normal end.
    pub reason: ReasonCode,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
}

impl<'a> Disconnect<'a> {
    /// With a reason and no properties.
    pub const fn new(reason: ReasonCode) -> Self {
        Self {
            reason,
            properties: Properties::NONE,
        }
    }

    /// Reads the body. Reason and properties may be left out [3.14.2.1].
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let mut packet = Self::default();
        if version.is_v5() && !reader.is_empty() {
            packet.reason = allowed_reason(reader.byte()?, PacketType::Disconnect)?;
            if !reader.is_empty() {
                packet.properties = Properties::read(&mut reader, version, Place::Disconnect)?;
            }
        }
        reader.finish()?;
        Ok(packet)
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

impl Body for Disconnect<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Disconnect.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if !version.is_v5() && self.reason != ReasonCode::Success {
            return Err(EncodeError::NeedsVersion5("a reason code in DISCONNECT"));
        }
        check_reason(self.reason, PacketType::Disconnect)?;
        self.properties.check_for(version, Place::Disconnect)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        if self.reason != ReasonCode::Success || !self.properties.is_empty() {
            out.byte(self.reason.code());
        }
        if !self.properties.is_empty() {
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
    fn a_normal_end_is_two_bytes() {
        for version in [Version::V311, Version::V5] {
            assert_wire(&[0xe0, 0], Packet::Disconnect(Disconnect::default()), version);
        }
    }

    #[test]
    fn version_5_says_why() {
        let taken = Disconnect::new(ReasonCode::SessionTakenOver);
        assert_wire(&[0xe0, 1, 0x8e], Packet::Disconnect(taken), Version::V5);
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::SessionExpiryInterval(1)).unwrap();
        let expiring = Disconnect {
            properties: buffer.as_properties(),
            ..Disconnect::default()
        };
        assert_wire(
            &[0xe0, 7, 0, 5, 0x11, 0, 0, 0, 1],
            Packet::Disconnect(expiring),
            Version::V5,
        );
    }

    #[test]
    fn broken_disconnects_are_refused() {
        assert_refused(&[0xe0, 1, 0], Version::V311, DecodeError::TrailingBytes(1));
        assert_refused(
            &[0xe0, 1, 0x01],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 1, kind: 14 },
        );
        assert_refused(&[0xe0, 3, 0, 1, 0x23], Version::V5, DecodeError::Truncated);
        let mut out = Vec::new();
        let why = Disconnect::new(ReasonCode::ServerBusy);
        assert!(matches!(
            why.encode(Version::V311, &mut out),
            Err(EncodeError::NeedsVersion5(_))
        ));
    }
}
