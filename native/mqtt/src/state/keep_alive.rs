//! Keep-alive [3.1.2.10], as arithmetic on times that are passed in (nanoseconds of one monotonic clock).

const SECOND_NS: i64 = 1_000_000_000;

/// What a client has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// Nothing before this time; `i64::MAX` when keep-alive is off.
    WaitUntil(i64),
    /// Send PINGREQ now and call `on_ping`.
    SendPing,
    /// The server did not answer the ping in time: the connection is dead.
    GiveUp,
}

/// The client's side: something must be sent at least once an interval.
#[derive(Clone, Copy, Debug)]
pub struct ClientKeepAlive {
    interval_s: u16,
    awaits_response: bool,
    last_sent_ns: i64,
}

impl ClientKeepAlive {
    /// With the interval of CONNECT, or the server's own from CONNACK; zero switches it off.
    pub const fn new(interval_s: u16, now_ns: i64) -> Self {
        Self {
            interval_s,
            awaits_response: false,
            last_sent_ns: now_ns,
        }
    }

    /// Any packet was sent.
    pub fn on_sent(&mut self, now_ns: i64) {
        if !self.awaits_response {
            self.last_sent_ns = now_ns;
        }
    }

    /// A PINGREQ was sent.
    pub fn on_ping(&mut self, now_ns: i64) {
        self.awaits_response = true;
        self.last_sent_ns = now_ns;
    }

    /// Any packet came: the server lives.
    pub fn on_received(&mut self) {
        self.awaits_response = false;
    }

    /// What is to be done at this time. Ask again when the returned time has come.
    pub fn poll(&self, now_ns: i64) -> ClientAction {
        if self.interval_s == 0 {
            return ClientAction::WaitUntil(i64::MAX);
        }
        let due_ns = self.last_sent_ns.saturating_add(self.patience_ns());
        match (now_ns >= due_ns, self.awaits_response) {
            (false, _) => ClientAction::WaitUntil(due_ns),
            (true, false) => ClientAction::SendPing,
            (true, true) => ClientAction::GiveUp,
        }
    }

    /// A ping goes out at seven eighths of the interval, so that a late timer still keeps the promise;
    /// an answer is waited for as long as a whole interval.
    const fn patience_ns(&self) -> i64 {
        let interval_ns = self.interval_s as i64 * SECOND_NS;
        if self.awaits_response {
            interval_ns
        } else {
            interval_ns / 8 * 7
        }
    }
}

/// The server's side: a client silent for one and a half intervals is gone.
#[derive(Clone, Copy, Debug)]
pub struct ServerKeepAlive {
    interval_s: u16,
    last_received_ns: i64,
}

impl ServerKeepAlive {
    /// With the interval in force; zero switches it off.
    pub const fn new(interval_s: u16, now_ns: i64) -> Self {
        Self {
            interval_s,
            last_received_ns: now_ns,
        }
    }

    /// Any packet came.
    pub fn on_received(&mut self, now_ns: i64) {
        self.last_received_ns = now_ns;
    }

    /// When the client counts as gone; `i64::MAX` when keep-alive is off.
    pub const fn deadline_ns(&self) -> i64 {
        if self.interval_s == 0 {
            return i64::MAX;
        }
        self.last_received_ns
            .saturating_add(self.interval_s as i64 * SECOND_NS / 2 * 3)
    }

    /// Whether the client is gone at this time.
    pub const fn is_expired(&self, now_ns: i64) -> bool {
        now_ns >= self.deadline_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_client_pings_before_its_interval_ends() {
        let mut client = ClientKeepAlive::new(8, 0);
        assert_eq!(ClientAction::WaitUntil(7 * SECOND_NS), client.poll(SECOND_NS));
        client.on_sent(3 * SECOND_NS);
        assert_eq!(ClientAction::WaitUntil(10 * SECOND_NS), client.poll(9 * SECOND_NS));
        assert_eq!(ClientAction::SendPing, client.poll(10 * SECOND_NS));
    }

    #[test]
    fn an_unanswered_ping_ends_the_connection_even_if_the_client_goes_on_sending() {
        let mut client = ClientKeepAlive::new(8, 0);
        client.on_ping(7 * SECOND_NS);
        client.on_sent(14 * SECOND_NS);
        assert_eq!(ClientAction::WaitUntil(15 * SECOND_NS), client.poll(14 * SECOND_NS));
        assert_eq!(ClientAction::GiveUp, client.poll(15 * SECOND_NS));
        client.on_received();
        assert_eq!(ClientAction::SendPing, client.poll(15 * SECOND_NS));
    }

    #[test]
    fn zero_switches_keep_alive_off_on_both_sides() {
        assert_eq!(
            ClientAction::WaitUntil(i64::MAX),
            ClientKeepAlive::new(0, 0).poll(i64::MAX)
        );
        assert!(!ServerKeepAlive::new(0, 0).is_expired(i64::MAX - 1));
    }

    #[test]
    fn a_server_waits_one_and_a_half_intervals() {
        let mut server = ServerKeepAlive::new(10, 0);
        server.on_received(SECOND_NS);
        assert!(!server.is_expired(16 * SECOND_NS - 1));
        assert!(server.is_expired(16 * SECOND_NS));
    }
}
