//! Repeating one record on its pages.
//!
//! A record is repeated where the page is older than it is: so redo that was cut short begins again without harm. What a
//! record needs is on its own page (and in the file's list of pages), so records about different pages may be repeated in
//! any order, and those about one page must be in log order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{DbId, Lsn, PAGE_BYTES, PageId, SqlResult};
use duramen_format::boot::FileHeader;
use duramen_format::page::{PageMut, PageRef};
use duramen_format::{FormatError, FormatResult, PageBytes};
use duramen_os::{DiskFile, IoError};
use duramen_pool::{DbStore, PageAt, PageWrite};
use duramen_txn::Standing;
use duramen_wal::record::{Lcx, Lop, RecordView};

use crate::change::{PHYSICAL, PageOp};
use crate::engine::Engine;
use crate::error::recovery_error;
use crate::files::grow::expand_error;
use crate::kept_room;

/// A database whose pages are brought up to its log; its log may not be open yet.
#[derive(Clone)]
pub struct Redo {
    pub engine: Arc<Engine>,
    pub store: Arc<DbStore>,
}

/// Which pages a record is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// None: nothing is to be repeated.
    None,
    Page(PageId),
    /// Several; each can be repeated by itself.
    Pages,
    /// A file's header page. What comes later may need the pages that the file gets by it.
    File(PageId),
}

/// Tells it from the record's header alone.
pub(super) fn reach(view: &RecordView<'_>) -> Reach {
    match view.op() {
        Lop::BULK_EXT_ALLOCATION => Reach::Pages,
        op if PageOp::describes(op) => {
            let page = view.fixed().get(24..).and_then(PageId::from_bytes);
            match (page, view.context()) {
                (Some(id), Lcx::FILE_HEADER) => Reach::File(id),
                (Some(id), _) => Reach::Page(id),
                // It is told where it is parsed.
                (None, _) => Reach::Page(PageId::NULL),
            }
        }
        _ => Reach::None,
    }
}

/// What a record says of its page.
struct Change<'a> {
    lsn: Lsn,
    id: PageId,
    /// The page's LSN before.
    previous: Lsn,
    op: PageOp<'a>,
}

impl Change<'_> {
    /// What stood on the page before does not matter.
    fn formats(&self) -> bool {
        matches!(self.op, PageOp::Format { .. } | PageOp::Image { .. })
    }

    /// The page is the one that the record has found.
    fn follows(&self, db: DbId, have: Lsn) -> SqlResult<()> {
        if self.formats() || have == self.previous {
            return Ok(());
        }
        let what = format!(
            "page {} has LSN {} and the record expects {}",
            self.id,
            have.to_decimal_text(),
            self.previous.to_decimal_text()
        );
        Err(recovery_error(db, self.lsn, &what))
    }

    /// A rollback that takes rows out of a heap.
    fn takes_rows_out(&self, context: Lcx) -> bool {
        context == Lcx::HEAP && matches!(self.op, PageOp::Delete { .. } | PageOp::Remove { .. })
    }

    /// Rows that a split has moved here: what was kept for them on their page stands in no record.
    fn moves_rows(&self, view: &RecordView<'_>) -> bool {
        let physical = view.page().is_some_and(|f| f.row_flags & PHYSICAL != 0);
        let leaf = matches!(view.context(), Lcx::CLUSTERED | Lcx::INDEX_LEAF);
        physical && leaf && matches!(self.op, PageOp::Insert { .. })
    }

    fn repeat(&self, view: &RecordView<'_>, p: &mut PageMut<'_>) -> FormatResult<()> {
        let trims = view.is_compensation() && self.takes_rows_out(view.context());
        // Before the change, as the rollback asked: what its rows free is kept from then on.
        let unkept = p.as_ref().reserved_bytes() == 0;
        let (context, undoes) = (view.context(), view.is_compensation());
        let before = kept_room::bytes_for(&self.op, context, undoes, p.as_ref());
        self.op.apply(self.id, view.context(), p)?;
        if trims && unkept {
            // As the rollback did: the rows that came later have filled these bytes.
            p.trim_slots();
        }
        let after = kept_room::bytes_for(&self.op, context, undoes, p.as_ref());
        if let (Some(before), Some(after)) = (before, after) {
            // Who has ended meanwhile is seen when somebody looks.
            let active = |_| Standing::Active;
            kept_room::account(p, view.xdes(), (before, after), context, active);
        }
        if self.moves_rows(view) {
            kept_room::keep_all(p, view.xdes());
        }
        p.set_lsn(self.lsn);
        Ok(())
    }
}

