//! Doing it wrong, on command and on the record.

use telemark_mqtt::Stamp;

use super::publish::Arrival;
use super::routes::Destination;
use super::session::Held;
use super::timers::Timer;
use super::{Hub, Stage};
use crate::choice::text_number;
use crate::faults::{Action, Affected, FaultSettings};
use crate::message::Delivery;

/// A message held back goes without its successor after this time.
const HOLD_NS: u64 = 1_000_000_000;

impl Hub {
    /// Puts other faults in force.
    pub fn set_faults(&mut self, settings: FaultSettings) {
        self.faults.set(settings);
        self.stall.plan(None);
    }

    /// Publishes the next stall to the threads; thread 0 has to wake for it.
    pub(super) fn plan_stall(&mut self) {
        self.stall.plan(self.faults.next_stall());
        self.wakes |= 1;
    }

    /// Records that a stall is over and plans the next.
    pub fn stall_done(&mut self, from_ns: u64, until_ns: u64) {
        self.faults.stall_done(from_ns, until_ns);
        self.plan_stall();
    }

    /// Gives a message to a subscription whose every n-th message goes wrong.
    pub(super) fn offer_wrongly(&mut self, destination: &Destination, arrival: &mut Arrival<'_>) {
        let now_ns = arrival.now_ns;
        let session = destination.to.session;
        let delivery = arrival.delivery(destination);
        let stream = stream_of(&delivery);
        match self.action(destination, stream) {
            Deed::Release(held) => {
                self.note("reorder", session, &held);
                self.send(session, delivery, now_ns);
                self.send(session, held, now_ns);
            }
            Deed::Do(Action::Pass) => self.send(session, delivery, now_ns),
            Deed::Do(Action::Drop) => self.note("drop", session, &delivery),
            Deed::Do(Action::Duplicate) => {
                self.note("duplicate", session, &delivery);
                self.send(session, delivery.clone(), now_ns);
                self.send(session, delivery, now_ns);
            }
            Deed::Do(Action::Hold) => self.hold(destination, stream, delivery, now_ns),
        }
    }

    fn action(&mut self, destination: &Destination, stream: u64) -> Deed {
        let Some(Some(owner)) = self.sessions.get_mut(destination.to.session as usize) else {
            return Deed::Do(Action::Pass);
        };
        let Some(subscription) = owner.subscription(destination.to.subscription) else {
            return Deed::Do(Action::Pass);
        };
        if let Some(place) = subscription.held.iter().position(|held| held.stream == stream) {
            subscription.selector.count(self.faults.epoch);
            return Deed::Release(subscription.held.remove(place).delivery);
        }
        let faults = &self.faults;
        Deed::Do(subscription.selector.next(&faults.settings, faults.seed, faults.epoch))
    }

    fn hold(&mut self, destination: &Destination, stream: u64, delivery: Delivery, now_ns: u64) {
        let until_ns = now_ns + HOLD_NS;
        let Some(owner) = self.session(destination.to.session) else {
            return;
        };
        let Some(subscription) = owner.subscription(destination.to.subscription) else {
            return;
        };
        subscription.held.push(Held {
            stream,
            delivery,
            until_ns,
        });
        self.counters.buffer();
        self.set_timer(
            until_ns,
            Timer::Held {
                session: destination.to.session,
            },
        );
    }

    /// Sends messages whose successor never came.
    pub(super) fn release_held(&mut self, session: u32, now_ns: u64) {
        let Some(owner) = self.session(session) else { return };
        let mut overdue = Vec::new();
        for subscription in owner.subscriptions.iter_mut().flatten() {
            let (due, waiting) = std::mem::take(&mut subscription.held)
                .into_iter()
                .partition(|held: &Held| held.until_ns <= now_ns);
            subscription.held = waiting;
            overdue.extend(due);
        }
        for held in overdue {
            self.counters.unbuffer(1);
            self.faults.account.released += 1;
            self.send(session, held.delivery, now_ns);
        }
    }

    fn note(&mut self, fault: &'static str, session: u32, delivery: &Delivery) {
        if fault == "reorder" {
            self.counters.unbuffer(1);
        }
        let Some(Some(owner)) = self.sessions.get_mut(session as usize) else {
            return;
        };
        let client = owner.client.clone();
        let Some(subscription) = owner.subscription(delivery.subscription) else {
            return;
        };
        let stamp = Stamp::decode(&delivery.message.payload);
        let entry = Affected::message(fault, &client, &subscription.filter, &delivery.message.topic, stamp);
        self.faults.account.note(entry);
    }

    /// Counts a message of a device and cuts its connection when it is due.
    pub(super) fn cut_if_due(&mut self, link: u32, now_ns: u64) {
        let Some(session) = self
            .link(link)
            .filter(|link| link.stage == Stage::Open)
            .and_then(|link| link.session)
        else {
            return;
        };
        let Some(Some(owner)) = self.sessions.get(session as usize) else {
            return;
        };
        if self.faults.cut_now(&owner.client) {
            self.end(link, None, now_ns);
        }
    }
}

enum Deed {
    Do(Action),
    /// The successor has come: it goes first, then this one.
    Release(Delivery),
}

/// Messages of one publisher keep their order: the stamp tells which, else the topic stands for it.
fn stream_of(delivery: &Delivery) -> u64 {
    match Stamp::decode(&delivery.message.payload) {
        Some(stamp) => u64::from(stamp.stream),
        None => text_number(&delivery.message.topic) | 1 << 63,
    }
}
