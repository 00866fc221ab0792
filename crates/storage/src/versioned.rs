//! Rows as of a moment: what writers keep for readers that do not lock, and how those readers take it.
//!
//! A version is found by the place of its row: a heap's RID, or a B-tree's whole key in a form in which equal keys are
//! equal bytes. So places must not change hands while somebody may look: ghosts with versions are not removed, slots
//! with versions are not given to other rows, and slots stay when an insert into them is undone.
//!
//! The catalog's own tables have no versions: a definition is what it is now, for everybody. That a table was defined
//! anew since a snapshot is known by a version of the *object* (`note_definition`), and is error 3961.

use std::hash::Hasher;

use duramen_base::{DbId, ObjectId, PageId, RowsetId, SqlError, SqlResult, messages};
use duramen_format::page::record_kind;
use duramen_format::values::{Fetched, decode_row_fetching};
use duramen_format::{FormatError, RowRef};
use duramen_txn::errors::update_conflict;
use duramen_txn::{IsolationLevel, KeptValue, ReadView, RowImage, Transaction, Visible};
use duramen_types::Value;

use crate::engine::Database;
use crate::lent::{Lent, OffRow};
use crate::rowset::Rowset;

/// Where the versions of objects are kept: no rowset has this id.
const OBJECTS: RowsetId = RowsetId(i64::MIN);

/// Collects what a hasher is fed: for equal keys the same bytes, for others different ones.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

impl Rowset {
    /// The place of the entry with this whole key.
    pub(crate) fn key_place(&self, key: &[Value]) -> Vec<u8> {
        let mut bytes = Bytes::default();
        for (c, v) in self.keys().node.columns.iter().zip(key) {
            let start = bytes.0.len();
            bytes.0.extend([0; 2]);
            if !v.is_null() {
                bytes.0.push(1);
                duramen_types::hash_key(v, c.ty.collation, &mut bytes);
            }
            let len = (bytes.0.len() - start) as u16;
            bytes.0[start..start + 2].copy_from_slice(&len.to_le_bytes());
        }
        bytes.0
    }

    /// The place of a heap's row.
    pub(crate) fn rid_place(page: PageId, slot: u16) -> [u8; 8] {
        crate::def::RowLocator::rid_bytes(page, slot)
    }

    /// Whether writers keep versions of this rowset's rows. Call it for a transaction that is in the database's table.
    fn keeps_versions(&self) -> bool {
        !self.is_system() && self.db.transactions.versioning.keeps()
    }

    /// Before a change of the row at a place, its X lock held: keeps what it was (`None`: nothing). An error of a
    /// SNAPSHOT transaction that comes too late is 3960.
    pub(crate) fn keep_version(
        &self,
        tx: &Transaction,
        place: impl FnOnce() -> Vec<u8>,
        before: Option<RowRef<'_>>,
    ) -> SqlResult<()> {
        if self.is_system() {
            return Ok(());
        }
        self.db.transactions.ensure_begun(tx)?;
        if !self.keeps_versions() {
            return Ok(());
        }
        let place = place();
        let store = &self.db.engine.versions;
        let writer = tx.version_writer(store);
        if !store.wants(self.db.id, self.def.rowset, &place, &writer) {
            return Ok(());
        }
        let image = before.map(|row| self.image(row)).transpose()?;
        store.push(self.db.id, self.def.rowset, &place, &writer, image);
        Ok(())
    }

    /// 3960 when somebody has changed the row at a place since the snapshot of `tx`. Its X lock is held.
    pub(crate) fn refuse_conflict(
        &self,
        tx: &Transaction,
        place: impl FnOnce() -> Vec<u8>,
    ) -> SqlResult<()> {
        if tx.isolation() != IsolationLevel::Snapshot || !self.keeps_versions() {
            return Ok(());
        }
        let Some(view) = tx.view() else {
            return Ok(());
        };
        let (store, own) = (&self.db.engine.versions, tx.writer());
        let changed = store.conflicts(
            self.db.id,
            self.def.rowset,
            &place(),
            view.snapshot(),
            own.as_ref(),
        );
        if changed {
            // Storage does not know the table's name: whoever does says it again.
            let object = format!("object {}", self.def.object.0);
            return Err(update_conflict(&object, &self.db.name));
        }
        Ok(())
    }

    /// Whether somebody may still look for an older row at a place.
    pub(crate) fn has_versions(&self, place: &[u8]) -> bool {
        let store = &self.db.engine.versions;
        !self.is_system() && store.has_versions(self.db.id, self.def.rowset, place)
    }

    /// What `view` is to take for the row at a place. Ask after the row was read, or under its latch.
    pub(crate) fn visible(
        &self,
        tx: &Transaction,
        view: &ReadView,
        place: &[u8],
    ) -> SqlResult<Visible> {
        let store = &self.db.engine.versions;
        let own = tx.writer();
        let seen = store.visible(
            self.db.id,
            self.def.rowset,
            place,
            view.snapshot(),
            own.as_ref(),
        );
        match seen {
            Visible::Lost => Err(SqlError::new(
                &messages::SNAPSHOT_VERSION_MISSING,
                &[&format!("object {}", self.def.object.0), &self.db.name],
            )),
            seen => Ok(seen),
        }
    }

