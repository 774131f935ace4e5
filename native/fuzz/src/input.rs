//! The inputs: random bytes, and the checked-in corpus of a target with random damage.

use std::path::Path;

const LONGEST: u64 = 400;

/// The inputs of one target and seed, by number.
pub struct Inputs {
    seed: u64,
    corpus: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

impl Inputs {
    /// Reads the corpus, if the target has one.
    pub fn new(target: &str, seed: u64) -> Inputs {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../mqtt/fuzz/corpus")
            .join(target);
        let mut corpus: Vec<Vec<u8>> = std::fs::read_dir(folder).map_or(Vec::new(), |files| {
            let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.ok()?.path()).ok();
            files.filter_map(read).collect()
        });
        corpus.sort(); // a folder has no order, and input 7 must always be the same
        Inputs {
            seed,
            corpus,
            bytes: Vec::new(),
        }
    }

    /// Input number `number`.
    pub fn get(&mut self, number: u64) -> &[u8] {
        let mut dice = Dice(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.bytes.clear();
        if self.corpus.is_empty() || dice.below(4) == 0 {
            let length = dice.below(LONGEST);
            self.bytes.extend((0..length).map(|_| dice.next() as u8));
            return &self.bytes;
        }
        for _ in 0..1 + dice.below(3) {
            let file = &self.corpus[dice.below(self.corpus.len() as u64) as usize];
            self.bytes.extend_from_slice(file);
        }
        for _ in 0..dice.below(6) {
            self.damage(&mut dice);
        }
        &self.bytes
    }

    fn damage(&mut self, dice: &mut Dice) {
        if self.bytes.is_empty() {
            return;
        }
        let at = dice.below(self.bytes.len() as u64) as usize;
        match dice.below(5) {
            0 => self.bytes[at] ^= 1 << dice.below(8),
            1 => self.bytes[at] = dice.next() as u8,
            2 => self.bytes.insert(at, dice.next() as u8),
            3 => drop(self.bytes.remove(at)),
            _ => self.bytes.truncate(at),
        }
    }
}

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
