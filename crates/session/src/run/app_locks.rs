//! `sp_getapplock resource, mode, owner, timeout, principal` and `sp_releaseapplock resource, owner, principal`.
//!
//! Whether a lock was had, the return code says: 0 at once, 1 after waiting, -1 too late, -2 cancelled, -3 victim of a deadlock,
//! whose transaction goes on. A mode or an owner that is none, a transaction's lock without one, and no resource are -999
//! without a word; the rest are errors of `xp_userlock`, which does the work in SQL Server.

use std::time::Duration;

use duramen_base::{SqlError, messages};
use duramen_core::app_locks::{Holder, MODES};
use duramen_program::coded::Procedure;
use duramen_program::program::same;

use super::Run;
use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;

const FAILED: i32 = -999;
const WORKER: &str = "xp_userlock";
impl Run<'_> {
    pub(super) fn app_lock(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        self.app_lock_status(args).map(Called::with_status)
    }

    fn app_lock_status(&mut self, args: &Arguments<'_>) -> RunResult<i32> {
        let gets = args.row.procedure == Procedure::GetAppLock;
        let asked = args.text("@LockMode");
        let known = |m: &&(&str, _)| asked.as_ref().is_some_and(|a| same(a, m.0));
        let mode = MODES.iter().find(known).map(|m| m.1);
        if args.given("@Resource").is_none() {
            return Ok(FAILED);
        }
        let holder = args.text("@LockOwner").and_then(|t| Holder::of(&t));
        let (Some(holder), true) = (holder, mode.is_some() || !gets) else {
            return Ok(FAILED);
        };
        if holder == Holder::Transaction && self.session.transaction.is_none() {
            return Ok(FAILED);
        }
        let worker = |e: SqlError| SqlError {
            procedure: Some(WORKER.to_owned()),
            line: 1,
            ..e
        };
        let resource = args
            .text("@Resource")
            .ok_or_else(|| worker(SqlError::new(&messages::APP_LOCK_RESOURCE, &[&WORKER])))?;
        let principal = args.text("@DbPrincipal").unwrap_or_default();
        let id = self.session.app_lock_principal(&principal);
        let name = self.session.app_lock_name(id.map_err(worker)?, &resource)?;
        let Some(mode) = mode else {
            if self.session.release_app_lock(&name, holder) {
                return Ok(0);
            }
            let args: [&dyn std::fmt::Display; 2] = [&principal, &resource];
            return Err(worker(SqlError::new(&messages::APP_LOCK_NOT_HELD, &args)).into());
        };
        let waits = match args.value("@LockTimeout") {
            None => Some(self.session.options.lock_timeout),
            Some(given) => given.as_i64(),
        };
        let timeout = match waits {
            Some(-1) => None,
            Some(ms) if ms >= 0 => Some(Duration::from_millis(ms.unsigned_abs())),
            _ => {
                return Err(worker(SqlError::new(&messages::APP_LOCK_TIMEOUT, &[&WORKER])).into());
            }
        };
        Ok(self.session.get_app_lock(&name, mode, holder, timeout)?)
    }
}
