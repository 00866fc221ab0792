//! The order of rows that are kept by column: which of two comes first, and all of them sorted.
//!
//! Rows are sorted as *words*: one number a row, made of what its key's columns say as far as 128 bits reach, with the row's
//! own number below (`words`). Where a word does not say all of a key, rows whose words say the same are compared.

use std::cmp::Ordering;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::spill::RowOrder;
use duramen_types::batch::{Batch, BytesKind, Column, Data, IntKind, Runs};
use duramen_types::collate::{compare_bytes, compare_units};
use duramen_types::{CollationId, Value, compare_binary};

use super::helpers;
use super::words::{Word, Words};
use crate::btree::keys::KeyInfo;
use crate::rowset::Rowset;

/// The key columns of rows.
pub(super) struct KeyColumns<'r> {
    keys: &'r KeyInfo,
    pub(super) columns: Vec<KeyColumn<'r>>,
}

pub(super) struct KeyColumn<'r> {
    pub column: Option<&'r Column>,
    cells: Cells<'r>,
    pub collation: CollationId,
    pub desc: bool,
}

/// What comparing needs of a column, found out once.
enum Cells<'r> {
    /// Numbers, and nothing else.
    Numbers(IntKind, &'r [i64]),
    Chars(&'r Runs<u8>),
    Wide(&'r Runs<u16>),
    Binary(&'r Runs<u8>),
    Others,
}

impl<'r> Cells<'r> {
    fn of(column: &'r Column) -> Cells<'r> {
        match &column.data {
            Data::Ints(kind, v) if column.nulls().is_empty() => Cells::Numbers(*kind, v),
            Data::Bytes(BytesKind::VarChar, r) => Cells::Chars(r),
            Data::Bytes(BytesKind::Binary, r) => Cells::Binary(r),
            Data::Wide(r) => Cells::Wide(r),
            _ => Cells::Others,
        }
    }
}

impl<'r> KeyColumns<'r> {
    pub fn new(rowset: &'r Rowset, columns: &'r [Arc<Column>]) -> KeyColumns<'r> {
        let keys = rowset.keys();
        let one = |(k, (at, desc)): (usize, &(usize, bool))| {
            let column = columns.get(*at).map(|c| &**c);
            KeyColumn {
                column,
                cells: column.map_or(Cells::Others, Cells::of),
                collation: keys.collation(k),
                desc: *desc,
            }
        };
        KeyColumns {
            keys,
            columns: keys.columns.iter().enumerate().map(one).collect(),
        }
    }

    /// The values of a row's key.
    pub fn values(&self, row: usize) -> Vec<Value> {
        let columns = self.columns.iter();
        columns
            .map(|c| c.column.map_or(Value::Null, |c| c.get(row)))
            .collect()
    }

    /// How the keys of two rows stand.
    pub fn cmp(&self, a: usize, b: usize) -> Ordering {
        for (k, c) in self.columns.iter().enumerate() {
            let ord = self.cmp_cells(k, c, a, b);
            if ord != Ordering::Equal {
                return if c.desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }

    fn cmp_cells(&self, k: usize, c: &KeyColumn<'_>, a: usize, b: usize) -> Ordering {
        if let Cells::Numbers(_, v) = &c.cells {
            return v[a].cmp(&v[b]);
        }
        let Some(column) = c.column else {
            return Ordering::Equal;
        };
        match (column.is_null(a), column.is_null(b)) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        match &c.cells {
            Cells::Chars(r) => compare_bytes(r.get(a), r.get(b), c.collation),
            Cells::Wide(r) => compare_units(r.get(a), r.get(b), c.collation),
            Cells::Binary(r) => compare_binary(r.get(a), r.get(b)),
            _ => self.keys.cmp_part(k, &column.get(a), &column.get(b)),
        }
    }

    /// How the key of a row stands to another key.
    pub fn cmp_key(&self, row: usize, key: &[Value]) -> Ordering {
        for (k, (c, other)) in self.columns.iter().zip(key).enumerate() {
            let number = |kind: IntKind| kind.number(other);
            let ord = match (&c.cells, c.column) {
                (Cells::Numbers(kind, v), Some(column)) => match number(*kind) {
                    Some(n) => v[row].cmp(&n),
                    None => self.keys.cmp_part(k, &column.get(row), other),
                },
                (_, Some(column)) => self.keys.cmp_part(k, &column.get(row), other),
                _ => Ordering::Equal,
            };
            if ord != Ordering::Equal {
                return if c.desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }
}

/// The order of rows that come whole, from several runs.
#[derive(Clone)]
pub(super) struct TreeOrder(pub Rowset);

impl RowOrder for TreeOrder {
    fn compare(&self, (x, a): (&Batch, usize), (y, b): (&Batch, usize)) -> Ordering {
        let keys = self.0.keys();
        for (k, (at, desc)) in keys.columns.iter().enumerate() {
            let (Some(p), Some(q)) = (x.columns().get(*at), y.columns().get(*at)) else {
                continue;
            };
            let ord = compare_cells((keys, k), (p, a), (q, b));
            if ord != Ordering::Equal {
                return if *desc { ord.reverse() } else { ord };
            }
        }
        Ordering::Equal
    }
}

/// How two cells of the key's `k`-th column stand.
fn compare_cells(
    (keys, k): (&KeyInfo, usize),
    (x, a): (&Column, usize),
    (y, b): (&Column, usize),
) -> Ordering {
    match (x.is_null(a), y.is_null(b)) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    match (&x.data, &y.data) {
        (Data::Ints(k, v), Data::Ints(l, w)) if k == l => v[a].cmp(&w[b]),
        (Data::Bytes(BytesKind::VarChar, v), Data::Bytes(BytesKind::VarChar, w)) => {
            compare_bytes(v.get(a), w.get(b), keys.collation(k))
        }
        (Data::Bytes(BytesKind::Binary, v), Data::Bytes(BytesKind::Binary, w)) => {
            compare_binary(v.get(a), w.get(b))
        }
        (Data::Wide(v), Data::Wide(w)) => compare_units(v.get(a), w.get(b), keys.collation(k)),
        _ => keys.cmp_part(k, &x.get(a), &y.get(b)),
    }
}

/// Rows for each thread, at least.
const FEW: usize = 4096;

impl Rowset {
    /// The rows that `columns` hold, in the order of this B-tree; equal ones as they came. Up to `threads` threads sort.
    pub fn order_of(
        &self,
        columns: &Arc<Vec<Arc<Column>>>,
        rows: usize,
        threads: usize,
    ) -> SqlResult<Vec<u32>> {
        let words = Words::of(&KeyColumns::new(self, columns), rows);
        let threads = threads.min(rows / FEW).max(1);
        match words.bits() <= u64::BITS {
            true => self.sorted::<u64>(&Arc::new(words), columns, rows, threads),
            false => self.sorted::<u128>(&Arc::new(words), columns, rows, threads),
        }
    }

    fn sorted<W: Word>(
        &self,
        words: &Arc<Words>,
        columns: &Arc<Vec<Arc<Column>>>,
        rows: usize,
        threads: usize,
    ) -> SqlResult<Vec<u32>> {
        let each = rows.div_ceil(threads);
        let (own, keys) = (self.clone(), (words.clone(), columns.clone()));
        let pieces = helpers::on_all("index sort", (2, threads), move |n| {
            let (words, columns) = &keys;
            let range = (n * each).min(rows)..((n + 1) * each).min(rows);
            let keys = KeyColumns::new(&own, columns);
            let mut made: Vec<W> = words.make(&keys, range);
            made.sort_unstable();
            made
        })?;
        let mut pieces = pieces.into_iter();
        let mut all = pieces.next().unwrap_or_default();
        let several = pieces.len() > 0;
        all.reserve_exact(rows - all.len());
        pieces.for_each(|piece| all.extend(piece));
        if several {
            // Sorted runs one behind the other: a merge.
            all.sort();
        }
        let mut order: Vec<u32> = all.iter().map(|w| words.row(*w)).collect();
        if !words.says_all() {
            let keys = KeyColumns::new(self, columns);
            let mut at = 0;
            while at < rows {
                let same = |w: &&W| words.key(**w) == words.key(all[at]);
                let end = at + all[at..].iter().take_while(same).count();
                order[at..end].sort_by(|a, b| keys.cmp(*a as usize, *b as usize));
                at = end;
            }
        }
        Ok(order)
    }
}
