//! The few words of Thrift's compact protocol that Parquet's headers and footers need.

use super::delta::{variable, zigzag};

const STOP: u8 = 0;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Writes one structure. Fields must come in rising order of their numbers.
pub struct Structure<'a> {
    out: &'a mut Vec<u8>,
    last: u8,
}

impl Structure<'_> {
    fn field(&mut self, number: u8, kind: u8) {
        self.out.push((number - self.last) << 4 | kind);
        self.last = number;
    }

    /// A 32-bit number (or a member of an enumeration).
    pub fn i32(&mut self, number: u8, value: i32) {
        self.field(number, I32);
        variable(zigzag(i64::from(value)), self.out);
    }

    /// A 64-bit number.
    pub fn i64(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        variable(zigzag(value), self.out);
    }

    /// Bytes or a text.
    pub fn bytes(&mut self, number: u8, value: &[u8]) {
        self.field(number, BINARY);
        put_bytes(value, self.out);
    }

    /// A structure inside this one.
    pub fn structure(&mut self, number: u8, write: impl FnOnce(&mut Structure<'_>)) {
        self.field(number, STRUCT);
        structure(self.out, write);
    }

    /// A list of structures.
    pub fn structures<T>(
        &mut self,
        number: u8,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Structure<'_>, T),
    ) {
        self.list(number, STRUCT, items.len());
        for item in items {
            structure(self.out, |inner| write(inner, item));
        }
    }

    /// A list of 32-bit numbers.
    pub fn i32s(&mut self, number: u8, values: &[i32]) {
        self.list(number, I32, values.len());
        for value in values {
            variable(zigzag(i64::from(*value)), self.out);
        }
    }

    /// A list with one text.
    pub fn one_text(&mut self, number: u8, value: &str) {
        self.list(number, BINARY, 1);
        put_bytes(value.as_bytes(), self.out);
    }

    fn list(&mut self, number: u8, kind: u8, length: usize) {
        self.field(number, LIST);
        if length < 15 {
            self.out.push((length as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            variable(length as u64, self.out);
        }
    }
}

/// Appends a structure.
pub fn structure(out: &mut Vec<u8>, write: impl FnOnce(&mut Structure<'_>)) {
    write(&mut Structure { out, last: 0 });
    out.push(STOP);
}

fn put_bytes(value: &[u8], out: &mut Vec<u8>) {
    variable(value.len() as u64, out);
    out.extend_from_slice(value);
}
