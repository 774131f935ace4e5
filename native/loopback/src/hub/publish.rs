//! Messages coming in.

use std::sync::Arc;

use telemark_mqtt::packet::ack::encode_success;
use telemark_mqtt::packet::{AckKind, Publish};
use telemark_mqtt::state::Received;
use telemark_mqtt::{QoS, Version};

use super::routes::{Destination, RouteGroup};
use super::{Fatal, Hub};
use crate::message::{Delivery, Message};

/// A message at the moment of its arrival: still in the reader's buffer unless somebody has to keep it.
pub(super) struct Arrival<'a> {
    pub publish: &'a Publish<'a>,
    pub topic: &'a str,
    /// The whole packet, when devices of `version` may be sent the same bytes.
    pub raw: Option<&'a [u8]>,
    pub version: Version,
    pub publisher: Option<u32>,
    pub kept: Option<Arc<Message>>,
    pub now_ns: u64,
}

impl Arrival<'_> {
    /// The message, kept: made once for all who need it.
    pub fn keep(&mut self) -> Arc<Message> {
        let (publish, topic, now_ns) = (self.publish, self.topic, self.now_ns);
        let kept = self
            .kept
            .get_or_insert_with(|| Arc::new(Message::keep(publish, topic, now_ns)));
        Arc::clone(kept)
    }

    /// The message on its way to one subscription.
    pub fn delivery(&mut self, destination: &Destination) -> Delivery {
        Delivery {
            message: self.keep(),
            subscription: destination.to.subscription,
            qos: self.publish.qos.min(destination.qos),
            retain: destination.retain_as_published && self.publish.retain,
            ids: destination.ids.clone(),
        }
    }

    /// The bytes to copy when this subscription can be sent exactly what came in.
    #[inline]
    pub fn raw_for(&self, destination: &Destination) -> Option<&[u8]> {
        self.raw.filter(|_| destination.ids.is_none())
    }
}

impl Hub {
    /// Handles a PUBLISH: routes it, then acknowledges it.
    #[inline]
    pub(super) fn publish(&mut self, link: u32, publish: &Publish<'_>, raw: &[u8], now_ns: u64) -> Result<(), Fatal> {
        self.counters.messages_in += 1;
        if self.faults.note_publish(now_ns) {
            self.plan_stall();
        }
        let Some(from) = self.link(link) else { return Ok(()) };
        let (version, publisher) = (from.version, from.session);
        if let Some(alias) = publish.topic_alias() {
            let topic = from.aliases.resolve(publish.topic, alias)?.to_owned();
            let arrival = Arrival {
                publish,
                topic: &topic,
                raw: None,
                version,
                publisher,
                kept: None,
                now_ns,
            };
            return self.take(link, arrival);
        }
        // Bytes can be passed on unchanged when nothing in them belongs to this connection only.
        let unchanged = publish.qos == QoS::AtMostOnce && !publish.retain && publish.properties.is_empty();
        let raw = unchanged.then_some(raw);
        let arrival = Arrival {
            publish,
            topic: publish.topic,
            raw,
            version,
            publisher,
            kept: None,
            now_ns,
        };
        self.take(link, arrival)
    }

    #[inline]
    fn take(&mut self, link: u32, mut arrival: Arrival<'_>) -> Result<(), Fatal> {
        let packet_id = arrival.publish.packet_id;
        match arrival.publish.qos {
            QoS::AtMostOnce => self.route(&mut arrival),
            QoS::AtLeastOnce => {
                self.route(&mut arrival);
                self.write(link, |out| encode_success(AckKind::Puback, packet_id, out));
            }
            QoS::ExactlyOnce => {
                let maximum = self.config.receive_maximum;
                let (_, session) = self.session_of(link)?;
                if session.incoming.on_publish(packet_id, maximum)? == Received::New {
                    self.route(&mut arrival);
                }
                self.write(link, |out| encode_success(AckKind::Pubrec, packet_id, out));
            }
        }
        if self.faults.has_cuts() {
            self.cut_if_due(link, arrival.now_ns);
        }
        Ok(())
    }

    /// Keeps a retained message and gives the message to everyone who subscribed.
    #[inline]
    pub(super) fn route(&mut self, arrival: &mut Arrival<'_>) {
        if arrival.publish.retain {
            self.retained.set(&arrival.keep());
        }
        let route = self.routes.of(arrival.topic, &self.sessions);
        for destination in &route.plain {
            if destination.no_local && arrival.publisher == Some(destination.to.session) {
                continue;
            }
            self.offer(destination, arrival);
        }
        for group in &route.groups {
            if let Some(destination) = self.pick(group) {
                self.offer(destination, arrival);
            }
        }
    }

    /// The member whose turn it is; one that is connected and has room goes before one that is not.
    pub(super) fn pick<'g>(&mut self, group: &'g RouteGroup) -> Option<&'g Destination> {
        let limit = self.config.max_queued_messages;
        let mut fallback = None;
        for member in group.in_turn() {
            let Some(session) = self.session(member.to.session) else {
                continue;
            };
            let connected = session.link.is_some();
            let Some(subscription) = session.subscription(member.to.subscription) else {
                continue;
            };
            if connected && (limit == 0 || subscription.depth < limit) {
                return Some(member);
            }
            fallback = fallback.or(Some(member));
        }
        fallback
    }
}
