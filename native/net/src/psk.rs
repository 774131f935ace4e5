//! Pre-shared keys by identity.

use std::collections::HashMap;
use std::path::Path;

use crate::tls_cipher::TlsError;

/// The rows of a key file: lines `identity:key in hex`, as Mosquitto's `psk_file` has them.
#[derive(Clone, Default)]
pub struct PskTable {
    keys: HashMap<String, Vec<u8>>,
}

impl PskTable {
    /// Reads a key file. Empty lines and lines that begin with `#` are skipped.
    pub fn read(path: &Path) -> Result<PskTable, TlsError> {
        let text = std::fs::read_to_string(path).map_err(|error| TlsError::file(path, &error))?;
        PskTable::parse(&text)
            .map_err(|line| TlsError::new(format!("{}: line {line} is not `identity:key in hex`", path.display())))
    }

    /// Reads the text of a key file; the error is the number of the first wrong line.
    pub fn parse(text: &str) -> Result<PskTable, usize> {
        let mut keys = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (identity, hex) = line.trim().rsplit_once(':').ok_or(number + 1)?;
            keys.insert(identity.to_owned(), decode_hex(hex).ok_or(number + 1)?);
        }
        Ok(PskTable { keys })
    }

    /// The key of an identity.
    pub fn key(&self, identity: &str) -> Option<&[u8]> {
        self.keys.get(identity).map(Vec::as_slice)
    }
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || text.len() % 2 != 0 || !text.is_ascii() {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_may_contain_colons_and_comments_are_skipped() {
        let table = PskTable::parse("# keys\na:b:00ff\n\nc:12\n").unwrap();
        assert_eq!(table.key("a:b"), Some(&[0, 255][..]));
        assert_eq!(table.key("c"), Some(&[0x12][..]));
        assert_eq!(table.key("d"), None);
    }

    #[test]
    fn the_first_wrong_line_is_named() {
        assert_eq!(PskTable::parse("a:00\nb:0g\n").err(), Some(2));
        assert_eq!(PskTable::parse("no key").err(), Some(1));
        assert_eq!(PskTable::parse("a:123").err(), Some(1));
    }
}
