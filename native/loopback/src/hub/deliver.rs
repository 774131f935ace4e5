//! Messages going out.

use telemark_mqtt::packet::ack::encode_success;
use telemark_mqtt::packet::AckKind;
use telemark_mqtt::state::Resend;
use telemark_mqtt::{QoS, Version};

use super::publish::Arrival;
use super::routes::{Destination, Subscriber};
use super::Hub;
use crate::message::Delivery;

/// A delivery that waits for the fixed delay to pass.
pub(super) struct Delayed {
    pub due_ns: u64,
    pub session: u32,
    /// Number of the session, in case the slot gets a new owner meanwhile.
    pub number: u64,
    pub delivery: Delivery,
}

impl Hub {
    /// Gives an arriving message to one subscription.
    #[inline]
    pub(super) fn offer(&mut self, destination: &Destination, arrival: &mut Arrival<'_>) {
        if self.faults.touch_deliveries {
            return self.offer_wrongly(destination, arrival);
        }
        if self.faults.delay_ns == 0 && self.delayed.is_empty() {
            if let Some(raw) = arrival.raw_for(destination) {
                if self.copy(destination.to, raw, arrival.version, arrival.now_ns) {
                    return;
                }
            }
        }
        let delivery = arrival.delivery(destination);
        self.send(destination.to.session, delivery, arrival.now_ns);
    }

    /// The shortest way: the packet as it came, appended to the subscriber's bytes. False when that cannot be done.
    #[inline]
    fn copy(&mut self, to: Subscriber, raw: &[u8], version: Version, now_ns: u64) -> bool {
        let Some(Some(session)) = self.sessions.get_mut(to.session as usize) else {
            return false;
        };
        let Some(slot) = session.link else { return false };
        let Some(Some(link)) = self.links.get_mut(slot as usize) else {
            return false;
        };
        let limit = self.config.max_queued_messages;
        let Some(subscription) = session.subscription(to.subscription) else {
            return false;
        };
        let full = limit != 0 && subscription.depth >= limit;
        if full || link.version != version || raw.len() > link.maximum_packet as usize {
            return false;
        }
        let block = link.outbox.open(&mut self.spares);
        block.bytes.extend_from_slice(raw);
        block.note_message(Some(to.subscription));
        subscription.deepen();
        self.counters.buffer();
        self.mark_dirty(slot);
        if self.faults.has_cuts() {
            self.cut_if_due(slot, now_ns);
        }
        true
    }

    /// Sends now or after the fixed delay.
    pub(super) fn send(&mut self, session: u32, delivery: Delivery, now_ns: u64) {
        if self.faults.delay_ns == 0 && self.delayed.is_empty() {
            return self.enqueue(session, delivery, now_ns);
        }
        let Some(number) = self.session(session).map(|session| session.number) else {
            return;
        };
        // The reading of a whole batch shares one time; a delay of a millisecond deserves its own.
        let due_ns = telemark_net::monotonic_ns() as u64 + self.faults.delay_ns;
        if self.delayed.is_empty() {
            self.wakes |= 1;
        }
        self.counters.buffer();
        self.delayed.push_back(Delayed {
            due_ns,
            session,
            number,
            delivery,
        });
    }

    /// Sends what has been delayed long enough.
    pub(super) fn release_delayed(&mut self, now_ns: u64) {
        while self.delayed.front().is_some_and(|delayed| delayed.due_ns <= now_ns) {
            let Some(delayed) = self.delayed.pop_front() else {
                return;
            };
            self.counters.unbuffer(1);
            if self
                .session(delayed.session)
                .is_some_and(|session| session.number == delayed.number)
            {
                self.enqueue(delayed.session, delayed.delivery, now_ns);
            } else {
                self.counters.messages_dropped += 1;
            }
        }
    }

