//! One simulated device. Small: what is needed only sometimes lives behind a pointer.

use std::collections::VecDeque;

use telemark_mqtt::packet::PublishTemplate;
use telemark_mqtt::state::{ClientKeepAlive, Inbound, Outbound, OutboundAliases};
use telemark_net::{SessionSlot, Stream};

use crate::pending::Queue;

/// No publisher.
pub const NO_PUBLISHER: u32 = u32::MAX;

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

impl State {
    /// Between the first step of an attempt and its success.
    pub fn is_attempt(self) -> bool {
        matches!(
            self,
            State::Connecting | State::Securing | State::Greeting | State::Subscribing
        )
    }
}

/// Times of the attempt under way.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Attempt {
    pub started_ns: i64,
    pub tcp_ns: Option<i64>,
    pub tls_ns: Option<i64>,
    pub connack_ns: Option<i64>,
    pub suback_ns: Option<i64>,
    pub tls_resumed: Option<bool>,
    pub session_present: Option<bool>,
}

/// A message some of whose bytes wait in `Leftover::unsent`.
pub struct Unsent {
    /// End of the message, counted in bytes from the first one ever put into this buffer.
    pub end: u64,
    /// When it was due.
    pub intended_ns: i64,
    /// Payload bytes.
    pub size: u32,
}

/// Bytes between the device and its socket; exists only while there are any.
#[derive(Default)]
pub struct Leftover {
    /// Read, but not a whole packet yet.
    pub unread: Vec<u8>,
    /// To be written when the socket has room again.
    pub unsent: Vec<u8>,
    /// Bytes of `unsent` already written.
    pub written: usize,
    /// Bytes taken off `unsent` since the buffer came into being.
    pub taken_off: u64,
    /// Messages among the unsent bytes.
    pub messages: VecDeque<Unsent>,
}

impl Leftover {
    /// Whether it is of no use any more.
    pub fn is_empty(&self) -> bool {
        self.unread.is_empty() && self.unsent.is_empty()
    }
}

/// One device.
pub struct Device {
    /// The connection; None while there is none.
    pub stream: Option<Stream>,
    /// `{index}` of the patterns.
    pub index: u64,
    /// Number in the run.
    pub number: i32,
    /// Place of its group in the plan.
    pub cohort: u32,
    /// Place of its publisher in the thread, or NO_PUBLISHER.
    pub publisher: u32,
    /// Connections made so far: tells a late event or timer of an earlier one.
    pub generation: u32,
    /// Attempts so far.
    pub attempts: u16,
    /// Attempts that failed since the last success.
    pub failures: u32,
    /// Where it stands.
    pub state: State,
    /// Someone has to look at it again although the poller is silent.
    pub again: bool,
    /// Subscribed since; 0: not.
    pub subscribed_ns: i64,
    /// Lost its connection at this time while the server keeps the subscription; 0: not.
    pub lost_ns: i64,
    /// Keep-alive of the connection.
    pub keep_alive: ClientKeepAlive,
    /// Times of the attempt under way.
    pub attempt: Option<Box<Attempt>>,
    /// Bytes that wait.
    pub leftover: Option<Box<Leftover>>,
    /// QoS 2 messages received and not yet released.
    pub inbound: Option<Box<Inbound>>,
    /// Its TLS session.
    pub tls_session: Option<SessionSlot>,
    /// Expanded filters, only when there are several: a delivery must be told apart by topic.
    pub filters: Box<[Box<str>]>,
}

impl Device {
    /// A device that has not begun.
    pub fn new(index: u64, number: i32, cohort: u32) -> Device {
        Device {
            stream: None,
            index,
            number,
            cohort,
            publisher: NO_PUBLISHER,
            generation: 0,
            attempts: 0,
            failures: 0,
            state: State::Waiting,
            again: false,
            subscribed_ns: 0,
            lost_ns: 0,
            keep_alive: ClientKeepAlive::new(0, 0),
            attempt: None,
            leftover: None,
            inbound: None,
            tls_session: None,
            filters: Box::default(),
        }
    }

    /// Closes the connection. OpenSSL would forget a TLS session that ends without a farewell: it is to be resumed.
    pub fn close(&mut self) {
        if let Some(mut stream) = self.stream.take() {
            stream.keep_session();
        }
        self.leftover = None;
    }

    /// Whether bytes wait for room in the socket.
    pub fn is_blocked(&self) -> bool {
        self.leftover
            .as_ref()
            .is_some_and(|leftover| !leftover.unsent.is_empty())
    }
}

/// What must be known of a message until its last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct InFlight {
    /// Number in the stream.
    pub sequence: u64,
    /// When it was due.
    pub intended_ns: i64,
    /// When it was sent first.
    pub sent_ns: i64,
    /// When the packet that is to be acknowledged next was sent.
    pub step_ns: i64,
    /// Payload bytes.
    pub size: u32,
}

/// The sending side of a device.
pub struct Publisher {
    /// Place of its device in the thread.
    pub device: u32,
    /// Stream number in the run.
    pub stream: u32,
    /// Messages that are due and not sent.
    pub queue: Queue,
    /// Is in the list of those that wait for room.
    pub waits: bool,
    /// Is in the list of those to be looked at.
    pub listed: bool,
    /// Number of the next message.
    pub sequence: u64,
    /// Messages the kernel took whole.
    pub sent: i64,
    /// Messages acknowledged to the end.
    pub acked: i64,
    /// Due messages given up.
    pub dropped: i64,
    /// Payload bytes sent.
    pub bytes: i64,
    /// Everything of its PUBLISH that never changes; None: topic or alias differ from message to message.
    pub template: Option<PublishTemplate>,
    /// QoS 1 and 2 messages in flight.
    pub outbound: Outbound<InFlight>,
    /// MQTT 5 topic aliases of this connection.
    pub aliases: Option<Box<OutboundAliases>>,
}
