//! The front door to rows: one rowset of one database.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::{Lsn, PageId, SqlResult};
use duramen_format::RowRef;
use duramen_format::page::{page_type, record_kind};
use duramen_observe::{Counter, count};
use duramen_os::memory::Broker;
use duramen_pool::PageWrite;
use duramen_txn::{Entity, LockDuration, LockMode, Resource, Transaction};
use duramen_types::Value;
use duramen_wal::record::Lcx;

use crate::btree::keys::KeyInfo;
use crate::change::{PageOp, Role};
use crate::cursor::Cursor;
use crate::def::{RowLocator, RowsetDef, RowsetKind, ScanSpec};
use crate::engine::{Database, Storage, StorageRoots};
use crate::error::StorageResult;
use crate::hints::Reading;

/// A heap or B-tree ready for work. Cheap to make and to clone.
#[derive(Clone)]
pub struct Rowset {
    pub(crate) db: Arc<Database>,
    pub(crate) def: Arc<RowsetDef>,
    pub(crate) storage: Arc<Storage>,
    /// Bytes that a load leaves free on the pages above the leaves (PAD_INDEX).
    pub(crate) node_spare: usize,
}

impl Rowset {
    /// Who answers for the server's memory.
    pub fn memory(&self) -> &Arc<Broker> {
        &self.db.engine.memory
    }
}

impl Database {
    pub fn rowset(self: &Arc<Database>, def: &Arc<RowsetDef>) -> Rowset {
        let storage = self.storage(def.au);
        storage.used_as(def);
        Rowset {
            db: self.clone(),
            def: def.clone(),
            storage,
            node_spare: 0,
        }
    }

    /// Makes the IAM page and first page of a new rowset (and the IAM chain of its LOB unit). A rollback of `tx` gives
    /// them back. The roots are what the sysallocunits row must say.
    ///
    /// The pages come from the filegroup that the unit has: PRIMARY for a new one, see [`Database::create_storage_on`].
    pub fn create_storage(
        self: &Arc<Database>,
        tx: &Transaction,
        def: &RowsetDef,
    ) -> SqlResult<StorageRoots> {
        let filegroup = self.storage(def.au).filegroup();
        let lob = def.lob_au.map(|au| self.storage(au).filegroup());
        self.create_storage_on(tx, def, filegroup, lob.unwrap_or(filegroup))
    }

    /// `create_storage` with the filegroups that rows and LOB values take their extents from (`ON`, `TEXTIMAGE_ON`): ids
    /// of [`Database::filegroups`]. The `fgid` of the units' sysallocunits rows must say the same: that is where it is
    /// read from when the database is opened again.
    pub fn create_storage_on(
        self: &Arc<Database>,
        tx: &Transaction,
        def: &RowsetDef,
        filegroup: u16,
        lob_filegroup: u16,
    ) -> SqlResult<StorageRoots> {
        let kind = match def.kind {
            RowsetKind::NonClustered { .. } => page_type::INDEX,
            _ => page_type::DATA,
        };
        let roots = self.create_chain(tx, def.au, filegroup, kind, def.layout.pminlen)?;
        self.reset_count(tx, def.au)?;
        if let Some(lob) = def.lob_au {
            self.create_chain(tx, lob, lob_filegroup, page_type::TEXT_MIX, 0)?;
        }
        Ok(roots)
    }

    /// Gives the pages of a rowset back when `tx` commits.
    pub fn drop_storage(&self, tx: &Transaction, def: &RowsetDef) -> SqlResult<()> {
        for au in std::iter::once(def.au).chain(def.lob_au) {
            self.drop_chain(tx, au)?;
        }
        Ok(())
    }
}

