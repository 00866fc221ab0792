//! RESTORE ... WITH STANDBY: between two restores the database is open for reading.
//!
//! master knows it as RESTORING all the time; that it can be read stands in its files (`duramen_backup`). Every
//! RESTORE of it closes it first; one that fails leaves it as it was.

use std::time::Duration;

use duramen_access::database_options::option;
use duramen_backup::Restores;
use duramen_base::{SqlError, SqlResult, messages};

use super::Statement;
use super::known::{RESTORE, RESTORE_OPTIONS};
use crate::database_ddl::Admin;

impl Admin<'_> {
    /// RESTORE, with what becomes of a standby before and behind it.
    pub(super) fn restore_between(
        &mut self,
        log: bool,
        what: &str,
        stmt: &Statement,
    ) -> SqlResult<()> {
        stmt.options.check(what, RESTORE_OPTIONS, RESTORE)?;
        let undo = stmt
            .options
            .has("STANDBY")
            .then(|| stmt.options.text("STANDBY"));
        let before = self.leave_standby(stmt, undo.as_deref())?;
        let result = self.restore_checked(log, what, stmt);
        let instance = self.instance();
        let databases = &instance.databases;
        match (&result, &undo) {
            (Ok(()), Some(undo)) => databases.enter_standby(&stmt.database, undo)?,
            (Ok(()), None) => databases.forget_standby(&stmt.database)?,
            (Err(_), _) => {
                if let Some(before) = before {
                    // Where that fails, it goes on waiting for the next RESTORE.
                    let _ = databases.enter_standby(&stmt.database, &before);
                }
            }
        }
        result
    }

    /// A standby is closed, when nobody is in it: 3102, 3101. Its undo file's name. 5133 and 5170 for a new one that cannot
    /// be made.
    fn leave_standby(&mut self, stmt: &Statement, undo: Option<&str>) -> SqlResult<Option<String>> {
        let instance = self.instance();
        let databases = &instance.databases;
        let found = databases.find(&stmt.database).filter(|d| d.is_standby());
        let noted = match &found {
            Some(db) => {
                let files = databases.restore_files(&db.entry.read());
                Restores::new(&databases.engine, &files).standby_note()?
            }
            None => None,
        };
        if let Some(undo) = undo.filter(|u| noted.as_deref() != Some(u)) {
            databases.may_place(undo, self.session().who.sysadmin)?;
            databases.undo_place(&stmt.database, undo)?;
        }
        let Some(db) = found else { return Ok(None) };
        if self.session().is_in(db.db.id) {
            let args: [&dyn std::fmt::Display; 2] = [&"RESTORE", &stmt.database];
            return Err(SqlError::new(&messages::RESTORE_IN_USE_BY_SESSION, &args));
        }
        if self.session().try_alone(&db, Some(Duration::ZERO)).is_err() {
            return Err(SqlError::new(&messages::EXCLUSIVE_ACCESS, &[]));
        }
        let mut entry = db.entry.read().clone();
        entry.options &= !(option::STANDBY | option::READ_ONLY);
        databases.close(&db);
        db.db.detach();
        databases.set_restoring(entry);
        self.session().among_others();
        Ok(noted)
    }
}
