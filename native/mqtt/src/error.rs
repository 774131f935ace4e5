//! What can be wrong with bytes from the network, with a packet to be written, and with a peer's behaviour.

use crate::reason::ReasonCode;
use thiserror::Error;

/// Bytes that break the MQTT standard. Every variant says the rule and what to do about it.
///
/// Section numbers are those of MQTT 5.0. The connection is unusable after any of these: close it,
/// in MQTT 5 after a DISCONNECT (server before CONNACK: a CONNACK) with [`DecodeError::reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The remaining length has a fifth byte [1.5.5]. Remedy: the peer is not speaking MQTT; close.
    #[error("remaining length or variable byte integer is longer than four bytes")]
    VariableIntegerTooLong,
    /// The packet is larger than the limit given to `frame::split` [3.1.2.11.4]. Remedy: raise the limit or announce it.
    #[error("packet of {size} bytes exceeds the maximum packet size of {maximum}")]
    PacketTooLarge {
        /// Bytes of the whole packet, fixed header included.
        size: u32,
        /// The limit in force.
        maximum: u32,
    },
    /// Packet type 0, or AUTH in a 3.1.1 connection [2.1.2]. Remedy: the peer is at fault; close.
    #[error("packet type {0} does not exist in this protocol version")]
    UnknownPacketType(u8),
    /// The lower four bits of the first byte are fixed for all but PUBLISH [2.1.3]. Remedy: the peer is at fault; close.
    #[error("reserved flags of packet type {kind} are {flags:#06b}")]
    InvalidFlags {
        /// Packet type, 1 to 15.
        kind: u8,
        /// The four flag bits found.
        flags: u8,
    },
    /// QoS bits are 3 [3.3.1.2]. Remedy: the peer is at fault; close.
    #[error("QoS {0} does not exist")]
    InvalidQos(u8),
    /// DUP is set on a QoS 0 PUBLISH [3.3.1.1]. Remedy: the peer is at fault; close.
    #[error("DUP is set on a QoS 0 PUBLISH")]
    DupWithoutQos,
    /// A field reaches past the end of its packet [2.1.4]. Remedy: the peer is at fault; close.
    #[error("a field reaches past the end of the packet")]
    Truncated,
    /// Bytes are left after the last field of a packet [2.1.4]. Remedy: the peer is at fault; close.
    #[error("{0} bytes are left after the last field of the packet")]
    TrailingBytes(usize),
    /// Text is not UTF-8 or has U+0000 in it [1.5.4]. Remedy: the peer is at fault; close.
    #[error("text is not valid UTF-8 or contains U+0000")]
    InvalidText,
    /// CONNECT does not begin with the protocol name MQTT [3.1.2.1]. Remedy: the peer speaks another protocol or MQTT 3.1; close.
    #[error("protocol name is not \"MQTT\"")]
    InvalidProtocolName,
    /// CONNECT asks for a level other than 4 or 5 [3.1.2.2]. Remedy: answer CONNACK 0x01 (3.1.1) or 0x84 and close.
    #[error("protocol level {0} is not supported; 4 (3.1.1) and 5 are")]
    UnsupportedProtocolLevel(u8),
    /// A bit that must be zero is one, or will and password flags contradict each other [3.1.2.3]. Remedy: close.
    #[error("flags byte {0:#010b} has a reserved or contradicting bit set")]
    InvalidFlagsByte(u8),
    /// A packet id that must not be zero is zero [2.2.1]. Remedy: the peer is at fault; close.
    #[error("packet identifier is zero")]
    ZeroPacketId,
    /// A topic name is empty or has a wildcard in it [3.3.2.1]. Remedy: the peer is at fault; close.
    #[error("topic name is empty or contains a wildcard")]
    InvalidTopicName,
    /// SUBSCRIBE, UNSUBSCRIBE or SUBACK without an entry [3.8.3]. Remedy: the peer is at fault; close.
    #[error("the list of filters or codes is empty")]
    EmptyList,
    /// Retain handling is 3 or a reserved bit of subscription options is set [3.8.3.1]. Remedy: close.
    #[error("subscription options {0:#010b} are not valid")]
    InvalidSubscriptionOptions(u8),
    /// A reason code that this packet cannot carry [2.4]. Remedy: the peer is at fault; close.
    #[error("reason code {code:#04x} is not allowed in packet type {kind}")]
    InvalidReasonCode {
        /// The code found.
        code: u8,
        /// Packet type, 1 to 15.
        kind: u8,
    },
    /// A property identifier that does not exist [2.2.2.2]. Remedy: the peer is at fault; close.
    #[error("property {0:#04x} does not exist")]
    UnknownProperty(u32),
    /// A property that this packet cannot carry [2.2.2.2]. Remedy: the peer is at fault; close.
    #[error("property {0:#04x} is not allowed in this packet")]
    MisplacedProperty(u8),
    /// A property that may be given once is given twice [2.2.2.2]. Remedy: the peer is at fault; close.
    #[error("property {0:#04x} is given more than once")]
    DuplicateProperty(u8),
    /// A property whose value is outside its range: zero receive maximum, flag above 1 [3.1.2.11]. Remedy: close.
    #[error("property {0:#04x} has a value outside its range")]
    InvalidPropertyValue(u8),
}

