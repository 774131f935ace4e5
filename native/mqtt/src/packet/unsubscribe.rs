//! UNSUBSCRIBE [3.10].

use super::list::private::Codec;
use super::list::{Entry, List};
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::version::Version;
use crate::wire::{encode, Body, Reader, Sink};

impl<'a> Codec<'a> for &'a str {
    fn read(reader: &mut Reader<'a>, _version: Version) -> Result<Self, DecodeError> {
        reader.text()
    }

    fn write<S: Sink>(&self, out: &mut S) {
        out.text(self);
    }
}

impl<'a> Entry<'a> for &'a str {}

/// A request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsubscribe<'a> {
    /// Never zero.
    pub packet_id: u16,
    /// MQTT 5 only.
    pub properties: Properties<'a>,
    /// Filters exactly as they were subscribed: `List::given(&["a/#"])`.
    pub filters: List<'a, &'a str>,
}

impl<'a> Unsubscribe<'a> {
    /// Reads the body.
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            packet_id: reader.packet_id()?,
            properties: Properties::read(&mut reader, version, Place::Unsubscribe)?,
            filters: List::read(&mut reader, version)?,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

impl Body for Unsubscribe<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Unsubscribe.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if self.packet_id == 0 {
            return Err(EncodeError::PacketIdMismatch);
        }
        if self.filters.is_empty() {
            return Err(EncodeError::Forbidden("UNSUBSCRIBE needs at least one filter"));
        }
        self.properties.check_for(version, Place::Unsubscribe)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.short(self.packet_id);
        self.properties.write(version, out);
        self.filters.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_refused, assert_wire};
    use crate::Packet;

    #[test]
    fn filters_stand_one_after_the_other() {
        let packet = Unsubscribe {
            packet_id: 2,
            properties: Properties::NONE,
            filters: List::given(&["a", "b/+"]),
        };
        assert_wire(
            b"\xa2\x0a\x00\x02\x00\x01a\x00\x03b/+",
            Packet::Unsubscribe(packet),
            Version::V311,
        );
        assert_wire(
            b"\xa2\x0b\x00\x02\x00\x00\x01a\x00\x03b/+",
            Packet::Unsubscribe(packet),
            Version::V5,
        );
    }

    #[test]
    fn broken_requests_are_refused() {
        assert_refused(b"\xa2\x02\x00\x01", Version::V311, DecodeError::EmptyList);
        assert_refused(b"\xa2\x05\x00\x00\x00\x01a", Version::V311, DecodeError::ZeroPacketId);
        assert_refused(b"\xa2\x05\x00\x01\x00\x02a", Version::V311, DecodeError::Truncated);
        let empty = Unsubscribe {
            packet_id: 1,
            properties: Properties::NONE,
            filters: List::given(&[]),
        };
        assert!(matches!(
            empty.encode(Version::V5, &mut Vec::new()),
            Err(EncodeError::Forbidden(_))
        ));
    }
}
