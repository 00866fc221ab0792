//! ALTER DATABASE SCOPED CONFIGURATION, of the current database. The two configurations are ours: COMMIT_WAIT =
//! STATEMENT | PACKET and LOG_PROFILE = 2012 | 2014 | 2019 | 2022 | native. Other names are refused.

use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_tsql::ast::{OptionValue, ScopedConfiguration};
use duramen_txn::{CommitWait, TxnKind};
use duramen_wal::LogProfile;

use super::{Run, command, not_supported};

/// What the statement asks for.
enum Change {
    CommitWait(CommitWait),
    LogProfile(LogProfile),
}

impl Change {
    fn of(stmt: &ScopedConfiguration) -> SqlResult<Change> {
        let name = stmt.option.name.to_ascii_uppercase();
        if stmt.clear {
            return Err(not_supported(&format!(
                "ALTER DATABASE SCOPED CONFIGURATION CLEAR {name}"
            )));
        }
        if stmt.for_secondary {
            return Err(not_supported(
                "ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY",
            ));
        }
        let value = match &stmt.option.value {
            Some(OptionValue::Word(w)) => w.clone(),
            Some(OptionValue::Int(n)) => n.to_string(),
            Some(OptionValue::String(s)) => s.value.clone(),
            _ => String::new(),
        };
        let change = match name.as_str() {
            "COMMIT_WAIT" => CommitWait::parse(&value).map(Change::CommitWait),
            "LOG_PROFILE" => LogProfile::parse(&value).map(Change::LogProfile),
            _ => None,
        };
        change.ok_or_else(|| {
            not_supported(&format!(
                "ALTER DATABASE SCOPED CONFIGURATION SET {name} = {value}"
            ))
        })
    }
}

impl Run<'_> {
    pub(super) fn configure(&mut self, stmt: &ScopedConfiguration) -> SqlResult<()> {
        self.outside_transaction("ALTER DATABASE SCOPED CONFIGURATION")?;
        let change = Change::of(stmt)?;
        let current = self.session.database.clone();
        let instance = self.session.instance.clone();
        let db = instance
            .databases
            .find(&current)
            .ok_or_else(|| SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&current]))?;
        if db.db.id == DbId::TEMPDB {
            // Nothing in tempdb is ever hardened for anybody.
            return Err(not_supported(
                "ALTER DATABASE SCOPED CONFIGURATION in tempdb",
            ));
        }
        let tx = self
            .session
            .new_transaction(TxnKind::Autocommit, "ALTER DATABASE");
        let done = match change {
            Change::CommitWait(wait) => db.db.set_commit_wait(&tx, wait),
            Change::LogProfile(profile) => db.db.set_log_profile(&tx, profile),
        };
        match done {
            Ok(()) => self.session.finish(&tx, None)?,
            Err(e) => {
                instance.rollback(&tx, None)?;
                return Err(e);
            }
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }
}
