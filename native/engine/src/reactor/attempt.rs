//! From the SYN to the CONNACK, and what happens when a connection fails or is lost.

use std::sync::Arc;

use telemark_mqtt::limits::Limits;
use telemark_mqtt::packet::Connack;
use telemark_mqtt::state::ClientKeepAlive;
use telemark_mqtt::Version;
use telemark_net::{connect, monotonic_ns, Event, Handshake, Interest, SessionSlot, Stream};

use super::fault::Fault;
use super::greeting::{encode_connect, unsupported};
use super::Reactor;
use crate::device::{Attempt, State, NO_PUBLISHER};
use crate::plan::ReconnectPolicy;
use crate::records::{Connection, InForce, Text};
use crate::wheel::Timer;

impl Reactor {
    /// The first step of a connection: SYN.
    pub(super) fn begin_attempt(&mut self, place: usize) {
        let now = monotonic_ns();
        let crew = Arc::clone(&self.crew);
        let device = &mut self.devices[place];
        let cohort = &crew.cohorts[device.cohort as usize];
        let target = &crew.targets[cohort.target(device.index)];
        device.generation = device.generation.wrapping_add(1);
        device.attempt = Some(Box::new(Attempt {
            started_ns: now,
            ..Attempt::default()
        }));
        device.attempts = device.attempts.saturating_add(1);
        device.state = State::Connecting;
        self.dial.under_way += 1;
        if target.resumes() {
            device.tls_session.get_or_insert_with(SessionSlot::default);
        }
        let timer = Timer {
            device: place as u32,
            generation: device.generation,
        };
        let token = place as u64 | u64::from(device.generation) << 32;
        let timeout = (crew.plan.connect_timeout_s * 1e9) as i64;
        self.wheel.set(now + timeout, timer);
        let begun = connect(target.address, &cohort.socket_options(device.index)).and_then(|socket| {
            self.poller
                .add(&socket, token, Interest::READ | Interest::WRITE | Interest::EDGE)?;
            Ok(socket)
        });
        match begun {
            Ok(socket) => device.stream = Some(Stream::Plain(socket)),
            Err(error) => {
                let what = format!("TCP connect to {}", target.address);
                self.lose(place, Fault::of_io("tcp_failed", "connect_failed", &what, &error));
            }
        }
    }

    /// The poller reported the device's socket.
    pub(super) fn on_ready(&mut self, place: usize, event: &Event) {
        match self.devices[place].state {
            State::Connecting => self.on_connected(place),
            State::Securing => self.shake_hands(place),
            State::Waiting | State::Gone => {}
            State::Greeting | State::Subscribing | State::Ready | State::Leaving => {
                if event.writable {
                    self.write_leftover(place);
                }
                if event.readable {
                    self.read(place);
                }
                if event.closed {
                    // The end of the stream is told once, perhaps together with the last bytes: look again.
                    self.read_later(place);
                }
            }
        }
    }

    fn on_connected(&mut self, place: usize) {
        let crew = Arc::clone(&self.crew);
        let device = &mut self.devices[place];
        let target = &crew.targets[crew.cohorts[device.cohort as usize].target(device.index)];
        let Some(Stream::Plain(socket)) = device.stream.take() else {
            return;
        };
        if let Some(error) = socket.take_error().unwrap_or_else(Some) {
            let what = format!("TCP connect to {}", target.address);
            return self.lose(place, Fault::of_io("tcp_failed", "connect_failed", &what, &error));
        }
        if let Some(attempt) = &mut device.attempt {
            attempt.tcp_ns = Some(monotonic_ns());
        }
        match target.secure(socket, device.index, device.tls_session.as_ref()) {
            Err(detail) => self.lose(
                place,
                Fault::new("tls_failed", "connect_failed", None, format!("TLS: {detail}")),
            ),
            Ok(stream) => {
                device.stream = Some(stream);
                if target.has_tls() {
                    device.state = State::Securing;
                    self.shake_hands(place);
                } else {
                    self.greet(place);
                }
            }
        }
    }

    fn shake_hands(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let Some(stream) = &mut device.stream else {
            return;
        };
        match stream.handshake() {
            Ok(Handshake::InProgress) => {}
            Ok(Handshake::Done) => {
                let resumed = stream.session_resumed();
                if let Some(attempt) = &mut device.attempt {
                    attempt.tls_ns = Some(monotonic_ns());
                    attempt.tls_resumed = resumed;
                }
                self.greet(place);
            }
            Err(error) => self.lose(
                place,
                Fault::of_io("tls_failed", "connect_failed", "TLS handshake", &error),
            ),
        }
    }

    /// Sends CONNECT.
    fn greet(&mut self, place: usize) {
        let crew = Arc::clone(&self.crew);
        let device = &mut self.devices[place];
        device.state = State::Greeting;
        let cohort = &crew.cohorts[device.cohort as usize];
        let mut bytes = Vec::new();
        let encoded = encode_connect(cohort, device, &mut bytes);
        match encoded {
            Ok(()) => self.write(place, &bytes),
            Err(error) => {
                let mut fault = Fault::new(
                    "refused",
                    "connect_failed",
                    None,
                    format!("CONNECT cannot be written: {error}"),
                );
                fault.is_final = true;
                self.lose(place, fault);
            }
        }
    }

