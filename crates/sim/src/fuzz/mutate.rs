//! Changes of inputs: few at a time, and such as lengths, counts and offsets fear.

use duramen_os::random::Rng;

use super::MAX_INPUT_BYTES;

/// Values at which readers of lengths go wrong.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    u64::MAX,
];

/// A new input from one or two of `pool`. `fix` repairs what would be refused at once (checksums), and is left out at
/// times so that the refusal is tested too.
pub fn mutate(rng: &mut Rng, pool: &[Vec<u8>], fix: fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut input = rng.choose(pool).cloned().unwrap_or_default();
    for _ in 0..=rng.below(4) {
        change(rng, &mut input, pool);
    }
    input.truncate(MAX_INPUT_BYTES);
    if !rng.one_in(8) {
        fix(&mut input);
    }
    input
}

fn change(rng: &mut Rng, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
    let at = rng.below(input.len() as u64) as usize;
    match rng.below(10) {
        0 | 1 if !input.is_empty() => input[at] ^= 1 << rng.below(8),
        2 if !input.is_empty() => input[at] = rng.next_u64() as u8,
        // A length field: an edge, or a little more or less than it was.
        3 | 4 => {
            let width = 1 << rng.below(4);
            if let Some(field) = input.get_mut(at..at + width) {
                let mut value = [0; 8];
                value[..width].copy_from_slice(field);
                let near = u64::from_le_bytes(value)
                    .wrapping_add(rng.below(9))
                    .wrapping_sub(4);
                let edge = rng.choose(&EDGES).copied().unwrap_or_default();
                let value = if rng.one_in(2) { near } else { edge };
                field.copy_from_slice(&value.to_le_bytes()[..width]);
                if rng.one_in(3) {
                    field.reverse();
                }
            }
        }
        5 => input.truncate(at),
        6 => {
            let end = (at + 1 + rng.below(16) as usize).min(input.len());
            input.drain(at.min(end)..end);
        }
        7 => {
            let end = (at + 1 + rng.below(64) as usize).min(input.len());
            let piece = input[at.min(end)..end].to_vec();
            let most = if rng.one_in(16) { 400 } else { 4 };
            let times = 1 + rng.below(most);
            let piece = piece.repeat(times as usize);
            input.splice(at..at, piece);
        }
        8 => {
            if let Some(other) = rng.choose(pool) {
                let from = rng.below(other.len() as u64) as usize;
                let to = (from + 1 + rng.below(200) as usize).min(other.len());
                let end = (at + rng.below(64) as usize).min(input.len());
                input.splice(at.min(end)..end, other[from.min(to)..to].iter().copied());
            }
        }
        _ => {
            let mut noise = vec![0; 1 + rng.below(8) as usize];
            rng.fill(&mut noise);
            input.splice(at..at, noise);
        }
    }
}
