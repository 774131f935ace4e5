//! How connections and sessions end, and what their wills cause.

use std::sync::Arc;

use telemark_mqtt::packet::{Disconnect, Publish};
use telemark_mqtt::{Property, ReasonCode, Version};

use super::link::{LinkId, Stage};
use super::publish::Arrival;
use super::session::{Session, FOR_EVER};
use super::timers::Timer;
use super::{Fatal, Hub};
use crate::message::{Delivery, Message};
use crate::outbox::Block;

const SECOND_NS: u64 = 1_000_000_000;

impl Hub {
    /// Ends a connection from this side. MQTT 5 devices are told the reason, if there is one.
    pub(super) fn end(&mut self, slot: u32, reason: Option<ReasonCode>, now_ns: u64) {
        let Some(link) = self.link(slot).filter(|link| link.stage != Stage::Closing) else {
            return;
        };
        let tell = link.stage == Stage::Open && link.version.is_v5();
        if let Some(reason) = reason.filter(|_| tell) {
            // Reasons that DISCONNECT may not carry are simply not told.
            self.write(slot, |out| {
                let _ = Disconnect::new(reason).encode(Version::V5, out);
            });
        }
        self.close_when_written(slot);
        self.detach(slot, now_ns);
    }

    /// The device says farewell: its will is not sent, unless it asks for that.
    pub(super) fn leave(&mut self, slot: u32, packet: &Disconnect<'_>, now_ns: u64) -> Result<(), Fatal> {
        let (_, session) = self.session_of(slot)?;
        let expiry = packet.properties.find(|property| match property {
            Property::SessionExpiryInterval(seconds) => Some(seconds),
            _ => None,
        });
        match expiry {
            // A session announced to end with its connection cannot be prolonged [3.14.2.2.2].
            Some(seconds) if session.expiry_s == 0 && seconds != 0 => return Err(Fatal(ReasonCode::ProtocolError)),
            Some(seconds) => session.expiry_s = seconds,
            None => {}
        }
        if packet.reason != ReasonCode::DisconnectWithWill {
            session.will = None;
        }
        self.close_when_written(slot);
        self.detach(slot, now_ns);
        Ok(())
    }

    fn close_when_written(&mut self, slot: u32) {
        let Some(Some(link)) = self.links.get_mut(slot as usize) else {
            return;
        };
        link.stage = Stage::Closing;
        link.partial = Vec::new();
        // Even a connection that is stuck writing has to hear of it.
        link.dirty = true;
        self.mail[link.thread].push(link.token);
        self.wakes |= 1 << link.thread;
    }

    /// The thread has closed a connection. `unwritten` is the block it could not finish.
    pub fn closed(&mut self, id: LinkId, unwritten: Option<Block>, now_ns: u64) {
        let Some(link) = self.link(id.0) else { return };
        let in_outbox: u64 = link.outbox.blocks().map(|block| block.unacknowledged).sum();
        let in_writing = unwritten.map_or(0, |block| block.unacknowledged);
        self.counters.messages_dropped += in_outbox + in_writing;
        self.counters.messages_out -= in_writing;
        self.detach(id.0, now_ns);
        self.links[id.0 as usize] = None;
        self.free_links.push(id.0);
    }

    /// Parts a connection from its session.
    fn detach(&mut self, slot: u32, now_ns: u64) {
        let Some(session) = self.link(slot).and_then(|link| link.session) else {
            return;
        };
        self.settle_outbox(slot, session);
        if let Some(link) = self.link(slot) {
            link.session = None;
        }
        self.counters.connections -= 1;
        let Some(owner) = self.session(session) else { return };
        owner.link = None;
        let (serial, expiry_s) = (owner.serial, owner.expiry_s);
        let delay_s = owner.will.as_ref().map(|will| will.delay_s.min(expiry_s));
        match delay_s {
            Some(0) => self.send_will(session, now_ns),
            Some(delay_s) => self.set_timer(later(now_ns, delay_s), Timer::Will { session, serial }),
            None => {}
        }
        match expiry_s {
            0 => self.remove_session(session, now_ns),
            FOR_EVER => {}
            seconds => self.set_timer(later(now_ns, seconds), Timer::Expiry { session, serial }),
        }
    }

    fn settle_outbox(&mut self, slot: u32, session: u32) {
        let Some(Some(link)) = self.links.get_mut(slot as usize) else {
            return;
        };
        let waiting: Vec<(u32, u64)> = link
            .outbox
            .blocks()
            .flat_map(|block| std::mem::take(&mut block.waiting))
            .collect();
        let mut settled = Block {
            waiting,
            ..Block::default()
        };
        self.settle(Some(session), &mut settled);
    }

