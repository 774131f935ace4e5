//! The stamp: the first 32 bytes of every payload Telemark sends. Little-endian.

/// Bytes of a stamp.
pub const STAMP_SIZE: usize = 32;
const MAGIC: u16 = 0x4D54; // "TM"
const FORMAT: u8 = 1;

/// Who sent a message, which one it is, when it was due and when it was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The publisher's stream, unique in a run.
    pub stream: u32,
    /// Number of the message in its stream, from 0 without gaps.
    pub sequence: u64,
    /// CLOCK_MONOTONIC time it was due.
    pub intended_ns: i64,
    /// CLOCK_MONOTONIC time it was handed to the connection.
    pub sent_ns: i64,
}

impl Stamp {
    /// The stamp as bytes.
    #[inline]
    pub fn encode(&self) -> [u8; STAMP_SIZE] {
        let mut bytes = [0; STAMP_SIZE];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2] = FORMAT;
        bytes[4..8].copy_from_slice(&self.stream.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.intended_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes
    }

    /// The stamp at the front of a payload; `None` when there is none of this format.
    #[inline]
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let bytes: &[u8; STAMP_SIZE] = payload.get(..STAMP_SIZE)?.try_into().ok()?;
        if bytes[0..2] != MAGIC.to_le_bytes() || bytes[2] != FORMAT || bytes[3] != 0 {
            return None;
        }
        Some(Self {
            stream: u32::from_le_bytes(bytes[4..8].try_into().ok()?),
            sequence: u64::from_le_bytes(bytes[8..16].try_into().ok()?),
            intended_ns: i64::from_le_bytes(bytes[16..24].try_into().ok()?),
            sent_ns: i64::from_le_bytes(bytes[24..32].try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        stream: 0x0403_0201,
        sequence: 5,
        intended_ns: -2,
        sent_ns: 7,
    };

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let bytes = STAMP.encode();
        assert_eq!(b"TM\x01\x00\x01\x02\x03\x04\x05\0\0\0\0\0\0\0", &bytes[..16]);
        assert_eq!(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x07\0\0\0\0\0\0\0", &bytes[16..]);
    }

    #[test]
    fn a_stamp_returns_from_a_longer_payload() {
        let mut payload = STAMP.encode().to_vec();
        payload.extend_from_slice(b"filler");
        assert_eq!(Some(STAMP), Stamp::decode(&payload));
    }

    #[test]
    fn foreign_payloads_have_no_stamp() {
        let good = STAMP.encode();
        assert_eq!(None, Stamp::decode(&good[..31]));
        for at in 0..4 {
            let mut bad = good;
            bad[at] ^= 0x40;
            assert_eq!(None, Stamp::decode(&bad), "byte {at} is part of magic, format or flags");
        }
    }
}
