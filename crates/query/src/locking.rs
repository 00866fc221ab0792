//! Table hints: how a scan locks.
//!
//! | group | hints |
//! |---|---|
//! | level | NOLOCK READUNCOMMITTED, READCOMMITTED, READCOMMITTEDLOCK, REPEATABLEREAD, HOLDLOCK SERIALIZABLE |
//! | size | ROWLOCK, TABLOCK, TABLOCKX |
//! | strength | UPDLOCK, XLOCK, TABLOCKX |
//!
//! One level and one size at most, and no size or strength beside NOLOCK: error 1047. Hints that only steer plans are
//! accepted, since they change no answer. PAGLOCK is refused: a page split would not take the lock of its page along, so
//! that rows would need locks of their own all the same. NOEXPAND is of an indexed view, and there are none: 8171.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_txn::IsolationLevel;

/// What a scan will do with the rows it gives out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LockIntent {
    /// Read them: locked as the level asks.
    #[default]
    Read,
    /// Change some of them: U locks, kept for rows that qualify. A SNAPSHOT transaction looks as of its snapshot
    /// instead, and locks only what it changes.
    Change,
    /// UPDLOCK: U locks whatever the level.
    Update,
    /// XLOCK
    Exclusive,
}

/// The size of the locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LockGrain {
    #[default]
    Row,
    Table,
}

/// How a scan locks: what the statement does, and what its hints say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ScanLock {
    pub intent: LockIntent,
    /// In place of the transaction's level.
    pub level: Option<IsolationLevel>,
    /// READCOMMITTEDLOCK: locks, whatever READ_COMMITTED_SNAPSHOT says.
    pub unversioned: bool,
    pub grain: LockGrain,
    /// READPAST
    pub skip_locked: bool,
    /// NOWAIT
    pub no_wait: bool,
    /// Large values may stay where they are: see [`crate::lent`].
    pub lends: bool,
}

impl ScanLock {
    /// A reader's, without hints.
    pub const READ: ScanLock = ScanLock {
        intent: LockIntent::Read,
        level: None,
        unversioned: false,
        grain: LockGrain::Row,
        skip_locked: false,
        no_wait: false,
        lends: false,
    };
    /// That of a scan for rows to change.
    pub const UPDATE: ScanLock = ScanLock {
        intent: LockIntent::Change,
        ..ScanLock::READ
    };
}

/// 8171 for a hint that means nothing for what has this name.
pub fn check_hints(hints: &[ast::TableHint], name: &dyn std::fmt::Display) -> SqlResult<()> {
    match hints.iter().any(|h| h.name == "NOEXPAND") {
        true => {
            let args: [&dyn std::fmt::Display; 2] = [&"noexpand", name];
            Err(SqlError::new(&messages::HINT_DATABASE_MISSING, &args).with_state(2))
        }
        false => Ok(()),
    }
}

