//! What the server knows about a device, connected or not.

use std::collections::VecDeque;
use std::sync::Arc;

use telemark_mqtt::state::{Inbound, Outbound};
use telemark_mqtt::QoS;

use crate::choice::text_number;
use crate::faults::Selector;
use crate::message::{Delivery, Message};

/// A session that never ends by itself.
pub const FOR_EVER: u32 = u32::MAX;

/// One device's session.
#[derive(Debug)]
pub struct Session {
    /// Client id.
    pub client: Box<str>,
    /// Unique among all sessions the server ever had.
    pub number: u64,
    /// Its connection, if it has one.
    pub link: Option<u32>,
    /// Grows with every connect, so that timers of an earlier absence do nothing.
    pub serial: u64,
    /// Seconds it outlives its connection.
    pub expiry_s: u32,
    /// Subscriptions; the index is their number, gaps are reused.
    pub subscriptions: Vec<Option<Subscription>>,
    /// QoS 1/2 messages sent and not finished.
    pub window: Outbound<Delivery>,
    /// QoS 1/2 messages that wait for room in the window or for the device.
    pub queue: VecDeque<Delivery>,
    /// Packet ids of QoS 2 messages received and not released.
    pub incoming: Inbound,
    /// What to publish when the device vanishes.
    pub will: Option<Testament>,
}

/// A will and its delay.
#[derive(Debug, Clone)]
pub struct Testament {
    /// The message.
    pub message: Arc<Message>,
    /// Seconds between the loss of the connection and its sending.
    pub delay_s: u32,
}

/// One subscription of a session.
#[derive(Debug)]
pub struct Subscription {
    /// Filter as the device gave it, with its $share prefix.
    pub filter: Box<str>,
    /// Name of the shared group.
    pub share: Option<Box<str>>,
    /// The highest QoS wanted.
    pub qos: QoS,
    /// Not the device's own messages.
    pub no_local: bool,
    /// Leave the retain flag alone.
    pub retain_as_published: bool,
    /// MQTT 5 subscription identifier.
    pub id: Option<u32>,
    /// Deliveries that wait.
    pub depth: u64,
    /// The most that waited.
    pub hwm: u64,
    /// Deliveries given up.
    pub dropped: u64,
    /// Counts messages for the faults.
    pub selector: Selector,
    /// Messages that wait for their successor.
    pub held: Vec<Held>,
}

/// A message that is to change places with the next one of its stream.
#[derive(Debug)]
pub struct Held {
    /// The stream, from the payload's stamp or the topic.
    pub stream: u64,
    /// The message.
    pub delivery: Delivery,
    /// When it goes without its successor.
    pub until_ns: u64,
}

impl Session {
    /// A session without subscriptions.
    #[must_use]
    pub fn new(client: &str, number: u64) -> Self {
        Self {
            client: client.into(),
            number,
            link: None,
            serial: 0,
            expiry_s: 0,
            subscriptions: Vec::new(),
            window: Outbound::new(u16::MAX),
            queue: VecDeque::new(),
            incoming: Inbound::new(),
            will: None,
        }
    }

    /// Index of the subscription with this filter.
    #[must_use]
    pub fn find(&self, filter: &str) -> Option<u32> {
        let position = self
            .subscriptions
            .iter()
            .position(|place| matches!(place, Some(s) if &*s.filter == filter));
        position.map(|index| index as u32)
    }

    /// The subscription with this number.
    #[inline]
    pub fn subscription(&mut self, index: u32) -> Option<&mut Subscription> {
        self.subscriptions.get_mut(index as usize)?.as_mut()
    }

    /// Puts a subscription into a free place and gives its number.
    pub fn add(&mut self, subscription: Subscription) -> u32 {
        let free = self.subscriptions.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.subscriptions.push(None);
            self.subscriptions.len() - 1
        });
        self.subscriptions[index] = Some(subscription);
        index as u32
    }
}

impl Subscription {
    /// A subscription with default options. Its faults depend on client and filter only.
    #[must_use]
    pub fn new(client: &str, filter: &str, share: Option<&str>) -> Self {
        Self {
            filter: filter.into(),
            share: share.map(Into::into),
            qos: QoS::AtMostOnce,
            no_local: false,
            retain_as_published: false,
            id: None,
            depth: 0,
            hwm: 0,
            dropped: 0,
            selector: Selector::new(text_number(client) ^ text_number(filter).rotate_left(1)),
            held: Vec::new(),
        }
    }

    /// One more delivery waits.
    #[inline]
    pub fn deepen(&mut self) {
        self.depth += 1;
        self.hwm = self.hwm.max(self.depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_numbers_are_used_again() {
        let mut session = Session::new("a", 1);
        let first = session.add(Subscription::new("a", "x", None));
        let second = session.add(Subscription::new("a", "$share/g/y/#", Some("g")));
        assert_eq!((0, 1, Some(1)), (first, second, session.find("$share/g/y/#")));
        session.subscriptions[0] = None;
        assert_eq!(0, session.add(Subscription::new("a", "z", None)));
    }
}
