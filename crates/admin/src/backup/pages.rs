//! RESTORE DATABASE ... PAGE, FILE or FILEGROUP and what follows it, offline: the database is RESTORING from the first
//! statement to the last.
//!
//! | statement | does |
//! |---|---|
//! | BACKUP LOG ... WITH NORECOVERY | backs the tail up and takes the database offline: nothing is lost by what comes then |
//! | RESTORE DATABASE ... PAGE | takes the pages from a full backup; a database that is open goes offline |
//! | RESTORE DATABASE ... FILE, FILEGROUP | the same with all pages of files, which may be damaged or gone; not the primary file |
//! | RESTORE DATABASE (differential), RESTORE LOG | bring the pages up to the log |
//! | BACKUP LOG | backs up what the log got since: opened for it, and only for it |
//! | ... WITH RECOVERY | puts the pages into the files and opens them: 4318 or 4333 when log is missing |
//!
//! Until RECOVERY the data files are as they were (`duramen_backup`, `pages`): RESTORE DATABASE WITH RECOVERY behind
//! a NORECOVERY tail brings the database back, and a restore of pages may begin again with other ones.
//! <https://learn.microsoft.com/sql/relational-databases/backup-restore/restore-pages-sql-server>
//! <https://learn.microsoft.com/sql/relational-databases/backup-restore/file-restores-full-recovery-model>

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_backup::{BackupSet, MOST_PAGES, Medium, PageRestore, Restores, SetFile, SetKind};
use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_catalog::{CatalogDb, fold};
use duramen_core::databases::restored_pages::Part;
use duramen_core::unavailable::{DatabaseState, Unavailable};
use duramen_os::time::Instant;
use duramen_storage::{Database, RecoveryModel};

use super::{FilePart, Statement, refuse};
use crate::database_ddl::Admin;

/// What the statement calls itself when it has taken pages or files.
const WHAT: &str = "RESTORE DATABASE ... FILE=<name>";

/// The pages of `PAGE = '1:57, 1:202'`. 102 for another form (*assumed*: which error SQL Server has for it).
pub fn parse_pages(text: &str) -> SqlResult<BTreeSet<PageId>> {
    let page = |part: &str| {
        let (file, page) = part.trim().split_once(':')?;
        let (file, page) = (file.trim().parse().ok()?, page.trim().parse().ok()?);
        (file > 0).then_some(PageId::new(file, page))
    };
    let mut pages = BTreeSet::new();
    for part in text.split(',') {
        let wrong = || SqlError::new(&messages::SYNTAX_NEAR, &[&part.trim()]);
        pages.insert(page(part).ok_or_else(wrong)?);
    }
    match pages.len() > MOST_PAGES {
        true => Err(refuse("RESTORE of more than 1,000 pages")),
        false => Ok(pages),
    }
}

/// Options that would make of the pages something else than the rest of the database are refused.
fn only_known(stmt: &Statement) -> SqlResult<()> {
    let others = [
        "REPLACE",
        "STANDBY",
        "STOPAT",
        "STOPATMARK",
        "STOPBEFOREMARK",
    ];
    let given = others.into_iter().find(|o| stmt.options.has(o));
    let moved = (!stmt.moves.is_empty()).then_some("MOVE");
    match given.or(moved) {
        Some(option) => Err(refuse(&format!("{option} in a RESTORE of pages or files"))),
        None => Ok(()),
    }
}

/// The files that a statement names, by their numbers. 3234 for what the backup does not have (*assumed*: of a filegroup).
fn files_named(stmt: &Statement, set: &BackupSet) -> SqlResult<Vec<u16>> {
    let header = &set.header;
    let mut ids = Vec::new();
    for part in &stmt.files {
        let (name, of_group) = match part {
            FilePart::File(name) => (name, None),
            FilePart::Filegroup(name) => {
                let mut groups = header.filegroups.iter();
                let group = groups.find(|g| fold(&g.1) == fold(name)).map(|g| g.0);
                (name, Some(group))
            }
        };
        let named = |f: &&SetFile| match of_group {
            None => fold(&f.logical_name) == fold(name),
            Some(group) => Some(f.filegroup) == group,
        };
        let data = header.files.iter().filter(|f| !f.is_log);
        let found: Vec<u16> = data.filter(named).map(|f| f.id).collect();
        if found.is_empty() {
            let args: [&dyn std::fmt::Display; 2] = [name, &header.database];
            return Err(SqlError::new(&messages::LOGICAL_FILE_NOT_IN_BACKUP, &args));
        }
        if found.contains(&1) {
            return Err(refuse("RESTORE of the primary file alone"));
        }
        ids.extend(found);
    }
    Ok(ids)
}

