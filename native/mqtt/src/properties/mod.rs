//! MQTT 5 properties [2.2.2]: kept as the bytes of the wire, checked once, read without allocation.

mod property;

use crate::error::{DecodeError, EncodeError};
use crate::version::Version;
use crate::wire::{Measure, Reader, Sink};
pub use property::{Place, Property, VariableInteger};

/// The properties of a packet, checked, still encoded. Copying is two words; the default is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Properties<'a> {
    bytes: &'a [u8],
}

impl<'a> Properties<'a> {
    /// No properties.
    pub const NONE: Properties<'static> = Properties { bytes: &[] };

    /// True when there are none, as always in 3.1.1.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes on the wire, without the length in front.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All properties in the order of the wire.
    pub fn iter(&self) -> impl Iterator<Item = Property<'a>> {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || read_one(&mut reader).ok())
    }

    /// The value the closure takes from the first property it accepts:
    /// `properties.find(|p| match p { Property::TopicAlias(alias) => Some(alias), _ => None })`.
    pub fn find<T>(&self, take: impl FnMut(Property<'a>) -> Option<T>) -> Option<T> {
        self.iter().find_map(take)
    }

    /// Reads length and properties (MQTT 5) or nothing at all (3.1.1).
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>, version: Version, place: Place) -> Result<Self, DecodeError> {
        if !version.is_v5() {
            return Ok(Properties::NONE);
        }
        let length = reader.variable_integer()?;
        let bytes = reader.take(length as usize)?;
        check(bytes, place)?;
        Ok(Self { bytes })
    }

    #[inline]
    pub(crate) fn write<S: Sink>(&self, version: Version, out: &mut S) {
        if version.is_v5() {
            out.variable_integer(self.bytes.len() as u32);
            out.put(self.bytes);
        }
    }

    /// Refuses properties in a 3.1.1 packet, and such as the packet may not have.
    pub(crate) fn check_for(&self, version: Version, place: Place) -> Result<(), EncodeError> {
        if self.is_empty() {
            return Ok(());
        }
        if !version.is_v5() {
            return Err(EncodeError::NeedsVersion5("a property"));
        }
        check(self.bytes, place).map_err(|_| EncodeError::Forbidden("a property is not allowed in this packet"))
    }
}

impl std::fmt::Debug for Properties<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn read_one<'a>(reader: &mut Reader<'a>) -> Result<Property<'a>, DecodeError> {
    let id = reader.variable_integer()?;
    Property::read(id, reader)
}

fn check(bytes: &[u8], place: Place) -> Result<(), DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut seen = 0_u64;
    while !reader.is_empty() {
        let property = read_one(&mut reader)?;
        let id = property.id();
        if !property.is_allowed_in(place) {
            return Err(DecodeError::MisplacedProperty(id));
        }
        if !property.is_in_range() {
            return Err(DecodeError::InvalidPropertyValue(id));
        }
        if seen & (1 << id) != 0 && !property.may_repeat_in(place) {
            return Err(DecodeError::DuplicateProperty(id));
        }
        seen |= 1 << id;
    }
    Ok(())
}

/// Properties being put together. Build once, borrow for every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertyBuffer {
    bytes: Vec<u8>,
}

