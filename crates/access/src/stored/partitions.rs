//! Reading the partitions of a heap or index as one.
//!
//! A bound on the partitioning column leaves out the partitions that cannot have such rows. Of the others each is read
//! to its end before the next, unless that would break the order of the access path: then they are read side by side,
//! and the row that comes first is given first. The row given last is always that of one cursor, which goes on only when
//! the next row is asked for: so `keep` finds the lock that it means.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::shape::IndexSource;
use duramen_catalog::{IndexDef, Partitioned, TableDef};
use duramen_query::host::{Bounds, Limit};
use duramen_storage::{Cursor, Database, RowLocator, Rowset, RowsetDef, ScanSpec};
use duramen_txn::Transaction;
use duramen_types::Value;
use duramen_types::batch::Column;

type Row = (RowLocator, Vec<Value>);

/// A cursor over the partitions that a scan reaches.
pub(super) enum Parts {
    One(Cursor),
    /// One after the other.
    Chain {
        current: Option<Cursor>,
        rest: VecDeque<Rowset>,
        spec: ScanSpec,
    },
    /// Side by side, in the order of their keys.
    Merge(Merge),
}

pub(super) struct Merge {
    cursors: Vec<(Cursor, Option<Row>)>,
    /// Cursors that have a row, as a heap: the one whose row comes first is in front.
    heap: Vec<usize>,
    /// The cursor of the row given last.
    last: Option<usize>,
    /// For comparing keys.
    rowset: Rowset,
    forward: bool,
}

fn side(limit: &Limit) -> Option<(&Value, bool)> {
    limit.as_ref().map(|(v, whole)| (v, *whole))
}

/// The partitions that a scan with these bounds must read; `keys`: the columns that the bounds are of.
pub(super) fn reached(of: &Partitioned, keys: &[usize], bounds: Option<&Bounds>) -> Vec<usize> {
    let within = range(of, keys, bounds);
    let any = bounds.and_then(|b| b.reach.as_ref());
    let any = any.filter(|r| r.column == of.column && !r.any.is_empty());
    let Some(any) = any else {
        return within.collect();
    };
    let ranges: Vec<Range<usize>> = any
        .any
        .iter()
        .map(|(low, high)| of.function.between(side(low), side(high)))
        .collect();
    within
        .filter(|n| ranges.iter().any(|r| r.contains(n)))
        .collect()
}

/// Those among which they all are.
fn range(of: &Partitioned, keys: &[usize], bounds: Option<&Bounds>) -> Range<usize> {
    let all = 0..of.rowsets.len();
    let Some(b) = bounds else {
        return all;
    };
    let all = match &b.reach {
        Some(r) if r.column == of.column => {
            let wide = of.function.between(side(&r.lower), side(&r.upper));
            wide.start.min(all.end)..wide.end.min(all.end)
        }
        _ => all,
    };
    let Some(at) = keys.iter().position(|k| *k == of.column) else {
        return all;
    };
    let found = match b.equal.get(at) {
        Some(value) => of
            .function
            .between(Some((value, true)), Some((value, true))),
        None if at == b.equal.len() => of.function.between(side(&b.lower), side(&b.upper)),
        None => all.clone(),
    };
    let start = found.start.max(all.start);
    start..found.end.min(all.end).max(start)
}

/// How a scan gives out the rows of several partitions.
enum How {
    InTurn,
    InTurnBackwards,
    Merged,
}

/// In which way the partitions' rows come in the order of the path. `keys`: its columns, with DESC.
fn how(of: &Partitioned, keys: &[(usize, bool)], bounds: Option<&Bounds>) -> How {
    let Some(b) = bounds else {
        return How::InTurn;
    };
    match keys.get(b.equal.len()) {
        // Every row is equal in what orders them.
        None if keys.len() == b.equal.len() => How::InTurn,
        Some((column, desc)) if *column == of.column => match *desc == b.backward {
            true => How::InTurn,
            false => How::InTurnBackwards,
        },
        _ => How::Merged,
    }
}

impl Parts {
    /// Opens what a scan reaches. `keys` are the key columns of the path, empty for a scan without order.
    pub fn open(
        db: &Arc<Database>,
        (first, partitioned): (&Arc<RowsetDef>, Option<&Partitioned>),
        keys: &[(usize, bool)],
        bounds: Option<&Bounds>,
        spec: ScanSpec,
        tx: &Transaction,
    ) -> SqlResult<Parts> {
        let Some(of) = partitioned else {
            return db.rowset(first).scan(tx, spec).map(Parts::One);
        };
        let columns: Vec<usize> = keys.iter().map(|k| k.0).collect();
        let mut numbers = reached(of, &columns, bounds);
        if numbers.is_empty() {
            // Nothing can be found; a scan is what locks the table.
            numbers.push(0);
        }
        let reached = numbers.iter().filter_map(|n| of.rowsets.get(*n));
        let mut reached: VecDeque<Rowset> = reached.map(|r| db.rowset(r)).collect();
        if let [one] = reached.make_contiguous() {
            return one.scan(tx, spec).map(Parts::One);
        }
        match how(of, keys, bounds) {
            How::Merged => {}
            turn => {
                if matches!(turn, How::InTurnBackwards) {
                    reached.make_contiguous().reverse();
                }
                // The first is opened now: that is what locks the table.
                let current = reached.pop_front().map(|r| r.scan(tx, spec.clone()));
                return Ok(Parts::Chain {
                    current: current.transpose()?,
                    rest: reached,
                    spec,
                });
            }
        }
        let open = |r: &Rowset| Ok((r.scan(tx, spec.clone())?, None));
        let mut merge = Merge {
            cursors: reached.iter().map(open).collect::<SqlResult<_>>()?,
            heap: Vec::new(),
            last: None,
            rowset: db.rowset(first),
            forward: spec.forward,
        };
        for i in 0..merge.cursors.len() {
            merge.advance(i, tx)?;
        }
        Ok(Parts::Merge(merge))
    }

