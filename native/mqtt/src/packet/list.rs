//! The list at the end of SUBSCRIBE and UNSUBSCRIBE: read lazily from the wire, or given by a caller.

use crate::error::DecodeError;
use crate::version::Version;
use crate::wire::{Reader, Sink};

/// Something such a list is made of.
pub trait Entry<'a>: Copy + PartialEq + std::fmt::Debug + private::Codec<'a> {}

pub(crate) mod private {
    use super::{DecodeError, Reader, Sink, Version};

    /// How an entry stands on the wire.
    pub trait Codec<'a>: Sized {
        fn read(reader: &mut Reader<'a>, version: Version) -> Result<Self, DecodeError>;
        fn write<S: Sink>(&self, out: &mut S);
    }
}

/// Entries, at least one. Two lists are equal when their entries are, wherever they come from.
#[derive(Clone, Copy)]
pub struct List<'a, T> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Encoded(&'a [u8]),
    Given(&'a [T]),
}

impl<'a, T: Entry<'a>> List<'a, T> {
    /// A list to be sent.
    pub const fn given(entries: &'a [T]) -> Self {
        Self {
            source: Source::Given(entries),
        }
    }

    /// All entries in order.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter(match self.source {
            Source::Encoded(bytes) => Cursor::Encoded(Reader::new(bytes)),
            Source::Given(entries) => Cursor::Given(entries.iter()),
        })
    }

    /// True when there is nothing in it, which MQTT forbids.
    pub const fn is_empty(&self) -> bool {
        match self.source {
            Source::Encoded(bytes) => bytes.is_empty(),
            Source::Given(entries) => entries.is_empty(),
        }
    }

    /// Takes and checks the rest of a packet.
    pub(crate) fn read(reader: &mut Reader<'a>, version: Version) -> Result<Self, DecodeError> {
        let bytes = reader.remainder();
        if bytes.is_empty() {
            return Err(DecodeError::EmptyList);
        }
        let mut check = Reader::new(bytes);
        while !check.is_empty() {
            T::read(&mut check, version)?;
        }
        Ok(Self {
            source: Source::Encoded(bytes),
        })
    }

    pub(crate) fn write<S: Sink>(&self, out: &mut S) {
        match self.source {
            Source::Encoded(bytes) => out.put(bytes),
            Source::Given(entries) => entries.iter().for_each(|entry| entry.write(out)),
        }
    }
}

impl<'a, T: Entry<'a>> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: Entry<'a> + Eq> Eq for List<'a, T> {}

impl<'a, T: Entry<'a>> std::fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterator over a [`List`].
pub struct Iter<'a, T>(Cursor<'a, T>);

enum Cursor<'a, T> {
    Encoded(Reader<'a>),
    Given(std::slice::Iter<'a, T>),
}

impl<'a, T: Entry<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.0 {
            // Checked when it was read, with stricter rules for 3.1.1: those of MQTT 5 accept both.
            Cursor::Encoded(reader) => T::read(reader, Version::V5).ok(),
            Cursor::Given(entries) => entries.next().copied(),
        }
    }
}
