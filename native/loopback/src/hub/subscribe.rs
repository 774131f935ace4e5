//! SUBSCRIBE and UNSUBSCRIBE.

use std::sync::Arc;

use telemark_mqtt::packet::{RetainHandling, Suback, Subscribe, SubscribeEntry, Unsuback, Unsubscribe};
use telemark_mqtt::properties::VariableInteger;
use telemark_mqtt::topic::Filter;
use telemark_mqtt::{Properties, Property, ReasonCode, Version};

use super::routes::Subscriber;
use super::session::Subscription;
use super::{Fatal, Hub};
use crate::message::Delivery;

/// A subscription that was just made.
struct Made {
    to: Subscriber,
    path: String,
    send_retained: bool,
}

impl Hub {
    /// Handles a SUBSCRIBE: one code for each filter, then the retained messages.
    pub(super) fn subscribe(&mut self, link: u32, packet: &Subscribe<'_>, now_ns: u64) -> Result<(), Fatal> {
        let (session, owner) = self.session_of(link)?;
        let client = owner.client.clone();
        let id = packet.properties.find(|property| match property {
            Property::SubscriptionIdentifier(VariableInteger(id)) => Some(id),
            _ => None,
        });
        let refused = self.faults.refuse_subscribe(&client);
        let mut codes = Vec::new();
        let mut made = Vec::new();
        for entry in packet.entries.iter() {
            match (refused, Filter::parse(entry.filter)) {
                (Some(code), _) => codes.push(known_refusal(code)),
                (None, Err(_)) => codes.push(ReasonCode::TopicFilterInvalid.code()),
                (None, Ok(filter)) if filter.share.is_some() && entry.no_local => {
                    return Err(Fatal(ReasonCode::ProtocolError)); // [3.8.3.1]
                }
                (None, Ok(filter)) => {
                    made.push(self.add_subscription(session, &client, &entry, &filter, id));
                    codes.push(entry.qos.bits());
                }
            }
        }
        self.suback(link, packet.packet_id, &codes);
        for subscription in made.iter().filter(|made| made.send_retained) {
            self.send_retained(subscription, now_ns);
        }
        Ok(())
    }

    fn suback(&mut self, link: u32, packet_id: u16, codes: &[u8]) {
        let version = self.link(link).map_or(Version::V311, |link| link.version);
        // The codes are known ones and there is at least one, so it can be encoded.
        self.write(link, |out| {
            let _ = Suback {
                packet_id,
                properties: Properties::NONE,
                codes,
            }
            .encode(version, out);
        });
    }

    fn add_subscription(
        &mut self,
        session: u32,
        client: &str,
        entry: &SubscribeEntry<'_>,
        filter: &Filter<'_>,
        id: Option<u32>,
    ) -> Made {
        let existing = self.session(session).and_then(|owner| owner.find(entry.filter));
        let send_retained = filter.share.is_none()
            && match entry.retain_handling {
                RetainHandling::Always => true,
                RetainHandling::OnlyNew => existing.is_none(),
                RetainHandling::Never => false,
            };
        let Some(Some(owner)) = self.sessions.get_mut(session as usize) else {
            let to = Subscriber {
                session,
                subscription: 0,
            };
            return Made {
                to,
                path: String::new(),
                send_retained: false,
            };
        };
        let index = existing.unwrap_or_else(|| {
            self.counters.subscriptions += 1;
            owner.add(Subscription::new(client, entry.filter, filter.share))
        });
        if let Some(subscription) = owner.subscription(index) {
            subscription.qos = entry.qos;
            subscription.no_local = entry.no_local;
            subscription.retain_as_published = entry.retain_as_published;
            subscription.id = id;
        }
        let to = Subscriber {
            session,
            subscription: index,
        };
        self.routes.insert(filter, to);
        Made {
            to,
            path: filter.path.to_owned(),
            send_retained,
        }
    }

    fn send_retained(&mut self, made: &Made, now_ns: u64) {
        for message in self.retained.matching(&made.path, now_ns) {
            let Some(owner) = self.session(made.to.session) else {
                return;
            };
            let Some(subscription) = owner.subscription(made.to.subscription) else {
                return;
            };
            let delivery = Delivery {
                subscription: made.to.subscription,
                qos: message.qos.min(subscription.qos),
                retain: true,
                ids: subscription.id.map(|id| Arc::from([id])),
                message,
            };
            self.send(made.to.session, delivery, now_ns);
        }
    }

    /// Handles an UNSUBSCRIBE.
    pub(super) fn unsubscribe(&mut self, link: u32, packet: &Unsubscribe<'_>) -> Result<(), Fatal> {
        let (session, _) = self.session_of(link)?;
        let mut codes = Vec::new();
        for filter in packet.filters.iter() {
            let removed = self.remove_subscription(session, filter);
            codes.push(if removed {
                0
            } else {
                ReasonCode::NoSubscriptionExisted.code()
            });
        }
        let version = self.link(link).map_or(Version::V311, |link| link.version);
        self.write(link, |out| {
            let answer = Unsuback {
                packet_id: packet.packet_id,
                properties: Properties::NONE,
                codes: &codes,
            };
            let _ = answer.encode(version, out); // known codes, at least one
        });
        Ok(())
    }

    /// Takes a subscription away. Its messages under way still arrive; held ones are lost.
    pub(super) fn remove_subscription(&mut self, session: u32, filter: &str) -> bool {
        let Some(owner) = self.session(session) else {
            return false;
        };
        let Some(index) = owner.find(filter) else { return false };
        let Some(subscription) = owner.subscriptions[index as usize].take() else {
            return false;
        };
        let held = subscription.held.len() as u64;
        self.counters.unbuffer(held);
        self.counters.messages_dropped += held;
        self.counters.subscriptions -= 1;
        if let Ok(filter) = Filter::parse(filter) {
            self.routes.remove(
                &filter,
                Subscriber {
                    session,
                    subscription: index,
                },
            );
        }
        true
    }
}

/// A configured code if SUBACK may carry it, else "unspecified error".
fn known_refusal(code: u8) -> u8 {
    let known = ReasonCode::from_code(code).filter(|reason| reason.is_error());
    let allowed = known.filter(|reason| reason.is_allowed_in(telemark_mqtt::PacketType::Suback));
    allowed.unwrap_or(ReasonCode::UnspecifiedError).code()
}
