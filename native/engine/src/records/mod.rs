//! The record tables the engine fills. Names and order of columns are those of `telemark.store.schemas`.

mod column;

pub use column::{Bitmap, Cell, Column, Text, Values};

/// Rows of the big tables that are handed over at once.
pub const BATCH_ROWS: usize = 65_536;

/// Some finished rows of one table.
#[derive(Debug)]
pub struct Batch {
    /// Name of the table.
    pub table: &'static str,
    /// How many rows.
    pub rows: usize,
    /// In the order of the schema.
    pub columns: Vec<Column>,
}

macro_rules! table {
    ($(#[$about:meta])* $row:ident, $rows:ident, $name:literal, $capacity:expr, { $($field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[allow(missing_docs)]
        pub struct $row {
            $(pub $field: $type,)*
        }

        /// Rows being collected.
        #[derive(Default)]
        pub struct $rows {
            $($field: <$type as Cell>::Store,)*
            rows: usize,
        }

        impl $rows {
            /// Adds a row; a full batch comes back and the collection begins anew.
            #[inline]
            pub fn push(&mut self, row: $row) -> Option<Batch> {
                if self.rows == 0 {
                    $(<$type as Cell>::reserve(&mut self.$field, $capacity);)*
                }
                $(row.$field.push(&mut self.$field);)*
                self.rows += 1;
                if self.rows < $capacity { None } else { self.take() }
            }

            /// All rows so far; None when there are none.
            pub fn take(&mut self) -> Option<Batch> {
                let all = std::mem::take(self);
                if all.rows == 0 {
                    return None;
                }
                let columns = vec![$(<$type as Cell>::finish(all.$field, stringify!($field)),)*];
                Some(Batch { table: $name, rows: all.rows, columns })
            }
        }
    };
}

table!(
    /// One message received.
    Delivery, Deliveries, "deliveries", BATCH_ROWS, {
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
    Sender, Senders, "senders", 4_096, {
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
    Acknowledged, Acks, "acks", BATCH_ROWS, {
    stream: i32,
    sequence: i64,
    sent_ns: i64,
    acked_ns: i64,
    step: i8,
    reason: i16,
});

table!(
    /// One attempt to connect.
    Connection, Connections, "connections", 4_096, {
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
    Happening, Happenings, "events", 1_024, {
    time_ns: i64,
    process: i16,
    device: i32,
    kind: Text,
    code: Option<i32>,
    detail: Text,
});

table!(
    /// Counts of one second.
    Count, CounterRows, "counters", 64, {
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
    InForce, InForces, "subscribed", 4_096, {
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
