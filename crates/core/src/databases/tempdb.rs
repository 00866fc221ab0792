//! Which files tempdb has: those that master lists, or those of a first start while nobody has changed them.

use std::path::PathBuf;

use duramen_access::open_db::OpenDb;
use duramen_base::DbId;
use duramen_catalog::{DatabaseEntry, FileKind};
use duramen_os::OpenOptions;
use duramen_storage::note_tempdb_files;

use super::{Databases, NewFile, entry_of};

/// What a file of tempdb grows to where nobody has said another maximum; bytes. Together they are the ceiling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub data: u64,
    pub log: u64,
}

/// No ceiling is lower.
const LEAST: u64 = 16 << 20;
const EXTENT: u64 = 64 << 10;

impl Databases {
    /// Says how much tempdb may take, and divides it among its files: a quarter is the log's.
    pub(crate) fn limit_tempdb(&self, (data, log): &mut (Vec<NewFile>, Vec<NewFile>)) {
        let disk = &self.engine.env.disk;
        let ceiling = self.config.files.max_tempdb.unwrap_or_else(|| {
            let options = OpenOptions {
                read_only: true,
                ..OpenOptions::default()
            };
            // What the files of the former life take is free in a moment.
            let length = |f: &NewFile| disk.open(&self.resolve(&f.path), &options)?.len();
            let own = data.iter().chain(&*log).map(|f| length(f).unwrap_or(0));
            let free = disk.free_space(&self.config.data_dir).unwrap_or(u64::MAX);
            free.saturating_add(own.sum()) / 4
        });
        let first: u64 = data.iter().chain(&*log).map(|f| f.size).sum();
        let ceiling = ceiling.max(LEAST).max(first);
        self.engine.set_max_tempdb(ceiling, ceiling / 4);
        let whole = |bytes: u64| bytes / EXTENT * EXTENT;
        let limits = *self.tempdb_limits.get_or_init(|| Limits {
            data: whole((ceiling - ceiling / 4) / data.len().max(1) as u64),
            log: whole(ceiling / 4 / log.len().max(1) as u64),
        });
        for (files, limit) in [(data, limits.data), (log, limits.log)] {
            for f in files.iter_mut() {
                f.max_size = f.max_size.or(Some(limit.max(f.size)));
            }
        }
    }

    /// What a new file of tempdb grows to when the statement does not say.
    pub fn tempdb_limit(&self, kind: FileKind) -> Option<u64> {
        let limits = self.tempdb_limits.get()?;
        Some(match kind {
            FileKind::Data => limits.data,
            FileKind::Log => limits.log,
        })
    }

    /// An entry for master, which keeps no maximum that nobody has said: the next start finds another one.
    pub(super) fn without_tempdb_limits(&self, entry: &DatabaseEntry) -> DatabaseEntry {
        let mut entry = entry.clone();
        if entry.id == DbId::TEMPDB {
            for f in &mut entry.files {
                let limit = self.tempdb_limit(f.kind).map(|b| b / 8192);
                if limit == u64::try_from(f.max_size).ok() {
                    f.max_size = -1;
                }
            }
        }
        entry
    }

    /// The files of the next tempdb: data and log, the first of each first.
    pub(crate) fn tempdb_listed(kept: &DatabaseEntry) -> (Vec<NewFile>, Vec<NewFile>) {
        let of = |kind| {
            let files = kept.files.iter().filter(move |f| f.kind == kind);
            files.map(NewFile::of).collect()
        };
        (of(FileKind::Data), of(FileKind::Log))
    }

    /// Where tempdb has files now, and where it would have them if nobody had changed anything.
    pub fn tempdb_paths(&self, db: &OpenDb) -> Vec<PathBuf> {
        let now = db.db.files().into_iter().map(|f| f.spec.path);
        let (data, log) = self.tempdb_files();
        let first = data.iter().chain(&log).map(|f| self.resolve(&f.path));
        now.chain(first).collect()
    }

    /// Tells `duramen check` which files are not for it. Whoever cannot be told finds them by their names or not at all.
    pub(crate) fn note_tempdb(&self, entry: &DatabaseEntry) {
        let first = self.tempdb_files();
        let first = entry_of(DbId::TEMPDB, "tempdb", &first.0, &first.1);
        let listed = entry.files.iter().chain(&first.files);
        let paths: Vec<PathBuf> = listed.map(|f| self.resolve(&f.path)).collect();
        let _ = note_tempdb_files(&*self.engine.env.disk, &self.config.data_dir, &paths);
    }
}
