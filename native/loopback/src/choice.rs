//! Choices that are the same in every process and on every machine: which messages a fault strikes.

/// One step of splitmix64: a well-mixed number for every input, the same on every machine.
#[must_use]
pub fn scatter(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A repeatable number for a text, independent of the process (FNV-1a, then scattered).
#[must_use]
pub fn text_number(text: &str) -> u64 {
    let folded = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    scatter(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_numbers_are_the_same_everywhere() {
        assert_eq!(text_number("device-1"), 1_452_036_596_631_765_406);
        assert_ne!(text_number("device-1"), text_number("device-2"));
    }
}
