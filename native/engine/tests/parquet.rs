//! What our writer wrote, as the format's own library reads it.
#![allow(clippy::unwrap_used)] // a test may

use std::fs::File;

use parquet::basic::{ConvertedType, Repetition};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::record::{Row, RowAccessor};
use proptest::prelude::*;
use telemark_engine::parquet::{Field, RecordFile};
use telemark_engine::records::{Batch, Connection, Delivery, Dense, Numbers, Row as RecordRow};

type Cells = (i32, i64, i64, i64, i64, i32, i8, i8, i32);

fn delivery(cells: Cells) -> Delivery {
    let (stream, sequence, intended_ns, sent_ns, received_ns, subscription, qos, flags, size) = cells;
    Delivery {
        stream,
        sequence,
        intended_ns,
        sent_ns,
        received_ns,
        subscription,
        qos,
        flags,
        size,
    }
}

/// Writes a file and opens it with the library.
fn written(fields: &'static [Field], batches: &[Batch], name: &str) -> SerializedFileReader<File> {
    let path = std::env::temp_dir().join(format!("telemark-parquet-{name}-{}", std::process::id()));
    let mut file = RecordFile::create(&path, fields).unwrap();
    for batch in batches {
        file.write(batch).unwrap();
    }
    file.close().unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    reader
}

/// The rows in batches of so many.
fn deliveries(rows: &[Cells], batch: usize, name: &str) -> SerializedFileReader<File> {
    let encode = |rows: &[Cells]| {
        let mut dense = Dense::<Delivery>::default();
        for cells in rows {
            assert!(dense.push(delivery(*cells)).is_none());
        }
        dense.take().unwrap()
    };
    let batches: Vec<Batch> = rows.chunks(batch).map(encode).collect();
    written(Delivery::FIELDS, &batches, name)
}

fn cells(row: &Row) -> Cells {
    let (int, long, byte) = (
        |at| row.get_int(at).unwrap(),
        |at| row.get_long(at).unwrap(),
        |at| row.get_byte(at).unwrap(),
    );
    (
        int(0),
        long(1),
        long(2),
        long(3),
        long(4),
        int(5),
        byte(6),
        byte(7),
        int(8),
    )
}

fn read(reader: &SerializedFileReader<File>) -> Vec<Cells> {
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| cells(&row.unwrap())).collect()
}

type Attempt = (i32, i16, Option<i64>, Option<i64>, String, Option<bool>);

fn connection((device, attempt, tcp_ns, connack_ns, result, tls_resumed): Attempt) -> Connection {
    Connection {
        device,
        process: 3,
        attempt,
        started_ns: 5,
        tcp_ns,
        tls_ns: None,
        connack_ns,
        suback_ns: None,
        result: result.into(),
        tls_resumed,
        session_present: None,
    }
}

/// A cell as the library shows it.
fn shown<T: std::fmt::Display>(cell: Option<T>) -> String {
    cell.map_or("null".to_owned(), |cell| cell.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_library_reads_nulls_texts_and_truth_values(
        rows in proptest::collection::vec(any::<Attempt>(), 1..300), batch in 1usize..200,
    ) {
        let batches: Vec<Batch> = rows
            .chunks(batch)
            .map(|rows| Batch::of(rows.iter().cloned().map(connection).collect()).unwrap())
            .collect();
        let reader = written(Connection::FIELDS, &batches, "cells");
        let found = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        for (found, (device, attempt, tcp_ns, connack_ns, result, tls_resumed)) in found.zip(&rows) {
            let texts: Vec<String> = found.get_column_iter().map(|(_, field)| field.to_string()).collect();
            let expected = [
                device.to_string(), "3".to_owned(), attempt.to_string(), "5".to_owned(), shown(*tcp_ns),
                "null".to_owned(), shown(*connack_ns), "null".to_owned(), format!("\"{result}\""),
                shown(*tls_resumed), "null".to_owned(),
            ];
            prop_assert_eq!(texts, expected);
        }
        let metadata = reader.metadata();
        prop_assert_eq!(metadata.file_metadata().num_rows() as usize, rows.len());
        let nulls = metadata.row_group(0).column(4).statistics().and_then(Statistics::null_count_opt);
        prop_assert_eq!(nulls, Some(rows.iter().filter(|row| row.2.is_none()).count() as u64));
    }

    #[test]
    fn the_library_reads_the_rows_that_were_written(
        rows in proptest::collection::vec(any::<Cells>(), 1..700), batch in 1usize..400,
    ) {
        prop_assert_eq!(read(&deliveries(&rows, batch, "any")), rows);
    }
}

#[test]
fn schema_and_statistics_are_what_the_library_expects() {
    let rows: Vec<Cells> = (0..300_000).map(|n| (n % 7, n.into(), 5, 6, 7, -3, 1, 4, 64)).collect();
    let reader = deliveries(&rows, 100_000, "schema");
    let metadata = reader.metadata();
    assert_eq!(metadata.file_metadata().num_rows(), 300_000);
    let schema = metadata.file_metadata().schema_descr();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    let expected: Vec<&str> = Delivery::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(names, expected);
    for column in schema.columns() {
        assert_eq!(column.self_type().get_basic_info().repetition(), Repetition::REQUIRED);
    }
    assert_eq!(schema.column(6).converted_type(), ConvertedType::INT_8);
    let statistics = metadata.row_group(0).column(1).statistics().unwrap().clone();
    let Statistics::Int64(range) = statistics else {
        panic!("sequence has 64 bits: {statistics:?}");
    };
    assert_eq!((range.min_opt(), range.max_opt()), (Some(&0), Some(&299_999)));
    assert_eq!(read(&reader), rows);
}
