//! The file list of a database, as its own pages have it: see `format::file_table` for the bytes.
//!
//! Invariants, by which a crash leaves the old list or the new one
//! 1. Rows come and go in system transactions, so recovery has them whole.
//!    [test: a_crash_leaves_the_files_before_or_after_and_loses_no_page]
//! 2. A file is added like this: LOP_CREATE_FILE (durable), the file itself (synced), its row, commit (durable), the
//!    table's page written down. Only then it gives extents. So a log record about a page of a file is found only where
//!    the table on disk has the file already, and redo may leave out records about files that the table does not have.
//!    [test: a_crash_leaves_the_files_before_or_after_and_loses_no_page]
//! 3. A file is removed like this: no more extents from it, everything written down (checkpoint), its row goes, commit
//!    (durable), the table's page written down, and at last the file itself. What redo leaves out is in the file, in
//!    case the removal is undone. [test: a_crash_leaves_the_files_before_or_after_and_loses_no_page]
//! 4. A file that is left over, of an addition that was undone or a removal that was not finished, is deleted at the
//!    next opening, which writes the table's page down before: it may be cut off, too. It is known by the database's
//!    GUID in its header. [test: a_second_crash_in_recovery_finds_its_files]
//!    [test: a_crash_in_alter_and_drop_leaves_before_or_after]
//! 5. Ids are given again. Records from before the LSN at which the file was added are about another one.
//!    [test: a_crash_leaves_the_files_before_or_after_and_loses_no_page]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{PAGE_BYTES, PageId, SqlError, SqlResult, messages};
use duramen_format::PageBytes;
use duramen_format::boot::FileHeader;
use duramen_format::file_table::{
    FILE_TABLE_PAGES, FileRow, TableRow, format_table_page, table_rows,
};
use duramen_format::page::PageMut;
use duramen_format::version::refuse_newer;
use duramen_os::{Env, OpenOptions, thread};
use duramen_pool::{DataFile, DataFileSpec, DbStore, FileGrowth, corrupt};
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, RecordView};

use crate::change::{PageOp, Role};
use crate::engine::Database;
use crate::marks::version_in;

/// The most data files of a database: what surely fits the table.
pub(crate) const MAX_FILES: usize = 64;

/// The pages of a new database's table.
pub(crate) fn new_table(
    files: &[Arc<DataFile>],
    temporary: bool,
) -> SqlResult<Vec<(u32, Box<PageBytes>)>> {
    let primary = super::state::primary_filegroup(temporary);
    let mut rows = vec![TableRow::Filegroup(primary)];
    rows.extend(files.iter().map(|f| TableRow::File(row_of(f))));
    let mut pages = Vec::new();
    let mut rows = rows.iter().map(TableRow::encode).peekable();
    for n in FILE_TABLE_PAGES {
        let mut page = Box::new([0; PAGE_BYTES]);
        format_table_page(&mut page, n);
        let mut p = PageMut::new(&mut page);
        while let Some(row) = rows.next_if(|row| p.as_ref().fits(row.len(), true)) {
            let slot = p.as_ref().slot_count();
            p.insert_record(slot, &row)?;
        }
        pages.push((n, page));
    }
    match rows.next() {
        None => Ok(pages),
        Some(_) => Err(SqlError::new(&messages::TOO_MANY_FILES, &[&MAX_FILES])),
    }
}

/// Opens the files that the table on disk names, besides those that are open. `known` says where they are now, when
/// that is not where they were.
pub(crate) fn open_listed(env: &Env, store: &DbStore, known: &[DataFileSpec]) -> SqlResult<()> {
    let mut page: PageBytes = [0; PAGE_BYTES];
    for n in FILE_TABLE_PAGES {
        let id = PageId::new(1, n);
        store.read_page(id, &mut page)?;
        for (_, row) in table_rows(&page).map_err(|e| corrupt(store.id, id, e))? {
            if let TableRow::File(row) = row
                && store.file(row.file_id).is_none()
            {
                let spec = known.iter().find(|s| s.file_id == row.file_id);
                let file = open_row(env, &row, spec, &store.guid)?;
                store.files.write().push(Arc::new(file));
            }
        }
    }
    Ok(())
}

