//! Making connections: TCP, TLS, and what the poller says of them.

use std::io;
use std::net::SocketAddr;

use telemark_net::{connect, monotonic_ns, Event, Handshake, Interest, SessionSlot, Socket, SocketOptions, Stream};

use super::Reactor;
use crate::ports::Ports;
use crate::session::{Fault, State};

/// Begins to connect from a port that is free.
fn connect_from(ports: &mut Ports, target: SocketAddr, mut options: SocketOptions) -> io::Result<Socket> {
    let source = options.source;
    for _ in 1..ports.most_offers() {
        options.ports = ports.offer(source, target);
        match connect(target, &options) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable && options.ports.is_some() => {
                ports.skip(source, target);
            }
            begun => return begun,
        }
    }
    connect(target, &options)
}

impl Reactor {
    /// Begins as many attempts as may begin now.
    pub(super) fn dial(&mut self, now: i64) {
        while let Some(place) = self.context.dial.take(now) {
            self.begin_attempt(place as usize);
        }
    }

    /// The first step of a connection: SYN.
    fn begin_attempt(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let cohort = &self.crew.cohorts[device.session.cohort as usize];
        let target = &self.crew.targets[cohort.target(device.session.index)];
        device.session.begin_attempt(&mut self.context, monotonic_ns());
        if target.resumes() {
            device.tls_session.get_or_insert_with(SessionSlot::default);
        }
        let token = place as u64 | u64::from(device.session.generation) << 32;
        let interest = Interest::READ | Interest::WRITE | Interest::EDGE;
        let options = cohort.socket_options(device.session.index);
        let begun = connect_from(&mut self.ports, target.address, options)
            .and_then(|socket| self.poller.add(&socket, token, interest).map(|()| socket));
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
        match self.devices[place].session.state {
            State::Connecting => self.on_connected(place, event),
            State::Securing => self.shake_hands(place),
            State::Waiting | State::Gone => {}
            State::Greeting | State::Subscribing | State::Ready | State::Leaving => {
                if event.writable {
                    self.write_unsent(place);
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

    fn on_connected(&mut self, place: usize, event: &Event) {
        let device = &mut self.devices[place];
        let session = &mut device.session;
        let target = &self.crew.targets[self.crew.cohorts[session.cohort as usize].target(session.index)];
        let Some(Stream::Plain(socket)) = device.stream.take() else {
            return;
        };
        // A connect that failed is reported as closed: only then is there an error to ask for.
        let error = event.closed.then(|| socket.take_error().unwrap_or_else(Some));
        if let Some(error) = error.flatten() {
            let what = format!("TCP connect to {}", target.address);
            return self.lose(place, Fault::of_io("tcp_failed", "connect_failed", &what, &error));
        }
        session.on_tcp(monotonic_ns());
        match target.secure(socket, session.index, device.tls_session.as_ref()) {
            Err(detail) => {
                let detail = format!("TLS: {detail}");
                self.lose(place, Fault::new("tls_failed", "connect_failed", None, detail));
            }
            Ok(stream) => {
                device.stream = Some(stream);
                if target.has_tls() {
                    session.state = State::Securing;
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
                device.session.on_tls(stream.session_resumed(), monotonic_ns());
                self.greet(place);
            }
            Err(error) => {
                let fault = Fault::of_io("tls_failed", "connect_failed", "TLS handshake", &error);
                self.lose(place, fault);
            }
        }
    }

    fn greet(&mut self, place: usize) {
        let session = &mut self.devices[place].session;
        let cohort = &self.crew.cohorts[session.cohort as usize];
        let result = session.greet(cohort, &mut self.context);
        self.follow(place, result);
    }
}
