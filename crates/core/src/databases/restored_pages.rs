//! Pages and files of a full backup that wait beside those of their database until they are put there.

use std::collections::BTreeSet;
use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_backup::{BackupSet, Medium, PageRestore, RestoreFiles, Restores};
use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_catalog::DatabaseEntry;

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
        let restores = Restores::new(&self.engine, &files);
        let mut taken = match part {
            Part::Pages(pages) => restores.take_pages(medium, set, pages)?,
            Part::Files(ids) => restores.take_files(medium, set, ids)?,
        };
        let Some(db) = open else {
            let before = restores.page_restore()?;
            taken.tail_is_kept = before.is_some_and(|b| b.tail_is_kept);
            restores.keep_page_restore(&taken)?;
            return Ok(taken);
        };
        db.catalog.flush_identities()?;
        self.close(db);
        let kept = db
            .db
            .close()
            .and_then(|()| restores.keep_page_restore(&taken))
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
        let restore = Restores::new(&self.engine, &files).page_restore()?;
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
        if !restore.is_empty()
            && restore.reached < Restores::new(&self.engine, files).page_restore_target()?
        {
            return Err(SqlError::new(&messages::LOG_NOT_RESTORED, &[]));
        }
        Restores::new(&self.engine, files).put_pages(restore)?;
        let mut entry = gone.entry.clone();
        entry.options &= !option::RESTORING;
        let master = self.master()?;
        self.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        Restores::new(&self.engine, files).forget_page_restore()?;
        self.open_again(entry)
    }
}
