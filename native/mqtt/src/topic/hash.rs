//! A quick hash for topic levels. The tree is looked up for every message; SipHash would be a third of
//! that cost. The built-in server is an instrument on a trusted network, so crafted collisions are no concern.

use std::hash::{BuildHasherDefault, Hasher};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15; // 2^64 / golden ratio: spreads into the upper bits

/// Multiplies and folds eight bytes at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TopicHasher(u64);

pub(super) type BuildTopicHasher = BuildHasherDefault<TopicHasher>;

impl TopicHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(u128::from(MULTIPLIER));
        self.0 = (product as u64) ^ (product >> 64) as u64 ^ MULTIPLIER;
    }
}

impl Hasher for TopicHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let word: [u8; 8] = chunk.try_into().unwrap_or_default();
            self.mix(u64::from_le_bytes(word));
        }
        let rest = chunks.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
