//! The 27 properties of MQTT 5 [2.2.2.2]: identifier, type, and where each may stand.

use crate::error::DecodeError;
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

            pub(super) fn read(id: u32, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                match id {
                    $($id => Ok(Self::$name(Value::read(reader)?)),)*
                    _ => Err(DecodeError::UnknownProperty(id)),
                }
            }

            pub(super) fn write<S: Sink>(&self, out: &mut S) {
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
    pub(super) const fn is_allowed_in(&self, place: Place) -> bool {
        self.places() & bit(place) != 0
    }

    /// User properties may repeat, and subscription identifiers in PUBLISH [3.3.2.3.8].
    pub(super) const fn may_repeat_in(&self, place: Place) -> bool {
        matches!(
            (self, place),
            (Self::UserProperty(_), _) | (Self::SubscriptionIdentifier(_), Place::Publish)
        )
    }

    /// Flags are 0 or 1; some numbers must not be zero.
    pub(super) const fn is_in_range(&self) -> bool {
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
