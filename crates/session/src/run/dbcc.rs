//! DBCC: arguments are evaluated here, the report is sent here.

use duramen_base::{SqlError, messages};
use duramen_inspect::dbcc::{self, Arg, Call};
use duramen_program::sink::ColumnMeta;
use duramen_tsql::ast;
use duramen_types::{SqlType, Value};

use super::failure::RunResult;
use super::{Run, command};

impl Run<'_> {
    pub(super) fn dbcc(&mut self, at: usize, stmt: &ast::Dbcc) -> RunResult<()> {
        let mut args = Vec::new();
        for arg in &stmt.args {
            args.push(match arg {
                ast::DbccArg::Word(w) => Arg::Text(w.clone()),
                ast::DbccArg::Value(e) => match self.constant(e)? {
                    Value::Null => Arg::Null,
                    Value::Binary(bytes) => Arg::Binary(bytes),
                    v => match (v.as_i64(), v.as_text()) {
                        (Some(n), _) if !is_text(&v) => Arg::Number(n),
                        (_, text) => Arg::Text(text.unwrap_or_default()),
                    },
                },
            });
        }
        let call = Call {
            instance: &self.session.instance,
            session: self.session,
            args,
            options: stmt.options.iter().map(|o| o.name.clone()).collect(),
            maxdop: stmt.options.iter().find_map(|o| match o.value {
                Some(ast::OptionValue::Int(n)) if o.name == "MAXDOP" => Some(n),
                _ => None,
            }),
            cancel: self.cancel,
        };
        let report = dbcc::run(&stmt.name, &call)?;
        let quiet = call.options.iter().any(|o| o == "NO_INFOMSGS");
        for line in &report.printed {
            self.say(&SqlError::print(line.clone()), at);
        }
        for m in &report.said {
            match m.severity {
                0..=10 => self.say(m, at),
                // A finding, which ends nothing.
                _ => {
                    let line = self.program.steps[at].line as i32;
                    let mut error = m.clone().at_line(line);
                    error.procedure = error.procedure.or(self.place.procedure.clone());
                    self.sink.error(&error);
                }
            }
        }
        if !quiet {
            report.messages.iter().for_each(|m| self.say(m, at));
        }
        let first = report.table.map(|(columns, rows)| (columns.to_vec(), rows));
        for (columns, table) in first.into_iter().chain(report.sets) {
            self.sink.columns(&described(&columns));
            table.iter().for_each(|row| self.sink.row(row));
            self.done(Some(table.len() as u64), command::OTHER, false);
        }
        if let Some((columns, rows)) = report.named {
            let columns = columns.iter().map(|(name, ty)| column(name, *ty, true));
            self.sink.columns(&columns.collect::<Vec<_>>());
            rows.iter().for_each(|row| self.sink.row(row));
            self.done(Some(rows.len() as u64), command::OTHER, false);
        }
        if let Some((columns, rows)) = report.long {
            self.sink.columns(&described(&columns));
            let mut count = 0;
            for row in rows {
                if self.cancel.is_set() {
                    return Err(duramen_query::cancelled().into());
                }
                self.sink.row(&row?);
                count += 1;
            }
            self.done(Some(count), command::OTHER, false);
        }
        if !quiet {
            self.say(&SqlError::new(&messages::DBCC_COMPLETED, &[]), at);
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }
}

fn described(columns: &[(&'static str, SqlType, bool)]) -> Vec<ColumnMeta> {
    let described = columns
        .iter()
        .map(|(name, ty, null)| column(name, *ty, *null));
    described.collect()
}

fn column(name: &str, ty: SqlType, nullable: bool) -> ColumnMeta {
    ColumnMeta {
        name: name.to_owned(),
        ty,
        nullable,
        identity: false,
        updatable: false,
    }
}

fn is_text(v: &Value) -> bool {
    matches!(v, Value::VarChar(_) | Value::NVarChar(_))
}
