//! ALTER DATABASE on files and filegroups.
//!
//! Data files and filegroups are the database's own list, which storage changes so that a crash leaves the change whole
//! or undone; master's rows follow. Log files are listed in master alone: a row that says "being added" is durable
//! before the file is made, and the file is used only after it is complete.

use std::fmt::Display;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, FileId, SqlError, SqlResult, messages};
use duramen_catalog::{FileEntry, FileKind, fold};
use duramen_core::databases::{NewFile, file_growth, os_exists, set_growth};
use duramen_pool::DataFileSpec;
use duramen_storage::{FileChange, FilegroupChange};
use duramen_tsql::ast::{self, AlterDatabaseAction};

use super::create::{bytes_of, file_of, growth_above, growth_of, max_size_of};
use super::{Admin, refuse};

const PAGE: u64 = 8192;
/// Of a file that is added without a SIZE.
const DEFAULT: u64 = 8 << 20;

impl Admin<'_> {
    pub(super) fn alter_files(
        &mut self,
        db: &Arc<OpenDb>,
        action: &AlterDatabaseAction,
    ) -> SqlResult<()> {
        let adds = matches!(
            action,
            AlterDatabaseAction::AddFiles { .. }
                | AlterDatabaseAction::AddLogFiles(_)
                | AlterDatabaseAction::AddFilegroup(_)
        );
        match db.db.id.0 {
            1 | 3 if adds => return Err(SqlError::new(&messages::NO_FILES_IN_MASTER, &[])),
            2 => self.check_tempdb(action)?,
            _ => {}
        }
        db.check_writable()?;
        match action {
            AlterDatabaseAction::AddFiles { files, filegroup } => {
                for f in files {
                    self.add_data_file(db, f, filegroup.as_deref())?;
                }
                Ok(())
            }
            AlterDatabaseAction::AddLogFiles(files) => {
                for f in files {
                    self.add_log_file(db, f)?;
                }
                Ok(())
            }
            AlterDatabaseAction::RemoveFile(name) => self.remove_file(db, name),
            AlterDatabaseAction::ModifyFile(spec) => self.modify_file(db, spec),
            AlterDatabaseAction::AddFilegroup(name) => db.db.add_filegroup(name).map(|_| ()),
            AlterDatabaseAction::RemoveFilegroup(name) => {
                db.db.remove_filegroup(name)?;
                self.note(&messages::HAS_BEEN_REMOVED, &[&"filegroup", name]);
                Ok(())
            }
            AlterDatabaseAction::ModifyFilegroup { name, option } => {
                self.modify_filegroup(db, name, option)
            }
            _ => Err(refuse("this form of ALTER DATABASE")),
        }
    }

    /// A new file's clause, checked against the names and paths of the database.
    fn new_file(&self, db: &OpenDb, spec: &ast::FileSpec, extension: &str) -> SqlResult<NewFile> {
        let databases = &self.session.instance.databases;
        let Some(name) = &spec.name else {
            return Err(refuse("ADD FILE without NAME"));
        };
        let mut file = file_of(databases, spec, name, (DEFAULT, extension))?;
        if db.db.id == DbId::TEMPDB {
            let kind = match extension {
                "ldf" => FileKind::Log,
                _ => FileKind::Data,
            };
            let limit = databases.tempdb_limit(kind).map(|l| l.max(file.size));
            file.max_size = file.max_size.or(limit);
        }
        // Not beyond this question: what follows asks the list of databases, whose readers ask entries.
        let is_same = |f: &FileEntry| fold(&f.logical_name) == fold(name);
        let is_taken = db.entry.read().files.iter().any(is_same);
        if is_taken {
            return Err(SqlError::new(&messages::LOGICAL_FILE_NAME_IN_USE, &[name]));
        }
        databases.may_place(&file.path, self.session.who.sysadmin)?;
        os_exists(databases, &file.path)?;
        Ok(file)
    }

    fn add_data_file(
        &mut self,
        db: &Arc<OpenDb>,
        spec: &ast::FileSpec,
        group: Option<&str>,
    ) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let filegroup = match group {
            None => 0,
            Some(name) => match db.db.filegroup(name) {
                Some(g) => g.id,
                None => {
                    let args: [&dyn Display; 3] = [&"filegroup", &name, &db.db.name];
                    return Err(SqlError::new(&messages::DOES_NOT_EXIST_IN_DATABASE, &args));
                }
            },
        };
        let file = self.new_file(db, spec, "ndf")?;
        let spec = DataFileSpec {
            filegroup,
            ..databases.data_spec(&file)
        };
        db.db.add_data_file(&spec)?;
        databases.write_entry(db, |_| {})
    }

    fn add_log_file(&mut self, db: &Arc<OpenDb>, spec: &ast::FileSpec) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let mut file = self.new_file(db, spec, "ldf")?;
        let used = |id: &u16| !db.entry.read().files.iter().any(|f| f.file_id == *id);
        file.file_id = (3..u16::MAX).find(used).unwrap_or(0);
        let mut row = FileEntry {
            adding: true,
            ..file.entry(FileKind::Log)
        };
        databases.write_entry(db, |e| e.files.push(row.clone()))?;
        if let Err(e) = db.db.add_log_file(&databases.log_spec(&file)) {
            databases.delete_file(&file.path);
            databases.write_entry(db, |e| e.files.retain(|f| f.file_id != file.file_id))?;
            return Err(e);
        }
        row.adding = false;
        databases.write_entry(db, |e| {
            e.files.retain(|f| f.file_id != file.file_id);
            e.files.push(row.clone());
        })
    }

    fn remove_file(&mut self, db: &Arc<OpenDb>, name: &str) -> SqlResult<()> {
        let databases = &self.instance().databases;
        if let Some(log) = log_file(db, name) {
            if log.file_id == 2 {
                return Err(SqlError::new(&messages::REMOVE_PRIMARY_FILE, &[]));
            }
            db.db.remove_log_file(FileId(log.file_id), name)?;
            databases.write_entry(db, |e| e.files.retain(|f| f.file_id != log.file_id))?;
            databases.delete_file(&log.path);
            self.note(&messages::HAS_BEEN_REMOVED, &[&"file", &name]);
            return Ok(());
        }
        let number = {
            let files = &db.entry.read().files;
            let file = files.iter().find(|f| fold(&f.logical_name) == fold(name));
            file.map(|f| f.file_id)
        };
        db.db.remove_data_file(name)?;
        databases.write_entry(db, |_| {})?;
        if number.is_some() {
            let _ = crate::suspect_pages::forget(&self.instance(), db.db.id, number);
        }
        self.note(&messages::HAS_BEEN_REMOVED, &[&"file", &name]);
        Ok(())
    }

    fn modify_file(&mut self, db: &Arc<OpenDb>, spec: &ast::FileSpec) -> SqlResult<()> {
        let databases = &self.instance().databases;
        let Some(name) = &spec.name else {
            return Err(SqlError::new(&messages::MODIFY_FILE_NO_NAME, &[]));
        };
        let moves = spec.filename.as_ref();
        if moves.is_some() && db.db.id != DbId::TEMPDB || spec.offline {
            return Err(refuse("MODIFY FILE with FILENAME or OFFLINE"));
        }
        if let Some(path) = moves {
            self.move_tempdb_file(db, name, path)?;
            if only_moves(spec) {
                return Ok(());
            }
        }
        if let Some(new) = &spec.new_name {
            let taken = |f: &FileEntry| {
                fold(&f.logical_name) == fold(new) && fold(&f.logical_name) != fold(name)
            };
            if db.entry.read().files.iter().any(taken) {
                return Err(SqlError::new(&messages::LOGICAL_FILE_NAME_IN_USE, &[new]));
            }
        }
        let size = bytes_of(spec.size)?;
        let growth = growth_of(spec.growth)?;
        let max_size = match spec.max_size {
            None => None,
            some => Some(max_size_of(some)?),
        };
        check_growth(db, name, (size, max_size, growth))?;
        if let Some(log) = log_file(db, name) {
            self.modify_log(db, &log, spec.new_name.as_deref(), (size, max_size, growth))?;
        } else {
            let change = FileChange {
                name: spec.new_name.clone(),
                size: size.map(|s| (s / PAGE) as u32),
                max_size: max_size.map(|m| m.map(|m| (m / PAGE) as u32)),
                growth: growth.map(file_growth),
            };
            db.db.modify_data_file(name, &change)?;
            let pages = change.size;
            let id = db.db.files().into_iter().find(|f| {
                let now = spec.new_name.as_ref().unwrap_or(name);
                fold(&f.spec.logical_name) == fold(now)
            });
            databases.write_entry(db, |e| {
                let id = id.as_ref().map(|f| f.spec.file_id);
                for f in e.files.iter_mut().filter(|f| Some(f.file_id) == id) {
                    f.size = pages.map_or(f.size, |p| p as i32);
                }
            })?;
        }
        if let Some(new) = &spec.new_name {
            self.note(&messages::NAME_HAS_BEEN_SET, &[&"file", new]);
        }
        Ok(())
    }

    fn modify_log(
        &mut self,
        db: &Arc<OpenDb>,
        file: &FileEntry,
        new_name: Option<&str>,
        (size, max_size, growth): Sizes,
    ) -> SqlResult<()> {
        if size.is_none() && max_size.is_none() && growth.is_none() && new_name.is_none() {
            let name = &file.logical_name;
            return Err(SqlError::new(&messages::MODIFY_FILE_NOTHING, &[name]));
        }
        let databases = &self.instance().databases;
        let Some(log) = db.db.log() else {
            return Err(SqlError::new(&messages::FILES_NOT_FOUND, &[]));
        };
        let id = FileId(file.file_id);
        let now = log
            .file_sizes()
            .iter()
            .find(|f| f.0 == id)
            .map_or(0, |f| f.1);
        let mut changed = file.clone();
        if let Some(max) = max_size {
            changed.max_size = max.map_or(-1, |m| (m / PAGE) as i32);
        }
        let above = |size: u64, max: u64| {
            let args: [&dyn Display; 4] =
                [&db.db.name, &file.file_id, &(size / 1024), &(max / 1024)];
            SqlError::new(&messages::MODIFY_FILE_ABOVE_MAXSIZE, &args)
        };
        if let Some(max) = max_size.flatten().filter(|max| now > *max) {
            return Err(above(now, max));
        }
        if let Some(growth) = growth {
            set_growth(&mut changed, growth);
        }
        if let Some(size) = size {
            if size <= now {
                return Err(SqlError::new(&messages::MODIFY_FILE_SMALLER, &[]));
            }
            // The log's new part is a VLF at least.
            let size = size.max(now + duramen_wal::MIN_GROWTH);
            let max = (changed.max_size > 0).then(|| changed.max_size as u64 * PAGE);
            if let Some(max) = max.filter(|m| size > *m) {
                return Err(above(size, max));
            }
            changed.size = (size / PAGE) as i32;
        }
        if let Some(name) = new_name {
            changed.logical_name = name.to_owned();
        }
        let spec = databases.log_spec(&NewFile::of(&changed));
        log.set_growth(&spec);
        if let Some(size) = size {
            log.grow_file(id, size).map_err(|e| e.to_sql(&db.db.name))?;
        }
        databases.write_entry(db, |e| {
            for f in e.files.iter_mut().filter(|f| f.file_id == file.file_id) {
                *f = changed.clone();
            }
        })
    }

    fn modify_filegroup(
        &mut self,
        db: &Arc<OpenDb>,
        name: &str,
        option: &ast::NamedOption,
    ) -> SqlResult<()> {
        let word = match &option.value {
            Some(ast::OptionValue::Word(w)) => Some(w.clone()),
            _ => None,
        };
        let (change, said) = match (option.name.as_str(), word) {
            ("DEFAULT", None) => (FilegroupChange::Default, "DEFAULT"),
            ("AUTOGROW_ALL_FILES", None) => {
                (FilegroupChange::AutogrowAll(true), "AUTOGROW_ALL_FILES")
            }
            ("AUTOGROW_SINGLE_FILE", None) => {
                (FilegroupChange::AutogrowAll(false), "AUTOGROW_SINGLE_FILE")
            }
            ("NAME", Some(new)) => {
                db.db
                    .modify_filegroup(name, &FilegroupChange::Name(new.clone()))?;
                self.note(&messages::NAME_HAS_BEEN_SET, &[&"filegroup", &new]);
                return Ok(());
            }
            (other, _) => return Err(refuse(&format!("MODIFY FILEGROUP {other}"))),
        };
        db.db.modify_filegroup(name, &change)?;
        self.note(&messages::PROPERTY_HAS_BEEN_SET, &[&"filegroup", &said]);
        Ok(())
    }
}

