//! Sorting in steps short enough for a cancellation to be seen between them.

use std::cmp::Ordering;

use duramen_base::SqlResult;

/// Says when a sort is not wanted any more.
pub type Wanted<'a> = &'a dyn Fn() -> SqlResult<()>;

/// Rows that are compared one with another in a step: some milliseconds of comparing texts.
const COMPARED: usize = 8192;
/// Bytes of keys that are: fewer rows where they are large.
const COMPARED_BYTES: usize = 2 << 20;
/// Numbers that are sorted in a step.
const NUMBERS: usize = 1 << 17;
/// Bits of a number that say where it goes in one pass.
const DIGIT: u32 = 8;

/// Sorts numbers, of which no two are equal and none has more than `bits` bits.
pub fn sort_words<T: Word>(words: &mut Vec<T>, bits: u32, wanted: Wanted<'_>) -> SqlResult<()> {
    wanted()?;
    if words.len() <= NUMBERS {
        words.sort_unstable();
        return Ok(());
    }
    let shift = bits.saturating_sub(DIGIT);
    let mut counts = [0usize; 1 << DIGIT];
    for some in words.chunks(NUMBERS) {
        wanted()?;
        some.iter().for_each(|w| counts[w.digit(shift)] += 1);
    }
    let mut starts = [0usize; 1 << DIGIT];
    let mut at = 0;
    for (start, count) in starts.iter_mut().zip(&counts) {
        *start = at;
        at += count;
    }
    let mut places = starts;
    let mut out = vec![T::default(); words.len()];
    for some in words.chunks(NUMBERS) {
        wanted()?;
        for w in some {
            let place = &mut places[w.digit(shift)];
            out[*place] = *w;
            *place += 1;
        }
    }
    *words = out;
    for (start, count) in starts.iter().zip(&counts) {
        sort_part(&mut words[*start..start + count], shift, wanted)?;
    }
    Ok(())
}

fn sort_part<T: Word>(part: &mut [T], bits: u32, wanted: Wanted<'_>) -> SqlResult<()> {
    if part.len() <= NUMBERS || bits == 0 {
        wanted()?;
        part.sort_unstable();
        return Ok(());
    }
    // Most of the numbers share their first digit.
    let mut own = part.to_vec();
    sort_words(&mut own, bits, wanted)?;
    part.copy_from_slice(&own);
    Ok(())
}

/// What [`sort_words`] sorts.
pub trait Word: Copy + Ord + Default {
    /// The digit that stands `shift` bits from the end.
    fn digit(self, shift: u32) -> usize;
}

impl Word for u64 {
    #[inline]
    fn digit(self, shift: u32) -> usize {
        (self >> shift) as usize & ((1 << DIGIT) - 1)
    }
}

impl Word for u128 {
    #[inline]
    fn digit(self, shift: u32) -> usize {
        (self >> shift) as usize & ((1 << DIGIT) - 1)
    }
}

/// The numbers from 0 to `n` in the order that `compare` says, as long as `wanted` has no objection; those that compare alike stay in theirs.
pub fn ordered_while(
    wanted: Wanted<'_>,
    n: usize,
    compare: impl Fn(usize, usize) -> Ordering,
) -> SqlResult<Vec<u32>> {
    in_steps_of(COMPARED, wanted, n, compare)
}

/// The same of rows whose keys take so many bytes: of large ones fewer are compared in a step.
pub fn ordered_by_keys(
    bytes: usize,
    n: usize,
    compare: impl Fn(usize, usize) -> Ordering,
    wanted: Wanted<'_>,
) -> SqlResult<Vec<u32>> {
    let together = COMPARED_BYTES * n / bytes.max(1);
    let together = together.clamp(4, COMPARED);
    in_steps_of(together, wanted, n, compare)
}

fn in_steps_of(
    together: usize,
    wanted: Wanted<'_>,
    n: usize,
    compare: impl Fn(usize, usize) -> Ordering,
) -> SqlResult<Vec<u32>> {
    let mut rows: Vec<u32> = (0..n as u32).collect();
    let before = |a: &u32, b: &u32| compare(*a as usize, *b as usize).then_with(|| a.cmp(b));
    for run in rows.chunks_mut(together) {
        wanted()?;
        run.sort_unstable_by(before);
    }
    let mut merged = vec![0; if n > together { n } else { 0 }];
    let mut width = together;
    while width < n {
        let pairs = rows.chunks(2 * width).zip(merged.chunks_mut(2 * width));
        for (both, out) in pairs {
            let (left, right) = both.split_at(width.min(both.len()));
            merge((left, right), out, &before, (together, wanted))?;
        }
        std::mem::swap(&mut rows, &mut merged);
        width *= 2;
    }
    Ok(rows)
}

fn merge(
    (left, right): (&[u32], &[u32]),
    out: &mut [u32],
    before: &impl Fn(&u32, &u32) -> Ordering,
    (together, wanted): (usize, Wanted<'_>),
) -> SqlResult<()> {
    let (mut l, mut r) = (0, 0);
    // Rows that came in order need no more than this look.
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && before(last, first).is_lt()
    {
        out[..left.len()].copy_from_slice(left);
        out[left.len()..].copy_from_slice(right);
        return wanted();
    }
    for some in out.chunks_mut(together) {
        wanted()?;
        for slot in some {
            let from_left = match (left.get(l), right.get(r)) {
                (Some(a), Some(b)) => before(a, b).is_lt(),
                (a, _) => a.is_some(),
            };
            let (from, at) = match from_left {
                true => (left, &mut l),
                false => (right, &mut r),
            };
            *slot = from[*at];
            *at += 1;
        }
    }
    Ok(())
}
