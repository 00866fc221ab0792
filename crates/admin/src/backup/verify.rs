//! RESTORE VERIFYONLY; and what RESTORE says of tapes and database snapshots, of which there are none.

use duramen_base::{SqlError, SqlResult, messages};

use super::Statement;
use super::known::{RESTORE_OPTIONS, REWIND, VERIFY};
use super::restore::named_in_set;
use crate::database_ddl::Admin;
use crate::history::{self, RecordedSet};

impl Admin<'_> {
    /// RESTORE REWINDONLY: 3216, as for any device that is no tape.
    pub fn rewind(&mut self, stmt: &Statement) -> SqlResult<()> {
        let what = "RESTORE REWINDONLY";
        let checked = stmt.options.check(what, RESTORE_OPTIONS, REWIND);
        let only = SqlError::new(&messages::REWIND_OF_TAPES_ONLY, &[]);
        let result = checked.and(Err(only));
        self.with_3013(result, what)
    }

    /// RESTORE ... FROM DATABASE_SNAPSHOT: there are none, whatever the name.
    pub fn revert(&mut self) -> SqlResult<()> {
        let none = SqlError::new(&messages::REVERT_IMPOSSIBLE, &[]);
        self.with_3013(Err(none), "RESTORE DATABASE")
    }

    /// RESTORE VERIFYONLY
    pub fn verify_backup(&mut self, stmt: &Statement) -> SqlResult<()> {
        let result = self.verify_checked(stmt);
        self.with_3013(result, "VERIFY DATABASE")
    }

    fn verify_checked(&mut self, stmt: &Statement) -> SqlResult<()> {
        stmt.options
            .check("RESTORE VERIFYONLY", RESTORE_OPTIONS, VERIFY)?;
        let (medium, set) = self.chosen_set(stmt)?;
        if stmt.options.has("CHECKSUM") && !set.header.checksums {
            return Err(SqlError::new(&messages::NO_BACKUP_CHECKSUMS, &[]));
        }
        named_in_set(stmt, &set.header)?;
        let memory = self.instance().databases.engine.memory.clone();
        medium.verify(&set, stmt.options.transfer()?, &memory)?;
        self.report_percents(stmt);
        if stmt.options.has("LOADHISTORY") {
            let recorded = RecordedSet {
                set: &set,
                media: &medium.media,
                devices: &stmt.devices,
                compressed: medium.compressed,
                open: None,
            };
            if let Err(e) = history::backed_up(&self.instance(), &recorded) {
                self.notes.push(e);
            }
        }
        if set.header.damaged {
            self.note(&messages::BACKUP_SET_OF_DAMAGED, &[]);
        }
        self.note(&messages::BACKUP_SET_VALID, &[&set.position]);
        Ok(())
    }

    pub(super) fn report_percents(&mut self, stmt: &Statement) {
        if let Some(step) = stmt.options.stats() {
            for percent in (1..=100).filter(|p| p % step == 0 || *p == 100) {
                self.note(&messages::PERCENT_PROCESSED, &[&percent]);
            }
        }
    }
}
