//! Writes the record tables as Parquet files.
//!
//! This is not a general writer. Numbers have one encoding (differences, [`delta`]) and no compression beyond it; those
//! of tables with a row for every message go straight from the rows to the page. That makes it several times cheaper
//! than the libraries, and cheap enough for the threads that measure. Any Parquet reader reads the files.

mod cells;
mod decode;
mod delta;
mod field;
mod pack;
mod thrift;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use cells::Cells;
pub use delta::{Encoder, Page, Width};
pub use field::{Field, Kind};
use thrift::{structure, Structure};

use crate::records::{Batch, Column};

/// Rows of a row group: one unit of Spark's parallel reading.
const GROUP_ROWS: usize = 1_000_000;
const MAGIC: &[u8] = b"PAR1";

// Numbers of the format's enumerations.
const DATA_PAGE: i32 = 0;
const PLAIN: i32 = 0;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE: i32 = 3;
const UNCOMPRESSED: i32 = 0;

/// The pages of a column in the open row group.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    nulls: usize,
    range: Option<(i64, i64)>,
}

/// What the footer says of a closed row group.
struct Group {
    rows: usize,
    chunks: Vec<Summary>,
}

/// What the footer says of one of its columns.
struct Summary {
    offset: u64,
    size: usize,
    nulls: usize,
    range: Option<(i64, i64)>,
}

/// A file being written. It is of use to a reader only when it is closed.
pub struct RecordFile {
    file: File,
    written: u64,
    fields: &'static [Field],
    open: Vec<Chunk>,
    open_rows: usize,
    groups: Vec<Group>,
}

impl RecordFile {
    /// A new file for rows of these columns.
    pub fn create(path: &Path, fields: &'static [Field]) -> io::Result<RecordFile> {
        let mut new = RecordFile {
            file: File::create(path)?,
            written: 0,
            fields,
            open: fields.iter().map(|_| Chunk::default()).collect(),
            open_rows: 0,
            groups: Vec::new(),
        };
        new.put(MAGIC)?;
        Ok(new)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Adds rows of the file's table, a page for each column.
    pub fn write(&mut self, batch: &Batch) -> io::Result<()> {
        if self.open.is_empty() {
            return Err(io::Error::other(
                "a row group could not be written: no more rows are taken",
            ));
        }
        match batch.pages() {
            Some(pages) => {
                for (page, chunk) in pages.iter().zip(&mut self.open) {
                    chunk.add_numbers(page);
                }
            }
            None => {
                for ((field, column), chunk) in self.fields.iter().zip(batch.columns()).zip(&mut self.open) {
                    chunk.add_cells(*field, &column);
                }
            }
        }
        self.open_rows += batch.rows;
        if self.open_rows >= GROUP_ROWS {
            self.close_group()?;
        }
        Ok(())
    }

    fn close_group(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.open_rows);
        if rows == 0 {
            return Ok(());
        }
        let mut open = std::mem::take(&mut self.open); // gone when writing fails: half a group must not get a footer
        let mut chunks = Vec::with_capacity(open.len());
        for chunk in &mut open {
            chunks.push(Summary {
                offset: self.written,
                size: chunk.bytes.len(),
                nulls: std::mem::take(&mut chunk.nulls),
                range: chunk.range.take(),
            });
            self.put(&chunk.bytes)?;
            chunk.bytes.clear(); // its memory is used again
        }
        self.open = open;
        self.groups.push(Group { rows, chunks });
        Ok(())
    }

    /// Writes what a reader needs to find its way.
    pub fn close(mut self) -> io::Result<()> {
        self.close_group()?;
        let mut footer = Vec::new();
        structure(&mut footer, |metadata| self.describe(metadata));
        let length = footer.len() as u32;
        footer.extend_from_slice(&length.to_le_bytes());
        footer.extend_from_slice(MAGIC);
        self.put(&footer)
    }