impl Rowset {
    pub fn def(&self) -> &Arc<RowsetDef> {
        &self.def
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    pub(crate) fn keys(&self) -> &KeyInfo {
        self.def.key_info()
    }

    /// [`Database::change`] of a page of the rowset's own, counted without a search for its unit.
    pub(crate) fn change(
        &self,
        tx: &Transaction,
        id: PageId,
        page: &mut PageWrite<'_>,
        op: &PageOp<'_>,
        context: Lcx,
        role: Role,
    ) -> SqlResult<Lsn> {
        debug_assert_eq!(page.page().alloc_unit(), self.storage.au);
        let lsn = self.db.change_page(tx, id, page, op, context, role)?;
        self.db
            .count_change(tx, lsn, op, context, || &*self.storage);
        Ok(lsn)
    }

    pub(crate) fn entity(&self) -> Entity {
        Entity {
            object: self.def.object,
            rowset: self.def.rowset,
        }
    }

    pub fn lock_object(&self, tx: &Transaction, mode: LockMode) -> SqlResult<()> {
        let object = Resource::Object(self.db.id, self.def.object);
        self.db
            .lock(tx, &self.entity(), &object, mode, LockDuration::Normal)?;
        Ok(())
    }

    /// Inserts a row. The uniquifier column may be left out or NULL; the locator has it.
    pub fn insert(&self, tx: &Transaction, values: &[Value]) -> StorageResult<RowLocator> {
        if self.def.is_heap() {
            return Ok(self.heap_insert(tx, values)?);
        }
        self.lock_object(tx, LockMode::IX)?;
        let mut numbered = Vec::new();
        let values = match self.def.has_uniquifier() {
            false => values,
            true => {
                numbered.extend_from_slice(values);
                numbered.resize(self.def.layout.columns.len(), Value::Null);
                if let Some(last) = numbered.last_mut() {
                    *last = Value::Int(0);
                }
                &numbered
            }
        };
        let key = self.keys().of_values(values);
        let row = self.encode(tx, values)?;
        self.btree_insert(tx, key, Cow::Owned(row))
    }

    /// Inserts a row whose bytes have been made, and its values outside the row written; `key` is a B-tree's. The table's
    /// lock is held.
    pub(crate) fn insert_made(
        &self,
        tx: &Transaction,
        key: impl FnOnce() -> Vec<Value>,
        row: &[u8],
    ) -> StorageResult<RowLocator> {
        match self.def.is_heap() {
            true => Ok(self.heap_insert_made(tx, row)?),
            false => self.btree_insert(tx, key(), Cow::Borrowed(row)),
        }
    }

    /// Deletes the row; false when it is not there (any more).
    pub fn delete(&self, tx: &Transaction, at: &RowLocator) -> SqlResult<bool> {
        match at {
            RowLocator::Rid(page, slot) => self.heap_delete(tx, *page, *slot),
            RowLocator::Key(key) => self.btree_delete(tx, key),
        }
    }

    /// Gives the row new values; where its key changes it moves, and the locator with it.
    pub fn update(
        &self,
        tx: &Transaction,
        at: &RowLocator,
        values: &[Value],
    ) -> StorageResult<RowLocator> {
        let key = match at {
            RowLocator::Rid(page, slot) => {
                self.heap_update(tx, *page, *slot, values)?;
                return Ok(at.clone());
            }
            RowLocator::Key(key) => key,
        };
        let mut row = values.to_vec();
        row.resize(self.def.layout.columns.len(), Value::Null);
        if self.def.has_uniquifier()
            && let (Some(last), Some(old)) = (row.last_mut(), key.last())
        {
            *last = old.clone();
        }
        let new_key = self.keys().of_values(&row);
        if self.keys().cmp_values(&new_key, key).is_eq() {
            self.btree_replace(tx, key, &row)?;
            return Ok(RowLocator::Key(new_key));
        }
        self.btree_delete(tx, key)?;
        self.insert(tx, &row)
    }

    /// The row, or `None` when it is not there.
    pub fn fetch(
        &self,
        tx: &Transaction,
        at: &RowLocator,
        reading: impl Into<Reading>,
    ) -> SqlResult<Option<Vec<Value>>> {
        let reading = reading.into();
        match at {
            RowLocator::Rid(page, slot) => {
                self.storage.operations.lookups.add(1);
                self.heap_fetch(tx, *page, *slot, &reading)
            }
            RowLocator::Key(key) if key.len() == self.keys().column_count() => {
                count(Counter::ProbeScans, 1);
                self.storage.operations.lookups.add(1);
                self.btree_fetch(tx, key, &reading)
            }
            RowLocator::Key(key) => {
                let mut cursor = self.scan(tx, ScanSpec::equal(key.clone(), reading))?;
                cursor.keep_last_lock();
                Ok(cursor.next(tx)?.map(|(_, row)| row))
            }
        }
    }

    /// A cursor over part of the rowset. It holds no latch between calls.
    pub fn scan(&self, tx: &Transaction, spec: ScanSpec) -> SqlResult<Cursor> {
        let counter = match spec.lower.is_none() && spec.upper.is_none() {
            true => Counter::FullScans,
            false => Counter::RangeScans,
        };
        count(counter, 1);
        Cursor::open(self.clone(), tx, spec)
    }

    /// Removes every row at once: the pages go back when `tx` commits. The caller holds Sch-M.
    pub fn truncate(&self, tx: &Transaction) -> SqlResult<()> {
        self.db.drop_storage(tx, &self.def)?;
        let roots = self.db.create_storage(tx, &self.def)?;
        self.db.persist_roots(tx, self.def.au, roots)?;
        if let Some(lob) = self.def.lob_au {
            let roots = self.db.roots(lob);
            self.db.persist_roots(tx, lob, roots)?;
        }
        Ok(())
    }

    /// Rows, ghosts left out, those of running transactions included: see `counts`. Only where no sysrowsets row says how
    /// many there were, they are counted once.
    pub fn row_count(&self) -> SqlResult<u64> {
        let rows = match self.storage.rows.get() {
            Some(rows) => rows,
            None => {
                let counted = self.count_rows()? as i64;
                self.storage.rows.set(counted);
                counted
            }
        };
        Ok(rows.max(0) as u64)
    }

    fn count_rows(&self) -> SqlResult<u64> {
        let _shared = self.storage.latch.read();
        let mut n = 0;
        let first_iam = self.storage.roots.lock().first_iam;
        for id in self.db.pages_of(first_iam)? {
            let page = self.db.read_page(id)?;
            let p = page.page();
            if p.alloc_unit() != self.def.au || p.level() != 0 {
                continue;
            }
            for s in 0..p.slot_count() {
                n += u64::from(p.row_or_none(s)?.is_some_and(counts));
            }
        }
        Ok(n)
    }

    /// First pages, for catalog rows and DBCC.
    pub fn roots(&self) -> StorageRoots {
        *self.storage.roots.lock()
    }

    /// Tells storage where the pages of this rowset are (the catalog's sysallocunits row says it too).
    pub fn first_page(&self) -> PageId {
        self.storage.roots.lock().first
    }
}

/// Whether a record is a row of its own: not a ghost, and not the far end of a forwarding stub.
fn counts(row: RowRef<'_>) -> bool {
    !row.is_ghost() && row.kind() != record_kind::FORWARDED
}
