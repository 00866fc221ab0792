//! Files and filegroups as ALTER DATABASE changes them.
//!
//! Every call is atomic and durable when it returns: a crash leaves the state before or the state after (`files::table`
//! says why), and an error leaves everything as it was. [`Database::files`] and [`Database::filegroups`] are the truth:
//! whoever keeps lists of his own (master, sysprufiles) takes them from there after a call and after opening.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_format::alloc::{GAM_EXTENTS, bit_get, gam_page_of, is_fixed_page};
use duramen_format::file_table::{FilegroupRow, TableRow};
use duramen_os::time;
use duramen_pool::{DataFile, DataFileSpec, FileGrowth};
use duramen_txn::Transaction;
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use super::make::{create_file, sync_parent};
use super::state::PRIMARY;
use super::table::{MAX_FILES, row_of};
use crate::engine::Database;

/// A filegroup, as `sys.filegroups` shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilegroupInfo {
    /// `data_space_id`: 1 is PRIMARY.
    pub id: u16,
    pub name: String,
    pub is_default: bool,
    /// AUTOGROW_ALL_FILES
    pub autogrow_all: bool,
}

/// What MODIFY FILE changes; `None` leaves a property as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileChange {
    /// NEWNAME
    pub name: Option<String>,
    /// SIZE, in pages: larger than now.
    pub size: Option<u32>,
    /// MAXSIZE in pages; `Some(None)` is UNLIMITED.
    pub max_size: Option<Option<u32>>,
    /// FILEGROWTH
    pub growth: Option<FileGrowth>,
}

/// What MODIFY FILEGROUP changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilegroupChange {
    /// DEFAULT
    Default,
    /// NAME = ...
    Name(String),
    /// AUTOGROW_ALL_FILES, AUTOGROW_SINGLE_FILE
    AutogrowAll(bool),
}

impl Database {
    /// The filegroups, by id.
    pub fn filegroups(&self) -> Vec<FilegroupInfo> {
        let groups = self.file_state.filegroups.read();
        let info = |g: &FilegroupRow| FilegroupInfo {
            id: g.id,
            name: g.name.clone(),
            is_default: g.is_default,
            autogrow_all: g.autogrow_all,
        };
        groups.iter().map(info).collect()
    }

    /// The filegroup of that name, whatever its case.
    pub fn filegroup(&self, name: &str) -> Option<FilegroupInfo> {
        self.filegroups().into_iter().find(|g| same(&g.name, name))
    }

    /// Where objects go that name no filegroup.
    pub fn default_filegroup(&self) -> u16 {
        let groups = self.file_state.filegroups.read();
        groups
            .iter()
            .find(|g| g.is_default)
            .map_or(PRIMARY, |g| g.id)
    }

    /// ADD FILEGROUP; its id. 5035 when there is one of that name, 5051 for DEFAULT.
    pub fn add_filegroup(&self, name: &str) -> SqlResult<u16> {
        let _one = self.file_state.admin.lock();
        if same(name, "DEFAULT") {
            return Err(SqlError::new(&messages::FILEGROUP_NAMED_DEFAULT, &[]));
        }
        if self.filegroup(name).is_some() {
            return Err(SqlError::new(&messages::FILEGROUP_EXISTS, &[&name]));
        }
        let row = FilegroupRow {
            id: self.filegroups().last().map_or(PRIMARY, |g| g.id) + 1,
            name: name.to_owned(),
            is_default: false,
            autogrow_all: false,
        };
        let id = row.id;
        self.alter("AddFilegroup", |sys| {
            self.put_table_row(sys, &TableRow::Filegroup(row.clone()))
        })?;
        self.file_state.filegroups.write().push(row);
        Ok(id)
    }

    /// REMOVE FILEGROUP. 5042 when it has files, 5014 when there is none of that name.
    pub fn remove_filegroup(&self, name: &str) -> SqlResult<()> {
        let _one = self.file_state.admin.lock();
        let row = self.expect_filegroup(name)?;
        let used = self.store.files.read();
        if row.id == PRIMARY || used.iter().any(|f| f.spec.read().filegroup == row.id) {
            return Err(not_empty("filegroup", &row.name));
        }
        drop(used);
        let default = row.is_default;
        let key = TableRow::Filegroup(row.clone()).key();
        let primary = default.then(|| self.filegroup_rows(|g| g.id == PRIMARY));
        self.alter("RemoveFilegroup", |sys| {
            self.remove_table_row(sys, key)?;
            for mut g in primary.into_iter().flatten() {
                g.is_default = true;
                self.put_table_row(sys, &TableRow::Filegroup(g))?;
            }
            Ok(())
        })?;
        let mut groups = self.file_state.filegroups.write();
        groups.retain(|g| g.id != row.id);
        for g in groups.iter_mut() {
            g.is_default |= default && g.id == PRIMARY;
        }
        Ok(())
    }

