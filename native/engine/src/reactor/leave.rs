//! The end: devices say goodbye, the last rows are written.

use telemark_mqtt::packet::Disconnect;
use telemark_mqtt::reason::ReasonCode;
use telemark_net::monotonic_ns;

use super::Reactor;
use crate::device::State;
use crate::records::Sender;

/// How long servers have to close their ends before the engine closes its own.
const PATIENCE_NS: i64 = 2_000_000_000;

impl Reactor {
    /// All devices disconnect in order.
    pub(super) fn leave(&mut self) {
        if self.finishing {
            return;
        }
        let now = monotonic_ns();
        self.finishing = true;
        self.finish_by_ns = now + PATIENCE_NS;
        self.halt();
        self.dial.clear();
        for at in 0..self.publishers.len() {
            let mut left = 0;
            while self.arena.pop(&mut self.publishers[at].queue).is_some() {
                left += 1;
            }
            self.count_dropped(at, left, now);
        }
        for place in 0..self.devices.len() {
            self.say_goodbye(place);
        }
    }

    fn say_goodbye(&mut self, place: usize) {
        let state = self.devices[place].state;
        match state {
            State::Ready | State::Subscribing => {
                let version = self.crew.cohorts[self.devices[place].cohort as usize].version;
                let mut bytes = Vec::new();
                // A DISCONNECT without properties can always be written.
                let _ = Disconnect::new(ReasonCode::Success).encode(version, &mut bytes);
                self.write(place, &bytes);
                self.await_end(place, state);
            }
            State::Gone | State::Leaving => {}
            State::Waiting | State::Connecting | State::Securing | State::Greeting => {
                let device = &mut self.devices[place];
                device.close();
                device.attempt = None;
                device.state = State::Gone;
            }
        }
    }

    /// The device has said everything; the server's end of stream is awaited.
    fn await_end(&mut self, place: usize, before: State) {
        let device = &mut self.devices[place];
        if device.state != before {
            return; // the write failed: the connection is lost already
        }
        device.state = State::Leaving;
        device.attempt = None;
        self.totals.ready -= i64::from(before == State::Ready);
        self.half_close(place);
    }

    /// Half-closes the connection of a leaving device once all its bytes are written, so that the server reads
    /// everything before it sees the end.
    pub(super) fn half_close(&mut self, place: usize) {
        let device = &mut self.devices[place];
        if device.state != State::Leaving || device.is_blocked() {
            return;
        }
        if let Some(stream) = &mut device.stream {
            stream.shutdown();
        }
    }

    /// The server closed its end too.
    pub(super) fn depart(&mut self, place: usize) {
        self.count_cut_messages(place);
        let device = &mut self.devices[place];
        device.close();
        device.state = State::Gone;
        self.totals.connected -= 1;
    }

    /// Writes the last rows of every device and closes the last second.
    pub(super) fn close_books(&mut self) {
        let process = self.recorder.process;
        (0..self.devices.len()).for_each(|place| self.count_cut_messages(place));
        for publisher in &self.publishers {
            let has_sent = publisher.sequence > 0;
            self.recorder.sender(Sender {
                stream: publisher.stream as i32,
                process,
                first_sequence: has_sent.then_some(0),
                last_sequence: has_sent.then_some(publisher.sequence as i64 - 1),
                sent: publisher.sent,
                acked: publisher.acked,
                dropped: publisher.dropped,
                bytes: publisher.bytes,
            });
        }
        for place in 0..self.devices.len() {
            self.end_subscriptions(place, None);
        }
        self.close_timeline();
        self.publish_totals();
    }

    fn close_timeline(&mut self) {
        let now = monotonic_ns();
        if !self.timeline.is_started() {
            self.timeline.start(now, now);
        }
        self.second_ns = now;
        self.turn_second(now);
        let seconds = self.timeline.close_before(self.timeline.next_end(now));
        self.hub.close_seconds(self.thread, seconds, i64::MAX);
    }
}
