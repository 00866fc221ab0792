//! `sp_getapplock resource, mode, owner, timeout, principal` and `sp_releaseapplock resource, owner, principal`.
//!
//! Whether a lock was had, the return code says: 0 at once, 1 after waiting, -1 too late, -2 cancelled, -3 victim of a deadlock,
//! whose transaction goes on. A mode or an owner that is none, a transaction's lock without one, and no resource are -999
//! without a word; the rest are errors of `xp_userlock`, which does the work in SQL Server.

use std::time::Duration;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::app_locks::{Holder, MODES};
use duramen_program::program::same;
use duramen_types::Value;

use super::Run;
use super::exec::{Called, Given};
use super::server::{argument, check_arguments};

const FAILED: i32 = -999;
const WORKER: &str = "xp_userlock";
const GET: [&str; 5] = [
    "@Resource",
    "@LockMode",
    "@LockOwner",
    "@LockTimeout",
    "@DbPrincipal",
];
const RELEASE: [&str; 3] = ["@Resource", "@LockOwner", "@DbPrincipal"];

/// The argument of a parameter, NULL or not; `None` when it is not there.
fn given_for<'a>(given: &'a [Given], parameters: &[&str], name: &str) -> Option<&'a Given> {
    let at = parameters.iter().position(|p| *p == name)?;
    let named = |g: &&Given| g.name.as_deref().is_some_and(|n| same(n, name));
    let positional = given.get(at).filter(|g| g.name.is_none());
    let found = given.iter().find(named).or(positional);
    found.filter(|g| g.value.is_some())
}

impl Run<'_> {
    pub(super) fn app_lock_procedure(&mut self, name: &str, given: &[Given]) -> SqlResult<Called> {
        let status = self.app_lock(name, given).map_err(|mut e| {
            e.procedure.get_or_insert_with(|| name.to_owned());
            e
        })?;
        Ok(Called::with_status(status))
    }

    fn app_lock(&mut self, procedure: &str, given: &[Given]) -> SqlResult<i32> {
        let gets = procedure == "sp_getapplock";
        let parameters: &[&str] = if gets { &GET } else { &RELEASE };
        check_arguments(procedure, given, parameters)?;
        let text = |name: &str, default: &str| match given_for(given, parameters, name) {
            None => Some(default.to_owned()),
            Some(g) => g.value.as_ref().and_then(Value::as_text),
        };
        let mut mode = None;
        if gets {
            if given_for(given, parameters, "@LockMode").is_none() {
                let args: [&dyn std::fmt::Display; 2] = [&procedure, &"@LockMode"];
                let error = SqlError::new(&messages::PARAMETER_NOT_SUPPLIED, &args);
                return Err(error.with_state(4));
            }
            let asked = text("@LockMode", "");
            let known = |m: &&(&str, _)| asked.as_ref().is_some_and(|a| same(a, m.0));
            mode = MODES.iter().find(known).map(|m| m.1);
        }
        if given_for(given, parameters, "@Resource").is_none() {
            return Ok(FAILED);
        }
        let holder = text("@LockOwner", "Transaction").and_then(|t| Holder::of(&t));
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
        let resource = text("@Resource", "")
            .ok_or_else(|| worker(SqlError::new(&messages::APP_LOCK_RESOURCE, &[&WORKER])))?;
        let principal = text("@DbPrincipal", "public").unwrap_or_default();
        let id = self.session.app_lock_principal(&principal);
        let name = self.session.app_lock_name(id.map_err(worker)?, &resource)?;
        let Some(mode) = mode else {
            if self.session.release_app_lock(&name, holder) {
                return Ok(0);
            }
            let args: [&dyn std::fmt::Display; 2] = [&principal, &resource];
            return Err(worker(SqlError::new(&messages::APP_LOCK_NOT_HELD, &args)));
        };
        let waits = match argument(given, 3, "@LockTimeout") {
            None => Some(self.session.options.lock_timeout),
            Some(Value::VarChar(_) | Value::NVarChar(_)) => {
                text("@LockTimeout", "").and_then(|t| t.trim().parse().ok())
            }
            Some(v) => v.as_i64(),
        };
        let timeout = match waits {
            Some(-1) => None,
            Some(ms) if ms >= 0 => Some(Duration::from_millis(ms.unsigned_abs())),
            _ => {
                return Err(worker(SqlError::new(
                    &messages::APP_LOCK_TIMEOUT,
                    &[&WORKER],
                )));
            }
        };
        self.session.get_app_lock(&name, mode, holder, timeout)
    }
}
