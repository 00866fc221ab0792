//! master's list of databases: `sysdbreg` has a row per database, `sysbrickfiles` a row per file.
//!
//! A database's options are `sysdbreg.status` bits, given a meaning by the session room. A path is kept as the user
//! wrote it; the path it resolved to is found again by the same rules.

use duramen_base::{DbId, SqlResult};
use duramen_txn::Transaction;
use duramen_types::{DateTime, Value};

use crate::catalog::CatalogDb;
use crate::cells::{int, text};
use crate::rows::{Base, Fields, id};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Data,
    Log,
}

/// A file of a database, sizes in pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    pub file_id: u16,
    pub kind: FileKind,
    pub filegroup: i32,
    pub logical_name: String,
    pub path: String,
    pub size: i32,
    /// -1: unlimited.
    pub max_size: i32,
    pub growth: i32,
    pub growth_percent: bool,
    /// It is not known yet whether the file was made whole.
    pub adding: bool,
}

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseEntry {
    pub id: DbId,
    pub name: String,
    pub created: DateTime,
    pub compatibility_level: u8,
    /// Option bits: `sysdbreg.status` and `status2`.
    pub options: u64,
    pub files: Vec<FileEntry>,
}

/// `sysbrickfiles.status`: growth is a percentage.
const STATUS_PERCENT: i64 = 0x10_0000;
/// `sysbrickfiles.filestate`, ours.
const FILESTATE_ADDING: i64 = 0x40;

/// The list, in master's catalog.
pub struct Registry<'a> {
    master: &'a CatalogDb,
}

impl<'a> Registry<'a> {
    pub fn new(master: &'a CatalogDb) -> Registry<'a> {
        Registry { master }
    }

    fn base<'b>(&'b self, tx: &'b Transaction) -> Base<'b> {
        Base {
            db: self.master.database(),
            tx,
        }
    }

    /// Every database, by id.
    pub fn list(&self, tx: &Transaction) -> SqlResult<Vec<DatabaseEntry>> {
        let base = self.base(tx);
        let files = base.rows(id::BRICKFILES, &[])?;
        let mut out = Vec::new();
        for row in base.rows(id::DBREG, &[])? {
            let database = int(&row, 0);
            let mut entry = DatabaseEntry {
                id: DbId(database as u16),
                name: text(&row, 1),
                created: match row.get(6) {
                    Some(Value::DateTime(d)) => *d,
                    _ => DateTime { days: 0, ticks: 0 },
                },
                compatibility_level: int(&row, 10) as u8,
                options: int(&row, 3) as u32 as u64 | (int(&row, 4) as u32 as u64) << 32,
                files: Vec::new(),
            };
            for f in files.iter().filter(|f| int(f, 1) == database) {
                entry.files.push(FileEntry {
                    file_id: int(f, 3) as u16,
                    kind: if int(f, 6) == 1 {
                        FileKind::Log
                    } else {
                        FileKind::Data
                    },
                    filegroup: int(f, 4) as i32,
                    logical_name: text(f, 11),
                    path: text(f, 12),
                    size: int(f, 8) as i32,
                    max_size: int(f, 9) as i32,
                    growth: int(f, 10) as i32,
                    growth_percent: int(f, 5) & STATUS_PERCENT != 0,
                    adding: int(f, 7) == FILESTATE_ADDING,
                });
            }
            entry.files.sort_by_key(|f| f.file_id);
            out.push(entry);
        }
        Ok(out)
    }

    /// Adds a database.
    pub fn add(&self, tx: &Transaction, entry: &DatabaseEntry) -> SqlResult<()> {
        let base = self.base(tx);
        base.insert(
            Fields::new(id::DBREG)?
                .int("id", i64::from(entry.id.0))
                .text("name", &entry.name)
                .int("status", i64::from(entry.options as u32 as i32))
                .int("status2", i64::from((entry.options >> 32) as u32 as i32))
                .set("crdate", Value::DateTime(entry.created))
                .set("modified", Value::DateTime(entry.created))
                // The broker's GUID is unique per database: ours has the id in it.
                .set("svcbrkrguid", Value::Guid(broker_guid(entry.id)))
                .int("cmptlevel", i64::from(entry.compatibility_level)),
        )?;
        for f in &entry.files {
            base.insert(file_row(entry.id, f)?)?;
        }
        Ok(())
    }

    /// Removes a database.
    pub fn remove(&self, tx: &Transaction, database: DbId) -> SqlResult<()> {
        let base = self.base(tx);
        base.delete(id::DBREG, &[Value::Int(i32::from(database.0))], |_| true)?;
        self.remove_files(&base, database)
    }

    fn remove_files(&self, base: &Base<'_>, database: DbId) -> SqlResult<()> {
        base.delete(id::BRICKFILES, &[], |row| {
            int(row, 1) == i64::from(database.0)
        })?;
        Ok(())
    }

    /// Replaces what is known about a database: name, options, files.
    pub fn replace(&self, tx: &Transaction, entry: &DatabaseEntry) -> SqlResult<()> {
        self.remove(tx, entry.id)?;
        self.add(tx, entry)
    }
}

/// `sys.databases.service_broker_guid`.
pub fn broker_guid(database: DbId) -> [u8; 16] {
    let mut guid = [0; 16];
    guid[..2].copy_from_slice(&database.0.to_le_bytes());
    guid
}

fn file_row(database: DbId, f: &FileEntry) -> SqlResult<Fields> {
    Ok(Fields::new(id::BRICKFILES)?
        .int("brickid", 1)
        .int("dbid", i64::from(database.0))
        .int("pruid", 1)
        .int("fileid", i64::from(f.file_id))
        .int("grpid", i64::from(f.filegroup))
        .int("status", if f.growth_percent { STATUS_PERCENT } else { 0 })
        .int("filetype", i64::from(f.kind == FileKind::Log))
        .int("filestate", if f.adding { FILESTATE_ADDING } else { 0 })
        .int("size", i64::from(f.size))
        .int("maxsize", i64::from(f.max_size))
        .int("growth", i64::from(f.growth))
        .text("lname", &f.logical_name)
        .text("pname", &f.path))
}
