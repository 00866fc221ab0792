//! `sys.database_files` and `sys.master_files`: the files of the current database, and of all.

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_catalog::{DatabaseEntry, FileEntry, FileKind};
use duramen_program::column::*;
use duramen_program::rights::Right;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1004, &DATABASE_FILES),
    (-1010, &MASTER_FILES),
];

/// Pages of a log file that has no MAXSIZE: 2 TB.
const LOG_MAX_PAGES: i32 = 268_435_456;

pub struct Source {
    database: u16,
    file: FileEntry,
    /// Pages the file has now.
    size: i32,
    state: (u8, &'static str),
    /// Of an open database.
    guid: Option<[u8; 16]>,
}

impl Source {
    fn is_log(&self) -> bool {
        self.file.kind == FileKind::Log
    }

    fn max_size(&self) -> i32 {
        if self.is_log() && self.file.max_size < 0 {
            LOG_MAX_PAGES
        } else {
            self.file.max_size
        }
    }
}

columns! { Source;
    "file_id", T::INT, NOT_NULL, |f| int(f.file.file_id);
    "file_guid", T::GUID, NULL, |f| f.guid.map_or(Value::Null, Value::Guid);
    "type", T::TINYINT, NOT_NULL, |f| tiny(u8::from(f.is_log()));
    "type_desc", DESC, NULL, |f| text(if f.is_log() { "LOG" } else { "ROWS" });
    "data_space_id", T::INT, NOT_NULL, |f| int(f.file.filegroup);
    "name", T::SYSNAME, NOT_NULL, |f| text(&f.file.logical_name);
    "physical_name", T::nvarchar(260), NOT_NULL, |f| text(&f.file.path);
    "state", T::TINYINT, NULL, |f| tiny(f.state.0);
    "state_desc", DESC, NULL, |f| text(f.state.1);
    "size", T::INT, NOT_NULL, |f| int(f.size);
    "max_size", T::INT, NOT_NULL, |f| int(f.max_size());
    "growth", T::INT, NOT_NULL, |f| int(f.file.growth);
    "is_media_read_only", T::BIT, NOT_NULL, |_| bit(false);
    "is_read_only", T::BIT, NOT_NULL, |_| bit(false);
    "is_sparse", T::BIT, NOT_NULL, |_| bit(false);
    "is_percent_growth", T::BIT, NOT_NULL, |f| bit(f.file.growth_percent);
    "is_name_reserved", T::BIT, NOT_NULL, |_| bit(false);
    "is_persistent_log_buffer", T::BIT, NOT_NULL, |_| bit(false);
    "create_lsn", LSN, NULL, |_| Value::Null;
    "drop_lsn", LSN, NULL, |_| Value::Null;
    "read_only_lsn", LSN, NULL, |_| Value::Null;
    "read_write_lsn", LSN, NULL, |_| Value::Null;
    "differential_base_lsn", LSN, NULL, |_| Value::Null;
    "differential_base_guid", T::GUID, NULL, |_| Value::Null;
    "differential_base_time", T::DATETIME, NULL, |_| Value::Null;
    "redo_start_lsn", LSN, NULL, |_| Value::Null;
    "redo_start_fork_guid", T::GUID, NULL, |_| Value::Null;
    "redo_target_lsn", LSN, NULL, |_| Value::Null;
    "redo_target_fork_guid", T::GUID, NULL, |_| Value::Null;
    "backup_lsn", LSN, NULL, |_| Value::Null;
}

/// The files of a database with their sizes of now; those of an offline one as they were last known.
fn sources(entry: &DatabaseEntry, db: Option<&OpenDb>) -> Vec<Source> {
    let data = db.map(|d| d.db.files()).unwrap_or_default();
    let logs = db.and_then(|d| d.db.log()).map(|l| l.file_sizes());
    let logs = logs.unwrap_or_default();
    let guids = db.map(|d| d.db.file_guids()).unwrap_or_default();
    let source = |f: &FileEntry| {
        let pages = match f.kind {
            FileKind::Log => logs
                .iter()
                .find(|(id, _)| id.0 == f.file_id)
                .map(|(_, bytes)| (bytes / 8192) as i32),
            FileKind::Data => data
                .iter()
                .find(|i| i.spec.file_id == f.file_id)
                .map(|i| i.size as i32),
        };
        Source {
            database: entry.id.0,
            size: pages.unwrap_or(f.size),
            file: f.clone(),
            guid: guids.get(&f.file_id).copied(),
            state: match db {
                Some(_) => (0, "ONLINE"),
                None if entry.options & option::RESTORING != 0 => (1, "RESTORING"),
                None => (6, "OFFLINE"),
            },
        }
    };
    entry.files.iter().map(source).collect()
}

pub const DATABASE_FILES: View = View::new("database_files", VISIBLE, COLUMNS, |cx, _| {
    let db = cx.instance.databases.find(&cx.database);
    let files = db.map(|d| sources(&d.entry.read(), Some(&d)));
    Ok(files.unwrap_or_default().iter().map(row).collect())
});

pub use master::MASTER_FILES;

/// The same columns after the database, and the credential of files in object storage.
mod master {
    use super::*;

    const fn all() -> [(&'static str, T, bool); COLUMNS.len() + 2] {
        let mut out = [("database_id", T::INT, NOT_NULL); COLUMNS.len() + 2];
        let mut i = 0;
        while i < super::COLUMNS.len() {
            out[i + 1] = super::COLUMNS[i];
            i += 1;
        }
        out[super::COLUMNS.len() + 1] = ("credential_id", T::INT, NULL);
        out
    }

    static ALL: [(&str, T, bool); COLUMNS.len() + 2] = all();

    pub const MASTER_FILES: View = View::new("master_files", VISIBLE, &ALL, |cx, _| {
        let mut rows = Vec::new();
        // Where files lie is of who makes databases, or sees the definition of everything.
        let all = [Right::CreateAnyDatabase, Right::ViewAnyDefinition];
        if !all.into_iter().any(|r| cx.who.server_may(r)) {
            return Ok(rows);
        }
        for (entry, db) in cx.instance.databases.listed() {
            for file in sources(&entry, db.as_deref()) {
                let mut values = vec![int(file.database)];
                values.extend(row(&file));
                values.push(Value::Null);
                rows.push(values);
            }
        }
        Ok(rows)
    });
}
