//! Operators that hand each batch on, or some of it: filter, projection, TOP and OFFSET, DISTINCT and UNION ALL.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::CollationId;
use duramen_types::batch::{Batch, Column};

use super::keys::{KeyTable, MAX_ROUNDS, NONE};
use super::spilled::{Purpose, Reader, Writer};
use super::vector::{self, BatchExpr, is_plain};
use super::{BATCH_ROWS, BatchOperator, Boxed};
use crate::cx::Cx;
use crate::expr::{Expr, Kind};
use crate::plan::{OutColumn, Plan};
use crate::spill::Grant;

pub struct Filter<'p> {
    input: Boxed<'p>,
    predicate: BatchExpr<'p>,
}

impl<'p> Filter<'p> {
    pub fn new(input: Boxed<'p>, predicate: &'p Expr) -> Filter<'p> {
        Filter {
            input,
            predicate: BatchExpr::new(predicate),
        }
    }
}

impl BatchOperator for Filter<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        while let Some(batch) = self.input.next(cx)? {
            let rows = vector::select(&self.predicate, &batch, cx)?;
            if rows.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !rows.is_empty() {
                return Ok(Some(batch.gather(&rows)));
            }
        }
        Ok(None)
    }
}

/// Which expressions a projection computes: those that are read, and those that might do more than compute.
pub fn used(exprs: &[Expr], needed: &[bool]) -> Vec<bool> {
    let pairs = exprs.iter().zip(needed);
    pairs.map(|(e, needed)| *needed || !is_plain(e)).collect()
}

pub struct Project<'p> {
    input: Boxed<'p>,
    /// The computed expressions, and where each stands.
    exprs: Vec<BatchExpr<'p>>,
    places: Vec<usize>,
    width: usize,
    absent: Arc<Column>,
    /// Of a projection that may make large values: the rest of a batch, and so many rows are computed together.
    waiting: Option<Batch>,
    together: usize,
}

/// Values of a batch that is computed in parts are no more than so many bytes, if its rows are not that large.
const LARGE: usize = 1 << 20;

impl<'p> Project<'p> {
    pub fn new(input: Boxed<'p>, exprs: &'p [Expr], used: &[bool]) -> Project<'p> {
        let places: Vec<usize> = (0..exprs.len()).filter(|i| used[*i]).collect();
        Project {
            input,
            exprs: places.iter().map(|i| BatchExpr::new(&exprs[*i])).collect(),
            places,
            width: exprs.len(),
            absent: Arc::new(Column::absent()),
            waiting: None,
            together: match exprs.iter().any(makes_large) {
                true => 1,
                false => usize::MAX,
            },
        }
    }

    /// The rows to compute next.
    fn some(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        let batch = match self.waiting.take() {
            Some(batch) => batch,
            None => match self.input.next(cx)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let n = batch.rows();
        if n <= self.together {
            return Ok(Some(batch));
        }
        self.waiting = Some(batch.slice(self.together, n));
        Ok(Some(batch.slice(0, self.together)))
    }
}

/// Whether the values of an expression may be much larger than what it is made of.
fn makes_large(e: &Expr) -> bool {
    e.ty.is_max()
        && !matches!(
            e.kind,
            Kind::Column { .. } | Kind::Const(_) | Kind::Variable(_)
        )
}

impl BatchOperator for Project<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.values_gone();
        let Some(batch) = self.some(cx)? else {
            return Ok(None);
        };
        let columns = vector::columns(&self.exprs, &batch, cx)?;
        if self.together < usize::MAX {
            let bytes: usize = columns.iter().map(|c| c.heap_bytes()).sum();
            self.together = match bytes > LARGE {
                true => (self.together / 2).max(1),
                false => (self.together * 2).min(BATCH_ROWS),
            };
        }
        let mut all = vec![self.absent.clone(); self.width];
        for (at, column) in self.places.iter().zip(columns) {
            all[*at] = column;
        }
        Ok(Some(Batch::new(batch.rows(), all)))
    }
}

/// The rows from one place to another.
pub struct Slice<'p> {
    pub input: Boxed<'p>,
    /// Rows to pass over, and rows to give out after them.
    pub skip: u64,
    pub left: u64,
}

impl BatchOperator for Slice<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        while self.left > 0
            && let Some(batch) = self.input.next(cx)?
        {
            let n = batch.rows() as u64;
            let from = self.skip.min(n);
            self.skip -= from;
            let to = n.min(from.saturating_add(self.left));
            self.left -= to - from;
            if from == 0 && to == n {
                return Ok(Some(batch));
            }
            if from < to {
                return Ok(Some(batch.slice(from as usize, to as usize)));
            }
        }
        Ok(None)
    }
}

