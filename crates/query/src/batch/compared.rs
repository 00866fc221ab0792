//! EXCEPT and INTERSECT: different rows of one side that the other has not, or has.
//!
//! The other side's keys are kept. What finds no room waits in files, parted by key: a row whose key is among those kept is
//! decided at once, any other waits too, and the pairs of files are compared one after the other.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::CollationId;
use duramen_types::batch::{Batch, Column};

use super::keys::{KeyTable, MAX_ROUNDS, NONE};
use super::spilled::{Purpose, Reader, Writer};
use super::{BatchOperator, Boxed};
use crate::cx::Cx;
use crate::plan::OutColumn;
use crate::spill::Grant;

/// Where rows come from.
enum Feed<'p> {
    Input(Boxed<'p>),
    File(Reader),
}

impl Feed<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        cx.check_cancelled()?;
        match self {
            Feed::Input(input) => input.next(cx),
            Feed::File(reader) => reader.next_block(),
        }
    }
}

pub struct Compared<'p> {
    /// INTERSECT
    keep_common: bool,
    collations: Vec<CollationId>,
    input: Feed<'p>,
    /// The other side's keys; for EXCEPT also those of the rows that have come out.
    table: KeyTable,
    /// INTERSECT: the keys that have come out, by number.
    given: Vec<bool>,
    grant: Grant,
    /// No more keys can be kept.
    full: bool,
    /// Rows of the other side, and of this one, whose keys are not in the table.
    other_rest: Option<Writer>,
    rest: Option<Writer>,
    round: u32,
    /// Pairs of files still to be compared: the other side's, this one's, their round.
    work: Vec<(Reader, Reader, u32)>,
}

impl<'p> Compared<'p> {
    /// The rows of `input` beside those of `other`, which are read at once; all have these columns.
    pub fn new(
        input: Boxed<'p>,
        columns: &[OutColumn],
        other: Boxed<'_>,
        keep_common: bool,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Compared<'p>> {
        let collations: Vec<CollationId> = columns.iter().map(|c| c.ty.collation).collect();
        let mut new = Compared {
            keep_common,
            table: KeyTable::new(collations.clone()),
            collations,
            input: Feed::Input(input),
            given: Vec::new(),
            grant: Grant::new(cx.host.workspace()),
            full: false,
            other_rest: None,
            rest: None,
            round: 0,
            work: Vec::new(),
        };
        new.read_other(Feed::Input(other), cx)?;
        Ok(new)
    }

    fn holds(&mut self) -> bool {
        self.grant.hold(self.table.heap_bytes()) || self.round >= MAX_ROUNDS
    }

    fn read_other(&mut self, mut other: Feed<'_>, cx: &mut Cx<'_>) -> SqlResult<()> {
        let (mut numbers, mut fresh) = (Vec::new(), Vec::new());
        while let Some(batch) = other.next(cx)? {
            let (columns, n) = (batch.columns(), batch.rows());
            self.table
                .number(columns, n, !self.full, &mut numbers, &mut fresh, cx)?;
            if self.full {
                wait(
                    &mut self.other_rest,
                    &batch,
                    &numbers,
                    (&self.collations, self.round),
                    cx,
                )?;
            } else {
                self.full = !self.holds();
            }
        }
        self.given = vec![
            false;
            if self.keep_common {
                self.table.len()
            } else {
                0
            }
        ];
        Ok(())
    }

    /// The rows of a batch that are decided to come out.
    fn decided(&mut self, batch: Batch, cx: &mut Cx<'_>) -> SqlResult<Batch> {
        let (mut numbers, mut out) = (Vec::new(), Vec::new());
        let adds = !self.keep_common && !self.full;
        let (columns, n) = (batch.columns(), batch.rows());
        self.table
            .number(columns, n, adds, &mut numbers, &mut out, cx)?;
        if adds {
            self.full = !self.holds();
        } else if self.full {
            wait(
                &mut self.rest,
                &batch,
                &numbers,
                (&self.collations, self.round),
                cx,
            )?;
        }
        if self.keep_common {
            for (i, number) in numbers.iter().enumerate() {
                if let Some(given) = self.given.get_mut(*number as usize)
                    && !std::mem::replace(given, true)
                {
                    out.push(i as u32);
                }
            }
        }
        Ok(match out.len() == n {
            true => batch,
            false => batch.gather(&out),
        })
    }

    /// Goes on with the next pair of files; false when there is none.
    fn next_pair(&mut self, cx: &mut Cx<'_>) -> SqlResult<bool> {
        if let Some(rest) = self.rest.take() {
            let other = match self.other_rest.take() {
                Some(other) => other,
                None => Writer::new(Purpose::Other, cx)?,
            };
            let pairs = other.finish_all()?.into_iter().zip(rest.finish_all()?);
            let round = self.round + 1;
            self.work.extend(pairs.map(|(o, r)| (o, r, round)));
        }
        self.other_rest = None;
        let Some((other, rest, round)) = self.work.pop() else {
            return Ok(false);
        };
        self.table = KeyTable::new(self.collations.clone());
        self.grant.hold(0);
        (self.round, self.full) = (round, false);
        self.input = Feed::File(rest);
        self.read_other(Feed::File(other), cx)?;
        Ok(true)
    }
}

/// Writes the rows without a number to a file, parted by their keys.
fn wait(
    writer: &mut Option<Writer>,
    batch: &Batch,
    numbers: &[u32],
    (collations, round): (&[CollationId], u32),
    cx: &Cx<'_>,
) -> SqlResult<()> {
    let unknown = numbers.iter().enumerate().filter(|(_, k)| **k == NONE);
    let unknown: Vec<u32> = unknown.map(|(i, _)| i as u32).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let rows = batch.gather(&unknown);
    let columns: &[Arc<Column>] = rows.columns();
    let to = match writer {
        Some(to) => to,
        None => writer.insert(Writer::new(Purpose::Hash(round), cx)?),
    };
    to.put_by_key(columns, (columns, collations), unknown.len(), round)
}

impl BatchOperator for Compared<'_> {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Batch>> {
        loop {
            match self.input.next(cx)? {
                Some(batch) => {
                    let batch = self.decided(batch, cx)?;
                    if batch.rows() > 0 {
                        return Ok(Some(batch));
                    }
                }
                None if self.next_pair(cx)? => {}
                None => return Ok(None),
            }
        }
    }
}
