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
        if self.session_present && self.reason != ReasonCode::Success {
            return Err(EncodeError::Forbidden("a refusal cannot have a session present"));
        }
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
