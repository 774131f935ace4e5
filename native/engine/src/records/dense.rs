//! Rows of the tables with a row for every message: encoded where they arise, while they are in the core's cache.

use super::{Batch, Numbers, BATCH_ROWS};
use crate::parquet::Encoder;

/// Rows that are encoded in one go: few enough for the cache, and for a pause that no message notices.
const BLOCK_ROWS: usize = 1_024;

/// Rows being encoded.
pub struct Dense<R> {
    waiting: Vec<R>,
    encoders: Vec<Encoder>,
    encoded: usize,
}

impl<R: Numbers> Default for Dense<R> {
    fn default() -> Dense<R> {
        Dense {
            waiting: Vec::new(),
            encoders: R::FIELDS.iter().map(|field| Encoder::new(field.width())).collect(),
            encoded: 0,
        }
    }
}

impl<R: Numbers> Dense<R> {
    /// Adds a row; a full batch comes back and the collection begins anew.
    #[inline]
    #[must_use]
    pub fn push(&mut self, row: R) -> Option<Batch> {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(BLOCK_ROWS);
        }
        self.waiting.push(row);
        if self.waiting.len() < BLOCK_ROWS {
            None
        } else {
            self.encode()
        }
    }

    /// Encodes the rows that wait; a full batch comes back.
    #[inline(never)]
    fn encode(&mut self) -> Option<Batch> {
        R::feed(&self.waiting, &mut self.encoders);
        self.encoded += self.waiting.len();
        self.waiting.clear();
        (self.encoded >= BATCH_ROWS).then(|| self.finish())
    }

    /// All rows so far; None when there are none.
    pub fn take(&mut self) -> Option<Batch> {
        let full = self.encode();
        full.or_else(|| (self.encoded > 0).then(|| self.finish()))
    }

    fn finish(&mut self) -> Batch {
        self.encoded = 0;
        let pages = self.encoders.iter_mut().map(Encoder::finish).collect();
        Batch::of_pages(R::TABLE, R::FIELDS, pages)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Acknowledged, Values};
    use super::*;

    fn row(sequence: i64) -> Acknowledged {
        Acknowledged {
            stream: -1,
            sequence,
            sent_ns: 1_000 * sequence,
            acked_ns: i64::MAX - sequence,
            step: 1,
            reason: (sequence % 300) as i16,
        }
    }

    #[test]
    fn every_row_comes_out_as_it_went_in() {
        let mut rows = Dense::default();
        let total = BATCH_ROWS as i64 + 1_500;
        let mut batches: Vec<Batch> = (0..total).filter_map(|sequence| rows.push(row(sequence))).collect();
        batches.extend(rows.take());
        assert!(rows.take().is_none());
        let counts: Vec<usize> = batches.iter().map(|batch| batch.rows).collect();
        assert_eq!(counts, [BATCH_ROWS, 1_500]);
        let mut expected = (0..total).map(row);
        for batch in &batches {
            let columns = batch.columns();
            let values: Vec<&Values> = columns.iter().map(|column| &column.values).collect();
            let [Values::Int32(streams), Values::Int64(sequences), _, Values::Int64(acked), Values::Int8(steps), Values::Int16(reasons)] =
                values[..]
            else {
                panic!("other types");
            };
            for at in 0..batch.rows {
                let row = expected.next().unwrap();
                assert_eq!((row.stream, row.sequence), (streams[at], sequences[at]));
                assert_eq!(
                    (row.acked_ns, row.step, row.reason),
                    (acked[at], steps[at], reasons[at])
                );
            }
        }
    }

    #[test]
    fn nothing_collected_is_no_batch() {
        assert!(Dense::<Acknowledged>::default().take().is_none());
    }
}
