//! The record tables the engine fills. Names and order of columns are those of `telemark.store.schemas`.

mod batch;
mod column;
mod dense;
mod rows;

pub use batch::Batch;
pub use column::{Bitmap, Cell, Column, Text, Values};
pub use dense::Dense;
pub use rows::Rows;

use crate::parquet::{Encoder, Field};

/// Rows of the big tables that are handed over at once: a page of each column.
pub const BATCH_ROWS: usize = 131_072;

/// A row of a record table.
pub trait Row: Sized + Send + Sync {
    /// Name of the table.
    const TABLE: &'static str;
    /// Rows that are handed over at once.
    const BATCH: usize;
    /// The columns, in the order of the schema.
    const FIELDS: &'static [Field];
    /// The rows as columns, in the order of the schema.
    fn columns(rows: &[Self]) -> Vec<Column>;
}

/// A row of a table with a row for every message: all columns are numbers without nulls.
pub trait Numbers: Sized {
    /// Name of the table.
    const TABLE: &'static str;
    /// The columns, in the order of the schema.
    const FIELDS: &'static [Field];
    /// Gives every column to its encoder.
    fn feed(rows: &[Self], encoders: &mut [Encoder]);
}

macro_rules! fields {
    ($($field:ident: $type:ty,)*) => {
        &[$(Field {
            name: stringify!($field),
            kind: <$type as Cell>::KIND,
            nullable: <$type as Cell>::NULLABLE,
        },)*]
    };
}

macro_rules! table {
    ($(#[$about:meta])* $row:ident, $name:literal, $batch:expr, { $($field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[allow(missing_docs)]
        pub struct $row {
            $(pub $field: $type,)*
        }

        impl Row for $row {
            const TABLE: &'static str = $name;
            const BATCH: usize = $batch;
            const FIELDS: &'static [Field] = fields!($($field: $type,)*);

            fn columns(rows: &[$row]) -> Vec<Column> {
                vec![$(<$type as Cell>::column(stringify!($field), rows.iter().map(|row| row.$field.clone())),)*]
            }
        }
    };
}

macro_rules! dense_table {
    ($(#[$about:meta])* $row:ident, $name:literal, { $($field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[allow(missing_docs)]
        pub struct $row {
            $(pub $field: $type,)*
        }

        impl Numbers for $row {
            const TABLE: &'static str = $name;
            const FIELDS: &'static [Field] = fields!($($field: $type,)*);

            fn feed(rows: &[$row], encoders: &mut [Encoder]) {
                let [$($field,)*] = encoders else { return };
                $($field.add(rows.iter().map(|row| i64::from(row.$field)));)*
            }
        }
    };
}

dense_table!(
    /// One message received.
    Delivery, "deliveries", {
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

dense_table!(
    /// One acknowledgement of a message.
    Acknowledged, "acks", {
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
    Event, "events", 1_024, {
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
    Subscribed, "subscribed", 4_096, {
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
