//! SUBACK [3.9].

use super::ack::allowed_reason;
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::reason::ReasonCode;
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

/// The server's answer to SUBSCRIBE: one code for each filter, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suback<'a> {
    /// That of the SUBSCRIBE.
    pub packet_id: u16,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
    /// Codes as on the wire; 0x80 and above are refusals.
    pub codes: &'a [u8],
}

impl<'a> Suback<'a> {
    /// Reads the body.
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let packet_id = reader.packet_id()?;
        let properties = Properties::read(&mut reader, version, Place::Suback)?;
        let codes = reader.remainder();
        check_codes(codes, version, PacketType::Suback)?;
        Ok(Self {
            packet_id,
            properties,
            codes,
        })
    }

    /// What was granted or why not, filter by filter.
    pub fn reasons(&self) -> impl Iterator<Item = ReasonCode> + 'a {
        self.codes
            .iter()
            .map(|&code| ReasonCode::from_code(code).unwrap_or(ReasonCode::UnspecifiedError))
    }

    /// Appends the packet. In 3.1.1 every refusal becomes 0x80.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

/// At least one code, all of them known to the version [3.9.3].
pub(crate) fn check_codes(codes: &[u8], version: Version, kind: PacketType) -> Result<(), DecodeError> {
    if codes.is_empty() {
        return Err(DecodeError::EmptyList);
    }
    for &code in codes {
        allowed_reason(code, kind)?;
        if !version.is_v5() && code > 2 && code != 0x80 {
            return Err(DecodeError::InvalidReasonCode { code, kind: kind as u8 });
        }
    }
    Ok(())
}

impl Body for Suback<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Suback.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if self.packet_id == 0 {
            return Err(EncodeError::PacketIdMismatch);
        }
        check_codes(self.codes, Version::V5, PacketType::Suback)
            .map_err(|_| EncodeError::Forbidden("SUBACK codes are missing or not allowed"))?;
        self.properties.check_for(version, Place::Suback)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.short(self.packet_id);
        self.properties.write(version, out);
        match version {
            Version::V5 => out.put(self.codes),
            Version::V311 => self.reasons().for_each(|reason| out.byte(reason.to_suback_311())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::Packet;

    #[test]
    fn there_is_a_code_for_every_filter() {
        let packet = Suback {
            packet_id: 10,
            properties: Properties::NONE,
            codes: &[1, 0x80],
        };
        assert_wire(&[0x90, 4, 0, 10, 1, 0x80], Packet::Suback(packet), Version::V311);
        assert_wire(&[0x90, 5, 0, 10, 0, 1, 0x80], Packet::Suback(packet), Version::V5);
        let reasons: Vec<_> = packet.reasons().collect();
        assert_eq!(vec![ReasonCode::GrantedQos1, ReasonCode::UnspecifiedError], reasons);
    }

    #[test]
    fn every_refusal_is_0x80_in_version_3_1_1() {
        let packet = Suback {
            packet_id: 10,
            properties: Properties::NONE,
            codes: &[0x87],
        };
        let mut out = Vec::new();
        packet.encode(Version::V311, &mut out).unwrap();
        assert_eq!([0x90, 3, 0, 10, 0x80], out[..]);
    }

    #[test]
    fn broken_answers_are_refused() {
        assert_refused(&[0x90, 2, 0, 1], Version::V311, DecodeError::EmptyList);
        assert_refused(
            &[0x90, 3, 0, 1, 3],
            Version::V311,
            DecodeError::InvalidReasonCode { code: 3, kind: 9 },
        );
        assert_refused(
            &[0x90, 3, 0, 1, 0x87],
            Version::V311,
            DecodeError::InvalidReasonCode { code: 0x87, kind: 9 },
        );
        assert_refused(
            &[0x90, 4, 0, 1, 0, 0x10],
            Version::V5,
            DecodeError::InvalidReasonCode { code: 0x10, kind: 9 },
        );
    }
}
