//! The packets, one file each. All borrow from the bytes they were read from.

pub mod ack;
pub mod auth;
pub mod connack;
pub mod connect;
pub mod disconnect;
pub mod list;
pub mod ping;
pub mod publish;
pub mod suback;
pub mod subscribe;
pub mod unsuback;
pub mod unsubscribe;

use crate::error::{DecodeError, EncodeError};
use crate::frame::{Frame, PacketType};
use crate::version::Version;
pub use ack::{Ack, AckKind};
pub use auth::Auth;
pub use connack::Connack;
pub use connect::{Connect, Will};
pub use disconnect::Disconnect;
pub use list::List;
pub use publish::{Publish, PublishTemplate};
pub use suback::Suback;
pub use subscribe::{RetainHandling, Subscribe, SubscribeEntry};
pub use unsuback::Unsuback;
pub use unsubscribe::Unsubscribe;

/// Any packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of the standard
pub enum Packet<'a> {
    Connect(Connect<'a>),
    Connack(Connack<'a>),
    Publish(Publish<'a>),
    /// PUBACK, PUBREC, PUBREL or PUBCOMP; see its `kind`.
    Ack(Ack<'a>),
    Subscribe(Subscribe<'a>),
    Suback(Suback<'a>),
    Unsubscribe(Unsubscribe<'a>),
    Unsuback(Unsuback<'a>),
    Pingreq,
    Pingresp,
    Disconnect(Disconnect<'a>),
    Auth(Auth<'a>),
}

impl<'a> Packet<'a> {
    /// Reads a whole packet. CONNECT says its version itself; for all others it is the connection's.
    #[inline]
    pub fn decode(frame: Frame<'a>, version: Version) -> Result<Self, DecodeError> {
        let body = frame.body;
        Ok(match frame.kind()? {
            PacketType::Connect => Self::Connect(Connect::decode(body)?),
            PacketType::Connack => Self::Connack(Connack::decode(body, version)?),
            PacketType::Publish => Self::Publish(Publish::decode(frame, version)?),
            PacketType::Puback => Self::Ack(Ack::decode(AckKind::Puback, body, version)?),
            PacketType::Pubrec => Self::Ack(Ack::decode(AckKind::Pubrec, body, version)?),
            PacketType::Pubrel => Self::Ack(Ack::decode(AckKind::Pubrel, body, version)?),
            PacketType::Pubcomp => Self::Ack(Ack::decode(AckKind::Pubcomp, body, version)?),
            PacketType::Subscribe => Self::Subscribe(Subscribe::decode(body, version)?),
            PacketType::Suback => Self::Suback(Suback::decode(body, version)?),
            PacketType::Unsubscribe => Self::Unsubscribe(Unsubscribe::decode(body, version)?),
            PacketType::Unsuback => Self::Unsuback(Unsuback::decode(body, version)?),
            PacketType::Pingreq => ping::decode(body).map(|()| Self::Pingreq)?,
            PacketType::Pingresp => ping::decode(body).map(|()| Self::Pingresp)?,
            PacketType::Disconnect => Self::Disconnect(Disconnect::decode(body, version)?),
            PacketType::Auth => Self::Auth(Auth::decode(body, version)?),
        })
    }

    /// Appends the packet. `version` is ignored by CONNECT, which carries its own.
    pub fn encode(&self, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Self::Connect(packet) => packet.encode(out),
            Self::Connack(packet) => packet.encode(version, out),
            Self::Publish(packet) => packet.encode(version, out),
            Self::Ack(packet) => packet.encode(version, out),
            Self::Subscribe(packet) => packet.encode(version, out),
            Self::Suback(packet) => packet.encode(version, out),
            Self::Unsubscribe(packet) => packet.encode(version, out),
            Self::Unsuback(packet) => packet.encode(version, out),
            Self::Pingreq => {
                ping::encode_request(out);
                Ok(())
            }
            Self::Pingresp => {
                ping::encode_response(out);
                Ok(())
            }
            Self::Disconnect(packet) => packet.encode(version, out),
            Self::Auth(packet) => packet.encode(version, out),
        }
    }
}
