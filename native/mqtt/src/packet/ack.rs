//! PUBACK, PUBREC, PUBREL and PUBCOMP [3.4 to 3.7]: one format.

use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::reason::ReasonCode;
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// Which of the four it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of the standard
pub enum AckKind {
    Puback,
    Pubrec,
    Pubrel,
    Pubcomp,
}

impl AckKind {
    /// The packet type.
    pub const fn packet_type(self) -> PacketType {
        match self {
            Self::Puback => PacketType::Puback,
            Self::Pubrec => PacketType::Pubrec,
            Self::Pubrel => PacketType::Pubrel,
            Self::Pubcomp => PacketType::Pubcomp,
        }
    }
}

/// An acknowledgement of a message or of another acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Which of the four.
    pub kind: AckKind,
    /// The message's packet id, never zero.
    pub packet_id: u16,
    /// MQTT 5; always success in 3.1.1.
    pub reason: ReasonCode,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
}

impl<'a> Ack<'a> {
    /// Success without properties.
    pub const fn new(kind: AckKind, packet_id: u16) -> Self {
        Self {
            kind,
            packet_id,
            reason: ReasonCode::Success,
            properties: Properties::NONE,
        }
    }

    /// Reads the body. Reason and properties may be left out [3.4.2.1].
    #[inline]
    pub fn decode(kind: AckKind, body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let mut ack = Self::new(kind, reader.packet_id()?);
        if version.is_v5() && !reader.is_empty() {
            let code = reader.byte()?;
            ack.reason = allowed_reason(code, kind.packet_type())?;
            if !reader.is_empty() {
                ack.properties = Properties::read(&mut reader, version, Place::Ack)?;
            }
        }
        reader.finish()?;
        Ok(ack)
    }

    /// Appends the packet, in its short form where the standard allows it.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

/// The reason with this number, if packets of this type may carry it.
pub(crate) fn allowed_reason(code: u8, kind: PacketType) -> Result<ReasonCode, DecodeError> {
    ReasonCode::from_code(code)
        .filter(|reason| reason.is_allowed_in(kind))
        .ok_or(DecodeError::InvalidReasonCode { code, kind: kind as u8 })
}

/// Refuses to write a reason that packets of this type may not carry.
pub(crate) fn check_reason(reason: ReasonCode, kind: PacketType) -> Result<(), EncodeError> {
    if reason.is_allowed_in(kind) {
        return Ok(());
    }
    Err(EncodeError::Forbidden("the reason code is not allowed in this packet"))
}

/// Appends a successful acknowledgement: four bytes, the same in both versions. The hot path.
#[inline]
pub fn encode_success(kind: AckKind, packet_id: u16, out: &mut Vec<u8>) {
    let [high, low] = packet_id.to_be_bytes();
    out.extend_from_slice(&[kind.packet_type().first_byte(), 2, high, low]);
}

impl Body for Ack<'_> {
    fn first_byte(&self) -> u8 {
        self.kind.packet_type().first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if self.packet_id == 0 {
            return Err(EncodeError::PacketIdMismatch);
        }
        if !version.is_v5() && self.reason != ReasonCode::Success {
            return Err(EncodeError::NeedsVersion5("a reason code in an acknowledgement"));
        }
        check_reason(self.reason, self.kind.packet_type())?;
        self.properties.check_for(version, Place::Ack)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.short(self.packet_id);
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
    use crate::testing::{assert_refused, assert_wire, decode};
    use crate::{Packet, Property, PropertyBuffer};

    #[test]
    fn success_is_four_bytes_in_both_versions() {
        for (kind, first) in [
            (AckKind::Puback, 0x40),
            (AckKind::Pubrec, 0x50),
            (AckKind::Pubrel, 0x62),
            (AckKind::Pubcomp, 0x70),
        ] {
            for version in [Version::V311, Version::V5] {
                assert_wire(&[first, 2, 0x12, 0x34], Packet::Ack(Ack::new(kind, 0x1234)), version);
            }
            let mut out = Vec::new();
            encode_success(kind, 0x1234, &mut out);
            assert_eq!([first, 2, 0x12, 0x34], out[..]);
        }
    }

    #[test]
    fn a_reason_and_properties_follow_in_version_5() {
        let reason = ReasonCode::QuotaExceeded;
        let short = Ack {
            reason,
            ..Ack::new(AckKind::Puback, 1)
        };
        assert_wire(&[0x40, 3, 0, 1, 0x97], Packet::Ack(short), Version::V5);
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::ReasonString("no")).unwrap();
        let long = Ack {
            properties: buffer.as_properties(),
            ..short
        };
        assert_wire(
            &[0x40, 9, 0, 1, 0x97, 5, 0x1f, 0, 2, b'n', b'o'],
            Packet::Ack(long),
            Version::V5,
        );
    }

    #[test]
    fn an_empty_property_list_may_be_written_out() {
        let expected = Packet::Ack(Ack::new(AckKind::Puback, 1));
        assert_eq!(Ok(expected), decode(&[0x40, 4, 0, 1, 0, 0], Version::V5));
    }

    #[test]
    fn broken_acks_are_refused() {
        assert_refused(&[0x40, 2, 0, 0], Version::V311, DecodeError::ZeroPacketId);
        assert_refused(&[0x40, 1, 0], Version::V311, DecodeError::Truncated);
        assert_refused(&[0x40, 3, 0, 1, 0], Version::V311, DecodeError::TrailingBytes(1));
        assert_refused(
            &[0x40, 3, 0, 1, 0x92],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 0x92, kind: 4 },
        );
        assert_refused(
            &[0x62, 3, 0, 1, 0x97],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 0x97, kind: 6 },
        );
    }

    #[test]
    fn what_version_3_1_1_cannot_say_is_not_written() {
        let mut out = Vec::new();
        let refusal = Ack {
            reason: ReasonCode::QuotaExceeded,
            ..Ack::new(AckKind::Puback, 1)
        };
        assert!(matches!(
            refusal.encode(Version::V311, &mut out),
            Err(EncodeError::NeedsVersion5(_))
        ));
        assert_eq!(
            Err(EncodeError::PacketIdMismatch),
            Ack::new(AckKind::Puback, 0).encode(Version::V5, &mut out)
        );
        assert!(out.is_empty());
    }
}
