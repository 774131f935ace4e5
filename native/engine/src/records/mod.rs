//! The record tables the engine fills. Names and order of columns are those of `telemark.store.schemas`.

mod column;

pub use column::{Bitmap, Cell, Column, Text, Values};

use crate::parquet::{Encoder, Field};

/// Rows of the big tables that are handed over at once.
pub const BATCH_ROWS: usize = 131_072;

/// Rows that are encoded in one go: few enough to stay in a core's cache while one column after the other is read.
const BLOCK_ROWS: usize = 4_096;

/// A row of a record table.
pub trait Row: Sized + Send + Sync {
    /// Name of the table.
    const TABLE: &'static str;
    /// Rows that are handed over at once.
    const BATCH: usize;
    /// The columns, when all of them are numbers without nulls.
    const NUMBERS: &'static [Field] = &[];
    /// The rows as columns, in the order of the schema.
    fn columns(rows: &[Self]) -> Vec<Column>;
    /// Gives every column of `NUMBERS` to its encoder.
    fn feed(_rows: &[Self], _encoders: &mut [Encoder]) {}
}

/// Rows of some table.
trait Content: Send + Sync {
    fn columns(&self) -> Vec<Column>;
    fn numbers(&self) -> &'static [Field];
    fn feed(&self, encoders: &mut [Encoder]);
}

impl<R: Row> Content for Vec<R> {
    fn columns(&self) -> Vec<Column> {
        R::columns(self)
    }
    fn numbers(&self) -> &'static [Field] {
        R::NUMBERS
    }
    fn feed(&self, encoders: &mut [Encoder]) {
        self.chunks(BLOCK_ROWS).for_each(|block| R::feed(block, encoders));
    }
}

/// Some finished rows of one table. They become columns in the thread that writes them, not in the one that measures.
pub struct Batch {
    /// Name of the table.
    pub table: &'static str,
    /// How many rows.
    pub rows: usize,
    content: Box<dyn Content>,
}

impl Batch {
    /// These rows; None when there are none.
    pub fn of<R: Row + 'static>(rows: Vec<R>) -> Option<Batch> {
        (!rows.is_empty()).then(|| Batch {
            table: R::TABLE,
            rows: rows.len(),
            content: Box::new(rows),
        })
    }

    /// The rows as columns, in the order of the schema.
    pub fn columns(&self) -> Vec<Column> {
        self.content.columns()
    }

    /// Its columns, when all of them are numbers without nulls; otherwise nothing.
    pub fn numbers(&self) -> &'static [Field] {
        self.content.numbers()
    }

    /// Gives every column of `numbers` to its encoder.
    pub fn feed(&self, encoders: &mut [Encoder]) {
        self.content.feed(encoders);
    }
}

/// Rows being collected.
pub struct Rows<R>(Vec<R>);

impl<R> Default for Rows<R> {
    fn default() -> Rows<R> {
        Rows(Vec::new())
    }
}

impl<R: Row + 'static> Rows<R> {
    /// Adds a row; a full batch comes back and the collection begins anew.
    #[inline]
    #[must_use]
    pub fn push(&mut self, row: R) -> Option<Batch> {
        if self.0.is_empty() {
            self.0.reserve_exact(R::BATCH);
        }
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

macro_rules! table {
    ($(#[$about:meta])* $row:ident, $name:literal, $batch:expr, { $($field:ident: $type:ty,)* }
     $(also { $($numbers:tt)* })?) => {
        $(#[$about])*
        #[allow(missing_docs)]
        pub struct $row {
            $(pub $field: $type,)*
        }

        impl Row for $row {
            const TABLE: &'static str = $name;
            const BATCH: usize = $batch;

            fn columns(rows: &[$row]) -> Vec<Column> {
                vec![$(<$type as Cell>::column(stringify!($field), rows.iter().map(|row| row.$field.clone())),)*]
            }

            $($($numbers)*)?
        }
    };
    ($(#[$about:meta])* $row:ident, $name:literal, $batch:expr, numbers { $($field:ident: $type:ty,)* }) => {
        table!($(#[$about])* $row, $name, $batch, { $($field: $type,)* } also {
            const NUMBERS: &'static [Field] = &[
                $(Field { name: stringify!($field), bits: <$type>::BITS as u8 },)*
            ];

            fn feed(rows: &[$row], encoders: &mut [Encoder]) {
                let [$($field,)*] = encoders else { return };
                $($field.add(rows.iter().map(|row| i64::from(row.$field)));)*
            }
        });
    };
}

table!(
    /// One message received.
    Delivery, "deliveries", BATCH_ROWS, numbers {
    stream: i32,
    sequence: i64,
    intended_ns: i64,
    sent_ns: i64,
    received_ns: i64,
    subscription: i32,
    qos: i8,
    flags: i8,
    size: i32,
});

table!(
    /// What one publisher did in the whole run.
    Sender, "senders", 4_096, {
    stream: i32,
    process: i16,
    first_sequence: Option<i64>,
    last_sequence: Option<i64>,
    sent: i64,
    acked: i64,
    dropped: i64,
    bytes: i64,
});

table!(
    /// One acknowledgement of a message.
    Acknowledged, "acks", BATCH_ROWS, numbers {
    stream: i32,
    sequence: i64,
    sent_ns: i64,
    acked_ns: i64,
    step: i8,
    reason: i16,
});

table!(
    /// One attempt to connect.
    Connection, "connections", 4_096, {
    device: i32,
    process: i16,
    attempt: i16,
    started_ns: i64,
    tcp_ns: Option<i64>,
    tls_ns: Option<i64>,
    connack_ns: Option<i64>,
    suback_ns: Option<i64>,
    result: Text,
    tls_resumed: Option<bool>,
    session_present: Option<bool>,
});

table!(
    /// Something that happened to a device.
    Happening, "events", 1_024, {
    time_ns: i64,
    process: i16,
    device: i32,
    kind: Text,
    code: Option<i32>,
    detail: Text,
});

table!(
    /// Counts of one second.
    Count, "counters", 64, {
    process: i16,
    second: i32,
    intended: i64,
    sent: i64,
    acked: i64,
    dropped: i64,
    received: i64,
    sent_bytes: i64,
    received_bytes: i64,
    connected: i32,
    connects: i32,
    disconnects: i32,
    pushed_back: i64,
    loop_lag_max_ns: i64,
    send_delay_max_ns: i64,
    cpu_ns: i64,
});

table!(
    /// When a subscription was in force.
    InForce, "subscribed", 4_096, {
    subscription: i32,
    from_ns: i64,
    until_ns: Option<i64>,
});

/// A delivery whose stamp says nothing.
pub const FLAG_FOREIGN: i8 = 4;
/// A delivery the server had kept.
pub const FLAG_RETAINED: i8 = 2;
/// A delivery the server marked as sent before.
pub const FLAG_DUP: i8 = 1;
