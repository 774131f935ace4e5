//! A message kept beyond the moment of its arrival, and one on its way to a subscription.

use std::sync::Arc;

use telemark_mqtt::packet::Publish;
use telemark_mqtt::properties::VariableInteger;
use telemark_mqtt::{EncodeError, Property, PropertyBuffer, QoS, Version};

const SECOND_NS: u64 = 1_000_000_000;

/// What was published. Shared by all deliveries that wait.
#[derive(Debug)]
pub struct Message {
    /// Topic name.
    pub topic: Box<str>,
    /// The application's bytes.
    pub payload: Box<[u8]>,
    /// The publisher's QoS.
    pub qos: QoS,
    /// The publisher's retain flag.
    pub retain: bool,
    /// MQTT 5 properties that travel with the message; its expiry is apart.
    pub properties: PropertyBuffer,
    /// When it is too old to be delivered.
    pub expires_ns: Option<u64>,
}

impl Message {
    /// Keeps a PUBLISH whose topic alias has been resolved to `topic`.
    #[must_use]
    pub fn keep(publish: &Publish<'_>, topic: &str, now_ns: u64) -> Self {
        let mut message = Self {
            topic: topic.into(),
            payload: publish.payload.into(),
            qos: publish.qos,
            retain: publish.retain,
            properties: PropertyBuffer::new(),
            expires_ns: None,
        };
        publish
            .properties
            .iter()
            .for_each(|property| message.keep_property(property, now_ns));
        message
    }

    /// Takes over a property if it belongs to the message and not to the connection.
    pub fn keep_property(&mut self, property: Property<'_>, now_ns: u64) {
        match property {
            Property::MessageExpiryInterval(seconds) => {
                self.expires_ns = Some(now_ns + u64::from(seconds) * SECOND_NS);
            }
            Property::TopicAlias(_) | Property::SubscriptionIdentifier(_) | Property::WillDelayInterval(_) => {}
            kept => {
                // It was valid when it was read, so it can be written.
                let _ = self.properties.push(kept);
            }
        }
    }

    /// Whether it is too old.
    #[must_use]
    pub fn is_expired(&self, now_ns: u64) -> bool {
        self.expires_ns.is_some_and(|expires| expires <= now_ns)
    }
}

/// One message for one subscription.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// What.
    pub message: Arc<Message>,
    /// Index of the subscription in its session.
    pub subscription: u32,
    /// The lower of the publisher's and the subscription's.
    pub qos: QoS,
    /// The retain flag as the subscriber sees it.
    pub retain: bool,
    /// MQTT 5 subscription identifiers.
    pub ids: Option<Arc<[u32]>>,
}

impl Delivery {
    /// Appends the PUBLISH packet.
    pub fn encode(
        &self,
        version: Version,
        packet_id: u16,
        dup: bool,
        now_ns: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let properties = properties(&self.message, self.ids.as_deref(), version, now_ns)?;
        Publish {
            dup,
            qos: self.qos,
            retain: self.retain,
            topic: &self.message.topic,
            packet_id,
            properties: properties.as_properties(),
            payload: &self.message.payload,
        }
        .encode(version, out)
    }
}

fn properties(
    message: &Message,
    ids: Option<&[u32]>,
    version: Version,
    now_ns: u64,
) -> Result<PropertyBuffer, EncodeError> {
    if !version.is_v5() {
        return Ok(PropertyBuffer::new());
    }
    let mut properties = message.properties.clone();
    if let Some(expires) = message.expires_ns {
        let left = expires.saturating_sub(now_ns).div_ceil(SECOND_NS);
        properties.push(Property::MessageExpiryInterval(left as u32))?;
    }
    for id in ids.unwrap_or_default() {
        properties.push(Property::SubscriptionIdentifier(VariableInteger(*id)))?;
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_of_the_message_travel_and_those_of_the_connection_do_not() {
        let mut given = PropertyBuffer::new();
        given.push(Property::TopicAlias(3)).unwrap();
        given.push(Property::MessageExpiryInterval(10)).unwrap();
        given.push(Property::UserProperty(("a", "b"))).unwrap();
        let publish = Publish {
            topic: "t",
            properties: given.as_properties(),
            ..Publish::default()
        };
        let message = Message::keep(&publish, "t", 0);
        let sent = properties(&message, Some(&[7]), Version::V5, 3 * SECOND_NS).unwrap();
        let sent: Vec<_> = sent.as_properties().iter().collect();
        let expected = vec![
            Property::UserProperty(("a", "b")),
            Property::MessageExpiryInterval(7),
            Property::SubscriptionIdentifier(VariableInteger(7)),
        ];
        assert_eq!(expected, sent);
        assert!(message.is_expired(10 * SECOND_NS) && !message.is_expired(9 * SECOND_NS));
    }
}
