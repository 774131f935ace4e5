//! Numbers in as few bits as the largest of them needs.

use super::delta::MINIBLOCK;

const WORD: usize = 8;

/// Appends so many bits of each number, lowest first. No number has more.
#[inline(always)]
pub fn pack(numbers: &[i64], width: usize, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let mut bytes = [0; MINIBLOCK * WORD + WORD];
    let (mut word, mut bits, mut at) = (0_u64, 0, 0);
    for number in numbers {
        let number = *number as u64;
        word |= number << bits;
        bits += width;
        if bits >= 64 {
            bytes[at..at + WORD].copy_from_slice(&word.to_le_bytes());
            at += WORD;
            bits -= 64;
            word = if bits == 0 { 0 } else { number >> (width - bits) };
        }
    }
    bytes[at..at + WORD].copy_from_slice(&word.to_le_bytes());
    out.extend_from_slice(&bytes[..MINIBLOCK * width / 8]);
}
