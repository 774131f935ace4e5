//! Parquet's DELTA_BINARY_PACKED encoding of one page of numbers.
//!
//! Differences of neighbours, in blocks of 128: the smallest difference of the block, then what each one is above it,
//! in as few bits as the largest of its 32 neighbours needs. Steady times become a few bits, constants nothing.
//!
//! The reactor encodes between two messages, so this is written to be quick: every step is a plain loop over one block,
//! which the compiler turns into vector instructions.

use super::pack::pack;

pub(super) const BLOCK: usize = 128;
pub(super) const MINIBLOCK: usize = 32;
pub(super) const MINIBLOCKS: usize = BLOCK / MINIBLOCK;

/// How many bits a number of the column has in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Width {
    Bits32,
    Bits64,
}

/// Encodes the numbers of one column, page by page.
pub struct Encoder {
    width: Width,
    /// The processor has wide registers (AVX2).
    wide: bool,
    blocks: Vec<u8>,
    /// The number before the open block, then those of the block.
    numbers: [i64; 1 + BLOCK],
    /// How many of `numbers` there are; 0: the page is empty.
    filled: usize,
    count: usize,
    first: i64,
    range: (i64, i64),
}

/// One encoded page of a column.
pub struct Page {
    /// How many numbers.
    pub count: usize,
    /// Smallest and largest of them.
    pub range: (i64, i64),
    /// What stands before the blocks; apart, so that the blocks need not be moved.
    pub head: Vec<u8>,
    /// The blocks.
    pub blocks: Vec<u8>,
}

impl Encoder {
    /// For numbers of this width.
    pub fn new(width: Width) -> Encoder {
        Encoder {
            width,
            wide: has_wide_registers(),
            blocks: Vec::new(),
            numbers: [0; 1 + BLOCK],
            filled: 0,
            count: 0,
            first: 0,
            range: (0, 0),
        }
    }

    /// Adds numbers to the page.
    #[inline]
    pub fn add(&mut self, mut numbers: impl ExactSizeIterator<Item = i64>) {
        if self.filled == 0 {
            let Some(first) = numbers.next() else { return };
            (self.first, self.range, self.numbers[0]) = (first, (first, first), first);
            (self.filled, self.count) = (1, 1);
        }
        self.count += numbers.len();
        while numbers.len() > 0 {
            let until = self.numbers.len().min(self.filled + numbers.len());
            for (slot, number) in self.numbers[self.filled..until].iter_mut().zip(&mut numbers) {
                *slot = number;
            }
            self.filled = until;
            if until == self.numbers.len() {
                self.write_block();
            }
        }
    }

    fn write_block(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: the processor has what the function needs: `wide` is never set otherwise.
            return unsafe { self.write_block_avx2() };
        }
        self.write_block_anywhere();
    }

    /// The same with wider registers: three fifths of the time.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn write_block_avx2(&mut self) {
        self.write_block_anywhere();
    }

    #[inline(always)]
    fn write_block_anywhere(&mut self) {
        let filled = std::mem::replace(&mut self.filled, 1) - 1;
        let numbers = &self.numbers[..=filled];
        self.range = numbers
            .iter()
            .fold(self.range, |(low, high), number| (low.min(*number), high.max(*number)));
        let mut differences = [0; BLOCK];
        for (difference, pair) in differences.iter_mut().zip(numbers.windows(2)) {
            *difference = pair[1].wrapping_sub(pair[0]);
        }
        if self.width == Width::Bits32 {
            // 32-bit numbers are subtracted with 32 bits.
            differences.iter_mut().for_each(|each| *each = i64::from(*each as i32));
        }
        self.numbers[0] = self.numbers[filled];
        self.write_differences(&mut differences, filled);
    }

    #[inline(always)]
    fn write_differences(&mut self, differences: &mut [i64; BLOCK], filled: usize) {
        let least = differences[..filled]
            .iter()
            .fold(i64::MAX, |least, each| least.min(*each));
        differences[filled..].fill(least); // a miniblock is always whole
        let mut widths = [0; MINIBLOCKS];
        for (above, width) in differences.chunks_exact_mut(MINIBLOCK).zip(&mut widths) {
            let mut used = 0;
            for number in above {
                *number = number.wrapping_sub(least);
                used |= *number as u64;
            }
            *width = (u64::BITS - used.leading_zeros()) as u8;
        }
        variable(zigzag(least), &mut self.blocks);
        self.blocks.extend_from_slice(&widths);
        let whole = filled.div_ceil(MINIBLOCK);
        for (above, width) in differences.chunks_exact(MINIBLOCK).zip(widths).take(whole) {
            pack(above, width as usize, &mut self.blocks);
        }
    }

    /// Ends the page and begins the next one.
    pub fn finish(&mut self) -> Page {
        if self.filled > 1 {
            self.write_block();
        }
        self.filled = 0;
        let mut head = Vec::new();
        for part in [BLOCK, MINIBLOCKS, self.count] {
            variable(part as u64, &mut head);
        }
        variable(zigzag(self.first), &mut head);
        let room = Vec::with_capacity(self.blocks.len()); // the next page will be about as large
        Page {
            count: std::mem::take(&mut self.count),
            range: self.range,
            head,
            blocks: std::mem::replace(&mut self.blocks, room),
        }
    }
}

fn has_wide_registers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
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

    fn round_trip(numbers: &[i64], width: Width, pieces: usize) -> Result<(), TestCaseError> {
        let mut encoder = Encoder::new(width);
        for wide in [encoder.wide, false] {
            encoder.wide = wide;
            for piece in numbers.chunks(pieces) {
                encoder.add(piece.iter().copied());
            }
            let page = encoder.finish();
            prop_assert_eq!(page.count, numbers.len());
            prop_assert_eq!(Some(page.range.0), numbers.iter().copied().min());
            prop_assert_eq!(Some(page.range.1), numbers.iter().copied().max());
            prop_assert_eq!(page.numbers(width), numbers.to_vec());
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
        assert_eq!(encoder.finish().blocks.len(), 5 * 10);
    }

    #[test]
    fn a_page_of_one_number_has_no_blocks() {
        let mut encoder = Encoder::new(Width::Bits32);
        encoder.add([-7].into_iter());
        let page = encoder.finish();
        assert_eq!((page.count, page.range, page.blocks.len()), (1, (-7, -7), 0));
        assert_eq!(page.numbers(Width::Bits32), [-7]);
    }
}
