//! Columns of records in Arrow's memory layout, filled row by row and handed over whole.

use std::borrow::Cow;

use crate::parquet::{Field, Kind, Page};

/// Text that is usually a constant.
pub type Text = Cow<'static, str>;

/// Bits, least significant first, as Arrow stores validity and booleans.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    bytes: Vec<u8>,
    length: usize,
}

impl Bitmap {
    /// These bits.
    pub fn of(bits: impl Iterator<Item = bool>) -> Bitmap {
        let mut bitmap = Bitmap::default();
        bits.for_each(|bit| bitmap.push(bit));
        bitmap
    }

    fn push(&mut self, bit: bool) {
        if self.length % 8 == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.length % 8);
        }
        self.length += 1;
    }

    /// One of the bits.
    pub fn get(&self, at: usize) -> bool {
        self.bytes[at / 8] >> (at % 8) & 1 == 1
    }

    /// The bytes; bits beyond the last row are zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The values of a column.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum Values {
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bool(Bitmap),
    Text(Vec<Text>),
}

/// One finished column.
#[derive(Clone, Debug)]
pub struct Column {
    /// As in the table's schema.
    pub name: &'static str,
    /// Rows of the column.
    pub rows: usize,
    /// One value for each row; what stands at a null is of no meaning.
    pub values: Values,
    /// Which rows are not null; None: all.
    pub valid: Option<Bitmap>,
}

impl Column {
    /// Whether the row has a value.
    pub fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().map_or(true, |valid| valid.get(row))
    }

    /// The numbers of an encoded page.
    pub fn of_numbers(field: Field, page: &Page) -> Column {
        let numbers = page.numbers(field.width()).into_iter();
        match field.kind {
            Kind::Number(8) => i8::column(field.name, numbers.map(|number| number as i8)),
            Kind::Number(16) => i16::column(field.name, numbers.map(|number| number as i16)),
            Kind::Number(32) => i32::column(field.name, numbers.map(|number| number as i32)),
            _ => i64::column(field.name, numbers),
        }
    }
}

/// A type that can be a cell of a table.
pub trait Cell: Clone {
    /// What it is in a file.
    const KIND: Kind;
    /// Whether it may be missing.
    const NULLABLE: bool = false;
    /// The column of these cells.
    fn column(name: &'static str, cells: impl ExactSizeIterator<Item = Self> + Clone) -> Column;
}

macro_rules! vector_cell {
    ($type:ty, $variant:ident, $kind:expr) => {
        impl Cell for $type {
            const KIND: Kind = $kind;

            fn column(name: &'static str, cells: impl ExactSizeIterator<Item = Self> + Clone) -> Column {
                Column {
                    name,
                    rows: cells.len(),
                    values: Values::$variant(cells.collect()),
                    valid: None,
                }
            }
        }
    };
}

vector_cell!(i8, Int8, Kind::Number(8));
vector_cell!(i16, Int16, Kind::Number(16));
vector_cell!(i32, Int32, Kind::Number(32));
vector_cell!(i64, Int64, Kind::Number(64));
vector_cell!(Text, Text, Kind::Text);

impl Cell for bool {
    const KIND: Kind = Kind::Bool;

    fn column(name: &'static str, cells: impl ExactSizeIterator<Item = Self> + Clone) -> Column {
        Column {
            name,
            rows: cells.len(),
            values: Values::Bool(Bitmap::of(cells)),
            valid: None,
        }
    }
}

impl<T: Cell + Default> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;

    fn column(name: &'static str, cells: impl ExactSizeIterator<Item = Self> + Clone) -> Column {
        Column {
            valid: Some(Bitmap::of(cells.clone().map(|cell| cell.is_some()))),
            ..T::column(name, cells.map(Option::unwrap_or_default))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_zero_bits_of_the_validity_bitmap() {
        let cells = [Some(1), None, Some(3), None, None, Some(6), Some(7), Some(8), Some(9)];
        let column = <Option<i32> as Cell>::column("number", cells.into_iter());
        assert_eq!(column.valid.unwrap().bytes(), [0b1110_0101, 1]);
        assert_eq!(column.rows, 9);
    }
}