/// Opens the file of a row. 5120 when it is not there, 5173 when it belongs to another database.
fn open_row(
    env: &Env,
    row: &FileRow,
    known: Option<&DataFileSpec>,
    guid: &[u8; 16],
) -> SqlResult<DataFile> {
    let (path, shown_path) = match known {
        Some(s) => (s.path.clone(), s.shown_path.clone()),
        None => (PathBuf::from(&row.path), row.shown_path.clone()),
    };
    let spec = DataFileSpec {
        path,
        shown_path,
        logical_name: row.logical_name.clone(),
        file_id: row.file_id,
        filegroup: row.filegroup,
        size: 0,
        max_size: None,
        growth: FileGrowth::None,
    };
    let options = OpenOptions {
        direct: true,
        ..OpenOptions::default()
    };
    let handle = env.disk.open(&spec.path, &options).map_err(|e| {
        let args: [&dyn std::fmt::Display; 3] = [&spec.shown_path, &e.code(), &e];
        SqlError::new(&messages::CANNOT_OPEN_FILE, &args)
    })?;
    let mut file = DataFile::new(&spec, handle);
    file.create_lsn = row.create_lsn;
    file.take_length()?;
    refuse_newer(&file.spec.read().shown_path, version_in(&*file.handle))?;
    match header_on_disk(env, &file.path) {
        // A torn header page is repaired later: what it says of other databases is believed only when it can be read.
        Some(h) if h.binding != *guid => Err(SqlError::new(&messages::FILES_MISMATCH, &[])),
        _ => Ok(file),
    }
}

/// The header page of a file, when it is one. What stands there may be torn.
fn header_on_disk(env: &Env, path: &Path) -> Option<FileHeader> {
    let options = OpenOptions {
        read_only: true,
        ..OpenOptions::default()
    };
    let handle = env.disk.open(path, &options).ok()?;
    let mut page: PageBytes = [0; PAGE_BYTES];
    handle.read_at(&mut page, 0).ok()?;
    FileHeader::read(&page).ok()
}

/// Deletes a file that belongs to no database any more: its header has our GUID and this id, or there is none because
/// it was never finished (`fresh`: nobody else can have made it).
fn delete_leftover(env: &Env, path: &Path, guid: &[u8; 16], file_id: u16, fresh: bool) {
    let ours = match header_on_disk(env, path) {
        Some(h) => h.binding == *guid && h.file_id == file_id,
        None => fresh,
    };
    let _undoing = thread::is_given_up().then(thread::undoing);
    if ours && env.disk.remove(path).is_ok() {
        // A leftover that stays costs disk space, and the next opening tries again.
        let _ = path.parent().map(|dir| env.disk.sync_dir(dir));
    }
}

/// The row of a file.
pub(crate) fn row_of(file: &DataFile) -> FileRow {
    let spec = file.spec.read();
    FileRow {
        file_id: file.id,
        filegroup: spec.filegroup,
        create_lsn: file.create_lsn,
        logical_name: spec.logical_name.clone(),
        shown_path: spec.shown_path.clone(),
        path: file.path.to_string_lossy().into_owned(),
    }
}

impl Database {
    /// Every row of the table, with its place.
    pub(crate) fn file_table(&self) -> SqlResult<Vec<(PageId, u16, TableRow)>> {
        let mut out = Vec::new();
        for n in FILE_TABLE_PAGES {
            let id = PageId::new(1, n);
            let page = self.read_page(id)?;
            let rows = page.page().sound(table_rows(page.bytes()))?;
            out.extend(rows.into_iter().map(|(slot, row)| (id, slot, row)));
        }
        Ok(out)
    }

    /// Puts a row into the table in the place of the one with its key. 5033 when there is no room.
    pub(crate) fn put_table_row(&self, sys: &Transaction, row: &TableRow) -> SqlResult<()> {
        self.remove_table_row(sys, row.key())?;
        let bytes = row.encode();
        for n in FILE_TABLE_PAGES {
            let id = PageId::new(1, n);
            let mut page = self.write_page(id)?;
            if page.page().fits(bytes.len(), true) {
                let op = PageOp::Insert {
                    slot: page.page().slot_count(),
                    rows: vec![&bytes],
                    lock: &[],
                    key: &[],
                };
                self.change(sys, id, &mut page, &op, Lcx::NULL, Role::Normal)?;
                return Ok(());
            }
        }
        Err(SqlError::new(&messages::TOO_MANY_FILES, &[&MAX_FILES]))
    }