    pub fn next(&mut self, tx: &Transaction) -> SqlResult<Option<Row>> {
        match self {
            Parts::One(cursor) => cursor.next(tx),
            Parts::Merge(merge) => merge.next(tx),
            Parts::Chain {
                current,
                rest,
                spec,
            } => loop {
                let Some(cursor) = current else {
                    return Ok(None);
                };
                if let Some(row) = cursor.next(tx)? {
                    return Ok(Some(row));
                }
                let next = rest.pop_front().map(|r| r.scan(tx, spec.clone()));
                *current = next.transpose()?;
            },
        }
    }

    /// Appends some of the next rows by column; 0 at the end.
    pub fn fill(
        &mut self,
        tx: &Transaction,
        wanted: &[usize],
        out: &mut [Column],
    ) -> SqlResult<usize> {
        match self {
            Parts::One(cursor) => cursor.fill(tx, wanted, out),
            Parts::Chain {
                current,
                rest,
                spec,
            } => loop {
                let Some(cursor) = current else {
                    return Ok(0);
                };
                let filled = cursor.fill(tx, wanted, out)?;
                if filled > 0 {
                    return Ok(filled);
                }
                let next = rest.pop_front().map(|r| r.scan(tx, spec.clone()));
                *current = next.transpose()?;
            },
            Parts::Merge(merge) => {
                // About as many bytes at a time as a few pages have.
                const ROWS: usize = 1024;
                const BYTES: usize = 64 << 10;
                let (mut filled, mut bytes) = (0, 0);
                while filled < ROWS
                    && bytes < BYTES
                    && let Some((_, mut row)) = merge.next(tx)?
                {
                    for (column, at) in out.iter_mut().zip(wanted) {
                        let value = row.get_mut(*at).map(std::mem::take).unwrap_or_default();
                        bytes += value.heap_bytes();
                        column.push(value);
                    }
                    filled += 1;
                }
                Ok(filled)
            }
        }
    }

    /// The row given last will be changed.
    pub fn keep(&mut self) {
        match self {
            Parts::One(cursor) => cursor.keep(),
            Parts::Chain { current, .. } => {
                if let Some(cursor) = current {
                    cursor.keep();
                }
            }
            Parts::Merge(merge) => {
                if let Some((cursor, _)) = merge.last.and_then(|i| merge.cursors.get_mut(i)) {
                    cursor.keep();
                }
            }
        }
    }
}

impl Merge {
    fn next(&mut self, tx: &Transaction) -> SqlResult<Option<Row>> {
        if let Some(last) = self.last.take() {
            self.advance(last, tx)?;
        }
        let Some(first) = self.heap.first().copied() else {
            return Ok(None);
        };
        self.heap.swap_remove(0);
        self.sink();
        self.last = Some(first);
        Ok(self.cursors[first].1.take())
    }

    /// Lets a cursor go on, and puts it into the heap with its row.
    fn advance(&mut self, i: usize, tx: &Transaction) -> SqlResult<()> {
        let (cursor, row) = &mut self.cursors[i];
        *row = cursor.next(tx)?;
        if row.is_none() {
            return Ok(());
        }
        self.heap.push(i);
        let mut at = self.heap.len() - 1;
        while at > 0 && self.before(self.heap[at], self.heap[(at - 1) / 2]) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
        Ok(())
    }

    /// Puts the front in its place.
    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.before(self.heap[child], self.heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn before(&self, a: usize, b: usize) -> bool {
        let (Some((_, x)), Some((_, y))) = (&self.cursors[a].1, &self.cursors[b].1) else {
            return false;
        };
        let ordered = self.rowset.compare_rows(x, y);
        let ordered = match self.forward {
            true => ordered,
            false => ordered.reverse(),
        };
        ordered.then(a.cmp(&b)) == Ordering::Less
    }
}

/// Where the rows are that a nonclustered index's entries tell of.
pub(super) struct Base {
    rowsets: Vec<Rowset>,
    /// Which partition: the function, and the place of its column in an entry.
    partition: Option<(Arc<Partitioned>, usize)>,
}

impl Base {
    pub fn new(db: &Arc<Database>, table: &TableDef, index: &IndexDef) -> Base {
        let partition = table.partitioned.as_ref().and_then(|p| {
            let source = IndexSource::Column(p.column);
            let at = index.sources.iter().position(|s| *s == source)?;
            Some((p.clone(), at))
        });
        let rowsets = table.data_rowsets().iter().map(|r| db.rowset(r));
        Base {
            rowsets: rowsets.collect(),
            partition,
        }
    }

    /// The rowset of an entry's row.
    pub fn of(&self, entry: &[Value]) -> Option<&Rowset> {
        let number = match &self.partition {
            Some((p, at)) => p.function.partition_of(entry.get(*at)?),
            None => 0,
        };
        self.rowsets.get(number)
    }
}
