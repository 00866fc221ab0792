//! The kept side of a hash join: rows by column, and for each key the chain of those that have it.
//!
//! Several threads may look up in it at once. When its rows come even without a partner, what the threads have joined is
//! noted with it, and the last of them to end gives out the others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::SqlResult;
use duramen_types::CollationId;
use duramen_types::batch::{Column, Data};

use super::BATCH_ROWS;
use super::keys::{self, KeyTable};
use super::spilled::Writer;
use super::store::Store;
use crate::cx::Cx;
use crate::spill::Grant;

/// End of a chain; no chain.
pub(super) const NONE: u32 = keys::NONE;

/// Where a key's chain begins.
enum Index {
    /// At the key's distance from the least one.
    Direct { least: i64, heads: Vec<u32> },
    /// At its number. The table in its other form, once somebody asks with keys of another.
    Numbered {
        table: Box<KeyTable>,
        loose: OnceLock<Box<KeyTable>>,
        heads: Vec<u32>,
    },
}

/// The built side, ready to be probed.
pub(crate) struct Build {
    pub(super) store: Store,
    /// Bytes of a row, about.
    pub(super) row_bytes: usize,
    index: Index,
    /// The next row of each row's chain.
    pub(super) next: Vec<u32>,
    /// It is the join's left side.
    pub(super) left: bool,
    _grant: Grant,
    /// Of an outer side that several threads look up in.
    joined: Option<Joined>,
}

/// Which rows the threads have joined, and how many of them go on.
struct Joined {
    rows: Vec<AtomicBool>,
    left: AtomicUsize,
}

/// What reading the built side came to.
pub(crate) enum Built {
    All(Arc<Build>),
    /// There was no room: its rows by the hash of their keys.
    Parted(Writer),
}

/// Bytes that a built row takes besides its columns, at most: its key's word and slots, and its place in a chain.
pub(super) const ROW_BYTES: usize = 32;

impl Build {
    /// Of the rows in `store`, whose keys are `keys`.
    pub fn new(
        (store, left): (Store, bool),
        keys: Vec<Column>,
        collations: &[CollationId],
        grant: Grant,
        cx: &Cx<'_>,
    ) -> SqlResult<Build> {
        let n = store.rows();
        let (index, next) = match direct(&keys, n, cx)? {
            Some(found) => found,
            None => numbered(keys, n, collations.to_vec(), cx)?,
        };
        Ok(Build {
            row_bytes: store.heap_bytes() / n.max(1),
            store,
            index,
            next,
            left,
            _grant: grant,
            joined: None,
        })
    }

    /// For threads that note here which rows they have joined.
    pub fn noting(mut self) -> Build {
        self.joined = Some(Joined {
            rows: (0..self.store.rows())
                .map(|_| AtomicBool::new(false))
                .collect(),
            left: AtomicUsize::new(0),
        });
        self
    }

    pub fn notes(&self) -> bool {
        self.joined.is_some()
    }

    /// So many threads are going to look up in it. Before they begin.
    pub fn expect(&self, threads: usize) {
        if let Some(joined) = &self.joined {
            joined.left.store(threads, Ordering::Release);
        }
    }

    /// These rows have been joined.
    pub fn note(&self, built: &[u32]) {
        if let Some(joined) = &self.joined {
            let rows = built
                .iter()
                .filter_map(|row| joined.rows.get(*row as usize));
            // Looking first leaves the line with the other threads where it is noted already.
            rows.filter(|r| !r.load(Ordering::Relaxed))
                .for_each(|r| r.store(true, Ordering::Relaxed));
        }
    }

    /// The calling thread joins no more rows; true for the last one, which then sees what all have noted.
    pub fn leave(&self) -> bool {
        let joined = self.joined.as_ref();
        joined.is_some_and(|j| j.left.fetch_sub(1, Ordering::AcqRel) == 1)
    }

    /// Which rows were joined by any thread.
    pub fn noted(&self) -> Vec<bool> {
        let rows = self.joined.iter().flat_map(|j| &j.rows);
        rows.map(|r| r.load(Ordering::Relaxed)).collect()
    }

