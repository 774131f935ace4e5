//! Cutting a byte stream into packets.

use crate::error::DecodeError;
use crate::wire::variable_integer;

/// Packet types [2.1.2].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // the names are those of the standard
pub enum PacketType {
    Connect = 1,
    Connack = 2,
    Publish = 3,
    Puback = 4,
    Pubrec = 5,
    Pubrel = 6,
    Pubcomp = 7,
    Subscribe = 8,
    Suback = 9,
    Unsubscribe = 10,
    Unsuback = 11,
    Pingreq = 12,
    Pingresp = 13,
    Disconnect = 14,
    Auth = 15,
}

impl PacketType {
    const ALL: [Self; 15] = [
        Self::Connect,
        Self::Connack,
        Self::Publish,
        Self::Puback,
        Self::Pubrec,
        Self::Pubrel,
        Self::Pubcomp,
        Self::Subscribe,
        Self::Suback,
        Self::Unsubscribe,
        Self::Unsuback,
        Self::Pingreq,
        Self::Pingresp,
        Self::Disconnect,
        Self::Auth,
    ];

    /// The flags every packet of this type has [2.1.3]; for PUBLISH they vary.
    pub const fn fixed_flags(self) -> u8 {
        match self {
            Self::Pubrel | Self::Subscribe | Self::Unsubscribe => 0b0010,
            _ => 0,
        }
    }

    /// First byte of a packet of this type (PUBLISH: without its flags).
    pub const fn first_byte(self) -> u8 {
        (self as u8) << 4 | self.fixed_flags()
    }
}

/// One whole packet, still encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Type and flags.
    pub first: u8,
    /// What follows the fixed header.
    pub body: &'a [u8],
    /// Bytes of the stream this packet used, fixed header included.
    pub length: usize,
}

impl Frame<'_> {
    /// The packet type; flags are checked for all types but PUBLISH.
    #[inline]
    pub fn kind(&self) -> Result<PacketType, DecodeError> {
        kind_of(self.first)
    }
}

#[inline]
fn kind_of(first: u8) -> Result<PacketType, DecodeError> {
    let number = first >> 4;
    let index = usize::from(number.wrapping_sub(1));
    let kind = *PacketType::ALL
        .get(index)
        .ok_or(DecodeError::UnknownPacketType(number))?;
    let flags = first & 0x0f;
    if kind != PacketType::Publish && flags != kind.fixed_flags() {
        return Err(DecodeError::InvalidFlags { kind: number, flags });
    }
    Ok(kind)
}

/// The packet at the front of `bytes`; `None` when more bytes are needed.
///
/// `maximum` limits the whole packet's size and is checked as soon as the header is there, so a
/// reader never buffers more than that. The first byte is checked at once: garbage fails early.
#[inline]
pub fn split(bytes: &[u8], maximum: u32) -> Result<Option<Frame<'_>>, DecodeError> {
    let Some((&first, after)) = bytes.split_first() else {
        return Ok(None);
    };
    kind_of(first)?;
    let Some((remaining, used)) = variable_integer(after)? else {
        return Ok(None);
    };
    let header = 1 + used;
    let size = remaining + header as u32;
    if size > maximum {
        return Err(DecodeError::PacketTooLarge { size, maximum });
    }
    let length = size as usize;
    Ok(bytes.get(header..length).map(|body| Frame { first, body, length }))
}