    /// Takes the row with this key out of the table.
    pub(crate) fn remove_table_row(&self, sys: &Transaction, key: (u8, u16)) -> SqlResult<()> {
        for (id, slot, row) in self.file_table()? {
            if row.key() == key {
                let mut page = self.write_page(id)?;
                let bytes = page.page().row(slot)?.to_vec();
                let op = PageOp::Delete { slot, row: &bytes };
                self.change(sys, id, &mut page, &op, Lcx::NULL, Role::Normal)?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Writes the table down: what it says holds from now on, whatever the log is asked.
    pub(crate) fn flush_file_table(&self) -> SqlResult<()> {
        if self.store.temporary {
            return Ok(());
        }
        self.access.flush(self.access.last_lsn())?;
        for n in FILE_TABLE_PAGES {
            self.engine.pool.flush_page(self.id, PageId::new(1, n))?;
        }
        Ok(())
    }

    /// After redo and undo: the files that are open become those that the table lists.
    pub(crate) fn settle_files(&self) -> SqlResult<()> {
        let mut listed = Vec::new();
        let mut groups = Vec::new();
        for (_, _, row) in self.file_table()? {
            match row {
                TableRow::File(row) => listed.push(row),
                TableRow::Filegroup(row) => groups.push(row),
            }
        }
        groups.sort_by_key(|g| g.id);
        *self.file_state.filegroups.write() = groups;
        for row in &listed {
            if self.store.file(row.file_id).is_none() {
                let file = open_row(&self.store.env, row, None, &self.store.guid)?;
                self.store.files.write().push(Arc::new(file));
            }
        }
        let open = self.store.files.read().clone();
        let is_listed = |f: &Arc<DataFile>| listed.iter().any(|r| r.file_id == f.id);
        if !open.iter().all(is_listed) {
            // The list is read from the disk before redo: as long as it has them, the next start wants to open them.
            self.flush_file_table()?;
        }
        for file in open {
            match listed.iter().find(|r| r.file_id == file.id) {
                Some(row) => {
                    self.read_header(&file)?;
                    let mut spec = file.spec.write();
                    spec.logical_name = row.logical_name.clone();
                    spec.filegroup = row.filegroup;
                }
                None => self.close_file(&file),
            }
        }
        self.store.files.write().sort_by_key(|f| f.id);
        Ok(())
    }

    /// Forgets a file that the table does not list any more, and deletes it.
    pub(crate) fn close_file(&self, file: &DataFile) {
        self.engine.pool.drop_file(self.id, file.id);
        self.store.files.write().retain(|f| f.id != file.id);
        self.delete_leftover_file(&file.path, file.id);
    }

    /// Deletes what a crash has left of a file.
    pub(crate) fn delete_leftover_file(&self, path: &Path, file_id: u16) {
        delete_leftover(&self.store.env, path, &self.store.guid, file_id, false);
    }

    /// Size, growth and limits, as the header page says.
    pub(crate) fn read_header(&self, file: &DataFile) -> SqlResult<()> {
        let id = PageId::new(file.id, 0);
        let header = {
            let page = self.read_page(id)?;
            page.page().sound(FileHeader::read(page.bytes()))?
        };
        file.take_length()?;
        let size = header.size.min(file.size.load(Ordering::SeqCst));
        file.size.store(size, Ordering::SeqCst);
        let mut spec = file.spec.write();
        spec.size = size;
        spec.max_size = header.max_size;
        spec.growth = match (header.growth, header.growth_percent) {
            (0, _) => FileGrowth::None,
            (n, true) => FileGrowth::Percent(n),
            (n, false) => FileGrowth::Pages(n),
        };
        Ok(())
    }

    /// Undo of LOP_CREATE_FILE: the file goes, unless a file of the database is at its place.
    pub(crate) fn undo_create_file(&self, view: &RecordView<'_>) -> SqlResult<()> {
        let f = view.fixed();
        let id = f
            .get(24..26)
            .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
        let path = view.element(0).map(String::from_utf8_lossy);
        if let Some(path) = path {
            let path = Path::new(path.as_ref());
            let used = self.store.files.read().iter().any(|f| f.path == path);
            if !used {
                delete_leftover(&self.store.env, path, &self.store.guid, id, true);
            }
        }
        Ok(())
    }
}
