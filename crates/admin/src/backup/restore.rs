//! RESTORE.
//!
//! Order against crashes and failures:
//! * The set is read through and checked before anything is made of it, except for a full backup: its files are new ones,
//!   and it is checked while they are laid. What turns out to be damaged leaves nothing behind.
//! * A full backup goes to new files: where they shall be, or beside files that are there. master lists them as being
//!   made, so that a start that finds them deletes them. With RECOVERY they are opened and recovered there. Only then
//!   master's list says, at once, that they are the database, and that files have to take the places of others (`swap`).
//!   Until then the database that is replaced is as it was.
//! * Log and differential backups are added to the files of a database that is RESTORING (`duramen_backup`).

use std::time::Duration;

use duramen_access::database_options::option;
use duramen_backup::{
    BackupSet, Medium, RecordTime, RestoreFiles, Restores, SetFile, SetHeader, SetKind, StopPoint,
    Tolerance,
};
use duramen_base::{DbId, PageId, SqlError, SqlResult, messages};
use duramen_catalog::{DatabaseEntry, FileEntry, FileKind, fold};
use duramen_core::databases::restored::How;
use duramen_core::unavailable::{DatabaseState, Unavailable};
use duramen_os::time;
use duramen_storage::RecoveryModel;

use super::stop::stop_point;
use super::{Statement, model_of, refuse};
use crate::database_ddl::Admin;
use crate::history::{self, RecordedSet, Restored};
use crate::suspect_pages;