    /// A row with everything it points to.
    fn image(&self, row: RowRef<'_>) -> SqlResult<RowImage> {
        let mut off_row = Vec::new();
        if self.def.lob_au.is_some() {
            decode_row_fetching(&self.def.layout, row, &mut |c, pointer| {
                let value = self.off_row(c, pointer, true)?;
                off_row.push(match &value {
                    OffRow::Bytes(bytes) => KeptValue::Bytes(bytes.clone().into_boxed_slice()),
                    OffRow::Lent(lent) => KeptValue::Elsewhere(lent.clone()),
                });
                Ok(value.into())
            })?;
        }
        Ok(RowImage {
            row: row.bytes().into(),
            off_row,
        })
    }

    pub(crate) fn decode_image(&self, image: &RowImage, lends: bool) -> SqlResult<Vec<Value>> {
        let mut values = image.off_row.iter();
        let row = RowRef::new(&image.row);
        decode_row_fetching(&self.def.layout, row, &mut |c, pointer| {
            let lent = match values.next() {
                Some(KeptValue::Bytes(value)) => return Ok(Fetched::Bytes(value.to_vec())),
                Some(KeptValue::Elsewhere(lent)) => lent.clone().downcast::<Lent>(),
                None => return self.off_row(c, pointer, lends).map(Fetched::from),
            };
            let lent = lent.map_err(|_| FormatError::Corrupt("version of a large value"))?;
            match lends {
                true => Ok(OffRow::Lent(lent).into()),
                false => self.taken_in(&lent).map(Fetched::Bytes),
            }
        })
    }

    /// The row with this whole key, as `view` sees it.
    pub(crate) fn btree_fetch_as_of(
        &self,
        tx: &Transaction,
        view: &ReadView,
        key: &[Value],
        lends: bool,
    ) -> SqlResult<Option<Vec<Value>>> {
        let _shared = self.storage.latch.read();
        let mut id = self.descend(key, false)?;
        while !id.is_null() {
            let page = self.db.read_page(id)?;
            let p = page.page();
            let (slot, found) = self.leaf_slot(p, key, false)?;
            if slot == p.slot_count() {
                id = p.next_page();
                continue;
            }
            // What a view can see has not left its page.
            if !found {
                return Ok(None);
            }
            let row = p.row(slot)?;
            let seen = if p.lsn() <= view.quiet(self.db.id) {
                Visible::Current
            } else {
                self.visible(tx, view, &self.key_place(key))?
            };
            return match seen {
                Visible::Current if row.is_ghost() => Ok(None),
                Visible::Current => self.decode(row, lends).map(Some),
                Visible::Image(image) => self.decode_image(&image, lends).map(Some),
                Visible::Absent | Visible::Lost => Ok(None),
            };
        }
        Ok(None)
    }

    /// The row at a RID, as `view` sees it. Its far end may move while it is looked for: what was read counts only when
    /// nobody had begun to change the row by then.
    pub(crate) fn heap_fetch_as_of(
        &self,
        tx: &Transaction,
        view: &ReadView,
        (page, slot): (PageId, u16),
        lends: bool,
    ) -> SqlResult<Option<Vec<Value>>> {
        let current = self.heap_row(page, slot, lends);
        match self.visible(tx, view, &Self::rid_place(page, slot))? {
            Visible::Current => current,
            Visible::Image(image) => self.decode_image(&image, lends).map(Some),
            Visible::Absent | Visible::Lost => Ok(None),
        }
    }

    /// The row whose home is this RID; the far end of another row is none.
    fn heap_row(&self, page: PageId, slot: u16, lends: bool) -> SqlResult<Option<Vec<Value>>> {
        match self.resolve(page, slot)? {
            Some((at, s, row)) => match RowRef::new(&row) {
                far if (at, s) == (page, slot) && far.kind() == record_kind::FORWARDED => Ok(None),
                row => self.decode(row, lends).map(Some),
            },
            None => Ok(None),
        }
    }
}

impl Database {
    /// `tx` defines the object anew (or for the first time): snapshots that are older cannot be used with it (3961).
    pub fn note_definition(&self, tx: &Transaction, object: ObjectId) -> SqlResult<()> {
        tx.defines();
        self.transactions.begin_if_needed(tx)?;
        if self.transactions.versioning.keeps() {
            let store = &self.engine.versions;
            let writer = tx.version_writer(store);
            store.push(self.id, OBJECTS, &object.0.to_le_bytes(), &writer, None);
        }
        Ok(())
    }

    /// Whether the definition of the object is the one that `view` would see.
    pub fn knows_definition(&self, tx: &Transaction, view: &ReadView, object: ObjectId) -> bool {
        let own = tx.writer();
        let seen = self.engine.versions.visible(
            self.id,
            OBJECTS,
            &object.0.to_le_bytes(),
            view.snapshot(),
            own.as_ref(),
        );
        seen == Visible::Current
    }

    /// Whether readers of this database may use row versions at all; tempdb's are their session's own.
    pub fn can_version(&self) -> bool {
        self.id != DbId::TEMPDB
    }
}
