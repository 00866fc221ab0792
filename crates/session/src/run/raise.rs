//! What a batch says or waits for by its own will: PRINT, RAISERROR, THROW, WAITFOR.

use duramen_base::{SqlError, messages};
use std::time::Duration;

use duramen_planner::Binder;
use duramen_program::rights::Right;
use duramen_tsql::ast;
use duramen_types::{SqlType, to_display};

use super::failure::{Failure, Origin, RunResult, binding};
use super::{Run, command};

/// From now to the next time the clock shows this time of day.
fn until_time_of_day(time: Duration) -> Duration {
    const DAY: u128 = 86_400_000_000_000;
    let now = u128::try_from(duramen_os::time::wall().unix_nanos()).unwrap_or(0) % DAY;
    let wait = (time.as_nanos() + DAY - now) % DAY;
    Duration::from_nanos(u64::try_from(wait).unwrap_or(0))
}

/// The number, the message and the state of a THROW that has them.
type Thrown = (ast::Expr, ast::Expr, ast::Expr);

/// The places of a catalogue's text in the form that RAISERROR fills.
fn places(text: &str) -> String {
    text.replace("%.*ls", "%s")
        .replace("%ls", "%s")
        .replace("%S_MSG", "%s")
}

impl Run<'_> {
    /// A message of a statement, with the statement's line.
    pub(super) fn say(&mut self, message: &SqlError, at: usize) {
        let line = self.program.steps[at].line as i32;
        let mut message = message.clone().at_line(line);
        message.procedure = message.procedure.or(self.place.procedure.clone());
        self.sink.info(&message);
    }

    /// 3607 and 3606: errors of arithmetic that gave NULL, unless ARITHIGNORE is ON.
    #[inline]
    pub(super) fn report_forgiven(&mut self) {
        if !self.session.options.ansi_warnings {
            self.report_if_forgiven();
        }
    }

    #[cold]
    fn report_if_forgiven(&mut self) {
        let noted = duramen_types::lenient::take();
        if self.session.options.arithignore {
            return;
        }
        for (happened, message) in [
            (noted.division_by_zero, &messages::DIVISION_BY_ZERO_OCCURRED),
            (noted.overflow, &messages::ARITHMETIC_OVERFLOW_OCCURRED),
        ] {
            if happened {
                let mut info = SqlError::new(message, &[]).at_line(self.line);
                info.procedure = self.place.procedure.clone();
                self.sink.info(&info);
            }
        }
    }

    pub(super) fn print(&mut self, at: usize, e: &ast::Expr) -> RunResult<()> {
        let bound = self.expr(at, |b| b.as_text(e))?;
        let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
        let message = value.as_text().unwrap_or_default();
        let line = self.program.steps[at].line as i32;
        let info = SqlError {
            procedure: self.place.procedure.clone(),
            line,
            ..SqlError::print(message)
        };
        self.sink.info(&info);
        self.done(None, command::OTHER, false);
        Ok(())
    }

    pub(super) fn wait_for(
        &mut self,
        _at: usize,
        kind: ast::WaitForKind,
        value: &ast::Expr,
    ) -> RunResult<()> {
        let bound = self.ask_host(|h| Binder::new(h).scalar(value));
        let bound = binding(bound)?;
        let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
        let text = match value.as_text() {
            Some(text) => text,
            // A datetime counts by its time of day.
            None if bound.ty.id.is_temporal() => {
                let ctx = self.session.options.convert_ctx();
                let time = SqlType::time(3);
                let time = duramen_types::convert(&value, &bound.ty, &time, None, &ctx)?;
                to_display(&time, &SqlType::time(3))
            }
            None => to_display(&value, &bound.ty),
        };
        let bad = || SqlError::new(&messages::WAITFOR_TIME_SYNTAX, &[&text]);
        let mut wait = duramen_program::names::parse_delay(&text).ok_or_else(bad)?;
        if kind == ast::WaitForKind::Time {
            wait = until_time_of_day(wait);
        }
        self.sink.flush_hint();
        let _wait = duramen_observe::wait(duramen_observe::WaitType::WAITFOR);
        let until = duramen_os::time::now().nanos() + wait.as_nanos() as u64;
        while duramen_os::time::now().nanos() < until && !self.cancel.is_set() {
            let left = until.saturating_sub(duramen_os::time::now().nanos());
            duramen_os::thread::sleep(std::time::Duration::from_nanos(left.min(20_000_000)));
        }
        // What was given up has not waited to its end.
        if self.cancel.is_set() {
            return Err(duramen_query::cancelled().into());
        }
        self.done(None, command::OTHER, false);
        Ok(())
    }

    pub(super) fn raise_error(&mut self, at: usize, stmt: &ast::RaiseError) -> RunResult<()> {
        let message = self.constant(&stmt.message)?;
        // Negative ones mean the message's own severity, and state 1.
        let severity = self.constant(&stmt.severity)?.as_i64().unwrap_or(0);
        let state = self.constant(&stmt.state)?.as_i64().unwrap_or(1);
        let state = if state < 0 { 1 } else { state.min(255) as u8 };
        let mut own_severity = 0;
        let mut args = Vec::with_capacity(stmt.args.len());
        for a in &stmt.args {
            let bound = self.ask_host(|h| Binder::new(h).scalar(a))?;
            let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
            args.push((bound.ty, value));
        }
        let (number, text) = match message.as_i64().filter(|_| message.as_text().is_none()) {
            None => (50_000, message.as_text().unwrap_or_default()),
            Some(n) if !(13_000..=i64::from(i32::MAX)).contains(&n) || n == 50_000 => {
                let args: [&dyn std::fmt::Display; 3] = [&n, &13_000, &i32::MAX];
                return Err(SqlError::new(&messages::RAISERROR_NUMBER_INVALID, &args).into());
            }
            Some(n) => match messages::ALL.iter().find(|m| i64::from(m.number) == n) {
                Some(m) => {
                    own_severity = m.severity;
                    (m.number, places(m.text))
                }
                None => {
                    let args: [&dyn std::fmt::Display; 3] = [&n, &severity, &state];
                    return Err(SqlError::new(&messages::MESSAGE_NOT_FOUND, &args).into());
                }
            },
        };
        let severity = match severity {
            s if s < 0 => own_severity,
            s => s.min(25) as u8,
        };
        let text = duramen_program::message_format::format(&text, &args)?;
        let logged = stmt.options.iter().any(|o| o == "LOG");
        if logged && !self.session.server_may(Right::AlterTrace) {
            return Err(SqlError::new(&messages::RAISERROR_LOG_PERMISSION, &[]).into());
        }
        if severity > 18 && !logged {
            return Err(SqlError::new(&messages::RAISERROR_SEVERITY, &[&18]).into());
        }
        let line = self.program.steps[at].line as i32;
        let error = SqlError {
            number,
            severity,
            state,
            line,
            ..SqlError::print(text)
        };
        if logged {
            self.session.instance.log_error_of(self.session, &error);
        }
        if severity >= 20 {
            let args: [&dyn std::fmt::Display; 3] = [&self.session.spid.0, &number, &severity];
            let first = SqlError::new(&messages::PROCESS_RAISED_FATAL, &args);
            return Err(Failure::of(error, Origin::Statement).after(vec![first.with_state(2)]));
        }
        if severity > 10 {
            return Err(error.into());
        }
        if stmt.options.iter().any(|o| o == "SETERROR") {
            self.set_error = error.number;
        }
        self.say(&error, at);
        self.done(None, command::OTHER, false);
        if stmt.options.iter().any(|o| o == "NOWAIT") {
            self.sink.flush_hint();
        }
        Ok(())
    }

    /// An error of THROW itself ends what the thrown one would have ended.
    pub(super) fn throw(&mut self, at: usize, args: Option<&Thrown>) -> RunResult<()> {
        let error = self.thrown(at, args).unwrap_or_else(|f| f.error);
        Err(Failure::of(error, Origin::Throw))
    }

    fn thrown(&mut self, at: usize, args: Option<&Thrown>) -> RunResult<SqlError> {
        let Some((number, message, state)) = args else {
            let caught = self.session.state.caught.last().cloned();
            let none = || SqlError::new(&messages::THROW_OUTSIDE_CATCH, &[]);
            return Ok(caught.unwrap_or_else(none));
        };
        let number = self.constant(number)?.as_i64().unwrap_or(0);
        if !(50_000..=i32::MAX as i64).contains(&number) {
            return Ok(SqlError::new(&messages::THROW_NUMBER_INVALID, &[&number]));
        }
        let message = self.constant(message)?.as_text().unwrap_or_default();
        // A tinyint (Microsoft Learn, "THROW"); that one that is none is 220 is *assumed*.
        let given = self.constant(state)?.as_i64().unwrap_or(1);
        let Ok(state) = u8::try_from(given) else {
            let args: [&dyn std::fmt::Display; 2] = [&"tinyint", &given];
            return Ok(SqlError::new(&messages::ARITHMETIC_OVERFLOW_VALUE, &args));
        };
        Ok(SqlError {
            number: number as i32,
            severity: 16,
            state,
            line: self.program.steps[at].line as i32,
            ..SqlError::print(message)
        })
    }
}