impl Admin<'_> {
    /// RESTORE DATABASE and RESTORE LOG. Whatever goes wrong is followed by 3013.
    pub fn restore(&mut self, log: bool, stmt: &Statement) -> SqlResult<()> {
        let what = if log {
            "RESTORE LOG"
        } else {
            "RESTORE DATABASE"
        };
        let result = self.restore_between(log, what, stmt);
        self.with_3013(result, what)
    }

    pub(super) fn restore_checked(
        &mut self,
        log: bool,
        what: &str,
        stmt: &Statement,
    ) -> SqlResult<()> {
        let started = time::now();
        if self.session().in_transaction() {
            return Err(SqlError::new(&messages::BACKUP_IN_TRANSACTION, &[]));
        }
        match self
            .instance()
            .databases
            .find(&stmt.database)
            .map(|d| d.db.id)
        {
            Some(DbId::TEMPDB) => return Err(SqlError::new(&messages::BACKUP_OF_TEMPDB, &[])),
            Some(DbId::MASTER) if !log && self.instance().databases.has_stand_in() => {
                return self.restore_master(what, stmt);
            }
            Some(DbId::MASTER) => return Err(SqlError::new(&messages::RESTORE_MASTER, &[])),
            Some(DbId(..=4)) => return Err(refuse("RESTORE of model or msdb")),
            _ => {}
        }
        let whole = |set: &BackupSet| {
            let part = !stmt.pages.is_empty() || !stmt.files.is_empty();
            set.header.kind == SetKind::Database && !part
        };
        if stmt.devices.is_empty() {
            return self.restore_nothing(what, stmt, started);
        }
        let (medium, set) = self.chosen_set(stmt)?;
        if !set.header.own {
            return Err(refuse("RESTORE of a backup that SQL Server has made"));
        }
        if log != (set.header.kind == SetKind::Log) {
            // *assumed*: which error SQL Server has for a set of the other kind.
            return Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]));
        }
        // A full backup's stays with the database until that is recovered; otherwise it is for who recovers.
        if stmt.options.has("RESTRICTED_USER") && !whole(&set) && stmt.options.stays_restoring() {
            return Err(refuse(&format!(
                "{what} WITH NORECOVERY, RESTRICTED_USER of another than a full backup"
            )));
        }
        if stmt.options.has("CHECKSUM") && !set.header.checksums {
            return Err(SqlError::new(&messages::NO_BACKUP_CHECKSUMS, &[]));
        }
        let transfer = stmt.options.transfer()?;
        // A full backup goes to new files, and is found to be damaged on its way there.
        let of_part = !stmt.pages.is_empty() || !stmt.files.is_empty();
        if set.header.kind != SetKind::Database || of_part {
            let memory = self.instance().databases.engine.memory.clone();
            medium.verify(&set, transfer, &memory)?;
        }
        let stop = stop_point(&stmt.options)?;
        if !log && let Some(point) = &stop {
            let too_early = match point {
                StopPoint::Mark { .. } => {
                    return Err(SqlError::new(&messages::STOP_ONLY_FOR_LOG, &[]));
                }
                // The set has all of its log, whatever is named.
                StopPoint::Lsn { lsn, .. } => *lsn < set.header.last_lsn,
                StopPoint::Time(time) => {
                    // Its log may have no commit: nothing of what the pages hold came before it began.
                    let begun = RecordTime::of_tape(set.header.started);
                    medium.newest_commit(&set)?.max(Some(begun)) > Some(*time)
                }
            };
            if too_early {
                return Err(SqlError::new(&messages::STOPAT_TOO_EARLY_FOR_SET, &[]));
            }
        }
        let tolerance = Tolerance::new(stmt.options.has("CONTINUE_AFTER_ERROR"));
        if of_part {
            if tolerance.is_tolerant() {
                return Err(refuse(
                    "RESTORE of pages or files WITH CONTINUE_AFTER_ERROR",
                ));
            }
            return self.restore_pages(stmt, (&medium, &set), started);
        }
        let of_pages = self.page_restore_of(&stmt.database)?;
        match (set.header.kind, of_pages) {
            (SetKind::Database, _) => self.restore_full(stmt, &medium, &set, &tolerance)?,
            (_, Some(_)) => self.roll_pages(stmt, (&medium, &set))?,
            _ => self.roll_forward(stmt, (&medium, &set), stop.as_ref(), &tolerance)?,
        }
        self.report_restored(what, stmt, &set.header, set.position, started.elapsed());
        self.note_restored(
            stmt,
            (&medium, &set),
            history::type_of(set.header.kind),
            &set.header.files,
            stop.as_ref(),
        );
        if set.header.kind == SetKind::Database {
            self.note_pages_restored(&stmt.database, None);
        }
        self.report_tolerated(&stmt.database, &tolerance);
        self.log_restored(&stmt.database, &set.header, set.position, &stmt.devices);
        if !stmt.options.stays_restoring() {
            self.log_restore_complete(&stmt.database);
        }
        Ok(())
    }

    /// RESTORE without FROM: what was restored before is recovered.
    fn restore_nothing(
        &mut self,
        what: &str,
        stmt: &Statement,
        started: time::Instant,
    ) -> SqlResult<()> {
        let gone = self.restoring(&stmt.database)?;
        if !stmt.options.stays_restoring() {
            let restricted = stmt.options.has("RESTRICTED_USER");
            let databases = &self.instance().databases;
            databases.recover_restored(&gone, restricted)?;
        }
        self.report_processed(what, 0, started.elapsed());
        if !stmt.options.stays_restoring() {
            self.log_restore_complete(&stmt.database);
        }
        Ok(())
    }

    /// The restore's rows in msdb: of these files, which it has filled.
    pub(super) fn note_restored(
        &mut self,
        stmt: &Statement,
        (medium, set): (&Medium, &BackupSet),
        kind: char,
        files: &[SetFile],
        stop: Option<&StopPoint>,
    ) {
        let recorded = RecordedSet {
            set,
            media: &medium.media,
            devices: &stmt.devices,
            compressed: medium.compressed,
            open: None,
        };
        let filled = files.iter().filter(|f| !f.is_log || kind == 'D');
        let options = &stmt.options;
        let mark = |option: &str| options.has(option).then(|| options.text(option));
        let restored = Restored {
            database: &stmt.database,
            kind,
            files: match kind {
                'L' => Vec::new(),
                _ => filled.map(|f| f.id).collect(),
            },
            user: &self.session().login.user.clone(),
            replace: options.has("REPLACE"),
            recovery: !options.stays_restoring(),
            stop_at: matches!(stop, Some(StopPoint::Time(_))).then(|| options.text("STOPAT")),
            mark: mark("STOPATMARK")
                .map(|m| (m, false))
                .or(mark("STOPBEFOREMARK").map(|m| (m, true))),
        };
        if let Err(e) = history::restored(&self.instance(), &recorded, &restored) {
            self.notes.push(e);
        }
    }

    /// What is restored is not suspect any more: these pages, or all.
    pub(super) fn note_pages_restored(&self, name: &str, pages: Option<&[PageId]>) {
        let instance = self.instance();
        let databases = &instance.databases;
        let open = databases.find(name).map(|d| d.db.id);
        let gone = || databases.find_unavailable(name).map(|g| g.entry.id);
        if let Some(id) = open.or_else(gone) {
            let _ = suspect_pages::restored(&instance, id, pages);
        }
    }

    /// The set that FILE names.
    pub(super) fn chosen_set(&mut self, stmt: &Statement) -> SqlResult<(Medium, BackupSet)> {
        let medium = self.instance().databases.open_media(&stmt.devices)?;
        stmt.may_read(&medium)?;
        let families = medium.media.families;
        if families > 1 && stmt.devices.len() == 1 {
            return Err(SqlError::new(
                &messages::MEDIA_FAMILIES_MISSING,
                &[&families, &1],
            ));
        }
        let position = stmt.options.int("FILE").unwrap_or(1);
        let set = medium
            .sets
            .iter()
            .find(|s| i64::from(s.position) == position);
        match set {
            Some(set) => {
                let set = set.clone();
                Ok((medium, set))
            }
            None => {
                let args: [&dyn std::fmt::Display; 2] = [&position, &medium.shown];
                Err(SqlError::new(&messages::BACKUP_FILE_MISSING, &args))
            }
        }
    }

    /// The database that is being restored. 3117 when it is not, 3118 when there is none.
    pub(super) fn restoring(&mut self, name: &str) -> SqlResult<Unavailable> {
        let databases = &self.instance().databases;
        match databases.find_unavailable(name) {
            Some(gone) if gone.state == DatabaseState::Restoring => Ok((*gone).clone()),
            Some(_) => Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[])),
            None if databases.find(name).is_some() => {
                Err(SqlError::new(&messages::NO_FILES_TO_ROLL_FORWARD, &[]))
            }
            None => Err(SqlError::new(&messages::RESTORE_DATABASE_MISSING, &[&name])),
        }
    }

    fn roll_forward(
        &mut self,
        stmt: &Statement,
        (medium, set): (&Medium, &BackupSet),
        stop: Option<&StopPoint>,
        tolerance: &Tolerance,
    ) -> SqlResult<()> {
        let gone = self.restoring(&stmt.database)?;
        let transfer = stmt.options.transfer()?;
        let databases = &self.instance().databases;
        let files = RestoreFiles {
            tolerance: tolerance.clone(),
            ..databases.restore_files(&gone.entry)
        };
        let cancel = self.cancel_token().clone();
        let activity = self.session().activity.clone();
        let mut progress = |percent: u32| {
            activity.advance(percent as f32);
            match cancel.is_set() {
                true => Err(duramen_query::cancelled()),
                false => Ok(()),
            }
        };
        let reached = {
            let _one = databases.admin.lock();
            let engine = &databases.engine;
            let restores = Restores::new(engine, &files);
            match set.header.kind {
                SetKind::Log => restores.lay_log(medium, set, stop, transfer, &mut progress)?,
                _ => {
                    restores.lay_differential(medium, set, transfer, &mut progress)?;
                    true
                }
            }
        };
        if !reached {
            self.note(&messages::STOP_NOT_REACHED, &[]);
        }
        match stmt.options.stays_restoring() || !reached {
            true => Ok(()),
            false => databases.recover_restored(&gone, stmt.options.has("RESTRICTED_USER")),
        }
    }

    fn restore_full(
        &mut self,
        stmt: &Statement,
        medium: &Medium,
        set: &BackupSet,
        tolerance: &Tolerance,
    ) -> SqlResult<()> {
        let instance = self.instance();
        let databases = &instance.databases;
        let mut restricted = set.clone();
        if stmt.options.has("RESTRICTED_USER") {
            restricted.header.options |= option::RESTRICTED_USER;
        }
        let set = &restricted;
        databases.go_on_with_swap(&stmt.database)?;
        let replaced = self.may_be_replaced(stmt, &set.header)?;
        let result = {
            let files = self.files_of(stmt, &set.header, replaced.as_ref());
            files.and_then(|files| {
                let cancel = self.cancel_token().clone();
                let activity = self.session().activity.clone();
                databases.restore_full(
                    &stmt.database,
                    (medium, set),
                    &files,
                    replaced.as_ref(),
                    How {
                        no_recovery: stmt.options.stays_restoring(),
                        transfer: stmt.options.transfer()?,
                        tolerance: tolerance.clone(),
                    },
                    &mut |percent| {
                        activity.advance(percent as f32);
                        match cancel.is_set() {
                            true => Err(duramen_query::cancelled()),
                            false => Ok(()),
                        }
                    },
                )
            })
        };
        self.session().among_others();
        result
    }

    /// The database of that name, when there is one and it may go: 3102, 3101, 3154, 3159. It is locked then.
    ///
    /// Without REPLACE it may go when the backup is of the same family, and when its log either keeps nothing (SIMPLE, or
    /// never backed up) or has its end in a backup: BACKUP LOG WITH NORECOVERY, which leaves it RESTORING. That this holds
    /// for one that could not be opened as well is *assumed*.
    fn may_be_replaced(
        &mut self,
        stmt: &Statement,
        header: &SetHeader,
    ) -> SqlResult<Option<DatabaseEntry>> {
        let databases = &self.instance().databases;
        let name = &stmt.database;
        let replace = stmt.options.has("REPLACE");
        let other = || SqlError::new(&messages::BACKUP_OTHER_DATABASE, &[name]).with_state(4);
        if let Some(gone) = databases.find_unavailable(name) {
            if gone.is_broken() && !replace {
                let files = databases.restore_files(&gone.entry);
                let (family, chain) = Restores::new(&databases.engine, &files).closed_chain();
                if family.is_some_and(|f| f != header.family) {
                    return Err(other());
                }
                let keeps = model_of(gone.entry.options) != RecoveryModel::Simple;
                if keeps && chain && !stmt.options.has("STOPAT") {
                    return Err(SqlError::new(&messages::TAIL_NOT_BACKED_UP, &[name]));
                }
                return Ok(Some(gone.entry.clone()));
            }
            let busy = gone.state == DatabaseState::Recovering;
            if busy || gone.state != DatabaseState::Restoring && !replace {
                return Err(gone.refusal());
            }
            let engine = &databases.engine;
            let files = databases.restore_files(&gone.entry);
            if let Some(offline) = Restores::new(engine, &files).page_restore()? {
                if !replace && offline.family() != header.family {
                    return Err(other());
                }
                if !replace && !offline.tail_is_kept && !stmt.options.has("STOPAT") {
                    return Err(SqlError::new(&messages::TAIL_NOT_BACKED_UP, &[name]));
                }
                return Ok(Some(gone.entry.clone()));
            }
            let state = Restores::new(engine, &files).restore_state();
            if !replace && state.is_ok_and(|s| s.family != header.family) {
                return Err(other());
            }
            return Ok(Some(gone.entry.clone()));
        }
        let Some(db) = databases.find(name) else {
            return Ok(None);
        };
        if self.session().is_in(db.db.id) {
            let args: [&dyn std::fmt::Display; 2] = [&"RESTORE", name];
            return Err(SqlError::new(&messages::RESTORE_IN_USE_BY_SESSION, &args));
        }
        if !replace && db.db.family() != header.family {
            return Err(other());
        }
        let keeps = db.db.recovery_model() != RecoveryModel::Simple;
        // 3159 itself says that STOPAT does.
        let replace = replace || stmt.options.has("STOPAT");
        if !replace && keeps && !db.db.log_backup_lsn().is_null() {
            return Err(SqlError::new(&messages::TAIL_NOT_BACKED_UP, &[name]));
        }
        if self.session().try_alone(&db, Some(Duration::ZERO)).is_err() {
            return Err(SqlError::new(&messages::EXCLUSIVE_ACCESS, &[]));
        }
        Ok(Some(db.entry.read().clone()))
    }

    /// Where every file of the set goes: 3234 for a MOVE of none, 3176, 1834, 5123, 5133 and 3142 for places that are not free;
    /// those are followed by 3156 or 3119.
    fn files_of(
        &mut self,
        stmt: &Statement,
        header: &SetHeader,
        replaced: Option<&DatabaseEntry>,
    ) -> SqlResult<Vec<FileEntry>> {
        named_in_set(stmt, header)?;
        let databases = &self.instance().databases;
        let mut out: Vec<FileEntry> = Vec::new();
        for f in &header.files {
            let moved = stmt
                .moves
                .iter()
                .find(|m| fold(&m.0) == fold(&f.logical_name));
            let path = moved.map_or(&f.path, |m| &m.1);
            let resolved = databases.resolve(path);
            if let Some(twin) = out
                .iter()
                .find(|o| databases.same_place(&databases.resolve(&o.path), &resolved))
            {
                let args: [&dyn std::fmt::Display; 5] = [
                    path,
                    &f.logical_name,
                    &f.id,
                    &twin.logical_name,
                    &twin.file_id,
                ];
                return self.planned(SqlError::new(&messages::RESTORE_FILE_CLAIMED_TWICE, &args));
            }
            let everywhere = self.session().who.sysadmin;
            let free = databases.place_is_free(path, &resolved, replaced, everywhere);
            let free = match free {
                Err(e)
                    if e.number == messages::RESTORE_OVER_FILE.number
                        && stmt.options.has("REPLACE") =>
                {
                    databases.may_replace(path, &resolved)
                }
                free => free,
            };
            if let Err(e) = free {
                if e.number != messages::RESTORE_OVER_FILE.number {
                    self.notes.push(e);
                    let args: [&dyn std::fmt::Display; 2] = [&f.logical_name, path];
                    return self.planned(SqlError::new(&messages::RESTORE_FILE_PLACE, &args));
                }
                return self.planned(e);
            }
            out.push(entry_of(f, path));
        }
        Ok(out)
    }

    /// 3119 after an error of planning.
    fn planned<T>(&mut self, e: SqlError) -> SqlResult<T> {
        self.notes.push(e);
        Err(SqlError::new(&messages::RESTORE_PLANNING, &[]))
    }

    pub(super) fn report_restored(
        &mut self,
        what: &str,
        stmt: &Statement,
        header: &SetHeader,
        position: u32,
        took: Duration,
    ) {
        self.report_percents(stmt);
        let mut pages = 0;
        for f in &header.files {
            let n = f.backup_bytes.div_ceil(8192);
            let args: [&dyn std::fmt::Display; 4] =
                [&n, &stmt.database, &f.logical_name, &position];
            self.note(&messages::PROCESSED_PAGES, &args);
            pages += n;
        }
        self.report_processed(what, pages, took);
    }
}