    /// MODIFY FILEGROUP. 5050: a filegroup without files cannot be the default one. 5012: PRIMARY keeps its name.
    pub fn modify_filegroup(&self, name: &str, change: &FilegroupChange) -> SqlResult<()> {
        let _one = self.file_state.admin.lock();
        let row = self.expect_filegroup(name)?;
        let mut rows = self.filegroup_rows(|g| g.id == row.id);
        match change {
            FilegroupChange::Default => {
                if self.files_of(row.id).is_empty() {
                    return Err(SqlError::new(&messages::FILEGROUP_EMPTY, &[&row.name]));
                }
                rows = self.filegroup_rows(|_| true);
                rows.iter_mut().for_each(|g| g.is_default = g.id == row.id);
            }
            FilegroupChange::Name(new) => {
                if row.id == PRIMARY {
                    return Err(SqlError::new(&messages::PRIMARY_FILEGROUP_NAME, &[]));
                }
                if self.filegroup(new).is_some_and(|g| g.id != row.id) {
                    return Err(SqlError::new(&messages::FILEGROUP_EXISTS, &[new]));
                }
                rows.iter_mut().for_each(|g| g.name = new.clone());
            }
            FilegroupChange::AutogrowAll(on) => rows.iter_mut().for_each(|g| g.autogrow_all = *on),
        }
        self.alter("ModifyFilegroup", |sys| {
            for g in &rows {
                self.put_table_row(sys, &TableRow::Filegroup(g.clone()))?;
            }
            Ok(())
        })?;
        let mut groups = self.file_state.filegroups.write();
        for new in rows {
            if let Some(g) = groups.iter_mut().find(|g| g.id == new.id) {
                *g = new;
            }
        }
        Ok(())
    }

    /// ADD FILE: makes the file and takes it into use; its id. `spec.filegroup` 0 is the default filegroup,
    /// `spec.file_id` 0 the lowest free id (log files have ids too: [`duramen_wal::Log::file_sizes`]). The logical names
    /// of log files are the caller's to compare.
    ///
    /// 1828 logical name in use, 5170 the file is there, 5123 it cannot be made, 5149 no space for it, 5103 SIZE above
    /// MAXSIZE, 5033 too many files, 5102 no such filegroup.
    pub fn add_data_file(&self, spec: &DataFileSpec) -> SqlResult<u16> {
        let _one = self.file_state.admin.lock();
        let mut spec = spec.clone();
        if spec.filegroup == 0 {
            spec.filegroup = self.default_filegroup();
        }
        self.check_new_file(&spec)?;
        spec.file_id = self.new_file_id(spec.file_id)?;
        let mut made = None;
        self.alter("AddFile", |sys| {
            let path = spec.path.to_string_lossy();
            let record = RecordBuilder::new(Lop::CREATE_FILE, Lcx::NULL)
                .put(24, &spec.file_id.to_le_bytes())
                .put(26, &spec.filegroup.to_le_bytes())
                .flags(duramen_wal::record::FLAG_NORMAL);
            let mut bytes = record.finish(&[path.as_bytes(), spec.logical_name.as_bytes()]);
            let lsn = self.transactions.append(sys, &mut bytes, 64)?;
            if !self.store.temporary {
                // From here on a crash knows of the file.
                self.access.flush(lsn)?;
            }
            let mut file = create_file(&self.engine, self.id, &spec, &self.store.guid, lsn)?;
            file.create_lsn = lsn;
            if !self.store.temporary {
                file.sync()?;
                sync_parent(&self.engine, &file)?;
            }
            self.put_table_row(sys, &TableRow::File(row_of(&file)))?;
            made = Some(file);
            Ok(())
        })?;
        let Some(file) = made else {
            return Err(SqlError::new(&messages::FILES_NOT_FOUND, &[]));
        };
        // Nothing gives extents before it is listed. Counting reads pages, so the list comes first.
        file.closing.store(true, Ordering::SeqCst);
        let file = Arc::new(file);
        file.count_for(self.id);
        self.store.files.write().push(file.clone());
        let free = self.count_free(&file)?;
        file.free_extents.store(free, Ordering::SeqCst);
        file.closing.store(false, Ordering::SeqCst);
        Ok(spec.file_id)
    }

