//! One simulated device without its socket: bytes and time come in; bytes, rows and faults come out.
//!
//! A session knows MQTT and what the plan asks of the device. The reactor connects, reads and writes for it: it calls
//! the session with what happened, writes what the session left in [`Context::out`], and closes the connection when the
//! session returns a [`Fault`]. Nothing here asks for the time or touches a socket, so all of it is tested with numbers
//! and byte strings.

mod acknowledge;
mod backlog;
mod connect;
mod context;
mod ending;
mod fault;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod greeting;
mod outgoing;
mod publish;
mod publisher;
mod receive;
mod subscribe;
#[cfg(test)]
mod tests;
mod timer;

use telemark_mqtt::state::{ClientKeepAlive, Inbound};

use crate::cohort::{expand, Cohort};
use crate::pending::Queue;
use crate::wheel::Timer;
use backlog::Backlog;
pub use context::Context;
pub use fault::Fault;
use publisher::Publisher;

/// Where a device stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Has not begun, or waits for its next attempt.
    Waiting,
    /// The TCP connection is being made.
    Connecting,
    /// The TLS handshake is under way.
    Securing,
    /// CONNECT was sent.
    Greeting,
    /// SUBSCRIBE was sent.
    Subscribing,
    /// Connected and subscribed.
    Ready,
    /// DISCONNECT was sent; the server's end of stream is awaited.
    Leaving,
    /// Will not connect (again).
    Gone,
}

/// Times of the attempt under way.
#[derive(Clone, Debug, Default)]
struct Attempt {
    started_ns: i64,
    tcp_ns: Option<i64>,
    tls_ns: Option<i64>,
    connack_ns: Option<i64>,
    suback_ns: Option<i64>,
    tls_resumed: Option<bool>,
    session_present: Option<bool>,
}

/// One device. Small: what is needed only sometimes lives behind a pointer.
pub struct Session {
    /// `{index}` of the patterns.
    pub index: u64,
    /// Number in the run.
    number: i32,
    /// Place of its group in the plan.
    pub cohort: u32,
    /// Place among the sessions of its thread.
    place: u32,
    /// Connections begun so far: tells a late event or timer of an earlier one.
    pub generation: u32,
    /// Attempts so far.
    attempts: u16,
    /// Where it stands.
    pub state: State,
    /// Is in the list of those that have something to send.
    pub listed: bool,
    /// Is in the list of those that wait for room.
    waits: bool,
    /// Attempts that failed since the last success.
    failures: u32,
    /// Messages that are due and not sent.
    queue: Queue,
    /// Subscribed since; 0: not.
    subscribed_ns: i64,
    /// Lost its connection at this time while the server keeps the subscription; 0: not.
    lost_ns: i64,
    keep_alive: ClientKeepAlive,
    attempt: Option<Box<Attempt>>,
    /// Bytes that wait.
    backlog: Option<Box<Backlog>>,
    /// QoS 2 messages received and not yet released.
    inbound: Option<Box<Inbound>>,
    /// The sending side, if the device publishes.
    publisher: Option<Box<Publisher>>,
    /// Expanded filters, only when there are several: a delivery must be told apart by topic.
    filters: Box<[Box<str>]>,
}

impl Session {
    /// The device that is `within` its cohort, the `cohort_place`-th of the plan; it has not begun.
    pub fn new(cohort: &Cohort, cohort_place: u32, within: u32, place: u32) -> Session {
        let index = cohort.plan.first_index + u64::from(within);
        let filters = match cohort.filters.len() {
            0 | 1 => Box::default(),
            _ => {
                let filters = cohort.filters.iter();
                filters.map(|filter| expand(&filter.filter, index).into()).collect()
            }
        };
        Session {
            index,
            number: cohort.plan.first_device + within as i32,
            cohort: cohort_place,
            place,
            generation: 0,
            attempts: 0,
            state: State::Waiting,
            listed: false,
            waits: false,
            failures: 0,
            queue: Queue::default(),
            subscribed_ns: 0,
            lost_ns: 0,
            keep_alive: ClientKeepAlive::new(0, 0),
            attempt: None,
            backlog: None,
            inbound: None,
            publisher: Publisher::new(cohort, index, within).map(Box::new),
            filters,
        }
    }

    fn timer(&self) -> Timer {
        Timer {
            device: self.place,
            generation: self.generation,
        }
    }

    /// The number of the device within its group.
    fn within(&self, cohort: &Cohort) -> i32 {
        (self.index - cohort.plan.first_index) as i32
    }
}
