//! RESTORE DATABASE master, while the server works with a stand-in for it (`startup::damaged`).
//!
//! The backup becomes a database of another name whose files stand where master's belong; the damaged ones are taken out of
//! the way before. When it is recovered it is named master in its boot page and closed, and the server ends: what is open is
//! the stand-in's. A crash before that leaves no master, or the restored one; the next start finds either.

use duramen_base::{DbId, SqlError, SqlResult, messages};

use super::{Statement, refuse};
use crate::database_ddl::Admin;

/// The name of the database that becomes master.
const RESTORED: &str = "master~restored";

impl Admin<'_> {
    pub(super) fn restore_master(&mut self, what: &str, stmt: &Statement) -> SqlResult<()> {
        let in_part = !stmt.pages.is_empty() || !stmt.files.is_empty();
        if stmt.devices.is_empty() || in_part || stmt.options.stays_restoring() {
            return Err(refuse(
                "RESTORE of master but from one full backup, WITH RECOVERY",
            ));
        }
        let instance = self.instance();
        let databases = &instance.databases;
        let (data, log) = databases.system_files("master");
        let files = || data.iter().chain(&log);
        let own = Statement {
            database: RESTORED.to_owned(),
            moves: files()
                .map(|f| (f.logical_name.clone(), f.path.clone()))
                .collect(),
            ..stmt.clone()
        };
        for f in files() {
            databases.take_away(&f.path)?;
        }
        self.restore_checked(false, what, &own)?;
        let Some(open) = databases.find(RESTORED) else {
            return Err(SqlError::new(
                &messages::DATABASE_DOES_NOT_EXIST,
                &[&RESTORED],
            ));
        };
        let tx = databases.transaction("RESTORE");
        open.db.update_boot(&tx, |b| {
            b.name = "master".to_owned();
            b.database_id = DbId::MASTER.0;
        })?;
        databases.engine.commit(&tx, None)?;
        let closed = open.db.close();
        databases.close(&open);
        closed?;
        // The stand-in is made anew should it be needed again: its list does not matter.
        let done = "The master database has been successfully restored. Shutting down SQL Server.";
        databases.engine.notice(done);
        self.notes
            .push(SqlError::new(&messages::MASTER_RESTORED, &[]));
        if let Some(stop) = instance.stop.get() {
            stop(false);
        }
        Ok(())
    }
}
