//! MQTT 5 properties [2.2.2]: kept as the bytes of the wire, checked once, read without allocation.

use crate::error::{DecodeError, EncodeError};
use crate::version::Version;
use crate::wire::{Reader, Sink, MAXIMUM_VARIABLE_INTEGER};

/// A packet (or the will inside CONNECT) that carries properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of the standard
#[repr(u8)]
pub enum Place {
    Connect,
    Will,
    Connack,
    Publish,
    /// PUBACK, PUBREC, PUBREL and PUBCOMP carry the same properties.
    Ack,
    Subscribe,
    Suback,
    Unsubscribe,
    Unsuback,
    Disconnect,
    Auth,
}

const fn bit(place: Place) -> u16 {
    1 << place as u8
}

const CONNECT: u16 = bit(Place::Connect);
const WILL: u16 = bit(Place::Will);
const CONNACK: u16 = bit(Place::Connack);
const PUBLISH: u16 = bit(Place::Publish);
const ACK: u16 = bit(Place::Ack);
const SUBSCRIBE: u16 = bit(Place::Subscribe);
const SUBACK: u16 = bit(Place::Suback) | bit(Place::Unsuback);
const DISCONNECT: u16 = bit(Place::Disconnect);
const AUTH: u16 = bit(Place::Auth);
const EVERYWHERE: u16 = u16::MAX;

/// A value as it stands on the wire.
trait Value<'a>: Sized {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;
    fn write<S: Sink>(&self, out: &mut S);
}

macro_rules! value {
    ($type:ty, $read:ident, $write:ident) => {
        impl<'a> Value<'a> for $type {
            fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                reader.$read()
            }
            fn write<S: Sink>(&self, out: &mut S) {
                out.$write(*self);
            }
        }
    };
}

value!(u8, byte, byte);
value!(u16, short, short);
value!(u32, long, long);
value!(&'a [u8], binary, binary);
value!(&'a str, text, text);

impl<'a> Value<'a> for VariableInteger {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.variable_integer().map(Self)
    }
    fn write<S: Sink>(&self, out: &mut S) {
        out.variable_integer(self.0);
    }
}

impl<'a> Value<'a> for (&'a str, &'a str) {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok((reader.text()?, reader.text()?))
    }
    fn write<S: Sink>(&self, out: &mut S) {
        out.text(self.0);
        out.text(self.1);
    }
}

/// A variable byte integer [1.5.5]: at most 268,435,455.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableInteger(pub u32);

macro_rules! properties {
    ($($id:literal $name:ident $type:ty, $places:expr;)*) => {
        /// One property: its name in the standard and its value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the names are those of the standard
        pub enum Property<'a> {
            $($name($type),)*
        }

        impl<'a> Property<'a> {
            /// The identifier on the wire.
            pub const fn id(&self) -> u8 {
                match self {
                    $(Self::$name(_) => $id,)*
                }
            }

            fn read(id: u32, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                match id {
                    $($id => Ok(Self::$name(Value::read(reader)?)),)*
                    _ => Err(DecodeError::UnknownProperty(id)),
                }
            }

            fn write<S: Sink>(&self, out: &mut S) {
                out.byte(self.id());
                match self {
                    $(Self::$name(value) => value.write(out),)*
                }
            }

            const fn places(&self) -> u16 {
                match self {
                    $(Self::$name(_) => $places,)*
                }
            }
        }
    };
}

properties! {
    0x01 PayloadFormatIndicator u8, PUBLISH | WILL;
    0x02 MessageExpiryInterval u32, PUBLISH | WILL;
    0x03 ContentType &'a str, PUBLISH | WILL;
    0x08 ResponseTopic &'a str, PUBLISH | WILL;
    0x09 CorrelationData &'a [u8], PUBLISH | WILL;
    0x0B SubscriptionIdentifier VariableInteger, PUBLISH | SUBSCRIBE;
    0x11 SessionExpiryInterval u32, CONNECT | CONNACK | DISCONNECT;
    0x12 AssignedClientIdentifier &'a str, CONNACK;
    0x13 ServerKeepAlive u16, CONNACK;
    0x15 AuthenticationMethod &'a str, CONNECT | CONNACK | AUTH;
    0x16 AuthenticationData &'a [u8], CONNECT | CONNACK | AUTH;
    0x17 RequestProblemInformation u8, CONNECT;
    0x18 WillDelayInterval u32, WILL;
    0x19 RequestResponseInformation u8, CONNECT;
    0x1A ResponseInformation &'a str, CONNACK;
    0x1C ServerReference &'a str, CONNACK | DISCONNECT;
    0x1F ReasonString &'a str, CONNACK | ACK | SUBACK | DISCONNECT | AUTH;
    0x21 ReceiveMaximum u16, CONNECT | CONNACK;
    0x22 TopicAliasMaximum u16, CONNECT | CONNACK;
    0x23 TopicAlias u16, PUBLISH;
    0x24 MaximumQos u8, CONNACK;
    0x25 RetainAvailable u8, CONNACK;
    0x26 UserProperty (&'a str, &'a str), EVERYWHERE;
    0x27 MaximumPacketSize u32, CONNECT | CONNACK;
    0x28 WildcardSubscriptionAvailable u8, CONNACK;
    0x29 SubscriptionIdentifierAvailable u8, CONNACK;
    0x2A SharedSubscriptionAvailable u8, CONNACK;
}

impl Property<'_> {
    const fn is_allowed_in(&self, place: Place) -> bool {
        self.places() & bit(place) != 0
    }

    /// User properties may repeat, and subscription identifiers in PUBLISH [3.3.2.3.8].
    const fn may_repeat_in(&self, place: Place) -> bool {
        matches!(
            (self, place),
            (Self::UserProperty(_), _) | (Self::SubscriptionIdentifier(_), Place::Publish)
        )
    }

    /// Flags are 0 or 1; some numbers must not be zero.
    const fn is_in_range(&self) -> bool {
        match *self {
            Self::PayloadFormatIndicator(value)
            | Self::RequestProblemInformation(value)
            | Self::RequestResponseInformation(value)
            | Self::MaximumQos(value)
            | Self::RetainAvailable(value)
            | Self::WildcardSubscriptionAvailable(value)
            | Self::SubscriptionIdentifierAvailable(value)
            | Self::SharedSubscriptionAvailable(value) => value <= 1,
            Self::ReceiveMaximum(value) | Self::TopicAlias(value) => value != 0,
            Self::MaximumPacketSize(value) => value != 0,
            Self::SubscriptionIdentifier(VariableInteger(value)) => value != 0 && value <= MAXIMUM_VARIABLE_INTEGER,
            _ => true,
        }
    }
}

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
        let mut measure = crate::wire::Measure::default();
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