/// SIZE in bytes, MAXSIZE (`Some(None)`: UNLIMITED), FILEGROWTH.
type Sizes = (
    Option<u64>,
    Option<Option<u64>>,
    Option<duramen_wal::Growth>,
);

/// Whether a MODIFY FILE has nothing but FILENAME.
fn only_moves(spec: &ast::FileSpec) -> bool {
    let ast::FileSpec {
        new_name,
        size,
        max_size,
        growth,
        ..
    } = spec;
    new_name.is_none() && size.is_none() && max_size.is_none() && growth.is_none()
}

/// 5169: what is asked for would leave a growth above the limit. A growth that is left as it was counts when the limit is
/// asked for. A limit below the size is another error, and comes first.
fn check_growth(db: &OpenDb, name: &str, (size, max_size, growth): Sizes) -> SqlResult<()> {
    let entry = db.entry.read();
    let mut files = entry.files.iter();
    let Some(file) = files.find(|f| fold(&f.logical_name) == fold(name)) else {
        return Ok(());
    };
    let pages = |bytes: u64| (bytes / PAGE) as i64;
    let now = (file.max_size > 0).then_some(i64::from(file.max_size));
    let limit = max_size.map_or(now, |max| max.map(pages));
    let step = match growth {
        Some(duramen_wal::Growth::Bytes(b)) => pages(b),
        None if max_size.is_some() && !file.growth_percent => i64::from(file.growth),
        _ => 0,
    };
    let size = size.map_or(0, pages).max(i64::from(file.size));
    match limit.is_some_and(|limit| step > limit && size <= limit) {
        true if growth.is_some() => Err(growth_above(&file.logical_name, 1)),
        true => Err(growth_above(&file.logical_name, 3)),
        false => Ok(()),
    }
}

fn log_file(db: &OpenDb, name: &str) -> Option<FileEntry> {
    let entry = db.entry.read();
    let log = |f: &&FileEntry| f.kind == FileKind::Log && fold(&f.logical_name) == fold(name);
    entry.files.iter().find(log).cloned()
}
