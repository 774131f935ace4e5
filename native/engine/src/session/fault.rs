//! Why a connection ended, as it will stand in the rows.

use std::io;

use super::State;

/// Why a connection ended.
#[derive(Debug)]
pub struct Fault {
    /// Result of the attempt, if one was under way.
    pub result: &'static str,
    /// Kind of the event.
    pub kind: &'static str,
    /// Reason code or errno.
    pub code: Option<i32>,
    /// In words.
    pub detail: String,
    /// Connecting again would only fail again.
    pub is_final: bool,
}

impl Fault {
    /// A fault after which a device may try again.
    pub fn new(result: &'static str, kind: &'static str, code: Option<i32>, detail: String) -> Fault {
        Fault {
            result,
            kind,
            code,
            detail,
            is_final: false,
        }
    }

    /// What the server refused, and would refuse again.
    pub(super) fn refused(result: &'static str, kind: &'static str, code: Option<i32>, detail: String) -> Fault {
        Fault {
            is_final: true,
            ..Fault::new(result, kind, code, detail)
        }
    }

    /// The operating system or TLS said no.
    pub fn of_io(result: &'static str, kind: &'static str, what: &str, error: &io::Error) -> Fault {
        Fault::new(result, kind, error.raw_os_error(), format!("{what}: {error}"))
    }

    /// The connection broke while it was in use.
    pub fn broken(state: State, error: &io::Error) -> Fault {
        let kind = if state == State::Greeting {
            "connect_failed"
        } else {
            "disconnected"
        };
        Fault::of_io("closed", kind, "connection lost", error)
    }

    /// The server closed the connection.
    pub fn closed(state: State) -> Fault {
        let (kind, detail) = match state {
            State::Greeting => ("connect_failed", "the server closed the connection instead of CONNACK"),
            _ => ("disconnected", "the server closed the connection"),
        };
        Fault::new("closed", kind, None, detail.to_owned())
    }

    /// The server broke the rules of MQTT.
    pub(super) fn protocol(detail: impl ToString) -> Fault {
        Fault::new("closed", "protocol_error", None, detail.to_string())
    }
}
