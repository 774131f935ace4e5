//! SUBSCRIBE [3.8].

use super::list::private::Codec;
use super::list::{Entry, List};
use crate::error::{DecodeError, EncodeError};
use crate::frame::PacketType;
use crate::properties::{Place, Properties};
use crate::version::{QoS, Version};
use crate::wire::{encode, Body, Reader, Sink};

const NO_LOCAL: u8 = 0x04;
const RETAIN_AS_PUBLISHED: u8 = 0x08;
const RETAIN_HANDLING_SHIFT: u8 = 4;

/// When the server sends retained messages for a new subscription [3.8.3.1].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RetainHandling {
    /// With every SUBSCRIBE; all that 3.1.1 knows.
    #[default]
    Always = 0,
    /// Only if the subscription did not exist.
    OnlyNew = 1,
    /// Never.
    Never = 2,
}

/// One filter with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubscribeEntry<'a> {
    /// Topic filter, with `$share/name/` in front for a shared subscription. Only its text is checked: a
    /// server answers a bad filter with a SUBACK code, see [`crate::topic::check_filter`].
    pub filter: &'a str,
    /// The highest QoS wanted.
    pub qos: QoS,
    /// MQTT 5: do not send me my own messages.
    pub no_local: bool,
    /// MQTT 5: leave the retain flag as the publisher set it.
    pub retain_as_published: bool,
    /// MQTT 5: when to send retained messages.
    pub retain_handling: RetainHandling,
}

impl<'a> SubscribeEntry<'a> {
    /// A filter with QoS and default options.
    pub fn new(filter: &'a str, qos: QoS) -> Self {
        Self {
            filter,
            qos,
            ..Self::default()
        }
    }

    fn options(&self) -> u8 {
        let no_local = if self.no_local { NO_LOCAL } else { 0 };
        let as_published = if self.retain_as_published {
            RETAIN_AS_PUBLISHED
        } else {
            0
        };
        self.qos.bits() | no_local | as_published | (self.retain_handling as u8) << RETAIN_HANDLING_SHIFT
    }
}

impl<'a> Codec<'a> for SubscribeEntry<'a> {
    fn read(reader: &mut Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        let filter = reader.text()?;
        let options = reader.byte()?;
        let reserved = if version.is_v5() { 0b1100_0000 } else { 0b1111_1100 };
        if options & reserved != 0 {
            return Err(DecodeError::InvalidSubscriptionOptions(options));
        }
        Ok(Self {
            filter,
            qos: QoS::from_bits(options & 0b11)?,
            no_local: options & NO_LOCAL != 0,
            retain_as_published: options & RETAIN_AS_PUBLISHED != 0,
            retain_handling: match options >> RETAIN_HANDLING_SHIFT {
                0 => RetainHandling::Always,
                1 => RetainHandling::OnlyNew,
                2 => RetainHandling::Never,
                _ => return Err(DecodeError::InvalidSubscriptionOptions(options)),
            },
        })
    }

    fn write<S: Sink>(&self, out: &mut S) {
        out.text(self.filter);
        out.byte(self.options());
    }
}

impl<'a> Entry<'a> for SubscribeEntry<'a> {}

/// A request for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscribe<'a> {
    /// Never zero.
    pub packet_id: u16,
    /// MQTT 5 only: the subscription identifier.
    pub properties: Properties<'a>,
    /// Filters with their options: `List::given(&[SubscribeEntry::new("a/#", qos)])`.
    pub entries: List<'a, SubscribeEntry<'a>>,
}

impl<'a> Subscribe<'a> {
    /// Reads the body.
    pub fn decode(body: &'a [u8], version: Version) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        Ok(Self {
            packet_id: reader.packet_id()?,
            properties: Properties::read(&mut reader, version, Place::Subscribe)?,
            entries: List::read(&mut reader, version)?,
        })
    }

    /// Appends the packet.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode(self, version, out)
    }
}

