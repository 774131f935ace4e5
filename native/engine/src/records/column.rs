//! Columns of records in Arrow's memory layout, filled row by row and handed over whole.

use std::borrow::Cow;

/// Text that is usually a constant.
pub type Text = Cow<'static, str>;

/// Bits, least significant first, as Arrow stores validity and booleans.
#[derive(Clone, Debug, Default)]
pub struct Bitmap {
    bytes: Vec<u8>,
    length: usize,
}

impl Bitmap {
    fn push(&mut self, bit: bool) {
        if self.length % 8 == 0 {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (self.length % 8);
        }
        self.length += 1;
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

/// A type that can be a cell of a table.
pub trait Cell {
    /// Where the cells of a column are collected.
    type Store: Default;
    /// Makes room for so many rows at once.
    fn reserve(store: &mut Self::Store, rows: usize);
    /// Adds a row.
    fn push(self, store: &mut Self::Store);
    /// The column, when all rows are in.
    fn finish(store: Self::Store, name: &'static str) -> Column;
}

macro_rules! number_cell {
    ($type:ty, $variant:ident) => {
        impl Cell for $type {
            type Store = Vec<$type>;
            fn reserve(store: &mut Self::Store, rows: usize) {
                store.reserve_exact(rows);
            }
            #[inline]
            fn push(self, store: &mut Self::Store) {
                store.push(self);
            }
            fn finish(store: Self::Store, name: &'static str) -> Column {
                let rows = store.len();
                Column {
                    name,
                    rows,
                    values: Values::$variant(store),
                    valid: None,
                }
            }
        }
    };
}

number_cell!(i8, Int8);
number_cell!(i16, Int16);
number_cell!(i32, Int32);
number_cell!(i64, Int64);
number_cell!(Text, Text);

impl Cell for bool {
    type Store = Bitmap;
    fn reserve(store: &mut Bitmap, rows: usize) {
        store.bytes.reserve(rows / 8 + 1);
    }
    fn push(self, store: &mut Bitmap) {
        store.push(self);
    }
    fn finish(store: Bitmap, name: &'static str) -> Column {
        Column {
            name,
            rows: store.length,
            values: Values::Bool(store),
            valid: None,
        }
    }
}

/// A column with nulls.
#[derive(Default)]
pub struct Nullable<S> {
    values: S,
    valid: Bitmap,
}

impl<T: Cell + Default> Cell for Option<T> {
    type Store = Nullable<T::Store>;
    fn reserve(store: &mut Self::Store, rows: usize) {
        T::reserve(&mut store.values, rows);
    }
    fn push(self, store: &mut Self::Store) {
        store.valid.push(self.is_some());
        self.unwrap_or_default().push(&mut store.values);
    }
    fn finish(store: Self::Store, name: &'static str) -> Column {
        let column = T::finish(store.values, name);
        Column {
            valid: Some(store.valid),
            ..column
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_zero_bits_of_the_validity_bitmap() {
        let mut store = <Option<i32> as Cell>::Store::default();
        for row in [Some(1), None, Some(3), None, None, Some(6), Some(7), Some(8), Some(9)] {
            row.push(&mut store);
        }
        let column = <Option<i32> as Cell>::finish(store, "number");
        assert_eq!(column.valid.unwrap().bytes(), [0b1110_0101, 1]);
        assert_eq!(column.rows, 9);
    }
}
