//! The data types of MQTT [1.5]: reading them from a slice, writing or only measuring them.
//!
//! `Reader` and `Sink` are public only in name (the module is private): public traits mention them.

use crate::error::{DecodeError, EncodeError};
use crate::version::Version;

/// Largest value of a variable byte integer [1.5.5].
pub const MAXIMUM_VARIABLE_INTEGER: u32 = 268_435_455;

/// Takes fields off the front of a packet. Never reads past the end, never copies.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        if count > self.rest.len() {
            return Err(DecodeError::Truncated);
        }
        let (head, tail) = self.rest.split_at(count);
        self.rest = tail;
        Ok(head)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, tail) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(first)
    }

    #[inline]
    pub(crate) fn short(&mut self) -> Result<u16, DecodeError> {
        match *self.take(2)? {
            [high, low] => Ok(u16::from_be_bytes([high, low])),
            _ => Err(DecodeError::Truncated),
        }
    }

    pub(crate) fn long(&mut self) -> Result<u32, DecodeError> {
        match *self.take(4)? {
            [a, b, c, d] => Ok(u32::from_be_bytes([a, b, c, d])),
            _ => Err(DecodeError::Truncated),
        }
    }

    pub(crate) fn variable_integer(&mut self) -> Result<u32, DecodeError> {
        let (value, length) = variable_integer(self.rest)?.ok_or(DecodeError::Truncated)?;
        self.rest = &self.rest[length..];
        Ok(value)
    }

    #[inline]
    pub(crate) fn binary(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.short()?;
        self.take(usize::from(length))
    }

    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        text(self.binary()?)
    }

    #[inline]
    pub(crate) fn packet_id(&mut self) -> Result<u16, DecodeError> {
        match self.short()? {
            0 => Err(DecodeError::ZeroPacketId),
            id => Ok(id),
        }
    }

    /// Everything not taken yet.
    pub(crate) fn remainder(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that the packet ends here.
    pub(crate) const fn finish(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(DecodeError::TrailingBytes(left)),
        }
    }
}

/// UTF-8 without U+0000 [1.5.4].
#[inline]
fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    if has_byte(bytes, |byte| byte == 0) {
        return Err(DecodeError::InvalidText);
    }
    std::str::from_utf8(bytes).map_err(|_| DecodeError::InvalidText)
}

/// Whether any byte fulfils the test. Looks at all of them: without an early exit the compiler takes sixteen at
/// a time, which is faster for texts as short as topics.
#[inline]
pub(crate) fn has_byte(bytes: &[u8], test: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(false, |found, &byte| found | test(byte))
}

/// A variable byte integer at the front: value and bytes used; None when more bytes are needed.
#[inline]
pub(crate) fn variable_integer(bytes: &[u8]) -> Result<Option<(u32, usize)>, DecodeError> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(Some((value, place + 1)));
        }
    }
    if bytes.len() >= 4 {
        return Err(DecodeError::VariableIntegerTooLong);
    }
    Ok(None)
}

/// Somewhere fields go: a buffer, or a counter that only measures. One body definition serves both,
/// so the remaining length can never disagree with what is written.
pub trait Sink {
    /// Takes bytes as they are.
    fn put(&mut self, bytes: &[u8]);

    fn byte(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn short(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    fn long(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    /// The value must not exceed [`MAXIMUM_VARIABLE_INTEGER`]; more would lose its upper bits.
    fn variable_integer(&mut self, mut value: u32) {
        let mut bytes = [0_u8; 4];
        let mut used = 0;
        loop {
            bytes[used] = (value & 0x7f) as u8;
            value >>= 7;
            used += 1;
            if value == 0 || used == 4 {
                break;
            }
            bytes[used - 1] |= 0x80;
        }
        self.put(&bytes[..used]);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.short(bytes.len() as u16);
        self.put(bytes);
        self.note_field(bytes.len());
    }

    fn text(&mut self, text: &str) {
        self.binary(text.as_bytes());
    }

    /// Told the size of every length-prefixed field; the measuring sink remembers an impossible one.
    fn note_field(&mut self, _size: usize) {}
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Measures a body without writing it.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    pub(crate) size: usize,
    field_too_long: bool,
}

impl Sink for Measure {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.size += bytes.len();
    }

    fn note_field(&mut self, size: usize) {
        self.field_too_long |= size > usize::from(u16::MAX);
    }
}

impl Measure {
    /// The remaining length, if MQTT can express it.
    pub(crate) fn remaining_length(&self) -> Result<u32, EncodeError> {
        if self.field_too_long {
            return Err(EncodeError::FieldTooLong);
        }
        remaining_length(self.size)
    }
}

/// `size` as a remaining length, if it can be one.
#[inline]
pub(crate) fn remaining_length(size: usize) -> Result<u32, EncodeError> {
    u32::try_from(size)
        .ok()
        .filter(|&size| size <= MAXIMUM_VARIABLE_INTEGER)
        .ok_or(EncodeError::PacketTooLarge(size))
}

/// A packet that can be written.
pub(crate) trait Body {
    /// Packet type and flags.
    fn first_byte(&self) -> u8;

    /// Rules that the type system does not keep; called before anything is written.
    fn check(&self, version: Version) -> Result<(), EncodeError>;

    /// Everything after the fixed header.
    fn write<S: Sink>(&self, version: Version, out: &mut S);
}

/// Appends a whole packet. Allocates only if `out` has to grow; leaves it unchanged on error.
pub(crate) fn encode<B: Body>(body: &B, version: Version, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    body.check(version)?;
    let mut measure = Measure::default();
    body.write(version, &mut measure);
    let length = measure.remaining_length()?;
    out.reserve(measure.size + 5);
    out.byte(body.first_byte());
    out.variable_integer(length);
    body.write(version, out);
    Ok(())
}
