//! What a device does because time has passed: give up an attempt, try again, keep the connection alive.

use telemark_mqtt::packet::ping;
use telemark_mqtt::state::ClientAction;

use super::{Context, Fault, Session, State};

impl Session {
    /// A timer of this connection fired.
    pub fn on_timer(&mut self, context: &mut Context, now: i64) -> Result<(), Fault> {
        let doing = match self.state {
            State::Waiting => {
                context.dial.want(self.place, now);
                return Ok(());
            }
            State::Ready => return self.keep_alive(context, now),
            State::Leaving | State::Gone => return Ok(()),
            State::Connecting => "TCP connect",
            State::Securing => "TLS handshake",
            State::Greeting => "waiting for CONNACK",
            State::Subscribing => "waiting for SUBACK",
        };
        let detail = format!("{doing} took longer than {} s", context.connect_timeout_s);
        Err(Fault::new("timeout", "connect_failed", None, detail))
    }

    fn keep_alive(&mut self, context: &mut Context, now: i64) -> Result<(), Fault> {
        match self.keep_alive.poll(now) {
            ClientAction::WaitUntil(_) => {}
            ClientAction::SendPing => {
                self.keep_alive.on_ping(now);
                context.out.extend_from_slice(&ping::REQUEST);
            }
            ClientAction::GiveUp => {
                let detail = "no answer to PINGREQ within the keep-alive time".to_owned();
                return Err(Fault::new("closed", "disconnected", None, detail));
            }
        }
        self.set_keep_alive_timer(context, now);
        Ok(())
    }

    pub(super) fn set_keep_alive_timer(&mut self, context: &mut Context, now: i64) {
        if let ClientAction::WaitUntil(time) = self.keep_alive.poll(now) {
            if time < i64::MAX {
                context.wheel.set(time, self.timer());
            }
        }
    }

    /// The connection took bytes of this session.
    pub fn on_written(&mut self, now: i64) {
        self.keep_alive.on_sent(now);
    }
}
