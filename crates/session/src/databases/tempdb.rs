//! Which files tempdb has: those that master lists, or those of a first start while nobody has changed them.

use std::path::PathBuf;

use duramen_base::DbId;
use duramen_catalog::{DatabaseEntry, FileKind};
use duramen_storage::note_tempdb_files;

use super::{Databases, NewFile, OpenDb, entry_of};

impl Databases {
    /// The files of the next tempdb: data and log, the first of each first.
    pub(crate) fn tempdb_listed(kept: &DatabaseEntry) -> (Vec<NewFile>, Vec<NewFile>) {
        let of = |kind| {
            let files = kept.files.iter().filter(move |f| f.kind == kind);
            files.map(NewFile::of).collect()
        };
        (of(FileKind::Data), of(FileKind::Log))
    }

    /// Where tempdb has files now, and where it would have them if nobody had changed anything.
    pub(crate) fn tempdb_paths(&self, db: &OpenDb) -> Vec<PathBuf> {
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
