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