/// Rows that were not there before.
pub struct Distinct<'p> {
    input: Option<Boxed<'p>>,
    collations: Vec<CollationId>,
    seen: KeyTable,
    grant: Grant,
    /// Rows that are none of those seen, when no more can be kept.
    rest: Option<Writer>,
    round: u32,
    /// Parts of the rows that had to wait, with their rounds.
    work: Vec<(Reader, u32)>,
    reading: Option<Reader>,
}

impl<'p> Distinct<'p> {
    pub fn new(input: Boxed<'p>, columns: &[OutColumn], cx: &Cx<'_>) -> Distinct<'p> {
        let collations = columns.iter().map(|c| c.ty.collation).collect();
        Distinct::of(input, collations, cx)
    }

    /// Rows whose columns are compared by these collations.
    pub fn of(input: Boxed<'p>, collations: Vec<CollationId>, cx: &Cx<'_>) -> Distinct<'p> {
        Distinct {
            input: Some(input),
            seen: KeyTable::new(collations.clone()),
            collations,
            grant: Grant::new(cx.host.workspace()),
            rest: None,
            round: 0,
            work: Vec::new(),
            reading: None,
        }
    }

    /// Rows that are not to come again.
    pub fn has_seen(&mut self, batch: Batch, cx: &Cx<'_>) -> SqlResult<()> {
        new_rows(batch, &mut self.seen, cx)?;
        self.bounded(cx)
    }

    /// No more rows are kept than memory is lent for; the others wait.
    fn bounded(&mut self, cx: &Cx<'_>) -> SqlResult<()> {
        let fits = self.grant.hold(self.seen.heap_bytes());
        if !fits && self.round < MAX_ROUNDS && self.rest.is_none() {
            self.rest = Some(Writer::new(Purpose::Hash(self.round), cx)?);
        }
        Ok(())
    }

    /// The next rows of what is read at present.
    fn read(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        if let Some(input) = &mut self.input {
            return input.next(cx);
        }
        match &mut self.reading {
            Some(reader) => reader.next_block(),
            None => Ok(None),
        }
    }

    /// Goes on with the next part; false when there is none.
    fn next_part(&mut self) -> SqlResult<bool> {
        self.input = None;
        if let Some(rest) = self.rest.take() {
            let parts = rest.finish()?.into_iter();
            self.work.extend(parts.map(|r| (r, self.round + 1)));
        }
        self.seen = KeyTable::new(self.collations.clone());
        self.grant.hold(0);
        let next = self.work.pop();
        let more = next.is_some();
        if let Some((reader, round)) = next {
            self.reading = Some(reader);
            self.round = round;
        }
        Ok(more)
    }
}

impl BatchOperator for Distinct<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            let Some(batch) = self.read(cx)? else {
                if !self.next_part()? {
                    return Ok(None);
                }
                continue;
            };
            let Some(rest) = &mut self.rest else {
                let batch = new_rows(batch, &mut self.seen, cx)?;
                self.bounded(cx)?;
                if batch.rows() > 0 {
                    return Ok(Some(batch));
                }
                continue;
            };
            let (mut numbers, mut fresh) = (Vec::new(), Vec::new());
            self.seen.number(
                batch.columns(),
                batch.rows(),
                false,
                &mut numbers,
                &mut fresh,
                cx,
            )?;
            let unknown = numbers.iter().enumerate().filter(|(_, k)| **k == NONE);
            let unknown: Vec<u32> = unknown.map(|(i, _)| i as u32).collect();
            let batch = batch.gather(&unknown);
            let columns = batch.columns();
            let keys = (columns, self.collations.as_slice());
            rest.put_by_key(columns, keys, batch.rows(), self.round)?;
        }
    }
}

/// The rows of a batch whose keys are new.
fn new_rows(batch: Batch, seen: &mut KeyTable, cx: &Cx<'_>) -> SqlResult<Batch> {
    let (mut numbers, mut fresh) = (Vec::new(), Vec::new());
    seen.number(
        batch.columns(),
        batch.rows(),
        true,
        &mut numbers,
        &mut fresh,
        cx,
    )?;
    Ok(match fresh.len() == batch.rows() {
        true => batch,
        false => batch.gather(&fresh),
    })
}

/// One input after the other.
pub struct Concat<'p> {
    inputs: std::slice::Iter<'p, Plan>,
    needed: Vec<bool>,
    current: Option<Boxed<'p>>,
}

impl<'p> Concat<'p> {
    pub fn new(inputs: &'p [Plan], needed: &[bool]) -> Concat<'p> {
        Concat {
            inputs: inputs.iter(),
            needed: needed.to_vec(),
            current: None,
        }
    }
}

impl BatchOperator for Concat<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            if let Some(input) = &mut self.current {
                if let Some(batch) = input.next(cx)? {
                    return Ok(Some(batch));
                }
                self.current = None;
            }
            let Some(plan) = self.inputs.next() else {
                return Ok(None);
            };
            self.current = Some(super::open(plan, &self.needed, cx)?);
        }
    }
}
