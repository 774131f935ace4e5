//! Replays the checked-in fuzz corpus with a stable compiler.
#![allow(clippy::unwrap_used)] // a test may

#[path = "../fuzz/src/checks.rs"]
mod checks;

use std::path::Path;

/// Runs the check on every file of the target's corpus; an empty corpus would prove nothing.
fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 5, "{} has too few files", folder.display());
    for file in files {
        check(&std::fs::read(file).unwrap());
    }
}

#[test]
fn the_packet_corpus_breaks_nothing() {
    replay("packets", checks::packets);
}

#[test]
fn the_topic_corpus_breaks_nothing() {
    replay("topics", checks::topics);
}

#[test]
fn the_window_corpus_breaks_nothing() {
    replay("window", checks::window);
}