impl Body for Subscribe<'_> {
    fn first_byte(&self) -> u8 {
        PacketType::Subscribe.first_byte()
    }

    fn check(&self, version: Version) -> Result<(), EncodeError> {
        if self.packet_id == 0 {
            return Err(EncodeError::PacketIdMismatch);
        }
        if self.entries.is_empty() {
            return Err(EncodeError::Forbidden("SUBSCRIBE needs at least one filter"));
        }
        if !version.is_v5() && self.entries.iter().any(|entry| entry.options() > 2) {
            return Err(EncodeError::NeedsVersion5("a subscription option other than QoS"));
        }
        self.properties.check_for(version, Place::Subscribe)
    }

    fn write<S: Sink>(&self, version: Version, out: &mut S) {
        out.short(self.packet_id);
        self.properties.write(version, out);
        self.entries.write(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::VariableInteger;
    use crate::testing::{assert_refused, assert_wire, decode};
    use crate::{Packet, Property, PropertyBuffer};

    #[test]
    fn filters_have_a_qos_each() {
        let entries = [
            SubscribeEntry::new("a/#", QoS::AtLeastOnce),
            SubscribeEntry::new("b", QoS::AtMostOnce),
        ];
        let packet = Subscribe {
            packet_id: 10,
            properties: Properties::NONE,
            entries: List::given(&entries),
        };
        assert_wire(
            b"\x82\x0c\x00\x0a\x00\x03a/#\x01\x00\x01b\x00",
            Packet::Subscribe(packet),
            Version::V311,
        );
        assert_wire(
            b"\x82\x0d\x00\x0a\x00\x00\x03a/#\x01\x00\x01b\x00",
            Packet::Subscribe(packet),
            Version::V5,
        );
    }

    #[test]
    fn version_5_has_options_and_an_identifier() {
        let entries = [SubscribeEntry {
            no_local: true,
            retain_as_published: true,
            retain_handling: RetainHandling::Never,
            ..SubscribeEntry::new("a", QoS::ExactlyOnce)
        }];
        let mut buffer = PropertyBuffer::new();
        buffer
            .push(Property::SubscriptionIdentifier(VariableInteger(200)))
            .unwrap();
        let properties = buffer.as_properties();
        let packet = Subscribe {
            packet_id: 1,
            properties,
            entries: List::given(&entries),
        };
        assert_wire(
            b"\x82\x0a\x00\x01\x03\x0b\xc8\x01\x00\x01a\x2e",
            Packet::Subscribe(packet),
            Version::V5,
        );
        let mut out = Vec::new();
        assert!(matches!(
            packet.encode(Version::V311, &mut out),
            Err(EncodeError::NeedsVersion5(_))
        ));
    }

    #[test]
    fn entries_are_read_lazily_in_order() {
        let bytes = b"\x82\x0a\x00\x01\x00\x01a\x02\x00\x01b\x01";
        let Ok(Packet::Subscribe(packet)) = decode(bytes, Version::V311) else {
            panic!("not a SUBSCRIBE")
        };
        let found: Vec<_> = packet
            .entries
            .iter()
            .map(|entry| (entry.filter, entry.qos.bits()))
            .collect();
        assert_eq!(vec![("a", 2), ("b", 1)], found);
    }

    #[test]
    fn broken_requests_are_refused() {
        assert_refused(b"\x82\x02\x00\x01", Version::V311, DecodeError::EmptyList);
        assert_refused(
            b"\x82\x06\x00\x00\x00\x01a\x00",
            Version::V311,
            DecodeError::ZeroPacketId,
        );
        assert_refused(
            b"\x82\x06\x00\x01\x00\x01a\x03",
            Version::V311,
            DecodeError::InvalidQos(3),
        );
        assert_refused(
            b"\x82\x06\x00\x01\x00\x01a\x04",
            Version::V311,
            DecodeError::InvalidSubscriptionOptions(4),
        );
        assert_refused(
            b"\x82\x07\x00\x01\x00\x00\x01a\x30",
            Version::V5,
            DecodeError::InvalidSubscriptionOptions(0x30),
        );
        assert_refused(
            b"\x82\x07\x00\x01\x00\x00\x01a\x40",
            Version::V5,
            DecodeError::InvalidSubscriptionOptions(0x40),
        );
        assert_refused(b"\x82\x05\x00\x01\x00\x01a", Version::V311, DecodeError::Truncated);
        let empty = Subscribe {
            packet_id: 1,
            properties: Properties::NONE,
            entries: List::given(&[]),
        };
        assert!(matches!(
            empty.encode(Version::V5, &mut Vec::new()),
            Err(EncodeError::Forbidden(_))
        ));
    }
}
