//! Why a connection ended, as it will stand in the rows.

use std::io;

use crate::device::State;

/// Why a connection ended.
pub(super) struct Fault {
    /// Result of the attempt, if one was under way.
    pub(super) result: &'static str,
    /// Kind of the event.
    pub(super) kind: &'static str,
    /// Reason code or errno.
    pub(super) code: Option<i32>,
    /// In words.
    pub(super) detail: String,
    /// Connecting again would only fail again.
    pub(super) is_final: bool,
}

impl Fault {
    pub(super) fn new(result: &'static str, kind: &'static str, code: Option<i32>, detail: String) -> Fault {
        Fault {
            result,
            kind,
            code,
            detail,
            is_final: false,
        }
    }

    pub(super) fn of_io(result: &'static str, kind: &'static str, what: &str, error: &io::Error) -> Fault {
        Fault::new(result, kind, error.raw_os_error(), format!("{what}: {error}"))
    }

    /// The connection broke while it was in use.
    pub(super) fn broken(state: State, error: &io::Error) -> Fault {
        let kind = if state == State::Greeting {
            "connect_failed"
        } else {
            "disconnected"
        };
        Fault::of_io("closed", kind, "connection lost", error)
    }

    /// The server closed the connection.
    pub(super) fn closed(state: State) -> Fault {
        match state {
            State::Greeting => Fault::new(
                "closed",
                "connect_failed",
                None,
                "the server closed the connection instead of CONNACK".to_owned(),
            ),
            _ => Fault::new(
                "closed",
                "disconnected",
                None,
                "the server closed the connection".to_owned(),
            ),
        }
    }

    /// The server broke the rules of MQTT.
    pub(super) fn protocol(detail: String) -> Fault {
        Fault::new("closed", "protocol_error", None, detail)
    }
}
