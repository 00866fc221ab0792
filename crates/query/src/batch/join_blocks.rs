//! Joining what the hash of keys does not part any more: many rows with one key.
//!
//! The built side is read a block at a time, as much as there is memory for, and the probed side from its beginning for
//! each block. What no block has a partner for comes at the end, where the probed side is outer.

use duramen_base::SqlResult;
use duramen_types::batch::Batch;

use super::spilled::Reader;

/// Both sides of a part, and how far they have been joined.
pub(super) struct Blocks {
    /// Built rows of later blocks.
    pub rest: Reader,
    pub probe: Reader,
    /// The probed rows that have found a partner, by their numbers: bits.
    joined: Vec<u64>,
    /// Probed rows that have been joined with the block at hand.
    at: usize,
}

impl Blocks {
    pub fn new(rest: Reader, probe: Reader) -> Blocks {
        Blocks {
            rest,
            probe,
            joined: Vec::new(),
            at: 0,
        }
    }

    /// The probed side, from its beginning.
    pub fn probe_again(&mut self) -> Reader {
        self.at = 0;
        self.probe.again()
    }

    /// The next probed rows have been joined with the block: those marked have found a partner.
    pub fn note(&mut self, matched: &[bool]) {
        let end = self.at + matched.len();
        if self.joined.len() * 64 < end {
            self.joined.resize(end.div_ceil(64), 0);
        }
        for (row, _) in (self.at..).zip(matched).filter(|(_, m)| **m) {
            self.joined[row / 64] |= 1 << (row % 64);
        }
        self.at = end;
    }

    /// The next probed rows that no block has had a partner for; `None` at the end.
    pub fn next_lonely(&mut self) -> SqlResult<Option<Batch>> {
        let Some(batch) = self.probe.next_block()? else {
            return Ok(None);
        };
        let from = self.at;
        self.at += batch.rows();
        let joined = |row: usize| {
            let bits = self.joined.get(row / 64).copied().unwrap_or(0);
            bits & 1 << (row % 64) != 0
        };
        let lonely = (0..batch.rows()).filter(|i| !joined(from + i));
        let lonely: Vec<u32> = lonely.map(|i| i as u32).collect();
        Ok(Some(batch.gather(&lonely)))
    }
}
