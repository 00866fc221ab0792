//! BACKUP DATABASE and BACKUP LOG.

use std::sync::Arc;

use duramen_access::database_options::option;
use duramen_access::open_db::OpenDb;
use duramen_backup::{
    Backed, BackupRequest, BackupSet, Progress, Restores, SetFile, SetHeader, SetKind, Tolerance,
    back_up,
};
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::{DatabaseEntry, FileKind};
use duramen_core::databases::media::{Compression, Place, Placing};
use duramen_core::settings;
use duramen_core::unavailable::{DatabaseState, Unavailable};
use duramen_os::time;
use duramen_storage::RecoveryModel;

use super::known::{BACKUP, BACKUP_OPTIONS};
use super::{Statement, model_of, refuse};
use crate::database_ddl::Admin;
use crate::history::{self, RecordedSet};

/// Bits of a database that say how it is just now, not how it is set up.
const STATE_BITS: u64 = option::CREATING
    | option::DROPPING
    | option::OFFLINE
    | option::READ_ONLY
    | option::SINGLE_USER
    | option::RESTRICTED_USER
    | option::RESTORING;

/// As many devices a media set may have in SQL Server.
const MOST_DEVICES: usize = 64;

impl Admin<'_> {
    /// BACKUP. Whatever goes wrong is followed by 3013.
    pub fn backup(&mut self, log: bool, stmt: &Statement) -> SqlResult<()> {
        let what = if log { "BACKUP LOG" } else { "BACKUP DATABASE" };
        let result = self.backup_checked(log, what, stmt);
        if result.is_err() {
            self.log_backup_failed(what, &stmt.database);
        }
        self.with_3013(result, what)
    }

    /// The session may not do this.
    pub fn refused_with_3013(&mut self, why: SqlError, what: &str) -> SqlResult<()> {
        self.with_3013(Err(why), what)
    }

    pub(super) fn with_3013(&mut self, result: SqlResult<()>, what: &str) -> SqlResult<()> {
        result.map_err(|e| match e.number {
            // What is not supported is one error, as everywhere; a cancelled statement says nothing.
            n if n == messages::NOT_SUPPORTED.number || n == 0 => e,
            // SQL Server finds these when it parses the batch.
            n if n == messages::UNRECOGNIZED_OPTION.number
                || n == messages::NAME_TOO_LONG.number =>
            {
                e
            }
            _ => {
                self.notes.push(e);
                SqlError::new(&messages::TERMINATING_ABNORMALLY, &[&what])
            }
        })
    }

    fn backup_checked(&mut self, log: bool, what: &str, stmt: &Statement) -> SqlResult<()> {
        stmt.options.check(what, BACKUP_OPTIONS, BACKUP)?;
        if stmt.mirrored {
            return Err(SqlError::new(&messages::BACKUP_MIRRORING_MISSING, &[]));
        }
        if stmt.devices.iter().any(String::is_empty) {
            return Err(SqlError::new(&messages::BACKUP_DEVICE_EMPTY, &[]));
        }
        if log && stmt.options.has("DIFFERENTIAL") {
            return Err(SqlError::new(
                &messages::BACKUP_OPTION_NOT_SUPPORTED,
                &[&"differential"],
            ));
        }
        let tail = stmt.options.has("NORECOVERY");
        for (option, shown) in [("NORECOVERY", "norecovery"), ("NO_TRUNCATE", "no_truncate")] {
            if stmt.options.has(option) && !log {
                return Err(SqlError::new(
                    &messages::BACKUP_OPTION_NOT_SUPPORTED,
                    &[&shown],
                ));
            }
        }
        if self.session().in_transaction() {
            return Err(SqlError::new(&messages::BACKUP_IN_TRANSACTION, &[]));
        }
        if stmt.devices.len() > MOST_DEVICES {
            return Err(SqlError::new(
                &messages::TOO_MANY_BACKUP_DEVICES,
                &[&MOST_DEVICES],
            ));
        }
        let databases = &self.instance().databases;
        let db = match (
            databases.find(&stmt.database),
            databases.find_unavailable(&stmt.database),
        ) {
            (Some(db), _) => db,
            (None, Some(gone)) if log && gone.state == DatabaseState::Restoring => {
                return self.back_up_closed(&gone, stmt);
            }
            // The log in its place is another database's while files of a restore wait beside.
            (None, Some(gone))
                if log && may_continue(stmt) && gone.is_broken() && !gone.is_swapping() =>
            {
                return self.back_up_broken(&gone, stmt);
            }
            (None, Some(gone)) => return Err(gone.refusal()),
            (None, None) => {
                let name = &stmt.database;
                let error = SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[name]);
                return Err(error.with_state(11));
            }
        };
        if db.is_in_emergency() {
            return Err(SqlError::new(&messages::BACKUP_IN_EMERGENCY, &[]));
        }
        if db.is_standby() {
            let name = &db.db.name;
            return Err(SqlError::new(&messages::BACKUP_OF_STANDBY, &[name]));
        }
        if db.db.id == DbId::TEMPDB {
            return Err(SqlError::new(&messages::BACKUP_OF_TEMPDB, &[]));
        }
        if log {
            if db.db.id == DbId::MASTER {
                return Err(SqlError::new(&messages::BACKUP_LOG_OF_MASTER, &[]));
            }
            if db.db.recovery_model() == RecoveryModel::Simple {
                return Err(SqlError::new(
                    &messages::BACKUP_LOG_SIMPLE,
                    &[&"BACKUP LOG"],
                ));
            }
            if db.db.log_backup_lsn().is_null() {
                return Err(SqlError::new(&messages::NO_CURRENT_BACKUP, &[]));
            }
        }
        if tail {
            if db.db.id.0 <= 4 {
                return Err(refuse("BACKUP LOG WITH NORECOVERY of a system database"));
            }
            return self.back_up_tail(&db, stmt);
        }
        // Nobody drops or closes it meanwhile.
        let visits = !self.session().is_in(db.db.id);
        if visits {
            self.session().take_share(db.db.id)?;
        }
        let result = self.backup_of(&db, log, stmt);
        if visits {
            self.session().leave_share(db.db.id);
        }
        result
    }

    pub(super) fn backup_of(
        &mut self,
        db: &Arc<OpenDb>,
        log: bool,
        stmt: &Statement,
    ) -> SqlResult<()> {
        let entry = db.entry.read().clone();
        self.backup_by(&entry, log, stmt, &mut |request, progress| {
            back_up(&db.db, request, progress)
        })
    }

    /// BACKUP LOG WITH NO_TRUNCATE or CONTINUE_AFTER_ERROR of a database that could not be opened. With NORECOVERY it is
    /// RESTORING from then on: what it had is in backups, and a RESTORE may take its place.
    fn back_up_broken(&mut self, gone: &Unavailable, stmt: &Statement) -> SqlResult<()> {
        if model_of(gone.entry.options) == RecoveryModel::Simple {
            let what = "BACKUP LOG";
            return Err(SqlError::new(&messages::BACKUP_LOG_SIMPLE, &[&what]));
        }
        let tail = stmt.options.has("NORECOVERY");
        if tail && gone.entry.id.0 <= 4 {
            return Err(refuse("BACKUP LOG WITH NORECOVERY of a system database"));
        }
        let instance = self.instance();
        let databases = &instance.databases;
        // Nobody tries to open it meanwhile.
        let _one = databases.admin.lock();
        if databases.find(&gone.entry.name).is_some() {
            return Err(gone.refusal());
        }
        let files = databases.restore_files(&gone.entry);
        let sector = databases.open_spec(&gone.entry).sector;
        let engine = &databases.engine;
        let restores = Restores::new(engine, &files);
        self.backup_by(&gone.entry, true, stmt, &mut |request, progress| {
            restores.back_up_tail(sector, request, progress)
        })?;
        if !tail {
            return Ok(());
        }
        // Where the primary file can be read at all, RECOVERY may try to open the database as it is.
        if let Ok(mut empty) = restores.new_page_restore() {
            empty.tail_is_kept = true;
            restores.keep_page_restore(&empty)?;
        }
        let mut entry = gone.entry.clone();
        entry.options |= option::RESTORING;
        let master = databases.master()?;
        databases.in_master(&master.catalog, |r, tx| r.replace(tx, &entry))?;
        databases.set_restoring(entry);
        Ok(())
    }

    /// Opens the devices, has the set written by `take`, tells of it.
    fn backup_by(
        &mut self,
        entry: &DatabaseEntry,
        log: bool,
        stmt: &Statement,
        take: &mut dyn FnMut(&BackupRequest, Progress<'_>) -> SqlResult<Backed>,
    ) -> SqlResult<()> {
        let options = &stmt.options;
        let databases = &self.instance().databases;
        let settings = &self.instance().settings;
        let retention = settings.holding(settings::option::MEDIA_RETENTION);
        let expires = options.expires(time::wall().unix_seconds(), retention)?;
        let placing = Placing {
            init: options.has("INIT"),
            format: options.has("FORMAT"),
            skip: options.has("SKIP"),
            compression: self.compression(stmt),
            everywhere: self.session().who.sysadmin,
            name: options.text("MEDIANAME"),
            description: options.text("MEDIADESCRIPTION"),
        };
        let places = databases.place_sets(&stmt.devices, &placing)?;
        let compressed = places.iter().any(|p| p.compressed);
        let position = places.first().map_or(1, |p| p.position);
        let request = self.request(entry, log, stmt, &places, expires)?;
        let step = options.stats();
        let cancel = self.cancel_token().clone();
        let mut percents = Vec::new();
        let mut last = 0;
        let activity = self.session().activity.clone();
        let taken = take(&request, &mut |percent| {
            activity.advance(percent as f32);
            if cancel.is_set() {
                return Err(duramen_query::cancelled());
            }
            if let Some(step) = step
                && percent > last
                && (percent / step > last / step || percent == 100)
            {
                percents.push(percent);
                last = percent;
            }
            Ok(())
        });
        let taken = match taken {
            Ok(taken) => taken,
            Err(e) => {
                places.iter().for_each(|p| databases.give_up_set(p));
                return Err(e);
            }
        };
        for percent in percents {
            self.note(&messages::PERCENT_PROCESSED, &[&percent]);
        }
        self.report_backed(&entry.name, position, &taken);
        self.log_damaged(entry, &request.tolerance);
        let pages = taken.files.iter().map(|f| f.pages).sum();
        self.log_backed(&taken.header, pages, position, &stmt.devices);
        let set = BackupSet {
            position,
            header: taken.header,
            complete: true,
            stored: taken.stored,
            ..BackupSet::default()
        };
        let Some(first) = places.first() else {
            return Ok(());
        };
        let open = self.instance().databases.find(&entry.name);
        let recorded = RecordedSet {
            set: &set,
            media: &first.media,
            devices: &stmt.devices,
            compressed,
            open: open.as_ref().map(|db| db.db.name.as_str()),
        };
        if let Err(e) = history::backed_up(&self.instance(), &recorded) {
            self.notes.push(e);
        }
        Ok(())
    }

    /// What the options and the database say of the set that is written.
    fn request(
        &self,
        entry: &DatabaseEntry,
        log: bool,
        stmt: &Statement,
        places: &[Place],
        expires: duramen_backup::TapeTime,
    ) -> SqlResult<BackupRequest> {
        let options = &stmt.options;
        let position = places.first().map_or(1, |p| p.position);
        let kind = match (log, options.has("DIFFERENTIAL")) {
            (true, _) => SetKind::Log,
            (_, true) => SetKind::Differential,
            _ => SetKind::Database,
        };
        Ok(BackupRequest {
            stripes: places.iter().map(Place::stripe).collect(),
            position,
            header: SetHeader {
                kind,
                // A differential is the base of nothing anyway: COPY_ONLY says nothing there.
                copy_only: kind != SetKind::Differential && options.has("COPY_ONLY")
                    || options.has("NO_TRUNCATE"),
                expires,
                block_bytes: options.block_bytes(),
                checksums: options.has("CHECKSUM")
                    || !options.has("NO_CHECKSUM")
                        && self
                            .instance()
                            .settings
                            .holding(settings::option::BACKUP_CHECKSUM)
                            != 0,
                name: options.text("NAME"),
                description: options.text("DESCRIPTION"),
                user: self.session().login.user.clone(),
                server: self.instance().server_name().to_owned(),
                database: entry.name.clone(),
                compatibility_level: entry.compatibility_level,
                product: duramen_access::version::VERSION,
                recovery_model: model_of(entry.options) as u8,
                options: entry.options & !STATE_BITS,
                ..SetHeader::default()
            },
            log_files: log_files(entry),
            transfer: options.transfer()?,
            tolerance: Tolerance::new(options.has("CONTINUE_AFTER_ERROR")),
        })
    }

    fn compression(&self, stmt: &Statement) -> Compression {
        let asked = |name| stmt.options.has(name);
        if asked("COMPRESSION") {
            return Compression::On;
        }
        if asked("NO_COMPRESSION") {
            return Compression::Off;
        }
        let instance = self.instance();
        let default = instance
            .settings
            .holding(settings::option::BACKUP_COMPRESSION)
            != 0;
        Compression::Unsaid { default }
    }

    /// 4035 for each file and 3014.
    fn report_backed(&mut self, database: &str, position: u32, taken: &Backed) {
        let mut pages = 0;
        for f in &taken.files {
            let args: [&dyn std::fmt::Display; 4] =
                [&f.pages, &database, &f.logical_name, &position];
            self.note(&messages::PROCESSED_PAGES, &args);
            pages += f.pages;
        }
        if taken.header.damaged {
            self.note(&messages::BACKUP_OF_DAMAGED, &[]);
        }
        let what = match taken.header.kind {
            SetKind::Database => "BACKUP DATABASE",
            SetKind::Differential => "BACKUP DATABASE WITH DIFFERENTIAL",
            SetKind::Log => "BACKUP LOG",
        };
        self.report_processed(what, pages, taken.took);
    }

    /// 3014
    pub(super) fn report_processed(&mut self, what: &str, pages: u64, took: std::time::Duration) {
        let seconds = took.as_secs_f64().max(0.000_001);
        let rate = pages as f64 * 8192.0 / 1_048_576.0 / seconds;
        let thousandths = |x: f64| format!("{:03}", ((x.fract() * 1000.0) as u64).min(999));
        let args: [&dyn std::fmt::Display; 6] = [
            &what,
            &pages,
            &took.as_secs(),
            &format_args!("{:03}", took.subsec_millis()),
            &(rate as u64),
            &thousandths(rate),
        ];
        self.note(&messages::BACKUP_PROCESSED, &args);
    }
}

/// The statement asks for the log even of a database that cannot be opened.
fn may_continue(stmt: &Statement) -> bool {
    stmt.options.has("NO_TRUNCATE") || stmt.options.has("CONTINUE_AFTER_ERROR")
}

/// The log files as the set lists them; sizes come from the log.
fn log_files(entry: &DatabaseEntry) -> Vec<SetFile> {
    let files = entry.files.iter().filter(|f| f.kind == FileKind::Log);
    files
        .map(|f| SetFile {
            id: f.file_id,
            is_log: true,
            logical_name: f.logical_name.clone(),
            path: f.path.clone(),
            max_size: (f.max_size > 0).then(|| f.max_size as u64 * 8192),
            growth: match f.growth_percent {
                true => f.growth.max(0) as u64,
                false => f.growth.max(0) as u64 * 8192,
            },
            growth_percent: f.growth_percent,
            ..SetFile::default()
        })
        .collect()
}
