//! The procedures of the error log: reading, listing, cycling it, and writing into it.
//!
//! `xp_readerrorlog archive, type, search, search, from, to, order` and `sp_readerrorlog archive, type, search, search` give
//! LogDate, ProcessInfo and Text; searches are for a part of the text, whatever its case. Type 2, the log of the Agent, is one
//! that is never there. What the procedures take beyond their documentation, and the lengths of the columns, is as scripts use
//! them (*assumed*).
//! <https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-readerrorlog-transact-sql>

use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::column::unix_time;
use duramen_program::rights::Right;
use duramen_program::sink::ColumnMeta;
use duramen_types::{ConvertCtx, SqlType, Value};

use super::exec::{Called, Given};
use super::server::argument;
use super::{Run, command};
use duramen_events::error_log::entry::Entry;

const MOST_TEXT: usize = 3999;
/// Numbers of users' messages begin behind this.
const LAST_SYSTEM_NUMBER: i64 = 50_000;

/// Whether a procedure, by its lower-case name, is one of this room.
pub(super) fn is_procedure(name: &str) -> bool {
    matches!(
        name,
        "sp_cycle_errorlog"
            | "sp_enumerrorlogs"
            | "sp_readerrorlog"
            | "xp_enumerrorlogs"
            | "xp_logevent"
            | "xp_readerrorlog"
    )
}

fn invalid_type() -> SqlError {
    let text = "Error executing extended stored procedure: Invalid Parameter Type";
    SqlError::new(&messages::EXTENDED_PROCEDURE_FAILED, &[&text])
}

/// Nanoseconds since 1970 of a moment that was given; `None` for none.
fn moment(given: &[Given], at: usize, ctx: &ConvertCtx) -> SqlResult<Option<i128>> {
    let found = given.get(at).and_then(|g| Some((g.ty, g.value.clone()?)));
    let Some((ty, value)) = found.filter(|(_, v)| !v.is_null()) else {
        return Ok(None);
    };
    let value = duramen_types::convert(&value, &ty, &SqlType::DATETIME, None, ctx);
    let Ok(Value::DateTime(d)) = value else {
        return Err(invalid_type());
    };
    const DAYS_1900_TO_1970: i128 = 25_567;
    let days = i128::from(d.days) - DAYS_1900_TO_1970;
    Ok(Some(
        days * 86_400_000_000_000 + i128::from(d.ticks) * 10_000_000 / 3,
    ))
}

