//! Finished rows on their way to whoever writes them.

use super::{Column, Row};
use crate::parquet::{Field, Page};

/// Rows of some table.
trait Table: Send + Sync {
    fn fields(&self) -> &'static [Field];
    fn columns(&self) -> Vec<Column>;
}

impl<R: Row> Table for Vec<R> {
    fn fields(&self) -> &'static [Field] {
        R::FIELDS
    }

    fn columns(&self) -> Vec<Column> {
        R::columns(self)
    }
}

enum Content {
    /// As they were collected; they become columns in the thread that writes them.
    Rows(Box<dyn Table>),
    /// Encoded already.
    Pages(&'static [Field], Vec<Page>),
}

/// Some finished rows of one table.
pub struct Batch {
    /// Name of the table.
    pub table: &'static str,
    /// How many rows.
    pub rows: usize,
    content: Content,
}

impl Batch {
    /// These rows; None when there are none.
    pub fn of<R: Row + 'static>(rows: Vec<R>) -> Option<Batch> {
        (!rows.is_empty()).then(|| Batch {
            table: R::TABLE,
            rows: rows.len(),
            content: Content::Rows(Box::new(rows)),
        })
    }

    /// Rows whose columns are these pages.
    pub fn of_pages(table: &'static str, fields: &'static [Field], pages: Vec<Page>) -> Batch {
        Batch {
            table,
            rows: pages.first().map_or(0, |page| page.count),
            content: Content::Pages(fields, pages),
        }
    }

    /// The rows as columns, in the order of the schema.
    pub fn columns(&self) -> Vec<Column> {
        match &self.content {
            Content::Rows(rows) => rows.columns(),
            Content::Pages(fields, pages) => {
                let decoded = |(field, page): (&Field, &Page)| Column::of_numbers(*field, page);
                fields.iter().zip(pages).map(decoded).collect()
            }
        }
    }

    /// What the columns hold, in the order of the schema.
    pub fn fields(&self) -> &'static [Field] {
        match &self.content {
            Content::Rows(rows) => rows.fields(),
            Content::Pages(fields, _) => fields,
        }
    }

    /// The columns' pages, when the rows are encoded already.
    pub fn pages(&self) -> Option<&[Page]> {
        match &self.content {
            Content::Rows(_) => None,
            Content::Pages(_, pages) => Some(pages),
        }
    }
}
