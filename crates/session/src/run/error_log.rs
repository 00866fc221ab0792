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

use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;
use super::{Run, command};
use duramen_events::error_log::entry::Entry;

const MOST_TEXT: usize = 3999;
/// Numbers of users' messages begin behind this.
const LAST_SYSTEM_NUMBER: i64 = 50_000;

fn invalid_type() -> SqlError {
    let text = "Error executing extended stored procedure: Invalid Parameter Type";
    SqlError::new(&messages::EXTENDED_PROCEDURE_FAILED, &[&text])
}

/// Nanoseconds since 1970 of a moment that was given; `None` for none.
fn moment(args: &Arguments<'_>, name: &str, ctx: &ConvertCtx) -> SqlResult<Option<i128>> {
    let Some(found) = args.given(name).filter(|t| !t.value.is_null()) else {
        return Ok(None);
    };
    let value = duramen_types::convert(&found.value, &found.ty, &SqlType::DATETIME, None, ctx);
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
    /// 15003
    fn may_read_logs(&self) -> RunResult<()> {
        match self.session.server_may(Right::AlterAnyLogin) {
            true => Ok(()),
            false => {
                Err(SqlError::new(&messages::ONLY_MEMBERS_OF_ROLE, &[&"securityadmin"]).into())
            }
        }
    }

    pub(super) fn cycle_error_log(&mut self) -> RunResult<Called> {
        self.session.instance.cycle_error_log(self.session)?;
        self.sink
            .info(&SqlError::new(&messages::DBCC_COMPLETED, &[]));
        Ok(Called::with_status(0))
    }

    /// xp_logevent error_number, 'message' [, 'severity']
    pub(super) fn log_event(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let (number, text) = (args.number("@error_number"), args.text("@message"));
        let severity = args.text("@severity");
        // db_owner of master may, too.
        if !self.session.server_may(Right::ControlServer) && !self.owns_master()? {
            return Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]).into());
        }
        let known = |s: &String| {
            let words = ["informational", "warning", "error"];
            words.iter().any(|w| s.eq_ignore_ascii_case(w))
        };
        let (Some(number), Some(text)) = (number, text) else {
            return Err(invalid_type().into());
        };
        let number = i32::try_from(number).map_err(|_| invalid_type())?;
        if i64::from(number) <= LAST_SYSTEM_NUMBER || !severity.as_ref().is_none_or(known) {
            return Err(invalid_type().into());
        }
        let error = SqlError {
            number,
            severity: 10,
            ..SqlError::print(text)
        };
        self.session.instance.log_error_of(self.session, &error);
        Ok(Called::with_status(0))
    }

    fn owns_master(&self) -> RunResult<bool> {
        let master = self.session.instance.databases.find("master");
        master.map_or(Ok(false), |db| Ok(self.session.owns(&db)?))
    }

    pub(super) fn read_error_log(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        self.may_read_logs()?;
        let number = |name, without| match args.value(name) {
            None => Ok(without),
            Some(v) => v.as_i64().ok_or_else(invalid_type),
        };
        let text = |name| match args.value(name) {
            None => Ok(String::new()),
            Some(v) => v
                .as_text()
                .map(|t| t.to_lowercase())
                .ok_or_else(invalid_type),
        };
        let archive = number("@p1", 0)?;
        // There is no Agent, and so no log of one.
        let archive = match number("@p2", 1)? {
            1 => archive,
            2 => -1,
            _ => return Err(invalid_type().into()),
        };
        let (first, second) = (text("@p3")?, text("@p4")?);
        let ctx = self.session.options.convert_ctx();
        let (from, to) = (moment(args, "@p5", &ctx)?, moment(args, "@p6", &ctx)?);
        let backwards = match text("@p7")?.as_str() {
            "" | "asc" => false,
            "desc" => true,
            _ => return Err(invalid_type().into()),
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
        Ok(Called::with_status(0))
    }

    /// The logs that there are; of the Agent (type 2) none.
    pub(super) fn list_error_logs(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        self.may_read_logs()?;
        let agent = args.number("@p1") == Some(2);
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
        Ok(Called::with_status(0))
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