/// Pages in no pool.
pub type LoosePages = BTreeMap<PageId, Box<PageBytes>>;

/// The pages that a record is about.
pub fn pages_of(db: DbId, lsn: Lsn, view: &RecordView<'_>) -> SqlResult<Vec<PageId>> {
    match reach(view) {
        Reach::Page(id) | Reach::File(id) => Ok(vec![id]),
        Reach::Pages => Redo::extent_pages(db, lsn, view),
        Reach::None => Ok(Vec::new()),
    }
}

/// Repeats a record on those of the pages that are older.
pub fn repeat_on(
    pages: &mut LoosePages,
    db: DbId,
    lsn: Lsn,
    view: &RecordView<'_>,
) -> SqlResult<()> {
    let of = match reach(view) {
        Reach::Pages => return Redo::extent_on(pages, db, lsn, view),
        // A file of its own has nobody who needs to be told that it is longer.
        Reach::Page(id) | Reach::File(id) => id,
        Reach::None => return Ok(()),
    };
    let Some(page) = pages.get_mut(&of) else {
        return Ok(());
    };
    let have = PageRef::new(page).lsn();
    if have >= lsn {
        return Ok(());
    }
    let fail = |e: FormatError| recovery_error(db, lsn, &e.to_string());
    let Some((id, previous, op)) = PageOp::parse(view).map_err(fail)? else {
        return Ok(());
    };
    let change = Change {
        lsn,
        id,
        previous,
        op,
    };
    change.follows(db, have)?;
    change.repeat(view, &mut PageMut::new(page)).map_err(fail)
}

impl Redo {
    /// Repeats a record on those of its pages that are `mine`.
    pub fn apply(
        &self,
        lsn: Lsn,
        view: &RecordView<'_>,
        mine: &dyn Fn(PageId) -> bool,
    ) -> SqlResult<()> {
        if view.op() == Lop::BULK_EXT_ALLOCATION {
            return self.extent(lsn, view, mine);
        }
        let fail = |e: FormatError| recovery_error(self.store.id, lsn, &e.to_string());
        let Some((id, previous, op)) = PageOp::parse(view).map_err(fail)? else {
            return Ok(());
        };
        if !self.concerns(id, lsn) {
            return Ok(());
        }
        let change = Change {
            lsn,
            id,
            previous,
            op,
        };
        let mut page = self.page(id, change.formats())?;
        let have = page.page().lsn();
        if have < lsn {
            change.follows(self.store.id, have)?;
            change.repeat(view, &mut page.change()).map_err(fail)?;
        }
        debug_assert!(
            page.page().lsn() >= lsn,
            "redo/1: page {id} is older than the record that it has been given"
        );
        match view.context() {
            // A backup that began before the growth may have copied the header behind it.
            Lcx::FILE_HEADER => self.grow(page.page()),
            _ => Ok(()),
        }
    }

    /// A page to repeat a record on. One that `formats` need not be readable: what stood there does not matter.
    pub fn page(&self, id: PageId, formats: bool) -> SqlResult<PageWrite<'_>> {
        match self.engine.pool.write(&self.store, id) {
            Err(e) if formats => {
                let _ = e;
                self.engine.pool.write_new(&self.store, id)
            }
            found => found,
        }
    }

    /// Whether redo has to look at a record about this page: see the invariants of `files::table`.
    pub fn concerns(&self, page: PageId, lsn: Lsn) -> bool {
        match self.store.file(page.file) {
            Some(file) => lsn > file.create_lsn,
            None => false,
        }
    }

    /// A restored file is as long as it was when its backup began: redo of a growth makes it longer. The header's latch is
    /// held, so that none is on disk that counts more pages than there are.
    fn grow(&self, header: PageAt<'_>) -> SqlResult<()> {
        let Some(file) = self.store.file(header.id().file) else {
            return Ok(());
        };
        let size = header.sound(FileHeader::read(header.bytes()))?.size;
        let expand = |e: IoError| expand_error(&e, &file);
        if u64::from(size) * PAGE_BYTES as u64 <= file.handle.len().map_err(expand)? {
            return Ok(());
        }
        file.extend(size, self.engine.instant_file_init.load(Ordering::SeqCst))
            .map_err(expand)?;
        // What follows in the log is about pages there, and not all of it formats them first.
        file.size.fetch_max(size, Ordering::SeqCst);
        Ok(())
    }
}
