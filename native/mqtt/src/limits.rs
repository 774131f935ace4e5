//! What a peer announced in CONNECT or CONNACK, with the standard's defaults filled in.

use crate::properties::{Properties, Property};
use crate::version::QoS;

/// Limits and abilities of the peer. In 3.1.1 all are defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Unacknowledged QoS 1/2 messages the peer takes at once.
    pub receive_maximum: u16,
    /// Largest packet the peer takes, in bytes.
    pub maximum_packet_size: u32,
    /// Highest alias the peer takes; zero: none.
    pub topic_alias_maximum: u16,
    /// Seconds the session outlives the connection; `None`: not given. `u32::MAX`: for ever.
    pub session_expiry_s: Option<u32>,
    /// CONNACK: keep-alive the client must use instead of its own.
    pub server_keep_alive_s: Option<u16>,
    /// CONNACK: highest QoS the server takes.
    pub maximum_qos: QoS,
    /// CONNACK: retained messages are supported.
    pub retain_available: bool,
    /// CONNACK: wildcards are supported.
    pub wildcard_available: bool,
    /// CONNACK: subscription identifiers are supported.
    pub subscription_id_available: bool,
    /// CONNACK: shared subscriptions are supported.
    pub shared_available: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            receive_maximum: u16::MAX,
            maximum_packet_size: u32::MAX,
            topic_alias_maximum: 0,
            session_expiry_s: None,
            server_keep_alive_s: None,
            maximum_qos: QoS::ExactlyOnce,
            retain_available: true,
            wildcard_available: true,
            subscription_id_available: true,
            shared_available: true,
        }
    }
}

impl Limits {
    /// Reads the properties of a CONNECT or CONNACK.
    pub fn of(properties: &Properties<'_>) -> Self {
        let mut limits = Self::default();
        properties.iter().for_each(|property| limits.apply(property));
        limits
    }

    fn apply(&mut self, property: Property<'_>) {
        match property {
            Property::ReceiveMaximum(value) => self.receive_maximum = value,
            Property::MaximumPacketSize(value) => self.maximum_packet_size = value,
            Property::TopicAliasMaximum(value) => self.topic_alias_maximum = value,
            Property::SessionExpiryInterval(value) => self.session_expiry_s = Some(value),
            Property::ServerKeepAlive(value) => self.server_keep_alive_s = Some(value),
            Property::MaximumQos(0) => self.maximum_qos = QoS::AtMostOnce,
            Property::MaximumQos(_) => self.maximum_qos = QoS::AtLeastOnce,
            Property::RetainAvailable(value) => self.retain_available = value == 1,
            Property::WildcardSubscriptionAvailable(value) => self.wildcard_available = value == 1,
            Property::SubscriptionIdentifierAvailable(value) => self.subscription_id_available = value == 1,
            Property::SharedSubscriptionAvailable(value) => self.shared_available = value == 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties::PropertyBuffer;

    #[test]
    fn nothing_announced_means_the_defaults_of_the_standard() {
        assert_eq!(Limits::default(), Limits::of(&Properties::NONE));
        assert_eq!(65_535, Limits::default().receive_maximum);
    }

    #[test]
    fn announced_values_replace_defaults() {
        let mut buffer = PropertyBuffer::new();
        buffer.push(Property::ReceiveMaximum(20)).unwrap();
        buffer.push(Property::MaximumQos(1)).unwrap();
        buffer.push(Property::SharedSubscriptionAvailable(0)).unwrap();
        let limits = Limits::of(&buffer.as_properties());
        assert_eq!(
            (20, QoS::AtLeastOnce, false),
            (limits.receive_maximum, limits.maximum_qos, limits.shared_available)
        );
    }
}
