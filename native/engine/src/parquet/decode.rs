//! What a reader makes of a page: written from the format's description, not from the encoder.

use super::delta::{Page, Width};

impl Page {
    /// The numbers of the page.
    pub fn numbers(&self, width: Width) -> Vec<i64> {
        let mut bytes = Bytes(self.head.iter().chain(&self.blocks));
        let (block, parts, count) = (bytes.variable(), bytes.variable(), bytes.variable());
        let (per_part, count) = ((block / parts) as usize, count as usize);
        let mut numbers = Vec::with_capacity(count);
        numbers.push(bytes.signed());
        while numbers.len() < count {
            let least = bytes.signed();
            let widths: Vec<u8> = (0..parts).map(|_| bytes.next()).collect();
            for bits in widths {
                let wanted = per_part.min(count - numbers.len());
                if wanted > 0 {
                    let part = bytes.part(per_part, u32::from(bits));
                    part[..wanted].iter().for_each(|above| {
                        let before = numbers.last().copied().unwrap_or(0);
                        numbers.push(fit(before.wrapping_add(least).wrapping_add(*above), width));
                    });
                }
            }
        }
        debug_assert!(bytes.0.next().is_none(), "the page has bytes left over");
        numbers
    }
}

/// 32-bit numbers are added with 32 bits.
fn fit(number: i64, width: Width) -> i64 {
    match width {
        Width::Bits32 => i64::from(number as i32),
        Width::Bits64 => number,
    }
}

struct Bytes<I>(I);

impl<'a, I: Iterator<Item = &'a u8>> Bytes<I> {
    fn next(&mut self) -> u8 {
        let byte = self.0.next();
        debug_assert!(byte.is_some(), "the page ends early");
        byte.copied().unwrap_or(0)
    }

    fn variable(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.next();
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    }

    fn signed(&mut self) -> i64 {
        let number = self.variable();
        (number >> 1) as i64 ^ -((number & 1) as i64)
    }

    /// So many numbers of so many bits each.
    fn part(&mut self, count: usize, bits: u32) -> Vec<i64> {
        let (mut waiting, mut has) = (0_u128, 0);
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            while has < bits {
                waiting |= u128::from(self.next()) << has;
                has += 8;
            }
            numbers.push((waiting & ((1_u128 << bits) - 1)) as i64);
            waiting >>= bits;
            has -= bits;
        }
        numbers
    }
}
