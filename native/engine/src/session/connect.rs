//! From the first step of an attempt to the CONNACK.

use telemark_mqtt::limits::Limits;
use telemark_mqtt::packet::Connack;
use telemark_mqtt::state::{ClientKeepAlive, OutboundAliases};
use telemark_mqtt::Version;

use super::greeting::{encode_connect, unsupported};
use super::{Attempt, Context, Fault, Session, State};
use crate::cohort::Cohort;
use crate::records::{Connection, Text};

impl Session {
    /// A connection is being made.
    pub fn begin_attempt(&mut self, context: &mut Context, now: i64) {
        self.generation = self.generation.wrapping_add(1);
        self.attempt = Some(Box::new(Attempt {
            started_ns: now,
            ..Attempt::default()
        }));
        self.attempts = self.attempts.saturating_add(1);
        self.state = State::Connecting;
        context.dial.under_way += 1;
        let timeout = (context.connect_timeout_s * 1e9) as i64;
        context.wheel.set(now + timeout, self.timer());
    }

    /// The TCP connection is made.
    pub fn on_tcp(&mut self, now: i64) {
        if let Some(attempt) = &mut self.attempt {
            attempt.tcp_ns = Some(now);
        }
    }

    /// The TLS handshake is done.
    pub fn on_tls(&mut self, resumed: Option<bool>, now: i64) {
        if let Some(attempt) = &mut self.attempt {
            attempt.tls_ns = Some(now);
            attempt.tls_resumed = resumed;
        }
    }

    /// The connection is there: sends CONNECT.
    pub fn greet(&mut self, cohort: &Cohort, context: &mut Context) -> Result<(), Fault> {
        self.state = State::Greeting;
        encode_connect(cohort, self.index, self.attempts, context).map_err(|error| {
            let detail = format!("CONNECT cannot be written: {error}");
            Fault::refused("refused", "connect_failed", None, detail)
        })
    }

    /// CONNACK came.
    pub(super) fn on_connack(
        &mut self,
        cohort: &Cohort,
        context: &mut Context,
        connack: &Connack<'_>,
        now: i64,
    ) -> Result<(), Fault> {
        if self.state != State::Greeting {
            return Err(Fault::protocol("a second CONNACK"));
        }
        if let Some(attempt) = &mut self.attempt {
            attempt.connack_ns = Some(now);
            attempt.session_present = Some(connack.session_present);
        }
        if connack.reason.is_error() {
            let code = match cohort.version {
                Version::V311 => connack.reason.to_connack_311(),
                Version::V5 => connack.reason.code(),
            };
            let detail = format!("CONNACK: {}", connack.reason.name());
            return Err(Fault::new("refused", "connect_refused", Some(i32::from(code)), detail));
        }
        let limits = Limits::of(&connack.properties);
        if let Some(detail) = unsupported(cohort, &limits) {
            return Err(Fault::refused("refused", "connect_refused", None, detail));
        }
        let interval = limits.server_keep_alive_s.unwrap_or(cohort.plan.keep_alive_s as u16);
        self.keep_alive = ClientKeepAlive::new(interval, now);
        self.failures = 0;
        context.totals.connected += 1;
        context.timeline.at(now).connects += 1;
        self.resume(cohort, context, connack.session_present, &limits);
        self.subscribe_or_ready(cohort, context, connack.session_present, now)
    }

    /// Takes over what the server kept, or forgets what it did not.
    fn resume(&mut self, cohort: &Cohort, context: &mut Context, present: bool, limits: &Limits) {
        if present {
            self.lost_ns = 0;
        } else {
            self.inbound = None;
            let lost = Some(self.lost_ns).filter(|lost| *lost != 0);
            self.end_subscriptions(cohort, context, lost);
        }
        let (Some(publisher), Some(plan)) = (&mut self.publisher, &cohort.plan.publish) else {
            return;
        };
        let window = (plan.in_flight as u16).min(limits.receive_maximum);
        publisher.outbound.set_window(window);
        publisher.aliases = plan
            .topic_alias
            .then(|| Box::new(OutboundAliases::new(limits.topic_alias_maximum)));
        publisher.outbound.clear_requests();
        if present {
            self.resend(cohort, context);
        } else {
            publisher.outbound.clear();
        }
    }

    /// The attempt succeeded.
    pub(super) fn become_ready(&mut self, context: &mut Context, now: i64) {
        self.end_attempt(context, "ok");
        self.state = State::Ready;
        context.totals.ready += 1;
        if self.attempts > 1 {
            context.recorder.event(now, self.number, "reconnected", None, "");
        }
        self.set_keep_alive_timer(context, now);
        self.list_due(context);
    }

    pub(super) fn end_attempt(&mut self, context: &mut Context, result: &'static str) {
        let Some(attempt) = self.attempt.take() else {
            return;
        };
        context.dial.under_way -= 1;
        context.recorder.connection(Connection {
            device: self.number,
            process: context.recorder.process,
            attempt: i16::try_from(self.attempts - 1).unwrap_or(i16::MAX),
            started_ns: attempt.started_ns,
            tcp_ns: attempt.tcp_ns,
            tls_ns: attempt.tls_ns,
            connack_ns: attempt.connack_ns,
            suback_ns: attempt.suback_ns,
            result: Text::Borrowed(result),
            tls_resumed: attempt.tls_resumed,
            session_present: attempt.session_present,
        });
    }
}
