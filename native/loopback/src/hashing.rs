//! Hashing for the hot path and for repeatable choices.
//!
//! Topics come from devices of a benchmark on this host, not from attackers, so the maps on the hot path use a
//! multiply-and-rotate hash instead of the standard library's keyed one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const MULTIPLIER: u64 = 0x517c_c1b7_2722_0a95;

/// A fast, unkeyed hasher for short keys.
#[derive(Default, Clone, Copy)]
pub struct QuickHasher(u64);

impl QuickHasher {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(word) ^ ((rest.len() as u64) << 56));
    }

    fn finish(&self) -> u64 {
        // The table takes its bucket from the low bits, where a multiplication leaves the least entropy.
        self.0 ^ (self.0 >> 29)
    }
}

/// A hash map with the fast hasher.
pub type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<QuickHasher>>;

/// One step of splitmix64: a well-mixed number for every input, the same on every machine.
#[must_use]
pub fn scatter(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A repeatable number for a text, independent of the process (FNV-1a, then scattered).
#[must_use]
pub fn text_number(text: &str) -> u64 {
    let folded = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    scatter(folded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn numbered_topics_spread_over_the_low_bits() {
        let build = BuildHasherDefault::<QuickHasher>::default();
        let buckets: HashSet<u64> = (0..4096)
            .map(|index| build.hash_one(format!("telemark/{index}").as_bytes()) & 0xfff)
            .collect();
        assert!(buckets.len() > 2000, "{} of 4096 buckets used", buckets.len());
    }

    #[test]
    fn text_numbers_are_the_same_everywhere() {
        assert_eq!(text_number("device-1"), text_number("device-1"));
        assert_ne!(text_number("device-1"), text_number("device-2"));
    }
}