    /// Ends a connection that has been silent for too long, or looks again later.
    pub(super) fn check_silence(&mut self, slot: u32, serial: u64, now_ns: u64) {
        let open = |link: &&mut super::Link| link.serial == serial && link.stage == Stage::Open;
        let Some(link) = self.link(slot).filter(open) else {
            return;
        };
        let deadline = link.last_seen_ns + link.silence_ns;
        if deadline <= now_ns {
            self.end(slot, Some(ReasonCode::KeepAliveTimeout), now_ns);
        } else {
            self.set_timer(deadline, Timer::KeepAlive { link: slot, serial });
        }
    }

    /// Ends a connection that has not sent CONNECT.
    pub(super) fn check_connected(&mut self, slot: u32, serial: u64, now_ns: u64) {
        let is_silent = |link: &mut super::Link| link.serial == serial && link.stage == Stage::Silent;
        if self.link(slot).is_some_and(is_silent) {
            self.end(slot, None, now_ns);
        }
    }

    /// Sends a delayed will if the device has not come back.
    pub(super) fn send_late_will(&mut self, session: u32, serial: u64, now_ns: u64) {
        if self.is_absent(session, serial) {
            self.send_will(session, now_ns);
        }
    }

    /// Ends a session whose device has not come back.
    pub(super) fn expire(&mut self, session: u32, serial: u64, now_ns: u64) {
        if self.is_absent(session, serial) {
            self.remove_session(session, now_ns);
        }
    }

    fn is_absent(&mut self, session: u32, serial: u64) -> bool {
        self.session(session)
            .is_some_and(|owner| owner.link.is_none() && owner.serial == serial)
    }

    fn send_will(&mut self, session: u32, now_ns: u64) {
        let Some(will) = self.session(session).and_then(|owner| owner.will.take()) else {
            return;
        };
        self.publish_kept(&will.message, Some(session), now_ns);
    }

    /// Publishes a message of the server's own keeping.
    fn publish_kept(&mut self, message: &Arc<Message>, publisher: Option<u32>, now_ns: u64) {
        let publish = Publish {
            qos: message.qos,
            retain: message.retain,
            topic: &message.topic,
            payload: &message.payload,
            ..Publish::default()
        };
        let kept = Some(Arc::clone(message));
        let version = Version::V5;
        let topic = &message.topic;
        let mut arrival = Arrival {
            publish: &publish,
            topic,
            raw: None,
            version,
            publisher,
            kept,
            now_ns,
        };
        self.route(&mut arrival);
    }

    /// Ends a session: its will is due, its subscriptions go, other members take over its shared messages.
    pub(super) fn remove_session(&mut self, slot: u32, now_ns: u64) {
        self.send_will(slot, now_ns);
        let Some(owner) = self.session(slot) else { return };
        let filters: Vec<Box<str>> = owner.subscriptions.iter().flatten().map(|s| s.filter.clone()).collect();
        let orphans = orphans_of(owner);
        for filter in &filters {
            self.remove_subscription(slot, filter);
        }
        let Some(owner) = self.sessions[slot as usize].take() else {
            return;
        };
        self.clients.remove(&owner.client);
        self.free_sessions.push(slot);
        self.counters.sessions -= 1;
        self.counters.unbuffer(orphans.len() as u64);
        for (filter, delivery) in orphans {
            self.pass_on(filter.as_deref(), delivery, now_ns);
        }
    }

    /// Gives a message of an ended session to another member of its group; without one it is lost.
    fn pass_on(&mut self, filter: Option<&str>, delivery: Delivery, now_ns: u64) {
        let heir = filter.and_then(|filter| self.heir(filter, &delivery.message.topic));
        match heir {
            Some((session, subscription)) => self.send(
                session,
                Delivery {
                    subscription,
                    ..delivery
                },
                now_ns,
            ),
            None => self.counters.messages_dropped += 1,
        }
    }

    fn heir(&mut self, filter: &str, topic: &str) -> Option<(u32, u32)> {
        let route = self.routes.of(topic, &self.sessions);
        for group in &route.groups {
            let first = group.members.first()?;
            let same = self
                .session(first.to.session)?
                .subscription(first.to.subscription)?
                .filter
                .as_ref()
                == filter;
            if same {
                return self
                    .pick(group)
                    .map(|member| (member.to.session, member.to.subscription));
            }
        }
        None
    }
}

/// Unfinished messages with the filter of the shared subscription they belong to, if it is one.
fn orphans_of(owner: &mut Session) -> Vec<(Option<Box<str>>, Delivery)> {
    let mut deliveries = owner.window.clear();
    deliveries.extend(owner.queue.drain(..));
    let with_filter = deliveries.into_iter().map(|delivery| {
        let subscription = owner
            .subscriptions
            .get(delivery.subscription as usize)
            .and_then(Option::as_ref);
        let shared = subscription.filter(|subscription| subscription.share.is_some());
        (shared.map(|subscription| subscription.filter.clone()), delivery)
    });
    with_filter.collect()
}

fn later(now_ns: u64, seconds: u32) -> u64 {
    now_ns + u64::from(seconds) * SECOND_NS
}
