//! SET options.

use duramen_base::{SqlError, messages};
use duramen_core::security::set_options::of_option;
use duramen_program::sink::EnvChange;
use duramen_query::host::{Host, Source};
use duramen_tsql::ast;
use duramen_txn::IsolationLevel;
use duramen_types::{DateOrder, Value};

use super::failure::RunResult;
use super::{Run, not_supported};

impl Run<'_> {
    /// What an option needs to be on, which its row says; one without a row is refused, whoever asks.
    fn may_set(&self, name: &str, on: bool) -> RunResult<()> {
        let Some(needs) = of_option(name) else {
            return Err(not_supported(&format!("SET {name}")).into());
        };
        if !on {
            return Ok(());
        }
        Ok(self.session.caller().require(&needs, &[], |first| {
            let right = first.map_or("", |(need, _)| need.right.name());
            let args: [&dyn std::fmt::Display; 2] = [&right, &self.session.database];
            SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args)
        })?)
    }

    pub(super) fn set_option(&mut self, at: usize, option: &ast::SetOption) -> RunResult<()> {
        match option {
            ast::SetOption::OnOff { names, on } => {
                names.iter().try_for_each(|n| self.may_set(n, *on))?;
            }
            ast::SetOption::Statistics { names, on } => {
                let all = names.iter().map(|n| format!("STATISTICS {n}"));
                all.into_iter().try_for_each(|n| self.may_set(&n, *on))?;
            }
            ast::SetOption::Value { name, .. } => self.may_set(name, true)?,
            // 1088, and not a permission, is what refuses it.
            ast::SetOption::IdentityInsert { table, .. } if !self.session.who.sysadmin => {
                self.may_alter(table)?;
            }
            ast::SetOption::IdentityInsert { .. } | ast::SetOption::IsolationLevel(_) => {}
        }
        match option {
            ast::SetOption::OnOff { names, on } => {
                names
                    .iter()
                    .try_for_each(|n| match n.starts_with("SHOWPLAN_") {
                        true => self.set_showplan(n, *on),
                        false => Ok(self.session.options.set_switch(n, *on)?),
                    })
            }
            ast::SetOption::IsolationLevel(level) => {
                let level = match level {
                    ast::IsolationLevel::ReadUncommitted => IsolationLevel::ReadUncommitted,
                    ast::IsolationLevel::ReadCommitted => IsolationLevel::ReadCommitted,
                    ast::IsolationLevel::RepeatableRead => IsolationLevel::RepeatableRead,
                    ast::IsolationLevel::Serializable => IsolationLevel::Serializable,
                    ast::IsolationLevel::Snapshot => IsolationLevel::Snapshot,
                };
                self.session.options.isolation = level;
                if let Some(t) = &self.session.transaction {
                    t.set_isolation(level);
                }
                Ok(())
            }
            ast::SetOption::Value { name, value } => {
                let value = self.constant(value)?;
                self.set_value(at, name, &value)
            }
            ast::SetOption::Statistics { names, on } => self.set_statistics(names, *on),
            ast::SetOption::IdentityInsert { table, on } => self.identity_insert(table, *on),
        }
    }

    /// One table of the session may take explicit identity values.
    fn identity_insert(&mut self, name: &ast::ObjectName, on: bool) -> RunResult<()> {
        let found = self.ask_host(|h| h.target(name))?;
        let Some(Source::Table(table)) = found else {
            let error = SqlError::new(&messages::OBJECT_NOT_FOUND, &[&name.display()]);
            return Err(error.into());
        };
        if !table.columns().iter().any(|c| c.identity) {
            let error = SqlError::new(&messages::NO_IDENTITY_PROPERTY, &[&name.display()]);
            return Err(error.into());
        }
        let id = table.stored_id();
        let new = id.and_then(|id| self.session.identity_insert_of(id));
        let mine = new.is_some() && self.session.state.identity_insert == new;
        if on
            && !mine
            && let Some(other) = self.session.identity_insert_name()?
        {
            let [database, schema, table] = &other;
            let args: [&dyn std::fmt::Display; 4] = [database, schema, table, &name.display()];
            return Err(SqlError::new(&messages::IDENTITY_INSERT_ALREADY_ON, &args).into());
        }
        if on || mine {
            self.session.state.identity_insert = new.filter(|_| on);
        }
        Ok(())
    }

    pub(super) fn set_value(&mut self, at: usize, name: &str, value: &Value) -> RunResult<()> {
        let options = &mut self.session.options;
        match (name, value.as_i64(), value.as_text()) {
            ("LOCK_TIMEOUT", Some(ms), _) => {
                options.lock_timeout = ms;
                if let Some(t) = &self.session.transaction {
                    t.set_lock_timeout(ms);
                }
            }
            ("CONTEXT_INFO", _, _) => {
                let bytes = match value {
                    Value::Binary(b) => b.clone(),
                    Value::VarChar(b) => b.clone(),
                    _ => {
                        return Err(
                            not_supported("SET CONTEXT_INFO of other than binary data").into()
                        );
                    }
                };
                let session = &mut *self.session;
                session.state.context.set_info(bytes);
                let info = session.state.context.info.as_deref();
                session.activity.note_context_info(info);
            }
            // 0 stands for the default of old.
            ("TEXTSIZE", Some(0), _) => options.textsize = 4096,
            ("TEXTSIZE", Some(n), _) => options.textsize = n as i32,
            ("ROWCOUNT", Some(n), _) if n >= 0 => options.rowcount = n as u64,
            ("DATEFIRST", Some(n), _) => {
                if !(1..=7).contains(&n) {
                    return Err(SqlError::new(&messages::DATEFIRST_OUT_OF_RANGE, &[&n]).into());
                }
                options.datefirst = n as u8;
                options.explicit.datefirst = true;
            }
            ("DATEFORMAT", _, Some(f)) => match DateOrder::from_name(&f) {
                Some(order) => {
                    options.date_order = order;
                    options.explicit.dateformat = true;
                }
                None => return Err(SqlError::new(&messages::DATEFORMAT_INVALID, &[&f]).into()),
            },
            ("LANGUAGE", _, Some(l)) => {
                let old = options.language.data().name.to_owned();
                if !options.set_language(&l) {
                    return Err(SqlError::new(&messages::SET_LANGUAGE_FAILED, &[&l]).into());
                }
                let new = options.language.data().name.to_owned();
                let info = SqlError::new(&messages::CHANGED_LANGUAGE, &[&new]);
                self.sink.env_change(&EnvChange::Language { old, new });
                self.say(&info, at);
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
            ("QUERY_GOVERNOR_COST_LIMIT", Some(0), _) => {}
            _ => return Err(not_supported(&format!("SET {name}")).into()),
        }
        Ok(())
    }
}
