//! Bytes from the socket: read into one buffer that all devices share, and handled there.

use std::io;

use telemark_net::monotonic_ns;

use super::Reactor;
use crate::session::{Fault, State};

/// Reads of one device before others get their turn.
const READS_IN_A_ROW: usize = 4;

impl Reactor {
    /// Reads what the device's socket has; comes back later if it has more than its fair share.
    pub(super) fn read(&mut self, place: usize) {
        for _ in 0..READS_IN_A_ROW {
            match self.read_once(place) {
                Ok(true) => self.write_out(place),
                Ok(false) => return self.write_out(place),
                Err(fault) => return self.lose(place, fault),
            }
        }
        self.read_later(place);
    }

    /// Reads the device again in this round, although the poller may be silent about it.
    pub(super) fn read_later(&mut self, place: usize) {
        let device = &mut self.devices[place];
        if !device.again && device.stream.is_some() {
            device.again = true;
            self.again.push(place as u32);
        }
    }

    /// Devices that had more to read than they were allowed in one go.
    pub(super) fn read_again(&mut self) {
        for place in std::mem::take(&mut self.again) {
            let device = &mut self.devices[place as usize];
            device.again = false;
            if !matches!(device.session.state, State::Connecting | State::Securing) {
                self.read(place as usize);
            }
        }
    }

    /// One read and everything in it; whether there may be more.
    fn read_once(&mut self, place: usize) -> Result<bool, Fault> {
        let device = &mut self.devices[place];
        let Some(stream) = &mut device.stream else {
            return Ok(false);
        };
        let session = &mut device.session;
        let count = match stream.read(&mut self.buffer) {
            Ok(0) => return Err(Fault::closed(session.state)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(Fault::broken(session.state, &error)),
        };
        let cohort = &self.crew.cohorts[session.cohort as usize];
        let now = monotonic_ns();
        session.receive(cohort, &mut self.context, &self.buffer[..count], now)?;
        // A plain socket that did not fill the buffer has nothing more for now: the poller tells when it has.
        Ok(stream.is_tls() || count == self.buffer.len())
    }
}