impl Run<'_> {
    pub(super) fn error_log_procedure(&mut self, name: &str, given: &[Given]) -> SqlResult<Called> {
        let most = match name {
            "xp_readerrorlog" => 7,
            "sp_readerrorlog" => 4,
            "xp_logevent" => 3,
            "sp_cycle_errorlog" => 0,
            _ => 1,
        };
        let done = match given.len() > most {
            true => Err(SqlError::new(&messages::TOO_MANY_ARGUMENTS, &[&name]).with_state(2)),
            false => match name {
                "sp_cycle_errorlog" => self.cycle_error_log(),
                "xp_logevent" => self.log_event(given),
                "xp_enumerrorlogs" | "sp_enumerrorlogs" => self.list_error_logs(given),
                _ => self.read_error_log(given),
            },
        };
        let procedure = |e: SqlError| SqlError {
            procedure: Some(name.to_owned()),
            ..e
        };
        done.map_err(procedure)?;
        Ok(Called::with_status(0))
    }

    /// 15003
    fn may_read_logs(&self) -> SqlResult<()> {
        match self.session.server_may(Right::AlterAnyLogin) {
            true => Ok(()),
            false => Err(SqlError::new(
                &messages::ONLY_MEMBERS_OF_ROLE,
                &[&"securityadmin"],
            )),
        }
    }

    fn cycle_error_log(&mut self) -> SqlResult<()> {
        self.session.instance.cycle_error_log(self.session)?;
        self.sink
            .info(&SqlError::new(&messages::DBCC_COMPLETED, &[]));
        Ok(())
    }

    /// xp_logevent error_number, 'message' [, 'severity']
    fn log_event(&mut self, given: &[Given]) -> SqlResult<()> {
        let number = argument(given, 0, "@error_number").and_then(Value::as_i64);
        let text = argument(given, 1, "@message").and_then(Value::as_text);
        let severity = argument(given, 2, "@severity").and_then(Value::as_text);
        // db_owner of master may, too.
        if !self.session.server_may(Right::ControlServer) && !self.owns_master()? {
            return Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]));
        }
        let known = |s: &String| {
            let words = ["informational", "warning", "error"];
            words.iter().any(|w| s.eq_ignore_ascii_case(w))
        };
        let (Some(number), Some(text)) = (number, text) else {
            return Err(invalid_type());
        };
        let number = i32::try_from(number).map_err(|_| invalid_type())?;
        if i64::from(number) <= LAST_SYSTEM_NUMBER || !severity.as_ref().is_none_or(known) {
            return Err(invalid_type());
        }
        let error = SqlError {
            number,
            severity: 10,
            ..SqlError::print(text)
        };
        self.session.instance.log_error_of(self.session, &error);
        Ok(())
    }

    fn owns_master(&self) -> SqlResult<bool> {
        let master = self.session.instance.databases.find("master");
        master.map_or(Ok(false), |db| self.session.owns(&db))
    }

    fn read_error_log(&mut self, given: &[Given]) -> SqlResult<()> {
        self.may_read_logs()?;
        let number = |at, name| match argument(given, at, name) {
            None => Ok(None),
            Some(v) => v.as_i64().map(Some).ok_or_else(invalid_type),
        };
        let text = |at, name| match argument(given, at, name) {
            None => Ok(String::new()),
            Some(v) => v
                .as_text()
                .map(|t| t.to_lowercase())
                .ok_or_else(invalid_type),
        };
        let archive = number(0, "@p1")?.unwrap_or(0);
        // There is no Agent, and so no log of one.
        let archive = match number(1, "@p2")?.unwrap_or(1) {
            1 => archive,
            2 => -1,
            _ => return Err(invalid_type()),
        };
        let (first, second) = (text(2, "@p3")?, text(3, "@p4")?);
        let ctx = self.session.options.convert_ctx();
        let (from, to) = (moment(given, 4, &ctx)?, moment(given, 5, &ctx)?);
        let backwards = match text(6, "@p7")?.as_str() {
            "" | "asc" => false,
            "desc" => true,
            _ => return Err(invalid_type()),
        };
        let cancel = self.cancel;
        let log = self.session.instance.error_log.clone();
        let mut entries = log.read(archive, &mut |e| {
            if cancel.is_set() {
                return Err(duramen_query::cancelled());
            }
            let at = e.at.unix_nanos();
            if from.is_some_and(|from| at < from) || to.is_some_and(|to| at > to) {
                return Ok(false);
            }
            let all = first.is_empty() && second.is_empty();
            Ok(all || {
                let text = e.text.to_lowercase();
                text.contains(&first) && text.contains(&second)
            })
        })?;
        if backwards {
            entries.reverse();
        }
        let row = |e: &Entry| {
            let text: String = e.text.chars().take(MOST_TEXT).collect();
            vec![
                unix_time(e.at.unix_nanos()),
                Value::nvarchar(&e.source),
                Value::nvarchar(&text),
            ]
        };
        let columns = [
            ("LogDate", SqlType::DATETIME),
            ("ProcessInfo", SqlType::nvarchar(12)),
            ("Text", SqlType::nvarchar(MOST_TEXT as u16)),
        ];
        self.send_found(&columns, entries.iter().map(row));
        Ok(())
    }

    /// The logs that there are; of the Agent (type 2) none.
    fn list_error_logs(&mut self, given: &[Given]) -> SqlResult<()> {
        self.may_read_logs()?;
        let agent = argument(given, 0, "@p1").and_then(Value::as_i64) == Some(2);
        let list = match agent {
            true => Vec::new(),
            false => self.session.instance.error_log.list(),
        };
        let columns = [
            ("Archive #", SqlType::INT),
            ("Date", SqlType::DATETIME),
            ("Log File Size (Byte)", SqlType::INT),
        ];
        let rows = list.iter().map(|a| {
            let last = a.last.map_or(Value::Null, |at| unix_time(at.unix_nanos()));
            let bytes = i32::try_from(a.bytes).unwrap_or(i32::MAX);
            vec![Value::Int(a.number as i32), last, Value::Int(bytes)]
        });
        self.send_found(&columns, rows);
        Ok(())
    }

    /// A result set whose columns allow NULL.
    pub(super) fn send_found(
        &mut self,
        columns: &[(&str, SqlType)],
        rows: impl Iterator<Item = Vec<Value>>,
    ) {
        let columns = columns.iter().map(|(name, ty)| ColumnMeta {
            name: (*name).to_owned(),
            ty: *ty,
            nullable: true,
            identity: false,
            updatable: false,
        });
        self.sink.columns(&columns.collect::<Vec<_>>());
        let mut count = 0;
        for row in rows {
            self.sink.row(&row);
            count += 1;
        }
        self.done(Some(count), command::SELECT, false);
    }
}
