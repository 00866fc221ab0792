//! Pages and files of a full backup that wait beside those of their database until they are put there.

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_catalog::DatabaseEntry;
use duramen_storage::backup::{BackupSet, Medium, PageRestore, RestoreFiles};

use super::Databases;
use crate::unavailable::Unavailable;

/// What is to be restored.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    Pages(&'a BTreeSet<PageId>),
    Files(&'a [u16]),
}

impl Databases {
    /// Pages or files of a full backup are kept beside the files; a database that is open is closed before that is durable.
    pub fn take_part(
        &self,
        mut entry: DatabaseEntry,
        open: Option<&Arc<OpenDb>>,
        medium: &Medium,
        set: &BackupSet,
        part: Part<'_>,
    ) -> SqlResult<PageRestore> {
        let _one = self.admin.lock();
        let files = self.restore_files(&entry);
        let mut taken = match part {
            Part::Pages(pages) => self.engine.take_pages(&files, medium, set, pages)?,
            Part::Files(ids) => self.engine.take_files(&files, medium, set, ids)?,
        };
        let Some(db) = open else {
            let before = self.engine.page_restore(&files)?;
            taken.tail_is_kept = before.is_some_and(|b| b.tail_is_kept);
            self.engine.keep_page_restore(&files, &taken)?;
            return Ok(taken);
        };
        db.catalog.flush_identities()?;
        self.close(db);
        let kept = db
            .db
            .close()
            .and_then(|()| self.engine.keep_page_restore(&files, &taken))
            .and_then(|()| {
                let mut restoring = entry.clone();
                restoring.options |= option::RESTORING;
                let master = self.master()?;
                self.in_master(&master.catalog, |r, tx| r.replace(tx, &restoring))
            });
        if let Err(e) = kept {
            self.open_again(entry)?;
            return Err(e);
        }
        entry.options |= option::RESTORING;
        self.set_restoring(entry);
        Ok(taken)
    }

    /// RECOVERY of a page restore; `None` when the database is in none.
    pub(crate) fn recover_pages(&self, gone: &Unavailable) -> SqlResult<Option<()>> {
        let _one = self.admin.lock();
        let files = self.restore_files(&gone.entry);
        let restore = self.engine.page_restore(&files)?;
        restore
            .map(|r| self.put_pages(gone, &files, &r))
            .transpose()
    }

    /// The last step, under `admin`: 4333 while log is missing (*assumed*: the number).
    pub fn put_pages(
        &self,
        gone: &Unavailable,
        files: &RestoreFiles,
        restore: &PageRestore,
    ) -> SqlResult<()> {
        if !restore.is_empty() && restore.reached < self.engine.page_restore_target(files)? {
            return Err(SqlError::new(&messages::LOG_NOT_RESTORED, &[]));
        }
        self.engine.put_pages(files, restore)?;
        let mut entry = gone.entry.clone();
        entry.options &= !option::RESTORING;
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        self.engine.forget_page_restore(files)?;
        self.open_again(entry)
    }
}