    fn check_new_file(&self, spec: &DataFileSpec) -> SqlResult<()> {
        let files = self.store.files.read();
        if !self
            .file_state
            .filegroups
            .read()
            .iter()
            .any(|g| g.id == spec.filegroup)
        {
            return Err(SqlError::new(
                &messages::INVALID_FILEGROUP_ID,
                &[&spec.filegroup, &self.name],
            ));
        }
        if files.len() >= MAX_FILES {
            return Err(SqlError::new(&messages::TOO_MANY_FILES, &[&MAX_FILES]));
        }
        let name = &spec.logical_name;
        if files
            .iter()
            .any(|f| same(&f.spec.read().logical_name, name))
        {
            return Err(SqlError::new(&messages::LOGICAL_FILE_NAME_IN_USE, &[name]));
        }
        if spec.max_size.is_some_and(|max| max < spec.size) {
            return Err(SqlError::new(&messages::MAXSIZE_BELOW_SIZE, &[name]));
        }
        // tempdb's files are made over those of its former life, but never over a file in use.
        let taken = files.iter().any(|f| f.path == spec.path);
        if taken || !self.store.temporary && self.engine.env.disk.exists(&spec.path) {
            return Err(SqlError::new(
                &messages::FILE_ALREADY_EXISTS,
                &[&spec.shown_path],
            ));
        }
        Ok(())
    }

    fn new_file_id(&self, wanted: u16) -> SqlResult<u16> {
        let files = self.store.files.read();
        let mut taken: Vec<u16> = files.iter().map(|f| f.id).collect();
        if let Some(log) = &self.log {
            taken.extend(log.file_sizes().iter().map(|(id, _)| id.0));
        }
        let free = |id: &u16| !taken.contains(id);
        match wanted {
            // 2 is the first log file's, even where nobody asks.
            0 => (3..=u16::MAX).find(free),
            id => Some(id).filter(free),
        }
        .ok_or_else(|| SqlError::new(&messages::TOO_MANY_FILES, &[&MAX_FILES]))
    }

    /// REMOVE FILE: takes an empty file out of the database and deletes it. 5009 when there is none of that name, 5020
    /// for the primary file, 5031 for the only file of the default filegroup, 5042 when something is in it, 4218 before the log backup that
    /// has what was minimally logged there.
    pub fn remove_data_file(&self, logical_name: &str) -> SqlResult<()> {
        let _one = self.file_state.admin.lock();
        let file = self
            .file_named(logical_name)
            .ok_or_else(|| SqlError::new(&messages::FILES_NOT_FOUND, &[]))?;
        if file.id == 1 {
            return Err(SqlError::new(&messages::REMOVE_PRIMARY_FILE, &[]));
        }
        let group = file.spec.read().filegroup;
        if group == self.default_filegroup() && self.files_of(group).len() <= 1 {
            return Err(SqlError::new(
                &messages::ONLY_FILE_OF_DEFAULT,
                &[&logical_name],
            ));
        }
        file.closing.store(true, Ordering::SeqCst);
        let removed = self.remove_closing_file(&file);
        if removed.is_err() {
            file.closing.store(false, Ordering::SeqCst);
        }
        removed
    }

    fn remove_closing_file(&self, file: &Arc<DataFile>) -> SqlResult<()> {
        {
            // Chains that are going right now may undo what they have done to this file.
            let _none_going = self.releasing.lock();
            let _no_growth = self.file_state.growth.lock();
            let _none_taken = file.alloc.lock();
            if !self.is_empty_file(file)? {
                return Err(not_empty("file", &file.spec.read().logical_name));
            }
            if !self.log_backup_lsn().is_null() && !self.minimally_logged_in(file)?.is_empty() {
                // Records of rows there follow fills that only the next log backup will have.
                return Err(SqlError::new(&messages::BULK_LOGGED_WORK_EXISTS, &[]));
            }
        }
        // Undo of the removal finds the file as it is now.
        self.checkpoint()?;
        let key = TableRow::File(row_of(file)).key();
        self.alter("RemoveFile", |sys| {
            let record = RecordBuilder::new(Lop::DROP_FILE, Lcx::NULL)
                .put(24, &file.id.to_le_bytes())
                .flags(duramen_wal::record::FLAG_NORMAL);
            let path = file.path.to_string_lossy();
            let mut bytes = record.finish(&[path.as_bytes()]);
            self.transactions.append(sys, &mut bytes, 64)?;
            self.remove_table_row(sys, key)
        })?;
        self.close_file(file);
        Ok(())
    }

