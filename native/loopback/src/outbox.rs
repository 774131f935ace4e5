//! Bytes on their way to one connection: encoded once, written in blocks.
//!
//! Blocks keep a slow reader's backlog from being copied again and again as one growing buffer, and tell
//! how many messages have left when one of them is written.

use std::collections::VecDeque;

/// A block is closed when it has this many bytes; a single packet may exceed it.
const BLOCK_BYTES: usize = 64 * 1024;
/// Buffers larger than this are not kept for reuse.
const LARGEST_SPARE: usize = 4 * BLOCK_BYTES;
const MOST_SPARES: usize = 1024;

/// Some whole packets and whom they were for.
#[derive(Debug, Default)]
pub struct Block {
    /// The packets.
    pub bytes: Vec<u8>,
    /// PUBLISH packets among them.
    pub messages: u64,
    /// Those of QoS 0: lost when the block cannot be written.
    pub unacknowledged: u64,
    /// QoS 0 messages by subscription, in runs: they stop waiting when the block is handed over.
    pub waiting: Vec<(u32, u64)>,
}

impl Block {
    /// Counts a PUBLISH; `waiting_for` names the subscription of a QoS 0 message.
    #[inline]
    pub fn note_message(&mut self, waiting_for: Option<u32>) {
        self.messages += 1;
        let Some(subscription) = waiting_for else { return };
        self.unacknowledged += 1;
        match self.waiting.last_mut() {
            Some((last, count)) if *last == subscription => *count += 1,
            _ => self.waiting.push((subscription, 1)),
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.messages = 0;
        self.unacknowledged = 0;
        self.waiting.clear();
    }
}

/// Empty blocks for reuse, so that a busy server does not allocate.
#[derive(Debug, Default)]
pub struct SpareBlocks(Vec<Block>);

impl SpareBlocks {
    fn take(&mut self) -> Block {
        self.0.pop().unwrap_or_default()
    }

    /// Gives a written block back.
    pub fn put(&mut self, mut block: Block) {
        if self.0.len() < MOST_SPARES && block.bytes.capacity() <= LARGEST_SPARE {
            block.clear();
            self.0.push(block);
        }
    }
}

/// The blocks of one connection.
#[derive(Debug, Default)]
pub struct Outbox {
    blocks: VecDeque<Block>,
}

impl Outbox {
    /// The block to append the next packet to.
    #[inline]
    pub fn open(&mut self, spares: &mut SpareBlocks) -> &mut Block {
        let full = self
            .blocks
            .back()
            .map_or(true, |block| block.bytes.len() >= BLOCK_BYTES);
        if full {
            self.blocks.push_back(spares.take());
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Takes the oldest block for writing.
    pub fn take(&mut self) -> Option<Block> {
        let block = self.blocks.pop_front();
        if self.blocks.is_empty() {
            // An idle connection costs no buffer.
            self.blocks = VecDeque::new();
        }
        block
    }

    /// All blocks, oldest first.
    pub fn blocks(&mut self) -> impl Iterator<Item = &mut Block> {
        self.blocks.iter_mut()
    }

    /// Whether nothing waits to be written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_share_a_block_until_it_is_full() {
        let (mut outbox, mut spares) = (Outbox::default(), SpareBlocks::default());
        for _ in 0..3 {
            let block = outbox.open(&mut spares);
            block.bytes.extend([0; BLOCK_BYTES / 2]);
            block.note_message(Some(1));
        }
        let first = outbox.take().unwrap();
        assert_eq!(
            (BLOCK_BYTES, 2, vec![(1, 2)]),
            (first.bytes.len(), first.messages, first.waiting.clone())
        );
        assert_eq!(1, outbox.take().unwrap().messages);
        assert!(outbox.take().is_none());
    }

    #[test]
    fn waiting_messages_are_counted_by_subscription() {
        let mut block = Block::default();
        for subscription in [Some(1), Some(1), None, Some(2), Some(1)] {
            block.note_message(subscription);
        }
        assert_eq!((5, vec![(1, 2), (2, 1), (1, 1)]), (block.messages, block.waiting));
    }

    #[test]
    fn a_spare_block_comes_back_empty() {
        let mut spares = SpareBlocks::default();
        let mut block = Block {
            bytes: vec![1, 2, 3],
            messages: 4,
            unacknowledged: 4,
            waiting: vec![(1, 4)],
        };
        block.bytes.reserve(100);
        spares.put(block);
        let again = spares.take();
        assert!(again.bytes.is_empty() && again.messages == 0 && again.waiting.is_empty());
        assert!(again.bytes.capacity() >= 100);
    }
}