    /// The first of the rows that have each key.
    pub fn heads(&self, keys: &[Arc<Column>], n: usize, out: &mut Vec<u32>) {
        match &self.index {
            Index::Direct { least, heads } => {
                if let [column] = keys
                    && let Data::Ints(_, values) = &column.data
                {
                    out.clear();
                    let nulls = column.nulls();
                    out.extend(values.iter().enumerate().map(|(i, v)| {
                        let at = v.wrapping_sub(*least) as u64 as usize;
                        match nulls.get(i) {
                            Some(true) => NONE,
                            _ => heads.get(at).copied().unwrap_or(NONE),
                        }
                    }));
                    return;
                }
                // Keys of another form than the built ones: none of them is in reach.
                out.clear();
                out.extend(
                    (0..n).map(|i| match keys.first().map(|c| c.get(i).as_i64()) {
                        Some(Some(v)) => {
                            let at = v.wrapping_sub(*least) as u64 as usize;
                            heads.get(at).copied().unwrap_or(NONE)
                        }
                        _ => NONE,
                    }),
                );
            }
            Index::Numbered {
                table,
                loose,
                heads,
            } => {
                if !table.find(keys, n, out) {
                    loose
                        .get_or_init(|| Box::new(table.loosened()))
                        .find(keys, n, out);
                }
                for (i, slot) in out.iter_mut().enumerate() {
                    let null = keys.iter().any(|c| c.is_null(i));
                    *slot = match null {
                        true => NONE,
                        false => heads.get(*slot as usize).copied().unwrap_or(NONE),
                    };
                }
            }
        }
    }
}

/// Chains by distance, where the keys are integers that lie close enough together.
fn direct(keys: &[Column], n: usize, cx: &Cx<'_>) -> SqlResult<Option<(Index, Vec<u32>)>> {
    let [column] = keys else {
        return Ok(None);
    };
    let Data::Ints(kind, values) = &column.data else {
        return Ok(None);
    };
    if !kind.is_integer() {
        return Ok(None);
    }
    let nulls = column.nulls();
    let known = |i: &usize| !nulls.get(*i).copied().unwrap_or(false);
    let rows = || (0..n).filter(known);
    let reach = || {
        let least = rows().map(|i| values[i]).min()?;
        let greatest = rows().map(|i| values[i]).max()?;
        let span = usize::try_from(greatest.checked_sub(least)?).ok()?;
        (span <= n.saturating_mul(4) + 1024).then_some((least, span))
    };
    let Some((least, span)) = reach() else {
        return Ok(None);
    };
    let mut heads = vec![NONE; span + 1];
    let mut next = vec![NONE; n];
    for i in rows().rev() {
        cx.check_at(i)?;
        let head = &mut heads[values[i].wrapping_sub(least) as usize];
        next[i] = *head;
        *head = i as u32;
    }
    Ok(Some((Index::Direct { least, heads }, next)))
}

fn numbered(
    keys: Vec<Column>,
    n: usize,
    collations: Vec<CollationId>,
    cx: &Cx<'_>,
) -> SqlResult<(Index, Vec<u32>)> {
    let mut table = KeyTable::new(collations);
    let mut numbers = Vec::with_capacity(n);
    let (mut part, mut fresh) = (Vec::new(), Vec::new());
    let mut from = 0;
    while from < n {
        let to = n.min(from + 64 * BATCH_ROWS);
        let columns: Vec<Arc<Column>> = keys.iter().map(|c| Arc::new(c.slice(from, to))).collect();
        table.number(&columns, to - from, true, &mut part, &mut fresh, cx)?;
        numbers.extend_from_slice(&part);
        from = to;
    }
    let mut heads = vec![NONE; table.len()];
    let mut next = vec![NONE; n];
    for i in (0..n).rev() {
        cx.check_at(i)?;
        // A key with a NULL in it equals none.
        if keys.iter().any(|c| c.is_null(i)) {
            continue;
        }
        let head = &mut heads[numbers[i] as usize];
        next[i] = *head;
        *head = i as u32;
    }
    let index = Index::Numbered {
        table: Box::new(table),
        loose: OnceLock::new(),
        heads,
    };
    Ok((index, next))
}
