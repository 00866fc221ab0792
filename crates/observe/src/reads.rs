//! The page reads of one statement, table by table: what SET STATISTICS IO tells.
//!
//! A thread that runs a statement whose reads are wanted counts, in its own memory, each page that the buffer pool gives
//! it, under the allocation unit in the page's header. Nothing is counted, and one flag is read, where nobody asked.

use std::cell::{Cell, RefCell};

use duramen_base::{AllocUnitId, DbId};

/// What a statement read of one allocation unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitReads {
    pub db: DbId,
    pub unit: AllocUnitId,
    /// Scans and seeks that were begun, those for one row by a whole unique key aside.
    pub scans: u64,
    /// Pages that the pool was asked for.
    pub logical: u64,
    /// Those of them that came from the disk.
    pub physical: u64,
    /// Pages that were brought before they were asked for.
    pub ahead: u64,
    /// The same of pages that hold large values.
    pub lob_logical: u64,
    pub lob_physical: u64,
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static READS: RefCell<Vec<UnitReads>> = const { RefCell::new(Vec::new()) };
}

/// Whether this thread's reads are being counted.
#[inline]
pub fn metering_reads() -> bool {
    ON.get()
}

/// Counts this thread's reads from here on.
pub fn meter_reads() {
    READS.with_borrow_mut(Vec::clear);
    ON.set(true);
}

/// Ends the counting: what was read, in the order of the first read of each.
pub fn metered_reads() -> Vec<UnitReads> {
    ON.set(false);
    READS.with_borrow_mut(std::mem::take)
}

fn note(db: DbId, unit: AllocUnitId, f: impl FnOnce(&mut UnitReads)) {
    READS.with_borrow_mut(|all| {
        let at = all.iter().position(|r| r.unit == unit && r.db == db);
        let at = at.unwrap_or_else(|| {
            all.push(UnitReads {
                db,
                unit,
                scans: 0,
                logical: 0,
                physical: 0,
                ahead: 0,
                lob_logical: 0,
                lob_physical: 0,
            });
            all.len() - 1
        });
        f(&mut all[at]);
    });
}

/// The pool has given out a page. Called only while [`metering_reads`].
pub fn note_page_read(db: DbId, unit: AllocUnitId, lob: bool, from_disk: bool) {
    note(db, unit, |r| {
        let (logical, physical) = match lob {
            true => (&mut r.lob_logical, &mut r.lob_physical),
            false => (&mut r.logical, &mut r.physical),
        };
        *logical += 1;
        *physical += u64::from(from_disk);
    });
}

/// A scan has had pages brought. Called only while [`metering_reads`].
pub fn note_read_ahead(db: DbId, unit: AllocUnitId, pages: u64) {
    note(db, unit, |r| r.ahead += pages);
}

/// A scan begins. Called only while [`metering_reads`].
pub fn note_scan(db: DbId, unit: AllocUnitId, point: bool) {
    note(db, unit, |r| r.scans += u64::from(!point));
}

/// Reads that another thread has counted for what this one does. Called only while [`metering_reads`].
pub fn add_metered_reads(reads: &[UnitReads]) {
    for more in reads {
        note(more.db, more.unit, |r| {
            r.scans += more.scans;
            r.logical += more.logical;
            r.physical += more.physical;
            r.ahead += more.ahead;
            r.lob_logical += more.lob_logical;
            r.lob_physical += more.lob_physical;
        });
    }
}
