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