    fn describe(&self, metadata: &mut Structure<'_>) {
        let rows: usize = self.groups.iter().map(|group| group.rows).sum();
        let root = std::iter::once(None);
        let elements: Vec<Option<&Field>> = root.chain(self.fields.iter().map(Some)).collect();
        metadata.i32(1, 2);
        metadata.structures(2, elements.into_iter(), |element, field| match field {
            None => {
                element.bytes(4, b"schema");
                element.i32(5, self.fields.len() as i32);
            }
            Some(field) => {
                element.i32(1, field.physical_type());
                element.i32(3, i32::from(field.nullable)); // REQUIRED or OPTIONAL
                element.bytes(4, field.name.as_bytes());
                if let Some(converted) = field.converted_type() {
                    element.i32(6, converted);
                }
            }
        });
        metadata.i64(3, rows as i64);
        metadata.structures(4, self.groups.iter(), |row_group, group| {
            let columns = self.fields.iter().zip(&group.chunks);
            row_group.structures(1, columns, |chunk, (field, summary)| {
                chunk.i64(2, summary.offset as i64);
                chunk.structure(3, |column| summary.describe(*field, group.rows, column));
            });
            row_group.i64(2, group.chunks.iter().map(|chunk| chunk.size as i64).sum());
            row_group.i64(3, group.rows as i64);
        });
        metadata.bytes(6, concat!("telemark version ", env!("CARGO_PKG_VERSION")).as_bytes());
        // Without the order of each column's type readers do not believe the smallest and largest values.
        metadata.structures(7, self.fields.iter(), |order, _| order.structure(1, |_| ()));
    }
}

impl Chunk {
    fn add_numbers(&mut self, page: &Page) {
        let size = page.head.len() + page.blocks.len();
        self.put_header(page.count, size, DELTA_BINARY_PACKED);
        self.bytes.extend_from_slice(&page.head);
        self.bytes.extend_from_slice(&page.blocks);
        self.widen(page.range);
    }

    fn add_cells(&mut self, field: Field, column: &Column) {
        let cells = Cells::of(field, column);
        self.put_header(cells.rows, cells.bytes.len(), cells.encoding);
        self.bytes.extend_from_slice(&cells.bytes);
        self.nulls += cells.nulls;
        if let Some(range) = cells.range {
            self.widen(range);
        }
    }

    fn put_header(&mut self, rows: usize, size: usize, encoding: i32) {
        structure(&mut self.bytes, |header| {
            header.i32(1, DATA_PAGE);
            header.i32(2, size as i32);
            header.i32(3, size as i32);
            header.structure(5, |data| {
                data.i32(1, rows as i32);
                data.i32(2, encoding);
                data.i32(3, RLE);
                data.i32(4, RLE);
            });
        });
    }

    fn widen(&mut self, range: (i64, i64)) {
        let (low, high) = self.range.unwrap_or(range);
        self.range = Some((low.min(range.0), high.max(range.1)));
    }
}

impl Summary {
    fn describe(&self, field: Field, rows: usize, column: &mut Structure<'_>) {
        column.i32(1, field.physical_type());
        column.i32s(2, &[DELTA_BINARY_PACKED, PLAIN, RLE]);
        column.one_text(3, field.name);
        column.i32(4, UNCOMPRESSED);
        column.i64(5, rows as i64);
        column.i64(6, self.size as i64);
        column.i64(7, self.size as i64);
        column.i64(9, self.offset as i64);
        column.structure(12, |statistics| {
            statistics.i64(3, self.nulls as i64);
            if let Some((low, high)) = self.range {
                statistics.bytes(5, &field.plain(high));
                statistics.bytes(6, &field.plain(low));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[Field {
        name: "number",
        kind: Kind::Number(64),
        nullable: false,
    }];

    #[test]
    fn after_a_failed_write_no_more_rows_are_taken() {
        let mut encoder = Encoder::new(Width::Bits64);
        encoder.add([3; 10].into_iter());
        let batch = Batch::of_pages("numbers", FIELDS, vec![encoder.finish()]);
        let path = std::env::temp_dir().join(format!("telemark-full-{}", std::process::id()));
        let mut file = RecordFile::create(&path, FIELDS).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.file = File::options().write(true).open("/dev/full").unwrap();
        file.write(&batch).unwrap();
        assert_eq!(file.close_group().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(file.write(&batch).is_err());
        assert!(file.groups.is_empty());
    }
}
