//! SET options.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_txn::IsolationLevel;
use duramen_types::Value;

use super::{Run, not_supported};

impl Run<'_> {
    pub(super) fn set_option(&mut self, _at: usize, option: &ast::SetOption) -> SqlResult<()> {
        match option {
            ast::SetOption::OnOff { names, on } => names
                .iter()
                .try_for_each(|n| self.session.options.set_switch(n, *on)),
            ast::SetOption::IsolationLevel(level) => {
                let level = match level {
                    ast::IsolationLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
                    ast::IsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
                    ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
                    ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
                    ast::IsolationLevel::Snapshot => {
                        return Err(not_supported("ISOLATION LEVEL SNAPSHOT"));
                    }
                };
                self.session.options.isolation = level;
                if let Some(t) = &self.session.transaction {
                    t.set_isolation(level);
                }
                Ok(())
            }
            ast::SetOption::Value { name, value } => {
                let value = self.constant(value)?;
                self.set_value(name, &value)
            }
            ast::SetOption::Statistics { names, on: false } if !names.is_empty() => Ok(()),
            ast::SetOption::Statistics { names, .. } => Err(not_supported(&format!(
                "SET STATISTICS {}",
                names.join(", ")
            ))),
            ast::SetOption::IdentityInsert { .. } => Err(not_supported("SET IDENTITY_INSERT")),
        }
    }

    pub(super) fn set_value(&mut self, name: &str, value: &Value) -> SqlResult<()> {
        let options = &mut self.session.options;
        match (name, value.as_i64(), value.as_text()) {
            ("LOCK_TIMEOUT", Some(ms), _) => {
                options.lock_timeout = ms;
                if let Some(t) = &self.session.transaction {
                    t.set_lock_timeout(ms);
                }
            }
            ("TEXTSIZE", Some(n), _) => options.textsize = n as i32,
            ("ROWCOUNT", Some(0), _) => options.rowcount = 0,
            ("DATEFIRST", Some(7), _) => options.datefirst = 7,
            ("DATEFIRST", Some(n), _) if !(1..=7).contains(&n) => {
                return Err(SqlError::new(&messages::DATEFIRST_OUT_OF_RANGE, &[&n]));
            }
            ("DATEFORMAT", _, Some(f)) if f.eq_ignore_ascii_case("mdy") => {
                options.dateformat = "mdy".to_owned()
            }
            ("LANGUAGE", _, Some(l))
                if l.eq_ignore_ascii_case("us_english") || l.eq_ignore_ascii_case("english") =>
            {
                options.language = "us_english".to_owned();
            }
            ("DEADLOCK_PRIORITY", n, word) => {
                let priority = match word.map(|w| w.to_ascii_uppercase()).as_deref() {
                    Some("LOW") => -5,
                    Some("NORMAL") => 0,
                    Some("HIGH") => 5,
                    _ => n.unwrap_or(0).clamp(-10, 10) as i8,
                };
                options.deadlock_priority = priority;
                self.session.owner.set_deadlock_priority(priority);
            }
            _ => return Err(not_supported(&format!("SET {name}"))),
        }
        Ok(())
    }
}
