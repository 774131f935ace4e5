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
    let Some((header, length)) = header(bytes, maximum)? else {
        return Ok(None);
    };
    let frame = |body| Frame {
        first: bytes[0],
        body,
        length,
    };
    Ok(bytes.get(header..length).map(frame))
}

/// The length of the packet at the front of `bytes`, as soon as enough of it is there to tell.
pub fn length(bytes: &[u8], maximum: u32) -> Result<Option<usize>, DecodeError> {
    Ok(header(bytes, maximum)?.map(|(_, length)| length))
}

/// The lengths of the fixed header and of the whole packet.
#[inline]
fn header(bytes: &[u8], maximum: u32) -> Result<Option<(usize, usize)>, DecodeError> {
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
    Ok(Some((header, size as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_cut_off_the_front_and_the_rest_left_alone() {
        let frame = split(&[0xc0, 0, 0xd0, 0], 100).unwrap().unwrap();
        assert_eq!(
            Frame {
                first: 0xc0,
                body: &[],
                length: 2
            },
            frame
        );
        assert_eq!(Ok(PacketType::Pingreq), frame.kind());
    }

    #[test]
    fn incomplete_packets_ask_for_more() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x80],
            &[0x30, 0x80, 0x80, 0x80],
            &[0x30, 2, 0],
        ] {
            assert_eq!(Ok(None), split(bytes, u32::MAX), "{bytes:?}");
        }
    }

    #[test]
    fn the_remaining_length_takes_one_to_four_bytes() {
        for (length, header) in [
            (127_usize, 2),
            (128, 3),
            (16_383, 3),
            (16_384, 4),
            (2_097_151, 4),
            (2_097_152, 5),
        ] {
            let mut bytes = vec![0x30];
            crate::wire::Sink::variable_integer(&mut bytes, length as u32);
            assert_eq!(header, bytes.len(), "{length}");
            bytes.resize(header + length, 0);
            let frame = split(&bytes, u32::MAX).unwrap().unwrap();
            assert_eq!((length, header + length), (frame.body.len(), frame.length));
        }
    }

    #[test]
    fn a_length_of_five_bytes_is_refused() {
        assert_eq!(
            Err(DecodeError::VariableIntegerTooLong),
            split(&[0x30, 0x80, 0x80, 0x80, 0x80, 1], u32::MAX)
        );
    }

    #[test]
    fn too_large_a_packet_is_refused_before_its_body_comes() {
        let expected = DecodeError::PacketTooLarge {
            size: 103,
            maximum: 102,
        };
        assert_eq!(Err(expected), split(&[0x30, 0x80 | 100, 0], 102));
        assert_eq!(Ok(None), split(&[0x30, 0x80 | 100, 0], 103));
    }

    #[test]
    fn types_and_flags_that_do_not_exist_are_refused_at_the_first_byte() {
        assert_eq!(Err(DecodeError::UnknownPacketType(0)), split(&[0x00], 100));
        assert_eq!(
            Err(DecodeError::InvalidFlags { kind: 8, flags: 0 }),
            split(&[0x80], 100)
        );
        assert_eq!(
            Err(DecodeError::InvalidFlags { kind: 1, flags: 1 }),
            split(&[0x11], 100)
        );
    }
}
