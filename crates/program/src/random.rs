//! RAND's sequence: L'Ecuyer's combination of two multiplicative generators (Communications of the ACM 31, 1988), which
//! gives the numbers that the documentation of RAND prints for `RAND(100), RAND(), RAND()`.

use std::cell::Cell;

/// The two generators; `None` until the first call, which begins at a random seed.
#[derive(Debug, Default)]
pub struct Sequence(Cell<Option<(i64, i64)>>);

const FIRST: (i64, i64) = (40_014, 2_147_483_563);
const SECOND: (i64, i64) = (40_692, 2_147_483_399);
/// Where the second generator begins; the seed is the first's.
const SECOND_SEED: i64 = 67_890;
/// One over the first modulus, to as many digits as the published routine has.
const UNIT: f64 = 4.656_613e-10;

impl Sequence {
    /// The next number between 0 and 1, both excluded; a seed begins anew.
    pub fn next(&self, seed: Option<i32>) -> f64 {
        let start = |seed: i64| (seed.rem_euclid(FIRST.1), SECOND_SEED);
        let (a, b) = match (seed, self.0.get()) {
            (Some(seed), _) => start(i64::from(seed)),
            (None, Some(state)) => state,
            (None, None) => start((duramen_os::random::next_u64() >> 33) as i64),
        };
        let (a, b) = (a * FIRST.0 % FIRST.1, b * SECOND.0 % SECOND.1);
        self.0.set(Some((a, b)));
        let difference = match a - b {
            d if d < 1 => d + FIRST.1 - 1,
            d => d,
        };
        difference as f64 * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// https://learn.microsoft.com/sql/t-sql/functions/rand-transact-sql, the example with seed 100.
    #[test]
    fn the_documented_numbers() {
        let s = Sequence::default();
        let shown = |f: f64| format!("{f:.15}");
        assert_eq!(shown(s.next(Some(100))), "0.715436657367485");
        assert_eq!(shown(s.next(None)), "0.284633807679820");
        assert_eq!(shown(s.next(None)), "0.013103908285036");
        // The seed begins the sequence anew.
        assert_eq!(shown(s.next(Some(100))), "0.715436657367485");
    }
}
