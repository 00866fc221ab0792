//! APPLOCK_MODE(principal, resource, owner) and APPLOCK_TEST(principal, resource, mode, owner).

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::app_locks::{Holder, MODES, Name};
use duramen_core::session_core::SessionCore;
use duramen_txn::LockMode;
use duramen_types::Value;

use super::Args;

/// The text of an argument, counted from 0; 8116 for NULL.
fn argument(args: &Args<'_>, at: usize, function: &str) -> SqlResult<String> {
    let invalid = || {
        let args: [&dyn std::fmt::Display; 3] = [&"NULL", &(at + 1), &function];
        SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args)
    };
    args.text(at).ok_or_else(invalid)
}

fn holder(s: &SessionCore, args: &Args<'_>, at: usize, function: &str) -> SqlResult<Holder> {
    let text = argument(args, at, function)?;
    let holder =
        Holder::of(&text).ok_or_else(|| SqlError::new(&messages::APP_LOCK_OWNER, &[&function]))?;
    match holder == Holder::Transaction && s.transaction.is_none() {
        true => Err(SqlError::new(&messages::NEEDS_USER_TRANSACTION, &[])),
        false => Ok(holder),
    }
}

fn name(s: &SessionCore, args: &Args<'_>, function: &str) -> SqlResult<Name> {
    let principal = argument(args, 0, function)?;
    let resource = argument(args, 1, function)?;
    s.app_lock_name(s.app_lock_principal(&principal)?, &resource)
}

pub fn mode(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    const FUNCTION: &str = "applock_mode";
    let name = name(s, args, FUNCTION)?;
    let holder = holder(s, args, 2, FUNCTION)?;
    Ok(Value::nvarchar(match s.app_lock_mode(&name, holder) {
        None => "NoLock",
        Some(LockMode::SIX) => "SharedIntentExclusive",
        Some(LockMode::UIX) => "UpdateIntentExclusive",
        Some(mode) => MODES.iter().find(|m| m.1 == mode).map_or("NoLock", |m| m.0),
    }))
}

pub fn test(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    const FUNCTION: &str = "applock_test";
    let name = name(s, args, FUNCTION)?;
    let asked = argument(args, 2, FUNCTION)?;
    let mode = MODES.iter().find(|m| m.0.eq_ignore_ascii_case(&asked));
    let invalid = || SqlError::new(&messages::APP_LOCK_MODE, &[&FUNCTION]);
    let (_, mode) = mode.ok_or_else(invalid)?;
    holder(s, args, 3, FUNCTION)?;
    Ok(Value::SmallInt(i16::from(
        s.could_have_app_lock(&name, *mode),
    )))
}
