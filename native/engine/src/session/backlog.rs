//! Bytes between a session and its connection; exists only while there are any.

use std::collections::VecDeque;

use super::{Context, Session};

/// A message some of whose bytes wait in `Backlog::unsent`.
pub struct Unsent {
    /// End of the message, counted in bytes from the first one ever put into this buffer.
    pub end: u64,
    /// When it was due.
    pub intended_ns: i64,
    /// Payload bytes.
    pub size: u32,
}

/// Bytes that wait, in both directions.
#[derive(Default)]
pub struct Backlog {
    /// The beginning of a packet whose rest has not come yet.
    pub unread: Vec<u8>,
    /// To be written when the connection has room again.
    pub unsent: Vec<u8>,
    /// Bytes of `unsent` already written.
    written: usize,
    /// Bytes taken off `unsent` since the buffer came into being.
    taken_off: u64,
    /// Messages among the unsent bytes.
    messages: VecDeque<Unsent>,
}

impl Backlog {
    /// Whether it is of no use any more.
    pub fn is_empty(&self) -> bool {
        self.unread.is_empty() && self.unsent.is_empty()
    }

    fn count_written(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// The next message that is written whole.
    fn pop_written(&mut self) -> Option<Unsent> {
        let reached = self.taken_off + self.written as u64;
        self.messages.front().filter(|message| message.end <= reached)?;
        self.messages.pop_front()
    }

    /// Gives memory back when all bytes are written, or moves them when most are.
    fn shrink(&mut self) {
        if self.written == self.unsent.len() {
            self.unsent = Vec::new();
        } else if self.written < self.unsent.len() / 2 {
            return;
        } else {
            self.unsent.drain(..self.written);
        }
        self.taken_off += self.written as u64;
        self.written = 0;
    }
}

impl Session {
    /// Whether bytes wait for room in the connection.
    pub fn is_blocked(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.unsent.is_empty())
    }

    /// The bytes that wait for room.
    pub fn unsent(&self) -> &[u8] {
        match &self.backlog {
            Some(backlog) => &backlog.unsent[backlog.written..],
            None => &[],
        }
    }

    /// Keeps control packets until the connection has room.
    pub fn keep(&mut self, bytes: &[u8]) {
        self.backlog
            .get_or_insert_with(Box::default)
            .unsent
            .extend_from_slice(bytes);
    }

    /// Keeps the bytes of messages, with what is to be counted when they are written.
    pub(super) fn keep_messages(&mut self, bytes: &[u8], messages: impl Iterator<Item = (usize, i64, u32)>) {
        let backlog = self.backlog.get_or_insert_with(Box::default);
        let base = backlog.taken_off + backlog.unsent.len() as u64;
        backlog.unsent.extend_from_slice(bytes);
        backlog.messages.extend(messages.map(|(end, intended_ns, size)| Unsent {
            end: base + end as u64,
            intended_ns,
            size,
        }));
    }

    /// The connection took this many of the unsent bytes.
    pub fn on_unsent_written(&mut self, context: &mut Context, bytes: usize, now: i64) {
        let Some(mut backlog) = self.backlog.take() else {
            return;
        };
        self.keep_alive.on_sent(now);
        backlog.count_written(bytes);
        while let Some(message) = backlog.pop_written() {
            context.unsent -= 1;
            self.count_sent(context, message.intended_ns, message.size, now);
        }
        backlog.shrink();
        if !backlog.is_empty() {
            self.backlog = Some(backlog);
        }
        if !self.is_blocked() {
            self.list_due(context);
        }
    }

    /// The connection ends with messages cut in two: they have their numbers, part of them is on its way, so they count as
    /// sent; whether they arrive is for the records to tell.
    pub(super) fn count_cut_messages(&mut self, context: &mut Context, now: i64) {
        let Some(backlog) = &mut self.backlog else {
            return;
        };
        for message in std::mem::take(&mut backlog.messages) {
            context.unsent -= 1;
            self.count_sent(context, message.intended_ns, message.size, now);
        }
    }
}