impl PropertyBuffer {
    /// An empty buffer; allocates nothing.
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Adds one. Where it may stand is checked when a packet is encoded.
    pub fn push(&mut self, property: Property<'_>) -> Result<(), EncodeError> {
        let mut measure = Measure::default();
        property.write(&mut measure);
        measure.remaining_length()?;
        if !property.is_in_range() {
            return Err(EncodeError::Forbidden("a property has a value outside its range"));
        }
        property.write(&mut self.bytes);
        Ok(())
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A view for packets.
    pub fn as_properties(&self) -> Properties<'_> {
        Properties { bytes: &self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Property<'static>; 27] = [
        Property::PayloadFormatIndicator(1),
        Property::MessageExpiryInterval(1),
        Property::ContentType("t"),
        Property::ResponseTopic("r"),
        Property::CorrelationData(&[1]),
        Property::SubscriptionIdentifier(VariableInteger(1)),
        Property::SessionExpiryInterval(1),
        Property::AssignedClientIdentifier("c"),
        Property::ServerKeepAlive(1),
        Property::AuthenticationMethod("m"),
        Property::AuthenticationData(&[1]),
        Property::RequestProblemInformation(1),
        Property::WillDelayInterval(1),
        Property::RequestResponseInformation(1),
        Property::ResponseInformation("i"),
        Property::ServerReference("s"),
        Property::ReasonString("r"),
        Property::ReceiveMaximum(1),
        Property::TopicAliasMaximum(1),
        Property::TopicAlias(1),
        Property::MaximumQos(1),
        Property::RetainAvailable(1),
        Property::UserProperty(("k", "v")),
        Property::MaximumPacketSize(1),
        Property::WildcardSubscriptionAvailable(1),
        Property::SubscriptionIdentifierAvailable(1),
        Property::SharedSubscriptionAvailable(1),
    ];

    fn encoded(properties: &[Property<'_>]) -> PropertyBuffer {
        let mut buffer = PropertyBuffer::new();
        properties.iter().for_each(|property| buffer.push(*property).unwrap());
        buffer
    }

    #[test]
    fn every_property_returns_from_its_bytes() {
        let buffer = encoded(&ALL);
        let found: Vec<_> = buffer.as_properties().iter().collect();
        assert_eq!(ALL.to_vec(), found);
    }

    #[test]
    fn a_property_may_stand_only_where_the_standard_has_it() {
        let counts = [
            (Place::Connect, 9),
            (Place::Will, 7),
            (Place::Connack, 17),
            (Place::Publish, 8),
            (Place::Ack, 2),
            (Place::Subscribe, 2),
            (Place::Suback, 2),
            (Place::Unsubscribe, 1),
            (Place::Unsuback, 2),
            (Place::Disconnect, 4),
            (Place::Auth, 4),
        ];
        for (place, expected) in counts {
            let allowed = ALL
                .iter()
                .filter(|property| check(encoded(&[**property]).as_properties().bytes, place).is_ok());
            assert_eq!(expected, allowed.count(), "{place:?}");
        }
    }

    #[test]
    fn only_user_properties_and_identifiers_of_messages_repeat() {
        for property in ALL {
            let twice = encoded(&[property, property]);
            for place in [
                Place::Connect,
                Place::Connack,
                Place::Will,
                Place::Publish,
                Place::Subscribe,
            ] {
                if !property.is_allowed_in(place) {
                    continue;
                }
                let repeats =
                    check(twice.as_properties().bytes, place) != Err(DecodeError::DuplicateProperty(property.id()));
                assert_eq!(property.may_repeat_in(place), repeats, "{property:?} in {place:?}");
            }
        }
    }

    #[test]
    fn values_outside_their_range_are_refused_both_ways() {
        for (property, bytes, place) in [
            (Property::ReceiveMaximum(0), &[0x21, 0, 0][..], Place::Connect),
            (Property::MaximumPacketSize(0), &[0x27, 0, 0, 0, 0], Place::Connect),
            (Property::TopicAlias(0), &[0x23, 0, 0], Place::Publish),
            (Property::PayloadFormatIndicator(2), &[0x01, 2], Place::Publish),
            (
                Property::SubscriptionIdentifier(VariableInteger(0)),
                &[0x0b, 0],
                Place::Subscribe,
            ),
        ] {
            assert_eq!(
                Err(DecodeError::InvalidPropertyValue(property.id())),
                check(bytes, place)
            );
            assert!(PropertyBuffer::new().push(property).is_err());
        }
    }

    #[test]
    fn unknown_and_cut_properties_are_refused() {
        assert_eq!(Err(DecodeError::UnknownProperty(0x7f)), check(&[0x7f], Place::Publish));
        assert_eq!(
            Err(DecodeError::UnknownProperty(300)),
            check(&[0xac, 0x02], Place::Publish)
        );
        assert_eq!(Err(DecodeError::Truncated), check(&[0x02, 0, 0], Place::Publish));
        assert_eq!(
            Err(DecodeError::InvalidText),
            check(&[0x03, 0, 1, 0xc0], Place::Publish)
        );
    }

    #[test]
    fn find_takes_the_first_that_fits() {
        let buffer = encoded(&[Property::UserProperty(("a", "1")), Property::UserProperty(("b", "2"))]);
        let value = buffer.as_properties().find(|property| match property {
            Property::UserProperty(("b", value)) => Some(value),
            _ => None,
        });
        assert_eq!(Some("2"), value);
    }
}
