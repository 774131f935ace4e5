//! Parquet's DELTA_BINARY_PACKED encoding of one page of numbers.
//!
//! Differences of neighbours, in blocks of 128: the smallest difference of the block, then what each one is above it,
//! in as few bits as the largest of its 32 neighbours needs. Steady times become a few bits, constants nothing.

const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;
const MINIBLOCKS: usize = BLOCK / MINIBLOCK;

/// How many bits a number of the column has in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Width {
    Bits32,
    Bits64,
}

/// Encodes the numbers of one page; used again for the next.
pub struct Encoder {
    width: Width,
    blocks: Vec<u8>,
    /// Differences of the open block, and the number before the first of them.
    waiting: [i64; BLOCK],
    before: i64,
    filled: usize,
    count: usize,
    first: i64,
    last: i64,
    range: (i64, i64),
}

/// One encoded page.
pub struct Page {
    /// How many numbers.
    pub count: usize,
    /// Smallest and largest of them.
    pub range: (i64, i64),
}

impl Encoder {
    /// For numbers of this width.
    pub fn new(width: Width) -> Encoder {
        Encoder {
            width,
            blocks: Vec::new(),
            waiting: [0; BLOCK],
            before: 0,
            filled: 0,
            count: 0,
            first: 0,
            last: 0,
            range: (0, 0),
        }
    }

    /// Adds numbers to the page.
    #[inline]
    pub fn add(&mut self, mut numbers: impl ExactSizeIterator<Item = i64>) {
        if self.count == 0 {
            let Some(first) = numbers.next() else { return };
            self.count = 1;
            (self.first, self.last, self.before, self.range) = (first, first, first, (first, first));
        }
        self.count += numbers.len();
        while numbers.len() > 0 {
            let until = BLOCK.min(self.filled + numbers.len());
            let mut last = self.last;
            for (slot, number) in self.waiting[self.filled..until].iter_mut().zip(&mut numbers) {
                *slot = number.wrapping_sub(last);
                last = number;
            }
            (self.filled, self.last) = (until, last);
            if until == BLOCK {
                self.write_block();
            }
        }
    }

    fn write_block(&mut self) {
        let filled = std::mem::take(&mut self.filled);
        let first = self.waiting[0];
        let is_steady = self.waiting[..filled].iter().fold(0, |all, each| all | (each ^ first)) == 0;
        if is_steady && (self.last >= self.before) == (first >= 0) {
            self.widen(self.last);
            variable(zigzag(self.fit(first)), &mut self.blocks);
            self.blocks.extend_from_slice(&[0; MINIBLOCKS]);
        } else {
            self.write_differences(filled);
        }
        self.before = self.last;
    }

    fn write_differences(&mut self, filled: usize) {
        let (mut number, mut range) = (self.before, self.range);
        for difference in &self.waiting[..filled] {
            number = number.wrapping_add(*difference);
            range = (range.0.min(number), range.1.max(number));
        }
        self.range = range;
        if self.width == Width::Bits32 {
            self.waiting[..filled]
                .iter_mut()
                .for_each(|each| *each = i64::from(*each as i32));
        }
        let least = self.waiting[..filled].iter().copied().fold(i64::MAX, i64::min);
        self.waiting[filled..].fill(least); // a miniblock is always whole
        let mask = if self.width == Width::Bits32 {
            u64::from(u32::MAX)
        } else {
            u64::MAX
        };
        let mut widths = [0; MINIBLOCKS];
        for (above, width) in self.waiting.chunks_exact_mut(MINIBLOCK).zip(&mut widths) {
            let mut used = 0;
            for number in above {
                *number = number.wrapping_sub(least);
                used |= *number as u64 & mask;
            }
            *width = (u64::BITS - used.leading_zeros()) as u8;
        }
        variable(zigzag(least), &mut self.blocks);
        self.blocks.extend_from_slice(&widths);
        let whole = filled.div_ceil(MINIBLOCK);
        for (above, width) in self.waiting.chunks_exact(MINIBLOCK).zip(widths).take(whole) {
            pack(above, width as usize, mask, &mut self.blocks);
        }
    }

    /// 32-bit numbers are subtracted with 32 bits.
    fn fit(&self, difference: i64) -> i64 {
        match self.width {
            Width::Bits32 => i64::from(difference as i32),
            Width::Bits64 => difference,
        }
    }

    fn widen(&mut self, number: i64) {
        self.range = (self.range.0.min(number), self.range.1.max(number));
    }

    /// Appends the page and begins the next one.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Page {
        if self.filled > 0 {
            self.write_block();
        }
        for part in [BLOCK, MINIBLOCKS, self.count] {
            variable(part as u64, out);
        }
        variable(zigzag(self.first), out);
        out.append(&mut self.blocks);
        Page {
            count: std::mem::take(&mut self.count),
            range: self.range,
        }
    }
}

