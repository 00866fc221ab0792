//! sysallocunits as storage itself uses it: the one base table whose rows it reads and keeps up to date.
//!
//! Every row says where an allocation unit begins: `auid` at row offset 4, filegroup at 25, first page at 27, root at 33, first IAM page
//! at 39. The leftmost leaf is named by the boot page and never moves, since splits only move rows to the right. Rows
//! are inserted and deleted by the catalog; storage changes the 18 bytes of the three pages when a root moves.

use duramen_base::{AllocUnitId, PageId, SqlResult};
use duramen_format::RowRef;
use duramen_txn::{FixedHashMap, Transaction};
use duramen_wal::record::Lcx;

use crate::change::{PageOp, Role};
use crate::engine::{Database, Storage, StorageRoots};

/// The allocation unit of sysallocunits itself: object 7.
pub const SYSALLOCUNITS: AllocUnitId = AllocUnitId(7 << 16);
const AUID_AT: usize = 4;
const FGID_AT: usize = 25;
const PAGES_AT: usize = 27;
const ROW_BYTES: usize = 69;

fn auid_of(row: RowRef<'_>) -> Option<AllocUnitId> {
    let b = row.bytes().get(AUID_AT..AUID_AT + 8)?;
    let mut w = [0; 8];
    w.copy_from_slice(b);
    Some(AllocUnitId(i64::from_le_bytes(w)))
}

fn roots_of(row: RowRef<'_>) -> Option<StorageRoots> {
    let page = |at: usize| row.bytes().get(at..).and_then(PageId::from_bytes);
    Some(StorageRoots {
        first: page(PAGES_AT)?,
        root: page(PAGES_AT + 6)?,
        first_iam: page(PAGES_AT + 12)?,
    })
}

impl Database {
    /// Writes the first pages of `au` into its sysallocunits row. Without a row (the catalog has not inserted it yet)
    /// there is nothing to do: it will be inserted with the roots of that moment.
    pub(crate) fn persist_roots(
        &self,
        tx: &Transaction,
        au: AllocUnitId,
        roots: StorageRoots,
    ) -> SqlResult<()> {
        let anchor = self.storage(SYSALLOCUNITS);
        // Whoever splits sysallocunits itself holds its latch already.
        let _shared = (au != SYSALLOCUNITS).then(|| anchor.latch.read());
        let mut at = self.boot.lock().first_sysallocunits;
        while !at.is_null() {
            let found = {
                let page = self.read_page(at)?;
                let p = page.page();
                let hit = (0..p.slot_count()).any(
                    |s| matches!(p.record(s), Ok(Some(r)) if auid_of(r) == Some(au) && !r.is_ghost()),
                );
                if hit { None } else { Some(p.next_page()) }
            };
            match found {
                Some(next) => at = next,
                None => return self.write_roots(tx, at, au, roots),
            }
        }
        Ok(())
    }

    fn write_roots(
        &self,
        tx: &Transaction,
        id: PageId,
        au: AllocUnitId,
        roots: StorageRoots,
    ) -> SqlResult<()> {
        let mut page = self.write_page(id)?;
        let p = page.page();
        let slot = (0..p.slot_count()).find(
            |s| matches!(p.record(*s), Ok(Some(r)) if auid_of(r) == Some(au) && !r.is_ghost()),
        );
        let Some(slot) = slot else {
            return Ok(());
        };
        let old = p.row(slot)?.to_vec();
        if old.len() < ROW_BYTES {
            return Ok(());
        }
        let before = &old[PAGES_AT..PAGES_AT + 18];
        let pages = [roots.first, roots.root, roots.first_iam];
        let after = pages.map(PageId::to_bytes).concat();
        if before == after {
            return Ok(());
        }
        // All of the three fields: what undo puts back are fields, whatever others have written there since.
        let op = PageOp::Modify {
            slot,
            offset: PAGES_AT as u16,
            before,
            after: &after,
            key: &identity(au),
            fields: &[],
        };
        self.change(tx, id, &mut page, &op, Lcx::CLUSTERED, Role::Logical)?;
        Ok(())
    }

    /// Reads where every allocation unit begins: after recovery, before anything else is read.
    pub(crate) fn load_roots(&self) -> SqlResult<()> {
        let may_come_back = self.ghosts_may_come_back();
        let mut at = self.boot.lock().first_sysallocunits;
        // Not under their lock: who has a page asks for a unit, so who has them must wait for no page.
        let mut map = FixedHashMap::default();
        while !at.is_null() {
            let page = self.read_page(at)?;
            let p = page.page();
            for s in 0..p.slot_count() {
                let row = p.row(s)?;
                if row.is_ghost() && !may_come_back {
                    continue;
                }
                if let (Some(au), Some(roots)) = (auid_of(row), roots_of(row)) {
                    let storage = Storage::new(au, roots);
                    let row = row.bytes();
                    storage.set_filegroup(u16::from_le_bytes([row[FGID_AT], row[FGID_AT + 1]]));
                    map.insert(au, std::sync::Arc::new(storage));
                }
            }
            at = p.next_page();
        }
        *self.storages.write() = map;
        Ok(())
    }
}

/// The key of a row that was inserted by a version whose records did not name it.
pub(crate) fn key_of(row: RowRef<'_>) -> Option<Vec<u8>> {
    auid_of(row).map(identity)
}

/// The key of a row, as undo looks for it (see `KeyInfo::identity`): an 8-byte column at offset 4, first null bit.
fn identity(au: AllocUnitId) -> Vec<u8> {
    let mut out = Vec::with_capacity(18);
    out.extend((AUID_AT as i16).to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(8u16.to_le_bytes());
    out.extend([0, 0]);
    out.extend(8u16.to_le_bytes());
    out.extend(au.0.to_le_bytes());
    out
}
