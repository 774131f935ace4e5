//! Bytes to the socket. What does not fit waits with the session; nobody waits for the socket.

use std::io;

use telemark_net::{monotonic_ns, Stream};

use super::Reactor;
use crate::session::{Fault, State};
use crate::wheel::TICK_NS;

/// Writes as much as the socket takes; Ok(less than all) when it is full.
fn write_some(stream: Option<&mut Stream>, bytes: &[u8]) -> io::Result<usize> {
    let Some(stream) = stream else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(count) => {
                written += count;
                // A short write of a plain socket means that it is full; TLS writes record by record.
                if !stream.is_tls() && written < bytes.len() {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

impl Reactor {
    /// Writes the control packets a session has left: now, or when the socket has room.
    pub(super) fn write_out(&mut self, place: usize) {
        let (device, bytes) = (&mut self.devices[place], &mut self.context.out);
        if bytes.is_empty() {
            return;
        }
        let session = &mut device.session;
        if session.is_blocked() {
            session.keep(bytes);
            return bytes.clear();
        }
        match write_some(device.stream.as_mut(), bytes) {
            Ok(written) => {
                if written < bytes.len() {
                    session.keep(&bytes[written..]);
                }
                session.on_written(monotonic_ns());
                bytes.clear();
            }
            Err(error) => {
                let fault = Fault::broken(session.state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// The socket has room again.
    pub(super) fn write_unsent(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let session = &mut device.session;
        if !session.is_blocked() {
            return;
        }
        match write_some(device.stream.as_mut(), session.unsent()) {
            Ok(written) => {
                session.on_unsent_written(&mut self.context, written, monotonic_ns());
                self.half_close(place);
            }
            Err(error) => {
                let fault = Fault::broken(session.state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// Half-closes the connection of a leaving device once all its bytes are written, so that the server reads
    /// everything before it sees the end.
    pub(super) fn half_close(&mut self, place: usize) {
        let device = &mut self.devices[place];
        if device.session.state != State::Leaving || device.session.is_blocked() {
            return;
        }
        if let Some(stream) = &mut device.stream {
            stream.shutdown();
        }
    }

    /// Lets every session that has messages due write once.
    pub(super) fn send_due(&mut self) {
        if self.context.due.is_empty() {
            return;
        }
        self.last_round_ns = monotonic_ns();
        for place in std::mem::take(&mut self.context.due) {
            self.devices[place as usize].session.listed = false;
            self.send(place as usize);
        }
    }

    fn send(&mut self, place: usize) {
        let device = &mut self.devices[place];
        let cohort = &self.crew.cohorts[device.session.cohort as usize];
        let now = monotonic_ns();
        if !device.session.prepare(cohort, &mut self.context, now) {
            return;
        }
        let is_tls = device.stream.as_ref().is_some_and(Stream::is_tls);
        match write_some(device.stream.as_mut(), &self.context.outgoing.bytes) {
            Ok(written) => {
                device.session.on_written(now);
                device.session.settle(&mut self.context, written, is_tls, now);
            }
            Err(error) => {
                device.session.settle(&mut self.context, 0, is_tls, now);
                let fault = Fault::broken(device.session.state, &error);
                self.lose(place, fault);
            }
        }
    }

    /// Drops what has become too late among the messages that wait for room.
    pub(super) fn sweep(&mut self, now: i64) {
        if self.context.waiting.is_empty() || now < self.context.next_sweep_ns {
            return;
        }
        self.context.next_sweep_ns = now + TICK_NS;
        let mut waiting = std::mem::take(&mut self.context.waiting);
        waiting.retain(|place| self.devices[*place as usize].session.sweep(&mut self.context, now));
        self.context.waiting = waiting;
    }
}