impl DecodeError {
    /// The code for the DISCONNECT or CONNACK that answers this error.
    pub const fn reason(&self) -> ReasonCode {
        match self {
            Self::PacketTooLarge { .. } => ReasonCode::PacketTooLarge,
            Self::UnsupportedProtocolLevel(_) | Self::InvalidProtocolName => ReasonCode::UnsupportedProtocolVersion,
            Self::InvalidTopicName => ReasonCode::TopicNameInvalid,
            Self::DuplicateProperty(_) | Self::MisplacedProperty(_) | Self::EmptyList => ReasonCode::ProtocolError,
            _ => ReasonCode::MalformedPacket,
        }
    }
}

/// A packet that cannot be written as MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// Text or binary data above 65,535 bytes [1.5.4]. Remedy: shorten the topic, id, credentials or property.
    #[error("text or binary field is longer than 65,535 bytes")]
    FieldTooLong,
    /// More than 268,435,455 bytes after the fixed header [2.1.4]. Remedy: send a smaller payload.
    #[error("packet of {0} bytes is larger than MQTT allows")]
    PacketTooLarge(usize),
    /// QoS 1 and 2 need a packet id, QoS 0 has none [2.2.1]. Remedy: take the id from `state::Outbound`.
    #[error("packet identifier does not fit the QoS or is zero")]
    PacketIdMismatch,
    /// Something only MQTT 5 has, in a 3.1.1 packet. Remedy: leave it out or connect with version 5.
    #[error("{0} exists in MQTT 5 only")]
    NeedsVersion5(&'static str),
    /// A combination the standard forbids. Remedy: see the text.
    #[error("{0}")]
    Forbidden(&'static str),
}

/// A well-formed packet that the peer may not send in the present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// An acknowledgement for an id that is not in flight [4.3]. Remedy: count it; MQTT 5 tells PUBREL/PUBCOMP 0x92.
    #[error("packet identifier {0} is not in flight")]
    UnknownPacketId(u16),
    /// An acknowledgement of the wrong kind for the message's QoS or step [4.3]. Remedy: disconnect with 0x82.
    #[error("packet identifier {0} waits for another kind of acknowledgement")]
    UnexpectedAck(u16),
    /// More unacknowledged QoS 1/2 messages than the receive maximum [3.3.4]. Remedy: disconnect with 0x93.
    #[error("the peer has more than {0} messages in flight")]
    ReceiveMaximumExceeded(u16),
    /// A topic alias of zero, above the maximum, or never introduced [3.3.2.3.4]. Remedy: disconnect with 0x94.
    #[error("topic alias {0} is not valid here")]
    InvalidTopicAlias(u16),
}

impl ProtocolError {
    /// The code for the DISCONNECT that answers this error.
    pub const fn reason(&self) -> ReasonCode {
        match self {
            Self::UnknownPacketId(_) | Self::UnexpectedAck(_) => ReasonCode::ProtocolError,
            Self::ReceiveMaximumExceeded(_) => ReasonCode::ReceiveMaximumExceeded,
            Self::InvalidTopicAlias(_) => ReasonCode::TopicAliasInvalid,
        }
    }
}