impl Admin<'_> {
    /// RESTORE DATABASE ... PAGE, FILE and FILEGROUP. 3115, 4214 where no log could bring the pages up; 3102 and 3101 while somebody is in it.
    pub(super) fn restore_pages(
        &mut self,
        stmt: &Statement,
        (medium, set): (&Medium, &BackupSet),
        started: Instant,
    ) -> SqlResult<()> {
        only_known(stmt)?;
        if set.header.kind != SetKind::Database {
            return Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]));
        }
        let ids = files_named(stmt, set)?;
        let part = match ids.is_empty() {
            true => Part::Pages(&stmt.pages),
            false => Part::Files(&ids),
        };
        let instance = self.instance();
        let databases = &instance.databases;
        let taken = match databases.find(&stmt.database) {
            Some(db) => {
                if db.db.recovery_model() == RecoveryModel::Simple {
                    return Err(SqlError::new(&messages::RESTORE_OF_PART_SIMPLE, &[]));
                }
                if db.db.log_backup_lsn().is_null() {
                    return Err(SqlError::new(&messages::NO_CURRENT_BACKUP, &[]));
                }
                self.be_alone_for(&db, "RESTORE")?;
                let entry = db.entry.read().clone();
                let taken = databases.take_part(entry, Some(&db), medium, set, part);
                self.session().among_others();
                taken?
            }
            None => {
                let gone = self.restoring(&stmt.database)?;
                let files = databases.restore_files(&gone.entry);
                if Restores::new(&databases.engine, &files)
                    .page_restore()?
                    .is_none()
                {
                    return Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]));
                }
                databases.take_part(gone.entry, None, medium, set, part)?
            }
        };
        let mut header = set.header.clone();
        header.files.retain(|f| f.is_log || taken.is_about(f.id));
        for f in header.files.iter_mut().filter(|f| !f.is_log) {
            if ids.is_empty() {
                f.backup_bytes = taken.count_of(f.id) as u64 * 8192;
            }
        }
        if !stmt.options.has("NORECOVERY") {
            self.report_goes_on(stmt, &taken)?;
        }
        self.report_restored(WHAT, stmt, &header, set.position, started.elapsed());
        let groups = |p: &FilePart| matches!(p, FilePart::Filegroup(_));
        // *Assumed*: single pages are told as their file is.
        let kind = match !stmt.files.is_empty() && stmt.files.iter().all(groups) {
            true => 'G',
            false => 'F',
        };
        self.note_restored(stmt, (medium, set), kind, &header.files, None);
        // What was suspect of files is told by the next look at their pages.
        let pages: Vec<PageId> = stmt.pages.iter().copied().collect();
        self.note_pages_restored(&stmt.database, Some(&pages));
        Ok(())
    }

    /// 4303, as something to know: the pages wait for log.
    fn report_goes_on(&mut self, stmt: &Statement, taken: &PageRestore) -> SqlResult<()> {
        let gone = self.restoring(&stmt.database)?;
        let databases = &self.instance().databases;
        let files = databases.restore_files(&gone.entry);
        let target = Restores::new(&databases.engine, &files).page_restore_target()?;
        let args: [&dyn std::fmt::Display; 2] = [&taken.reached.to_numeric(), &target.to_numeric()];
        let mut said = SqlError::new(&messages::ROLL_FORWARD_GOES_ON, &args);
        said.severity = 10;
        self.notes.push(said);
        Ok(())
    }

    /// X on a database that is about to go offline.
    fn be_alone_for(&self, db: &OpenDb, what: &str) -> SqlResult<()> {
        let name = &db.db.name;
        if self.session().is_in(db.db.id) {
            let args: [&dyn std::fmt::Display; 2] = [&what, name];
            return Err(SqlError::new(&messages::RESTORE_IN_USE_BY_SESSION, &args));
        }
        let alone = self.session().try_alone(db, Some(Duration::ZERO));
        alone.map_err(|_| SqlError::new(&messages::EXCLUSIVE_ACCESS, &[]))
    }

    /// The page restore that a database which is not open waits in.
    pub(super) fn page_restore_of(
        &self,
        name: &str,
    ) -> SqlResult<Option<(Arc<Unavailable>, PageRestore)>> {
        let databases = &self.instance().databases;
        let gone = databases.find_unavailable(name);
        let Some(gone) = gone.filter(|g| g.state == DatabaseState::Restoring) else {
            return Ok(None);
        };
        let files = databases.restore_files(&gone.entry);
        let restore = Restores::new(&databases.engine, &files).page_restore()?;
        Ok(restore.map(|r| (gone, r)))
    }

    /// A differential or log backup on the pages.
    pub(super) fn roll_pages(
        &mut self,
        stmt: &Statement,
        (medium, set): (&Medium, &BackupSet),
    ) -> SqlResult<()> {
        only_known(stmt)?;
        let instance = self.instance();
        let databases = &instance.databases;
        let recovers = !stmt.options.stays_restoring();
        let _one = databases.admin.lock();
        // Somebody else may have ended it.
        let Some((gone, mut restore)) = self.page_restore_of(&stmt.database)? else {
            return Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]));
        };
        let files = databases.restore_files(&gone.entry);
        let target = Restores::new(&databases.engine, &files).page_restore_target()?;
        let last = set.header.last_lsn.max(restore.reached);
        if recovers && !restore.is_empty() && last < target {
            let of_pages = |f: &&duramen_catalog::FileEntry| restore.is_about(f.file_id);
            let file = gone.entry.files.iter().find(of_pages);
            let file = file.map_or("", |f| f.logical_name.as_str());
            let (target, last) = (target.to_numeric(), last.to_numeric());
            let args: [&dyn std::fmt::Display; 3] = [&file, &target, &last];
            return Err(SqlError::new(&messages::LOG_TOO_EARLY_TO_RECOVER, &args));
        }
        let engine = &databases.engine;
        Restores::new(engine, &files).roll_pages(&mut restore, medium, set)?;
        Restores::new(engine, &files).keep_page_restore(&restore)?;
        match recovers {
            true => databases.put_pages(&gone, &files, &restore),
            false => Ok(()),
        }
    }

    /// BACKUP LOG of a database whose pages are being restored: it is opened for that. The checkpoint of its opening is in
    /// the backup; what comes behind it is repeated when it is opened again, so it is not closed as a database is.
    pub(super) fn back_up_closed(&mut self, gone: &Unavailable, stmt: &Statement) -> SqlResult<()> {
        let instance = self.instance();
        let databases = &instance.databases;
        let files = databases.restore_files(&gone.entry);
        let _one = databases.admin.lock();
        let waiting = self.page_restore_of(&stmt.database)?;
        let Some((_, mut restore)) = waiting else {
            return Err(gone.refusal());
        };
        let db = Database::open(&databases.engine, &databases.open_spec(&gone.entry))?;
        let open = Arc::new(OpenDb::new(
            db.clone(),
            CatalogDb::open(&db),
            gone.entry.clone(),
        ));
        let taken = self.backup_of(&open, true, stmt);
        db.detach();
        taken?;
        restore.tail_is_kept = true;
        Restores::new(&databases.engine, &files).keep_page_restore(&restore)
    }

    /// BACKUP LOG ... WITH NORECOVERY: what is backed up is the tail, and the database is RESTORING.
    pub(super) fn back_up_tail(&mut self, db: &Arc<OpenDb>, stmt: &Statement) -> SqlResult<()> {
        self.be_alone_for(db, "BACKUP LOG")?;
        let taken = self.back_up_alone(db, stmt);
        self.session().among_others();
        taken
    }

    fn back_up_alone(&mut self, db: &Arc<OpenDb>, stmt: &Statement) -> SqlResult<()> {
        db.catalog.flush_identities()?;
        // Nothing that a page on the disk lacks is behind the tail.
        db.db.checkpoint()?;
        self.backup_of(db, true, stmt)?;
        let instance = self.instance();
        let databases = &instance.databases;
        let _one = databases.admin.lock();
        let mut entry = db.entry.read().clone();
        let files = databases.restore_files(&entry);
        let restores = Restores::new(&databases.engine, &files);
        let mut empty = restores.new_page_restore()?;
        empty.tail_is_kept = true;
        restores.keep_page_restore(&empty)?;
        entry.options |= option::RESTORING;
        let master = databases.master()?;
        databases.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        databases.close(db);
        db.db.detach();
        databases.set_restoring(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pages() {
        let pages: Vec<PageId> = parse_pages("1:57, 3:202,1:57")
            .unwrap()
            .into_iter()
            .collect();
        assert_eq!(pages, [PageId::new(1, 57), PageId::new(3, 202)]);
        for wrong in ["", "57", "1:", "1:x", "0:5", "1:57,", "70000:1"] {
            assert_eq!(
                parse_pages(wrong).map_err(|e| e.number),
                Err(102),
                "{wrong}"
            );
        }
    }
}
