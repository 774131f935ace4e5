//! What devices do because time has passed: give up an attempt, try again, keep the connection alive.

use telemark_mqtt::packet::ping;
use telemark_mqtt::state::ClientAction;

use super::fault::Fault;
use super::Reactor;
use crate::device::State;
use crate::wheel::Timer;

impl Reactor {
    pub(super) fn fire_timers(&mut self, now: i64) {
        while let Some(timers) = self.wheel.pop(now) {
            for timer in timers {
                let place = timer.device as usize;
                if self.devices[place].generation == timer.generation {
                    self.on_timer(place, now);
                }
            }
        }
    }

    fn on_timer(&mut self, place: usize, now: i64) {
        match self.devices[place].state {
            State::Waiting => self.dial.want(place as u32, now),
            State::Ready => self.keep_alive(place, now),
            state if state.is_attempt() => {
                let doing = match state {
                    State::Connecting => "TCP connect",
                    State::Securing => "TLS handshake",
                    State::Greeting => "waiting for CONNACK",
                    _ => "waiting for SUBACK",
                };
                let detail = format!("{doing} took longer than {} s", self.crew.plan.connect_timeout_s);
                self.lose(place, Fault::new("timeout", "connect_failed", None, detail));
            }
            _ => {}
        }
    }

    fn keep_alive(&mut self, place: usize, now: i64) {
        match self.devices[place].keep_alive.poll(now) {
            ClientAction::WaitUntil(_) => {}
            ClientAction::SendPing => {
                self.devices[place].keep_alive.on_ping(now);
                self.write(place, &ping::REQUEST);
            }
            ClientAction::GiveUp => {
                let detail = "no answer to PINGREQ within the keep-alive time".to_owned();
                return self.lose(place, Fault::new("closed", "disconnected", None, detail));
            }
        }
        self.set_keep_alive_timer(place, now);
    }

    pub(super) fn set_keep_alive_timer(&mut self, place: usize, now: i64) {
        let device = &self.devices[place];
        if device.state != State::Ready {
            return;
        }
        if let ClientAction::WaitUntil(time) = device.keep_alive.poll(now) {
            if time < i64::MAX {
                self.wheel.set(
                    time,
                    Timer {
                        device: place as u32,
                        generation: device.generation,
                    },
                );
            }
        }
    }
}
