//! Rows of the small tables, collected as they are.

use super::{Batch, Row};

/// Rows being collected.
pub struct Rows<R>(Vec<R>);

impl<R> Default for Rows<R> {
    fn default() -> Rows<R> {
        Rows(Vec::new())
    }
}

impl<R: Row + 'static> Rows<R> {
    /// Adds a row; a full batch comes back and the collection begins anew.
    #[must_use]
    pub fn push(&mut self, row: R) -> Option<Batch> {
        self.0.push(row);
        if self.0.len() < R::BATCH {
            None
        } else {
            self.take()
        }
    }

    /// All rows so far; None when there are none.
    pub fn take(&mut self) -> Option<Batch> {
        Batch::of(std::mem::take(&mut self.0))
    }
}
