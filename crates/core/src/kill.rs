//! Ending other sessions: KILL, and ALTER DATABASE ... WITH ROLLBACK.

use duramen_base::{SessionId, SqlError, SqlResult, messages};

use crate::activity::Activity;
use crate::instance_core::InstanceCore;

impl InstanceCore {
    /// KILL `spid`, asked by session `own`.
    pub fn kill(&self, spid: i64, own: SessionId) -> SqlResult<()> {
        if spid == i64::from(own.0) {
            return Err(SqlError::new(&messages::KILL_OWN_PROCESS, &[]));
        }
        if !(1..=32767).contains(&spid) {
            return Err(SqlError::new(&messages::SESSION_ID_INVALID, &[&spid]));
        }
        let tasks = duramen_observe::background_tasks();
        if tasks.iter().any(|t| i64::from(t.session.0) == spid) {
            return Err(SqlError::new(&messages::KILL_SYSTEM_PROCESS, &[]));
        }
        let found = self
            .sessions()
            .into_iter()
            .find(|a| i64::from(a.spid.0) == spid && !a.is_dead());
        match found {
            Some(activity) if !activity.is_of_a_client() => {
                Err(SqlError::new(&messages::KILL_SYSTEM_PROCESS, &[]))
            }
            Some(activity) => self.end(&activity),
            None => Err(SqlError::new(&messages::KILL_NOT_ACTIVE, &[&spid])),
        }
    }

    /// KILL `spid` WITH STATUSONLY: what it says, or 6120.
    pub fn kill_status(&self, spid: i64) -> SqlResult<SqlError> {
        let found = self.sessions().into_iter();
        let found = found.filter(|a| i64::from(a.spid.0) == spid && a.is_killed());
        let Some(progress) = found.filter_map(|a| a.rollback()).next() else {
            return Err(SqlError::new(&messages::KILL_ROLLBACK_STATUS, &[&spid]));
        };
        let text = format!(
            "SPID {spid}: Transaction rollback in progress. Estimated rollback completion: {}%. Estimated time left: {} seconds.",
            progress.percent as u32,
            progress.remaining / 1000
        );
        // *Assumed*: a line without a number, as PRINT gives.
        Ok(SqlError::print(text))
    }

    /// Ends a session. An idle one is gone when this returns: its transaction undone, its locks released. A running
    /// one is told, woken when it waits for a lock, and undoes its own work.
    pub(crate) fn end(&self, activity: &Activity) -> SqlResult<()> {
        let Some(open) = activity.kill() else {
            self.locks.cancel(&activity.owner);
            return Ok(());
        };
        let mut result = Ok(());
        if let Some(transaction) = open {
            let _rolling = activity.roll_back(&transaction);
            result = self.rolled_back(&transaction, None);
            if let Err(e) = &result
                && e.number == messages::UNDO_FAILED.number
            {
                // The session that it happened to is gone, and who has ended it has done nothing wrong.
                duramen_program::outcome::report_to_listeners(e);
                result = Ok(());
            }
        }
        self.locks.release_session(&activity.owner);
        self.app_locks.forget(activity.owner.id());
        result
    }
}