/// So many bits of each number, lowest first.
#[inline]
fn pack(numbers: &[i64], width: usize, mask: u64, out: &mut Vec<u8>) {
    const WORD: usize = 8;
    let mut bytes = [0; MINIBLOCK * WORD + WORD];
    let (mut word, mut bits, mut at) = (0_u64, 0, 0);
    for number in numbers {
        let number = *number as u64 & mask;
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

/// Small numbers of either sign as small numbers.
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Seven bits a byte, lowest first.
pub fn variable(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    /// What a reader makes of a page, written from the format's description and not from the code above.
    fn decode(bytes: &[u8], width: Width) -> Vec<i64> {
        let mut bytes = bytes.iter().copied();
        let varint = |bytes: &mut dyn Iterator<Item = u8>| {
            let (mut number, mut shift) = (0_u64, 0);
            loop {
                let byte = bytes.next().unwrap();
                number |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return number;
                }
            }
        };
        let signed = |number: u64| (number >> 1) as i64 ^ -((number & 1) as i64);
        let (block, parts, count) = (varint(&mut bytes), varint(&mut bytes), varint(&mut bytes) as usize);
        let mut numbers = vec![signed(varint(&mut bytes))];
        while numbers.len() < count {
            let least = signed(varint(&mut bytes));
            let widths: Vec<u8> = bytes.by_ref().take(parts as usize).collect();
            for width_of_part in widths {
                let in_part = (block / parts) as usize;
                if numbers.len() >= count {
                    break;
                }
                let data: Vec<u8> = bytes.by_ref().take(in_part * width_of_part as usize / 8).collect();
                for place in 0..in_part {
                    let bit = |number: usize| u64::from(data[number / 8] >> (number % 8) & 1);
                    let from = place * width_of_part as usize;
                    let above = (0..width_of_part as usize).fold(0, |sum, at| sum | bit(from + at) << at);
                    let next = numbers.last().unwrap().wrapping_add(least).wrapping_add(above as i64);
                    let next = if width == Width::Bits32 {
                        i64::from(next as i32)
                    } else {
                        next
                    };
                    if numbers.len() < count {
                        numbers.push(next);
                    }
                }
            }
        }
        assert_eq!(bytes.next(), None);
        numbers
    }

    fn round_trip(numbers: &[i64], width: Width, pieces: usize) -> Result<(), TestCaseError> {
        let mut encoder = Encoder::new(width);
        for _ in 0..2 {
            let mut out = Vec::new();
            for piece in numbers.chunks(pieces) {
                encoder.add(piece.iter().copied());
            }
            let page = encoder.finish(&mut out);
            prop_assert_eq!(page.count, numbers.len());
            prop_assert_eq!(Some(page.range.0), numbers.iter().copied().min());
            prop_assert_eq!(Some(page.range.1), numbers.iter().copied().max());
            prop_assert_eq!(decode(&out, width), numbers.to_vec());
        }
        Ok(())
    }

    fn numbers(width: Width) -> impl Strategy<Value = Vec<i64>> {
        let any_number = match width {
            Width::Bits32 => any::<i32>().prop_map(i64::from).boxed(),
            Width::Bits64 => any::<i64>().boxed(),
        };
        let step = (0_u32..31).prop_flat_map(|bits| 0..1_i64 << bits);
        let rising = proptest::collection::vec(step, 1..400).prop_map(|steps| {
            steps
                .iter()
                .scan(0, |sum, step| {
                    *sum = (*sum + step) & 0x7fff_ffff;
                    Some(*sum)
                })
                .collect::<Vec<i64>>()
        });
        prop_oneof![
            proptest::collection::vec(any_number.clone(), 1..400),
            (any_number, 1_usize..400).prop_map(|(number, count)| vec![number; count]),
            rising,
        ]
    }

    proptest! {
        #[test]
        fn a_reader_gets_64_bit_numbers_back(numbers in numbers(Width::Bits64), pieces in 1_usize..300) {
            round_trip(&numbers, Width::Bits64, pieces)?;
        }

        #[test]
        fn a_reader_gets_32_bit_numbers_back(numbers in numbers(Width::Bits32), pieces in 1_usize..300) {
            round_trip(&numbers, Width::Bits32, pieces)?;
        }
    }

    #[test]
    fn a_constant_costs_five_bytes_in_128() {
        let mut encoder = Encoder::new(Width::Bits64);
        encoder.add([7; 1 + 10 * BLOCK].into_iter());
        let mut out = Vec::new();
        encoder.finish(&mut out);
        assert!(out.len() <= 8 + 5 * 10, "{}", out.len());
    }
}
