//! What the columns of a file hold.

use super::delta::Width;

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Signed numbers of 8, 16, 32 or 64 bits.
    Number(u8),
    /// True or false.
    Bool,
    /// UTF-8.
    Text,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// As in the table's schema.
    pub name: &'static str,
    /// What its cells are.
    pub kind: Kind,
    /// Whether a cell may be missing.
    pub nullable: bool,
}

impl Field {
    /// How wide its numbers are in the file.
    pub fn width(self) -> Width {
        match self.kind {
            Kind::Number(64) => Width::Bits64,
            _ => Width::Bits32,
        }
    }

    /// The format's number for BOOLEAN, INT32, INT64 or BYTE_ARRAY.
    pub(super) fn physical_type(self) -> i32 {
        match self.kind {
            Kind::Bool => 0,
            Kind::Number(64) => 2,
            Kind::Number(_) => 1,
            Kind::Text => 6,
        }
    }

    /// The format's number for UTF8, INT_8, INT_16, INT_32 or INT_64.
    pub(super) fn converted_type(self) -> Option<i32> {
        match self.kind {
            Kind::Bool => None,
            Kind::Text => Some(0),
            Kind::Number(bits) => Some(15 + bits.trailing_zeros() as i32 - 3),
        }
    }

    /// The bytes of a number in the statistics.
    pub(super) fn plain(self, number: i64) -> Vec<u8> {
        match self.width() {
            Width::Bits32 => (number as i32).to_le_bytes().to_vec(),
            Width::Bits64 => number.to_le_bytes().to_vec(),
        }
    }
}
