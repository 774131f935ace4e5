//! MQTT 3.1.1 and 5.0 without sockets, threads or clock: what the load engine and the built-in server share.
//!
//! # Packets
//! A byte stream is cut by [`frame::split`]; [`Packet::decode`] reads a frame. Packets borrow from the bytes, nothing is
//! copied. Both versions share one definition of every packet; [`Version`] is a parameter. Malformed input is a
//! [`DecodeError`] that says the rule broken.
//! ```
//! use telemark_mqtt::{frame, packet::Publish, Packet, QoS, Version};
//!
//! let mut out = Vec::new();
//! let message = Publish { topic: "a/b", qos: QoS::AtLeastOnce, packet_id: 1, payload: b"hello", ..Publish::default() };
//! message.encode(Version::V311, &mut out)?;
//!
//! let frame = frame::split(&out, 1024)?.expect("a whole packet");
//! assert_eq!(Packet::Publish(message), Packet::decode(frame, Version::V311)?);
//! assert_eq!(out.len(), frame.length); // drop so many bytes and go on; `None` means: read more first
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! The hot path: match on `frame.kind()`, read messages with [`packet::Publish::decode`], answer with
//! [`packet::ack::encode_success`], write messages with a [`packet::PublishTemplate`] (everything fixed is encoded
//! once; packet id, DUP and payload are filled in). None of these allocates unless the output vector has to grow.
//!
//! Properties of MQTT 5 stay encoded too: [`Properties`] is a checked view, [`PropertyBuffer`] builds one, [`Limits`]
//! reads what CONNECT and CONNACK announce. CONNACK return codes of 3.1.1 are translated to [`ReasonCode`].
//!
//! # State
//! [`state::Outbound`] gives packet ids and keeps the in-flight window; [`state::Inbound`] recognizes QoS 2 duplicates;
//! [`state::OutboundAliases`], [`state::InboundAliases`], [`state::ClientKeepAlive`] and [`state::ServerKeepAlive`] are
//! what they say. All of them are small and allocate only when used.
//! ```
//! use telemark_mqtt::{state::{Outbound, Resend}, QoS};
//!
//! let mut outbound = Outbound::new(10); // window: own limit or the peer's receive maximum
//! let id = outbound.begin(QoS::AtLeastOnce, "first").unwrap(); // Err(message) when the window is full
//! outbound.begin(QoS::AtLeastOnce, "second").unwrap();
//! assert_eq!(Ok("first"), outbound.on_puback(id));
//! // After a reconnect with the session present: send again, in this order, with DUP set.
//! let again: Vec<_> = outbound.resend().collect();
//! assert_eq!(vec![Resend::Publish { packet_id: 2, qos: QoS::AtLeastOnce, message: &"second" }], again);
//! ```
//!
//! # Topics
//! [`topic::Filter`] checks filters and takes `$share/name/` off; [`topic::SubscriptionTree`] routes.
//!
//! # Telemark's own
//! [`Stamp`] is the first 32 bytes of every payload; [`pattern::Pattern`] the language of plans for topics and names.
#![forbid(unsafe_code)]

pub mod error;
pub mod frame;
pub mod limits;
pub mod packet;
pub mod pattern;
pub mod properties;
pub mod reason;
pub mod stamp;
pub mod state;
pub mod topic;
mod version;
mod wire;

#[cfg(test)]
mod testing;

pub use error::{DecodeError, EncodeError, ProtocolError};
pub use frame::{Frame, PacketType};
pub use limits::Limits;
pub use packet::Packet;
pub use properties::{Properties, Property, PropertyBuffer};
pub use reason::ReasonCode;
pub use stamp::{Stamp, STAMP_SIZE};
pub use version::{QoS, Version};
