//! Generators of packet fields. The table of properties is written down a second time on purpose: it checks the crate's.

use proptest::collection::vec;
use proptest::prelude::*;
pub use telemark_mqtt::properties::Place;
use telemark_mqtt::properties::VariableInteger;
use telemark_mqtt::{Property, PropertyBuffer, QoS, Version};

pub fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(vec![Version::V311, Version::V5])
}

pub fn qos() -> impl Strategy<Value = QoS> {
    prop::sample::select(vec![QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce])
}

pub fn packet_id() -> impl Strategy<Value = u16> {
    1..=u16::MAX
}

pub fn payload() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..200)
}

/// Any text MQTT allows, short.
pub fn text() -> impl Strategy<Value = String> {
    vec(any::<char>().prop_filter("U+0000 is forbidden", |c| *c != '\0'), 0..12).prop_map(String::from_iter)
}

/// A topic name: not empty, no wildcards.
pub fn name() -> impl Strategy<Value = String> {
    text().prop_map(|text| format!("t/{}", text.replace(['+', '#'], "_")))
}

/// A property whose texts are owned.
#[derive(Clone, Debug)]
pub struct Owned {
    id: u8,
    number: u32,
    text: String,
    bytes: Vec<u8>,
}

impl Owned {
    /// The property with this id; numbers are brought into its range.
    pub fn borrowed(&self) -> Property<'_> {
        let flag = (self.number & 1) as u8;
        let short = self.number as u16;
        match self.id {
            0x01 => Property::PayloadFormatIndicator(flag),
            0x02 => Property::MessageExpiryInterval(self.number),
            0x03 => Property::ContentType(&self.text),
            0x08 => Property::ResponseTopic(&self.text),
            0x09 => Property::CorrelationData(&self.bytes),
            0x0B => Property::SubscriptionIdentifier(VariableInteger(self.number % 268_435_455 + 1)),
            0x11 => Property::SessionExpiryInterval(self.number),
            0x12 => Property::AssignedClientIdentifier(&self.text),
            0x13 => Property::ServerKeepAlive(short),
            0x15 => Property::AuthenticationMethod(&self.text),
            0x16 => Property::AuthenticationData(&self.bytes),
            0x17 => Property::RequestProblemInformation(flag),
            0x18 => Property::WillDelayInterval(self.number),
            0x19 => Property::RequestResponseInformation(flag),
            0x1A => Property::ResponseInformation(&self.text),
            0x1C => Property::ServerReference(&self.text),
            0x1F => Property::ReasonString(&self.text),
            0x21 => Property::ReceiveMaximum(short.max(1)),
            0x22 => Property::TopicAliasMaximum(short),
            0x23 => Property::TopicAlias(short.max(1)),
            0x24 => Property::MaximumQos(flag),
            0x25 => Property::RetainAvailable(flag),
            0x26 => Property::UserProperty((&self.text, "value")),
            0x27 => Property::MaximumPacketSize(self.number.max(1)),
            0x28 => Property::WildcardSubscriptionAvailable(flag),
            0x29 => Property::SubscriptionIdentifierAvailable(flag),
            0x2A => Property::SharedSubscriptionAvailable(flag),
            other => panic!("no property {other:#x}"),
        }
    }
}

/// What may stand where, from table 2-4 of the standard.
const fn allowed(place: Place) -> &'static [u8] {
    match place {
        Place::Connect => &[0x11, 0x15, 0x16, 0x17, 0x19, 0x21, 0x22, 0x26, 0x27],
        Place::Will => &[0x01, 0x02, 0x03, 0x08, 0x09, 0x18, 0x26],
        Place::Connack => &[
            0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2A,
        ],
        Place::Publish => &[0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26],
        Place::Ack | Place::Suback | Place::Unsuback => &[0x1F, 0x26],
        Place::Subscribe => &[0x0B, 0x26],
        Place::Unsubscribe => &[0x26],
        Place::Disconnect => &[0x11, 0x1C, 0x1F, 0x26],
        Place::Auth => &[0x15, 0x16, 0x1F, 0x26],
    }
}

/// Some of the properties allowed in the place, each once.
pub fn own_properties(place: Place) -> impl Strategy<Value = Vec<Owned>> {
    let ids = prop::sample::subsequence(allowed(place), 0..=allowed(place).len()).prop_shuffle();
    (ids, any::<u32>(), text(), payload()).prop_map(|(ids, number, text, bytes)| {
        ids.into_iter()
            .map(|id| Owned {
                id,
                number,
                text: text.clone(),
                bytes: bytes.clone(),
            })
            .collect()
    })
}

/// The same, encoded.
pub fn properties(place: Place) -> impl Strategy<Value = PropertyBuffer> {
    own_properties(place).prop_map(|owned| {
        let mut buffer = PropertyBuffer::new();
        owned
            .iter()
            .for_each(|property| buffer.push(property.borrowed()).unwrap());
        buffer
    })
}
