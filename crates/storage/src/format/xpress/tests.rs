//! Units made by hand: literals, a match that overlaps itself, and damage.

use super::*;

/// A code in which `a`, `b`, and the match symbols 0x100 (length 3, offset 1) and 0x10f (long, offset 1) have 2 bits.
fn unit(bits: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut b = vec![0u8; LENGTHS_BYTES];
    for symbol in [b'a' as usize, b'b' as usize, 0x100, 0x10f] {
        b[symbol / 2] |= 2 << (4 * (symbol % 2));
    }
    let mut words = [0u16; 2];
    for (i, two) in bits.iter().enumerate() {
        words[i / 8] |= u16::from(*two) << (14 - 2 * (i % 8));
    }
    b.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    b.extend(tail);
    b
}

#[test]
fn literals_and_matches() {
    // a b, then three more b, then a.
    assert_eq!(
        decompress(&unit(&[0, 1, 2, 0], &[]), 6).as_deref(),
        Ok(b"abbbba".as_slice())
    );
    // A long match: 15 + 3 + 2 more of a.
    assert_eq!(decompress(&unit(&[0, 3], &[2]), 21), Ok(vec![b'a'; 21]));
}

#[test]
fn damage_is_refused() {
    assert!(decompress(&[0; 300], 10).is_err());
    assert!(
        decompress(&unit(&[2], &[]), 3).is_err(),
        "match before the start"
    );
    assert!(
        decompress(&unit(&[0, 3], &[]), 60).is_err(),
        "no length byte"
    );
    assert!(!is_complete_code(&[1; 10]));
}
