//! ALTER DATABASE SCOPED CONFIGURATION, of the current database.
//!
//! Followed are MAXDOP, CLEAR PROCEDURE_CACHE and two that are ours: COMMIT_WAIT = STATEMENT | PACKET and LOG_PROFILE =
//! 2012 | 2014 | 2019 | 2022 | native. SQL Server's others have their default, which may be set; any other value is refused,
//! so that nobody relies on it. <https://learn.microsoft.com/sql/t-sql/statements/alter-database-scoped-configuration-transact-sql>

use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_inspect::views::database_scoped_configurations::{Held, default_of};
use duramen_inspect::views::query_stats::{Origin, program_of};
use duramen_tsql::ast::{OptionValue, ScopedConfiguration};
use duramen_txn::{CommitWait, TxnKind};
use duramen_types::Value;
use duramen_wal::LogProfile;

use super::failure::RunResult;
use super::{Run, command, not_supported};

/// What the statement asks for.
enum Change {
    CommitWait(CommitWait),
    LogProfile(LogProfile),
    MaxDegree(u16),
    /// What the configuration has anyway.
    Nothing,
    /// The plans of the database, or the one with this number.
    ClearPlans(Option<u64>),
}

/// 40517 for a setting, or a value of one, that no database here has.
pub(crate) fn scoped_refused(stmt: &ScopedConfiguration) -> SqlResult<()> {
    Change::of(stmt).map(|_| ())
}

impl Change {
    fn of(stmt: &ScopedConfiguration) -> SqlResult<Change> {
        let name = stmt.option.name.to_ascii_uppercase();
        if stmt.for_secondary {
            return Err(not_supported(
                "ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY",
            ));
        }
        if stmt.clear {
            return Change::clear(&name, stmt.option.value.as_ref());
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
            "MAXDOP" => {
                let degree = value.parse().ok().filter(|n| *n <= 32_767);
                degree.map(Change::MaxDegree)
            }
            _ => match default_of(&name) {
                Some(Held::Bit(on))
                    if value.eq_ignore_ascii_case(if on { "ON" } else { "OFF" }) =>
                {
                    Some(Change::Nothing)
                }
                Some(Held::Number(n)) if value == n.to_string() => Some(Change::Nothing),
                Some(Held::Word(w)) if value.eq_ignore_ascii_case(w) => Some(Change::Nothing),
                _ => None,
            },
        };
        change.ok_or_else(|| {
            not_supported(&format!(
                "ALTER DATABASE SCOPED CONFIGURATION SET {name} = {value}"
            ))
        })
    }

    fn clear(name: &str, value: Option<&OptionValue>) -> SqlResult<Change> {
        let handle = match value {
            None => every_plan(name),
            Some(OptionValue::Binary(bytes)) if name == "PROCEDURE_CACHE" => {
                program_of(&Value::Binary(bytes.clone())).map(Some)
            }
            Some(_) => None,
        };
        handle.map(Change::ClearPlans).ok_or_else(|| {
            not_supported(&format!("ALTER DATABASE SCOPED CONFIGURATION CLEAR {name}"))
        })
    }
}

/// All plans, where the cache of procedures is meant.
fn every_plan(name: &str) -> Option<Option<u64>> {
    (name == "PROCEDURE_CACHE").then_some(None)
}

impl Run<'_> {
    pub(super) fn configure(&mut self, stmt: &ScopedConfiguration) -> RunResult<()> {
        let change = Change::of(stmt)?;
        let current = self.session.database.clone();
        let databases = &self.session.instance.databases;
        let db = databases
            .find(&current)
            .ok_or_else(|| SqlError::new(&messages::DATABASE_DOES_NOT_EXIST, &[&current]))?;
        match change {
            Change::Nothing => {}
            Change::ClearPlans(one) => self.clear_plans(&db, one),
            // Nothing in tempdb is ever hardened for anybody, and its boot page lives to the next start.
            _ if db.db.id == DbId::TEMPDB => {
                return Err(not_supported("ALTER DATABASE SCOPED CONFIGURATION in tempdb").into());
            }
            _ => self.change_boot_page(&db, &change)?,
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }

    fn change_boot_page(&mut self, db: &Arc<OpenDb>, change: &Change) -> RunResult<()> {
        let instance = self.session.instance.clone();
        let tx = self
            .session
            .new_transaction(TxnKind::Autocommit, "ALTER DATABASE");
        let done = match change {
            Change::CommitWait(wait) => db.db.set_commit_wait(&tx, *wait),
            Change::LogProfile(profile) => db.db.set_log_profile(&tx, *profile),
            Change::MaxDegree(degree) => db.db.set_max_degree(&tx, *degree),
            Change::Nothing | Change::ClearPlans(_) => Ok(()),
        };
        match done {
            Ok(()) => Ok(self.session.finish(&tx, None)?),
            Err(e) => {
                instance.rollback(&tx, None)?;
                Err(e.into())
            }
        }
    }

    /// CLEAR PROCEDURE_CACHE: the plans of this database, or one of them.
    fn clear_plans(&self, db: &Arc<OpenDb>, one: Option<u64>) {
        let (instance, id) = (&self.session.instance, Some(db.db.id.0));
        instance.plans.forget(|key, program| {
            one.is_none_or(|wanted| program.stats.id == wanted)
                && Origin::of(instance, key).database == id
        });
    }
}
