//! One page of a column that was collected cell by cell: nulls, truth values and texts, besides numbers.

use super::delta::{variable, Encoder};
use super::field::Field;
use super::{DELTA_BINARY_PACKED, PLAIN};
use crate::records::{Bitmap, Column, Values};

/// A page without its header.
pub struct Cells {
    pub rows: usize,
    pub nulls: usize,
    pub encoding: i32,
    pub bytes: Vec<u8>,
    /// Smallest and largest, of numbers.
    pub range: Option<(i64, i64)>,
}

impl Cells {
    /// The column's cells: which are there, if any may be missing, then those that are.
    pub fn of(field: Field, column: &Column) -> Cells {
        let mut cells = Cells {
            rows: column.rows,
            nulls: (0..column.rows).filter(|row| !column.is_valid(*row)).count(),
            encoding: PLAIN,
            bytes: Vec::new(),
            range: None,
        };
        if field.nullable {
            put_levels(column, &mut cells.bytes);
        }
        match &column.values {
            Values::Int8(numbers) => cells.put_numbers(field, column, numbers),
            Values::Int16(numbers) => cells.put_numbers(field, column, numbers),
            Values::Int32(numbers) => cells.put_numbers(field, column, numbers),
            Values::Int64(numbers) => cells.put_numbers(field, column, numbers),
            Values::Bool(bits) => {
                let there = (0..column.rows).filter(|row| column.is_valid(*row));
                let bits = Bitmap::of(there.map(|row| bits.get(row)));
                cells.bytes.extend_from_slice(bits.bytes());
            }
            Values::Text(texts) => {
                for (_, text) in texts.iter().enumerate().filter(|(row, _)| column.is_valid(*row)) {
                    cells.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    cells.bytes.extend_from_slice(text.as_bytes());
                }
            }
        }
        cells
    }

    fn put_numbers<N: Copy + Into<i64>>(&mut self, field: Field, column: &Column, numbers: &[N]) {
        let there = numbers.iter().enumerate().filter(|(row, _)| column.is_valid(*row));
        let there: Vec<i64> = there.map(|(_, number)| (*number).into()).collect();
        if there.is_empty() {
            return;
        }
        let mut encoder = Encoder::new(field.width());
        encoder.add(there.into_iter());
        let page = encoder.finish();
        self.encoding = DELTA_BINARY_PACKED;
        self.range = Some(page.range);
        self.bytes.extend_from_slice(&page.head);
        self.bytes.extend_from_slice(&page.blocks);
    }
}

/// One bit for each row, as a single packed run with its length in front.
fn put_levels(column: &Column, out: &mut Vec<u8>) {
    let bits = Bitmap::of((0..column.rows).map(|row| column.is_valid(row)));
    let mut run = Vec::new();
    variable((bits.bytes().len() as u64) << 1 | 1, &mut run);
    run.extend_from_slice(bits.bytes());
    out.extend_from_slice(&(run.len() as u32).to_le_bytes());
    out.extend_from_slice(&run);
}
