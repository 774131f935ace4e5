//! The end: devices say goodbye, the last rows are written.

use telemark_net::monotonic_ns;

use super::Reactor;
use crate::session::State;

/// How long servers have to close their ends before the engine closes its own.
const PATIENCE_NS: i64 = 2_000_000_000;

impl Reactor {
    /// All devices disconnect in order.
    pub(super) fn leave(&mut self) {
        if self.context.finishing {
            return;
        }
        let now = monotonic_ns();
        self.context.finishing = true;
        self.finish_by_ns = now + PATIENCE_NS;
        self.halt();
        self.context.dial.clear();
        for place in 0..self.devices.len() {
            self.say_goodbye(place, now);
        }
    }

    fn say_goodbye(&mut self, place: usize, now: i64) {
        let device = &mut self.devices[place];
        let cohort = &self.crew.cohorts[device.session.cohort as usize];
        device.session.say_goodbye(cohort, &mut self.context, now);
        if device.session.state == State::Gone {
            return device.close();
        }
        self.write_out(place);
        self.devices[place].session.await_end(&mut self.context);
        self.half_close(place);
    }

    /// Writes the last rows of every device and closes the last second.
    pub(super) fn close_books(&mut self) {
        let now = monotonic_ns();
        for device in &mut self.devices {
            let cohort = &self.crew.cohorts[device.session.cohort as usize];
            device.session.close_books(cohort, &mut self.context, now);
        }
        self.close_timeline();
        self.publish_totals();
    }

    fn close_timeline(&mut self) {
        let now = monotonic_ns();
        if !self.context.timeline.is_started() {
            self.context.timeline.start(now, now);
        }
        self.second_ns = now;
        self.turn_second(now);
        let timeline = &mut self.context.timeline;
        let end = timeline.next_end(now);
        let seconds = timeline.close_before(end);
        self.hub.close_seconds(self.thread, seconds, i64::MAX);
    }
}