/// 3234 for a MOVE of a file that the set does not have.
pub(super) fn named_in_set(stmt: &Statement, header: &SetHeader) -> SqlResult<()> {
    for (logical, _) in &stmt.moves {
        let mut files = header.files.iter();
        if !files.any(|f| fold(&f.logical_name) == fold(logical)) {
            let args: [&dyn std::fmt::Display; 2] = [logical, &header.database];
            return Err(SqlError::new(&messages::LOGICAL_FILE_NOT_IN_BACKUP, &args));
        }
    }
    Ok(())
}

fn entry_of(f: &SetFile, path: &str) -> FileEntry {
    let pages = |bytes: u64| i32::try_from(bytes / 8192).unwrap_or(i32::MAX);
    FileEntry {
        file_id: f.id,
        kind: if f.is_log {
            FileKind::Log
        } else {
            FileKind::Data
        },
        filegroup: i32::from(f.filegroup),
        logical_name: f.logical_name.clone(),
        path: path.to_owned(),
        size: pages(f.size),
        max_size: f.max_size.map_or(-1, pages),
        growth: match f.growth_percent {
            true => i32::try_from(f.growth).unwrap_or(10),
            false => pages(f.growth),
        },
        growth_percent: f.growth_percent,
        adding: false,
    }
}