    /// CONNACK came.
    pub(super) fn on_connack(&mut self, place: usize, connack: &Connack<'_>, now: i64) -> Result<(), Fault> {
        if self.devices[place].state != State::Greeting {
            return Err(Fault::protocol("a second CONNACK".to_owned()));
        }
        let crew = Arc::clone(&self.crew);
        let device = &mut self.devices[place];
        let cohort = &crew.cohorts[device.cohort as usize];
        if let Some(attempt) = &mut device.attempt {
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
            let fault = Fault::new("refused", "connect_refused", None, detail);
            return Err(Fault {
                is_final: true,
                ..fault
            });
        }
        let interval = limits.server_keep_alive_s.unwrap_or(cohort.plan.keep_alive_s as u16);
        device.keep_alive = ClientKeepAlive::new(interval, now);
        device.failures = 0;
        self.totals.connected += 1;
        self.timeline.at(now).connects += 1;
        self.resume_session(place, connack.session_present, &limits);
        self.subscribe_or_ready(place, connack.session_present, now);
        Ok(())
    }

    /// The attempt succeeded.
    pub(super) fn become_ready(&mut self, place: usize, now: i64) {
        self.end_attempt(place, "ok");
        let device = &mut self.devices[place];
        device.state = State::Ready;
        self.totals.ready += 1;
        let (number, again, publisher) = (device.number, device.attempts > 1, device.publisher);
        if again {
            self.recorder.event(now, number, "reconnected", None, "");
        }
        self.set_keep_alive_timer(place, now);
        if publisher != NO_PUBLISHER {
            self.list_due(publisher);
        }
    }

    fn end_attempt(&mut self, place: usize, result: &'static str) {
        let device = &mut self.devices[place];
        let Some(attempt) = device.attempt.take() else {
            return;
        };
        self.dial.under_way -= 1;
        self.recorder.connection(Connection {
            device: device.number,
            process: self.recorder.process,
            attempt: i16::try_from(device.attempts - 1).unwrap_or(i16::MAX),
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

    /// The connection failed or was lost: rows, counts, and perhaps another attempt.
    pub(super) fn lose(&mut self, place: usize, fault: Fault) {
        let now = monotonic_ns();
        let state = self.devices[place].state;
        if state == State::Leaving {
            return self.depart(place);
        }
        let number = self.devices[place].number;
        self.recorder.event(now, number, fault.kind, fault.code, fault.detail);
        self.end_attempt(place, fault.result);
        if matches!(state, State::Subscribing | State::Ready) {
            self.totals.connected -= 1;
            self.totals.disconnects += 1;
            self.timeline.at(now).disconnects += 1;
        }
        self.totals.ready -= i64::from(state == State::Ready);
        self.disconnect_books(place, now);
        self.count_cut_messages(place);
        let device = &mut self.devices[place];
        device.close();
        device.failures += 1;
        self.try_later(place, fault.is_final, now);
    }

    fn try_later(&mut self, place: usize, is_final: bool, now: i64) {
        let device = &mut self.devices[place];
        let policy = self.crew.cohorts[device.cohort as usize].plan.reconnect;
        let again = policy.policy == ReconnectPolicy::After && device.failures <= policy.attempts;
        if !again || is_final || self.finishing {
            device.state = State::Gone;
            self.totals.failed += 1;
            return;
        }
        device.state = State::Waiting;
        let timer = Timer {
            device: place as u32,
            generation: device.generation,
        };
        self.wheel.set(now + (policy.delay_s * 1e9) as i64, timer);
    }

    /// Ends the times in which the device's subscriptions were in force, unless the server keeps them.
    fn disconnect_books(&mut self, place: usize, now: i64) {
        let device = &mut self.devices[place];
        if device.subscribed_ns == 0 {
            return;
        }
        if self.crew.cohorts[device.cohort as usize].is_durable() {
            device.lost_ns = now;
        } else {
            self.end_subscriptions(place, Some(now));
        }
    }

    /// Writes the rows of subscriptions that were in force until then (None: to the end of the run).
    pub(super) fn end_subscriptions(&mut self, place: usize, until_ns: Option<i64>) {
        let device = &mut self.devices[place];
        let from_ns = std::mem::take(&mut device.subscribed_ns);
        device.lost_ns = 0;
        if from_ns == 0 {
            return;
        }
        let cohort = &self.crew.cohorts[device.cohort as usize];
        let within = (device.index - cohort.plan.first_index) as i32;
        for filter in &cohort.filters {
            let subscription = filter.first_subscription + within;
            self.recorder.in_force(InForce {
                subscription,
                from_ns,
                until_ns,
            });
        }
    }
}