/// The locks that a reader's hints ask for.
pub fn lock_of(hints: &[ast::TableHint]) -> SqlResult<ScanLock> {
    let mut lock = ScanLock::READ;
    let conflict = || SqlError::new(&messages::CONFLICTING_LOCK_HINTS, &[]);
    let (mut rows, mut sized) = (false, None);
    for h in hints {
        let mut level = |l| match lock.level.replace(l) {
            Some(before) if before != l => Err(conflict()),
            _ => Ok(()),
        };
        let mut size = |g| match sized.replace(g) {
            Some(before) if before != g => Err(conflict()),
            _ => Ok(()),
        };
        match h.name.as_str() {
            "NOLOCK" | "READUNCOMMITTED" => level(IsolationLevel::ReadUncommitted)?,
            "READCOMMITTED" => level(IsolationLevel::ReadCommitted)?,
            "READCOMMITTEDLOCK" => {
                level(IsolationLevel::ReadCommitted)?;
                lock.unversioned = true;
            }
            "REPEATABLEREAD" => level(IsolationLevel::RepeatableRead)?,
            "HOLDLOCK" | "SERIALIZABLE" => level(IsolationLevel::Serializable)?,
            "ROWLOCK" => {
                size(LockGrain::Row)?;
                rows = true;
            }
            "TABLOCK" => size(LockGrain::Table)?,
            "TABLOCKX" => {
                size(LockGrain::Table)?;
                lock.intent = LockIntent::Exclusive;
            }
            "UPDLOCK" if lock.intent == LockIntent::Exclusive => {}
            "UPDLOCK" => lock.intent = LockIntent::Update,
            "XLOCK" => lock.intent = LockIntent::Exclusive,
            "NOEXPAND" => {}
            "READPAST" => lock.skip_locked = true,
            "NOWAIT" => lock.no_wait = true,
            "INDEX" | "FORCESEEK" | "FORCESCAN" => {}
            other => {
                let what = format!("the table hint {other}");
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
        }
    }
    lock.grain = sized.unwrap_or_default();
    let locks = rows || sized.is_some() || lock.intent != LockIntent::Read;
    match lock.level {
        Some(IsolationLevel::ReadUncommitted) if locks => Err(conflict()),
        Some(IsolationLevel::ReadUncommitted | IsolationLevel::Serializable)
            if lock.skip_locked =>
        {
            Err(SqlError::new(&messages::READPAST_LEVEL, &[]))
        }
        _ => Ok(lock),
    }
}

/// The same for a target that is a query: what the hints on the table within it ask for comes to what `outer` asks for.
pub fn inner_target_lock(hints: &[ast::TableHint], outer: ScanLock) -> SqlResult<ScanLock> {
    let inner = target_lock(hints)?;
    let stronger = match inner.intent {
        LockIntent::Read | LockIntent::Change => outer.intent,
        intent if outer.intent != LockIntent::Exclusive => intent,
        _ => LockIntent::Exclusive,
    };
    Ok(ScanLock {
        intent: stronger,
        level: inner.level.or(outer.level),
        unversioned: inner.unversioned || outer.unversioned,
        grain: match inner.grain {
            LockGrain::Table => LockGrain::Table,
            LockGrain::Row => outer.grain,
        },
        skip_locked: inner.skip_locked || outer.skip_locked,
        no_wait: inner.no_wait || outer.no_wait,
        lends: false,
    })
}

/// The locks that the hints on the target of a change ask for.
pub fn target_lock(hints: &[ast::TableHint]) -> SqlResult<ScanLock> {
    let mut lock = lock_of(hints)?;
    if lock.level == Some(IsolationLevel::ReadUncommitted) {
        return Err(SqlError::new(&messages::NOLOCK_ON_TARGET, &[]));
    }
    if lock.intent == LockIntent::Read {
        lock.intent = LockIntent::Change;
    }
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(names: &str) -> Vec<ast::TableHint> {
        names
            .split_whitespace()
            .map(|name| ast::TableHint {
                name: name.to_owned(),
                args: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn hints_add_up_or_contradict_each_other() {
        let lock = lock_of(&hints("UPDLOCK READPAST ROWLOCK")).expect("a queue's hints");
        assert_eq!(lock.intent, LockIntent::Update);
        assert!(lock.skip_locked && lock.grain == LockGrain::Row);
        let lock = lock_of(&hints("TABLOCKX HOLDLOCK")).expect("fine");
        assert_eq!(lock.intent, LockIntent::Exclusive);
        assert_eq!(lock.level, Some(IsolationLevel::Serializable));
        assert_eq!(lock.grain, LockGrain::Table);
        for (names, error) in [
            ("NOLOCK HOLDLOCK", 1047),
            ("NOLOCK UPDLOCK", 1047),
            ("NOLOCK TABLOCK", 1047),
            ("ROWLOCK TABLOCK", 1047),
            ("REPEATABLEREAD SERIALIZABLE", 1047),
            ("READPAST SERIALIZABLE", 650),
            ("SNAPSHOT", 40517),
        ] {
            let refused = lock_of(&hints(names)).expect_err(names);
            assert_eq!(refused.number, error, "{names}");
        }
        assert!(lock_of(&hints("HOLDLOCK SERIALIZABLE NOLOCK")).is_err());
    }

    #[test]
    fn a_target_is_never_read_dirty() {
        let refused = target_lock(&hints("NOLOCK")).expect_err("1065");
        assert_eq!(refused.number, 1065);
        let lock = target_lock(&hints("TABLOCK")).expect("fine");
        assert_eq!(
            (lock.intent, lock.grain),
            (LockIntent::Change, LockGrain::Table)
        );
    }
}
