//! A stored table whose scan several threads share.

use duramen_base::SqlResult;
use duramen_query::host::{Bounds, Part, RowCursor};
use duramen_query::{Cx, ScanLock};
use duramen_storage::{Reading, Rowset, ScanPart};
use duramen_txn::ReadView;

use super::partitions::Parts;
use super::{DataCursor, EntryCursor, StoredTable, spec};
use crate::versioning;

fn of_storage(part: ScanPart) -> Part {
    match part {
        ScanPart::Pages(pages) => Part::Pages(pages),
        ScanPart::Keys(from, to) => Part::Keys(from, to),
    }
}

fn for_storage(part: &Part) -> ScanPart {
    match part {
        Part::Pages(pages) => ScanPart::Pages(pages.clone()),
        Part::Keys(from, to) => ScanPart::Keys(from.clone(), to.clone()),
    }
}

impl StoredTable {
    /// The rowset that a scan reads, when it reads no other.
    fn scanned(&self, bounds: Option<&Bounds>) -> Option<Rowset> {
        if self.def.partitioned.is_some() {
            return None;
        }
        let stored = self.def.columns.iter().all(|c| c.is_stored());
        let index = bounds
            .and_then(|b| self.def.indexes.get(b.path))
            .filter(|i| !i.clustered);
        match index {
            None => stored.then(|| self.db.db.rowset(&self.def.data)),
            Some(index) => bounds
                .is_some_and(|b| b.covering && index.partitioned.is_none())
                .then(|| self.db.db.rowset(&index.rowset)),
        }
    }

    pub(super) fn cut(
        &self,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        wanted: usize,
        cx: &Cx<'_>,
    ) -> SqlResult<Option<Vec<Part>>> {
        let Some(rowset) = self.scanned(bounds) else {
            return Ok(None);
        };
        let (tx, context) = self.enter(cx)?;
        self.note_read(bounds);
        let log = &self.db.db.transactions;
        tx.note_read(log);
        let reading = self.reading(&tx, lock, context)?;
        match &reading.view {
            Some(view) => context.deps.note_read_at(log.db, view.owes(log)),
            None => context.deps.note_read(&log.commits),
        }
        let parts = rowset.parts(&tx, &spec(bounds, &reading), wanted);
        self.check_definition(&tx, &reading)?;
        Ok(parts?.map(|parts| parts.into_iter().map(of_storage).collect()))
    }

    fn reading(
        &self,
        tx: &duramen_txn::Transaction,
        lock: ScanLock,
        context: &crate::host::Context,
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
        let reading = self.reading(&tx, lock, context)?;
        let width = self.shape.columns.len();
        let names = self.shape.names.clone();
        let index = bounds
            .and_then(|b| self.def.indexes.get(b.path))
            .filter(|i| !i.clustered);
        let spec = spec(bounds, &reading);
        let part = for_storage(part);
        Ok(match index {
            None => Box::new(DataCursor {
                cursor: Parts::One(
                    self.db
                        .db
                        .rowset(&self.def.data)
                        .scan_part(&tx, spec, &part),
                ),
                tx,
                width,
                names,
            }),
            Some(index) => {
                let rowset = self.db.db.rowset(&index.rowset);
                Box::new(EntryCursor {
                    cursor: Parts::One(rowset.scan_part(&tx, spec, &part)),
                    held: super::held(index, width),
                    tx,
                    width,
                    names,
                })
            }
        })
    }
}
