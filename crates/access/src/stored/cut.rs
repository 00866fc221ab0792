//! A stored table whose scan several threads share.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{IndexDef, Partitioned};
use duramen_query::execution::ExecutionContext;
use duramen_query::host::{Bounds, Part, RowCursor};
use duramen_query::{Cx, ScanLock};
use duramen_storage::{Reading, RowsetDef, ScanPart};
use duramen_txn::ReadView;

use super::partitions::{Parts, reached};
use super::{DataCursor, EntryCursor, StoredTable, spec};
use crate::versioning;

fn of_storage(part: ScanPart) -> Part {
    match part {
        ScanPart::Pages(pages) => Part::Pages(pages),
        ScanPart::Keys(from, to) => Part::Keys(from, to),
    }
}

/// The partition and its part.
fn for_storage(part: &Part) -> (usize, ScanPart) {
    match part {
        Part::Pages(pages) => (0, ScanPart::Pages(pages.clone())),
        Part::Keys(from, to) => (0, ScanPart::Keys(from.clone(), to.clone())),
        Part::Partition(number, part) => (*number, for_storage(part).1),
    }
}

impl StoredTable {
    /// The rowsets that a scan reads, when it reads those of no other path; whether they are partitions.
    fn scanned(
        &self,
        bounds: Option<&Bounds>,
    ) -> Option<(&[Arc<RowsetDef>], Option<&Partitioned>)> {
        let stored = self.def.columns.iter().all(|c| c.is_stored());
        match self.entries(bounds) {
            None => {
                let of = self.def.partitioned.as_deref();
                stored.then(|| (self.def.data_rowsets(), of))
            }
            Some(index) => bounds
                .is_some_and(|b| b.covering)
                .then(|| (index.rowsets(), index.partitioned.as_deref())),
        }
    }

    fn entries(&self, bounds: Option<&Bounds>) -> Option<&IndexDef> {
        let index = bounds.and_then(|b| self.def.indexes.get(b.path));
        index.filter(|i| !i.clustered)
    }

    pub(super) fn cut(
        &self,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        wanted: usize,
        cx: &Cx<'_>,
    ) -> SqlResult<Option<Vec<Part>>> {
        let Some((rowsets, partitioned)) = self.scanned(bounds) else {
            return Ok(None);
        };
        let (tx, context) = self.enter(cx)?;
        self.note_read(bounds);
        let log = &self.db.db.transactions;
        tx.note_read(log);
        let reading = self.reading(tx, lock, context)?;
        match &reading.view {
            Some(view) => context.deps.note_read_at(log.db, view.owes(log)),
            None => context.deps.note_read(&log.commits),
        }
        let numbers = match partitioned {
            None => vec![0],
            Some(of) => {
                let path = bounds.and_then(|b| self.shape.paths.get(b.path));
                let keys: Vec<usize> =
                    path.map_or_else(Vec::new, |p| p.keys.iter().map(|k| k.0).collect());
                let mut reached = reached(of, &keys, bounds);
                if reached.is_empty() {
                    // A scan is what locks the table.
                    reached.push(0);
                }
                reached
            }
        };
        let each = wanted.div_ceil(numbers.len().max(1)).max(1);
        let spec = spec(bounds, &reading);
        let mut parts = Some(Vec::new());
        for number in numbers {
            let Some(rowset) = rowsets.get(number) else {
                continue;
            };
            let cut = self.db.db.rowset(rowset).parts(tx, &spec, each);
            self.check_definition(tx, &reading)?;
            let of = |part| match partitioned {
                None => of_storage(part),
                Some(_) => Part::Partition(number, Box::new(of_storage(part))),
            };
            match (cut?, &mut parts) {
                (Some(cut), Some(parts)) => parts.extend(cut.into_iter().map(of)),
                _ => return Ok(None),
            }
        }
        Ok(parts)
    }

    fn reading(
        &self,
        tx: &duramen_txn::Transaction,
        lock: ScanLock,
        context: &ExecutionContext,
    ) -> SqlResult<Reading> {
        let log = &self.db.db.transactions;
        let versions = &self.db.db.engine.versions;
        versioning::reading(&self.db.db, tx, lock, || {
            let now = || ReadView::now(versions, log);
            context.view.get_or_init(now).clone()
        })
    }

    pub(super) fn open_cut(
        &self,
        part: &Part,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        cx: &Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        let (tx, context) = super::context(cx)?;
        let reading = self.reading(tx, lock, context)?;
        let width = self.shape.columns.len();
        let names = self.shape.names.clone();
        let spec = spec(bounds, &reading);
        let (number, part) = for_storage(part);
        let rowset = self.scanned(bounds).and_then(|(all, _)| all.get(number));
        let rowset = rowset.ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?;
        let cursor = self.db.db.rowset(rowset).scan_part(tx, spec, &part);
        let cursor = Parts::One(cursor);
        Ok(match self.entries(bounds) {
            None => Box::new(DataCursor {
                cursor,
                tx: tx.clone(),
                width,
                names,
            }),
            Some(index) => Box::new(EntryCursor {
                cursor,
                held: super::held(index, width),
                tx: tx.clone(),
                width,
                names,
            }),
        })
    }
}
