//! The end of a connection, by accident or as planned, and the last rows of a device.

use telemark_mqtt::packet::Disconnect;
use telemark_mqtt::reason::ReasonCode;

use super::{Context, Fault, Session, State};
use crate::cohort::Cohort;
use crate::plan::ReconnectPolicy;
use crate::records::{Sender, Subscribed};

impl Session {
    /// The connection failed or was lost: rows, counts, and perhaps another attempt.
    pub fn lose(&mut self, cohort: &Cohort, context: &mut Context, fault: Fault, now: i64) {
        context.out.clear(); // there is nobody to write it to
        self.count_cut_messages(context, now);
        self.backlog = None;
        if self.state == State::Leaving {
            self.state = State::Gone;
            context.totals.connected -= 1;
            return;
        }
        let state = self.state;
        context
            .recorder
            .event(now, self.number, fault.kind, fault.code, fault.detail);
        self.end_attempt(context, fault.result);
        if matches!(state, State::Subscribing | State::Ready) {
            context.totals.connected -= 1;
            context.totals.disconnects += 1;
            context.timeline.at(now).disconnects += 1;
        }
        context.totals.ready -= i64::from(state == State::Ready);
        self.suspend_subscriptions(cohort, context, now);
        self.failures += 1;
        self.try_later(cohort, context, fault.is_final, now);
    }

    fn try_later(&mut self, cohort: &Cohort, context: &mut Context, is_final: bool, now: i64) {
        let policy = cohort.plan.reconnect;
        let again = policy.policy == ReconnectPolicy::After && self.failures <= policy.attempts;
        if !again || is_final || context.finishing {
            self.state = State::Gone;
            context.totals.failed += 1;
            return;
        }
        self.state = State::Waiting;
        context.wheel.set(now + (policy.delay_s * 1e9) as i64, self.timer());
    }

    /// Ends the times in which the device's subscriptions were in force, unless the server keeps them.
    fn suspend_subscriptions(&mut self, cohort: &Cohort, context: &mut Context, now: i64) {
        if self.subscribed_ns == 0 {
            return;
        }
        if cohort.is_durable() {
            self.lost_ns = now;
        } else {
            self.end_subscriptions(cohort, context, Some(now));
        }
    }

    /// Writes the rows of subscriptions that were in force until then (None: to the end of the run).
    pub(super) fn end_subscriptions(&mut self, cohort: &Cohort, context: &mut Context, until_ns: Option<i64>) {
        let from_ns = std::mem::take(&mut self.subscribed_ns);
        self.lost_ns = 0;
        if from_ns == 0 {
            return;
        }
        for filter in &cohort.filters {
            context.recorder.subscribed(Subscribed {
                subscription: filter.first_subscription + self.within(cohort),
                from_ns,
                until_ns,
            });
        }
    }

    /// The run ends: gives up what is not sent and says goodbye. An attempt under way ends without a row.
    pub fn say_goodbye(&mut self, cohort: &Cohort, context: &mut Context, now: i64) {
        self.drop_queue(context, now);
        match self.state {
            State::Ready | State::Subscribing => {
                // A DISCONNECT without properties can always be written.
                let _ = Disconnect::new(ReasonCode::Success).encode(cohort.version, &mut context.out);
            }
            State::Gone | State::Leaving => {}
            State::Waiting | State::Connecting | State::Securing | State::Greeting => {
                self.attempt = None;
                self.backlog = None;
                self.state = State::Gone;
            }
        }
    }

    /// The goodbye is on its way: the server's end of stream is awaited.
    pub fn await_end(&mut self, context: &mut Context) {
        if matches!(self.state, State::Ready | State::Subscribing) {
            context.totals.ready -= i64::from(self.state == State::Ready);
            self.state = State::Leaving;
            self.attempt = None;
        }
    }

    /// Writes the device's last rows.
    pub fn close_books(&mut self, cohort: &Cohort, context: &mut Context, now: i64) {
        self.count_cut_messages(context, now);
        if let Some(publisher) = &self.publisher {
            let has_sent = publisher.sequence > 0;
            context.recorder.sender(Sender {
                stream: publisher.stream as i32,
                process: context.recorder.process,
                first_sequence: has_sent.then_some(0),
                last_sequence: has_sent.then_some(publisher.sequence as i64 - 1),
                sent: publisher.sent,
                acked: publisher.acked,
                dropped: publisher.dropped,
                bytes: publisher.bytes,
            });
        }
        self.end_subscriptions(cohort, context, None);
    }
}