    /// Puts a delivery on the wire, or into the session's queue when the device is away or its window is full.
    pub(super) fn enqueue(&mut self, session: u32, delivery: Delivery, now_ns: u64) {
        let limit = self.config.max_queued_messages;
        let Some(Some(owner)) = self.sessions.get_mut(session as usize) else {
            return;
        };
        let link = owner.link;
        let (queue_empty, has_room) = (owner.queue.is_empty(), owner.window.has_room());
        let Some(subscription) = owner.subscription(delivery.subscription) else {
            return;
        };
        let full = limit != 0 && subscription.depth >= limit;
        let nobody = link.is_none() && delivery.qos == QoS::AtMostOnce;
        if full || nobody || delivery.message.is_expired(now_ns) {
            subscription.dropped += 1;
            self.counters.messages_dropped += 1;
            return;
        }
        subscription.deepen();
        self.counters.buffer();
        match link {
            Some(link) if delivery.qos == QoS::AtMostOnce || (queue_empty && has_room) => {
                self.transmit(session, link, delivery, now_ns);
            }
            _ => owner.queue.push_back(delivery),
        }
    }

    /// Encodes a delivery that already counts as waiting.
    fn transmit(&mut self, session: u32, link: u32, delivery: Delivery, now_ns: u64) {
        let Some(Some(owner)) = self.sessions.get_mut(session as usize) else {
            return;
        };
        let Some(Some(place)) = self.links.get_mut(link as usize) else {
            return;
        };
        let at_once = delivery.qos == QoS::AtMostOnce;
        let packet_id = match at_once {
            true => 0,
            false => match owner.window.begin(delivery.qos, delivery.clone()) {
                Ok(packet_id) => packet_id,
                Err(delivery) => return owner.queue.push_back(delivery),
            },
        };
        let block = place.outbox.open(&mut self.spares);
        let start = block.bytes.len();
        let encoded = delivery.encode(place.version, packet_id, false, now_ns, &mut block.bytes);
        if encoded.is_err() || block.bytes.len() - start > place.maximum_packet as usize {
            // Larger than the device takes: treated as delivered and not sent [3.1.2.11.4].
            block.bytes.truncate(start);
            return self.give_up(session, packet_id, &delivery);
        }
        block.note_message(at_once.then_some(delivery.subscription));
        self.mark_dirty(link);
        if self.faults.has_cuts() {
            self.cut_if_due(link, now_ns);
        }
    }

    fn give_up(&mut self, session: u32, packet_id: u16, delivery: &Delivery) {
        self.counters.messages_dropped += 1;
        self.counters.unbuffer(1);
        let Some(owner) = self.session(session) else { return };
        let _ = match delivery.qos {
            QoS::ExactlyOnce => owner.window.on_pubrec(packet_id, true).map(drop),
            _ => owner.window.on_puback(packet_id).map(drop),
        };
        if let Some(subscription) = owner.subscription(delivery.subscription) {
            subscription.dropped += 1;
            subscription.depth = subscription.depth.saturating_sub(1);
        }
    }

    /// Sends queued messages while the device's window has room.
    pub(super) fn drain_queue(&mut self, session: u32, now_ns: u64) {
        loop {
            let Some(owner) = self.session(session) else { return };
            let Some(link) = owner.link.filter(|_| owner.window.has_room()) else {
                return;
            };
            let Some(delivery) = owner.queue.pop_front() else {
                return;
            };
            if delivery.message.is_expired(now_ns) {
                self.give_up(session, 0, &delivery);
            } else {
                self.transmit(session, link, delivery, now_ns);
            }
        }
    }

    /// Sends again what was under way when the device left [4.4], then what came meanwhile.
    pub(super) fn resume(&mut self, session: u32, link: u32, now_ns: u64) {
        let Some(Some(owner)) = self.sessions.get_mut(session as usize) else {
            return;
        };
        let Some(Some(place)) = self.links.get_mut(link as usize) else {
            return;
        };
        for resend in owner.window.resend() {
            let block = place.outbox.open(&mut self.spares);
            match resend {
                Resend::Pubrel { packet_id } => encode_success(AckKind::Pubrel, packet_id, &mut block.bytes),
                Resend::Publish { packet_id, message, .. } => {
                    // It was encoded before; only a changed protocol version can make a difference, and none fails.
                    let _ = message.encode(place.version, packet_id, true, now_ns, &mut block.bytes);
                    block.note_message(None);
                }
            }
        }
        if !place.outbox.is_empty() {
            self.mark_dirty(link);
        }
        self.drain_queue(session, now_ns);
    }
}