    /// Whether every extent but those of the maps is free.
    fn is_empty_file(&self, file: &DataFile) -> SqlResult<bool> {
        for extent in 1..file.size.load(Ordering::SeqCst) / 8 {
            let first = extent * 8;
            let id = PageId::new(file.id, gam_page_of(first));
            let free = bit_get(self.read_page(id)?.bytes(), extent % GAM_EXTENTS);
            let maps = extent % GAM_EXTENTS == 0;
            if !free && !maps {
                return Ok(false);
            }
            debug_assert!(!maps || is_fixed_page(first));
        }
        Ok(true)
    }

    /// MODIFY FILE. 5041 when there is none of that name, 5038 when nothing is to change, 5039 when SIZE is not larger
    /// than now, 5040 when SIZE is above MAXSIZE, 1828 when NEWNAME is in use, 5149 when the disk is full.
    pub fn modify_data_file(&self, logical_name: &str, change: &FileChange) -> SqlResult<()> {
        let _one = self.file_state.admin.lock();
        let file = self
            .file_named(logical_name)
            .ok_or_else(|| SqlError::new(&messages::MODIFY_FILE_NOT_FOUND, &[&logical_name]))?;
        if *change == FileChange::default() {
            return Err(SqlError::new(
                &messages::MODIFY_FILE_NOTHING,
                &[&logical_name],
            ));
        }
        let _no_growth = self.file_state.growth.lock();
        let size = file.size.load(Ordering::SeqCst);
        let mut new = file.spec.read().clone();
        if let Some(name) = &change.name {
            let taken = self.file_named(name).is_some_and(|f| f.id != file.id);
            if taken {
                return Err(SqlError::new(&messages::LOGICAL_FILE_NAME_IN_USE, &[name]));
            }
            new.logical_name = name.clone();
        }
        new.max_size = change.max_size.unwrap_or(new.max_size);
        new.growth = change.growth.unwrap_or(new.growth);
        let to = match change.size {
            Some(to) if to <= size => {
                return Err(SqlError::new(&messages::MODIFY_FILE_SMALLER, &[]));
            }
            Some(to) => to.next_multiple_of(8),
            None => size,
        };
        if let Some(max) = new.max_size.filter(|max| *max < to) {
            let args: [&dyn std::fmt::Display; 4] = [
                &self.name,
                &file.id,
                &(u64::from(to) * 8),
                &(u64::from(max) * 8),
            ];
            return Err(SqlError::new(&messages::MODIFY_FILE_ABOVE_MAXSIZE, &args));
        }
        // The size first: it is what can fail, and a longer file alone harms nobody.
        let tx = self.own_transaction("ALTER DATABASE");
        let started = time::now();
        self.grow_to(&tx, &file, to)?;
        if to > size {
            self.report_growth(&file, size, started, false);
        }
        new.size = file.size.load(Ordering::SeqCst);
        let mut row = row_of(&file);
        row.logical_name = new.logical_name.clone();
        self.alter("ModifyFile", |sys| {
            self.change_header(sys, &file, |h| {
                h.logical_name = new.logical_name.clone();
                h.max_size = new.max_size;
                (h.growth, h.growth_percent) = match new.growth {
                    FileGrowth::None => (0, false),
                    FileGrowth::Pages(n) => (n, false),
                    FileGrowth::Percent(p) => (p, true),
                };
            })?;
            self.put_table_row(sys, &TableRow::File(row))
        })?;
        *file.spec.write() = new;
        Ok(())
    }

    /// Runs a change of the file list as a system transaction, durable when it returns and written into the table.
    fn alter(
        &self,
        name: &'static str,
        work: impl FnOnce(&Transaction) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let tx = self.own_transaction("ALTER DATABASE");
        self.system(&tx, name, work)?;
        self.flush_file_table()
    }

    fn file_named(&self, name: &str) -> Option<Arc<DataFile>> {
        let files = self.store.files.read();
        files
            .iter()
            .find(|f| same(&f.spec.read().logical_name, name))
            .cloned()
    }

    fn expect_filegroup(&self, name: &str) -> SqlResult<FilegroupRow> {
        let mut found = self.filegroup_rows(|g| same(&g.name, name));
        found.pop().ok_or_else(|| {
            SqlError::new(
                &messages::DOES_NOT_EXIST_IN_DATABASE,
                &[&"filegroup", &name, &self.name],
            )
        })
    }

    fn filegroup_rows(&self, wanted: impl Fn(&FilegroupRow) -> bool) -> Vec<FilegroupRow> {
        let groups = self.file_state.filegroups.read();
        groups.iter().filter(|g| wanted(g)).cloned().collect()
    }
}

/// Names of files and filegroups are compared without case, whatever the database's collation (*assumed*).
fn same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// 5042
fn not_empty(kind: &str, name: &str) -> SqlError {
    SqlError::new(&messages::FILE_NOT_EMPTY, &[&kind, &name])
}
