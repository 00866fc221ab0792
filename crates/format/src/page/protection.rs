//! What tells a damaged page: its checksum, or the bits of torn-page detection.

use super::{FLAG_CHECKSUM, FLAG_TORN_BITS, PageMut, PageRef};
use crate::PageBytes;

/// The checksum of a page: 16 sectors of 128 words, each XORed (the word at 60 as 0), rotated left by 15 - sector,
/// XORed together. Finds rot; does not find every torn page (see the double-write file).
pub fn checksum(page: &PageBytes) -> u32 {
    let word = |w: &[u8; 4]| u32::from_le_bytes(*w);
    let mut sum = 0u32;
    let (sectors, _) = page.as_chunks::<512>();
    for (sector, bytes) in sectors.iter().enumerate() {
        // No branch in here: this runs at the speed of memory.
        let (words, _) = bytes.as_chunks::<4>();
        let x = words.iter().fold(0, |x, w| x ^ word(w));
        sum ^= x.rotate_left(15 - sector as u32);
    }
    let (words, _) = page.as_chunks::<4>();
    sum ^ word(&words[15]).rotate_left(15)
}

/// What [`verify`] found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verify {
    /// The page carries no checksum and no torn bits: nothing to compare.
    Unprotected,
    Ok,
    BadChecksum {
        expected: u32,
        actual: u32,
    },
    Torn,
}

/// Checks the protection that the page says it has.
pub fn verify(page: &PageBytes) -> Verify {
    let p = PageRef::new(page);
    if p.flags() & FLAG_CHECKSUM != 0 {
        let (expected, actual) = (p.torn_bits(), checksum(page));
        if expected == actual {
            Verify::Ok
        } else {
            Verify::BadChecksum { expected, actual }
        }
    } else if p.flags() & FLAG_TORN_BITS != 0 {
        let pattern = page[512 + 511] & 3;
        if (1..16).all(|k| page[k * 512 + 511] & 3 == pattern) {
            Verify::Ok
        } else {
            Verify::Torn
        }
    } else {
        Verify::Unprotected
    }
}

/// Sets the checksum flag and the checksum: the last thing before a page is written.
pub fn seal(page: &mut PageBytes) {
    let mut p = PageMut::new(page);
    let flags = (p.as_ref().flags() & !FLAG_TORN_BITS) | FLAG_CHECKSUM;
    p.set_flags(flags);
    let sum = checksum(page);
    page[60..64].copy_from_slice(&sum.to_le_bytes());
}

/// Puts the bits that torn-page detection displaced back into the sectors (after [`verify`]).
pub fn restore_torn_bits(page: &mut PageBytes) {
    let p = PageRef::new(page);
    if p.flags() & FLAG_TORN_BITS == 0 || p.flags() & FLAG_CHECKSUM != 0 {
        return;
    }
    let bits = p.torn_bits();
    for k in 1..16usize {
        let at = k * 512 + 511;
        page[at] = (page[at] & !3) | ((bits >> (2 * k)) & 3) as u8;
    }
}
