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

fn there_and_back(bytes: &[u8]) -> usize {
    let mut out = Vec::new();
    encode::Encoder::default().compress(bytes, &mut out);
    assert!(is_complete_code(&out), "{} bytes", bytes.len());
    assert_eq!(decompress(&out, bytes.len()).as_deref(), Ok(bytes));
    out.len()
}

#[test]
fn what_was_compressed_comes_back() {
    let mut rng = duramen_os::random::Rng::new(7);
    for n in 0..200u64 {
        let length = match n % 4 {
            0 => 1 + rng.below(40),
            1 => 512,
            2 => 1 + rng.below(9000),
            _ => encode::MOST_BYTES as u64,
        };
        // From all the same to no two alike.
        let bits = rng.below(9);
        let kinds = 1 + rng.below(1 << bits);
        let runs = 1 + rng.below(300);
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let byte = (rng.below(kinds) * 7) as u8;
            let copies = 1 + rng.below(runs) as usize;
            bytes.extend(std::iter::repeat_n(byte, copies));
        }
        bytes.truncate(length as usize);
        there_and_back(&bytes);
    }
    // Skewed counts make codes of more than 15 bits: Fibonacci's numbers the longest.
    let mut skewed = Vec::new();
    let (mut a, mut b) = (1usize, 1);
    for byte in 0..22u8 {
        skewed.extend(std::iter::repeat_n(byte, a));
        (a, b) = (b, a + b);
    }
    for i in (1..skewed.len()).rev() {
        skewed.swap(i, rng.below(i as u64 + 1) as usize);
    }
    there_and_back(&skewed);
}

#[test]
fn rows_take_less_room_and_noise_hardly_more() {
    let rows: Vec<u8> = (0..3000u32)
        .flat_map(|i| format!("{i:06}member of region {}, ", i % 9).into_bytes())
        .collect();
    let size = there_and_back(&rows[..65_536]);
    assert!(size < 65_536 / 3, "{size}");
    assert!(there_and_back(&vec![0; 65_536]) < 300);
    let mut rng = duramen_os::random::Rng::new(3);
    let noise: Vec<u8> = (0..512).map(|_| rng.below(256) as u8).collect();
    // What a sector that may still change has room for.
    assert!(there_and_back(&noise) < 1000);
}
