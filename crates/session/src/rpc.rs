//! Calls that come as calls, not as text: `sp_executesql`, prepared statements and procedures with typed parameters.

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_program::named::Named;
use duramen_program::program::{BodyOf, Program, compile};
use duramen_program::sink::ResultSink;
use duramen_program::table_types::{RemoteTable, TableArgument};
use duramen_tsql::parse_name;
use duramen_types::{SqlType, Value};

use crate::run::{Called, Ended, Given, Run, RunResult};
use crate::session::Session;
use crate::unsupported;

/// A parameter of a call.
#[derive(Clone, Debug)]
pub struct RpcParameter {
    /// With the `@`; empty by position.
    pub name: String,
    pub ty: SqlType,
    pub value: Value,
    pub output: bool,
    /// The parameter's own default is asked for; `value` means nothing.
    pub default: bool,
    /// A table instead of the value.
    pub table: Option<Arc<RemoteTable>>,
}

/// What a call gives back beside what went to the sink.
#[derive(Clone, Debug, Default)]
pub struct RpcOutcome {
    /// The return status; `None` when the call did not come to its end.
    pub status: Option<i32>,
    /// Output values by the position of their parameter in the call.
    pub outputs: Vec<(usize, SqlType, Value)>,
}

impl Session {
    /// A statement with the parameters that `declarations` declares (`@a int, @b int OUTPUT`), as sp_executesql runs
    /// it. Errors go to the sink.
    pub fn execute_sql(
        &mut self,
        text: &str,
        declarations: &str,
        parameters: &[RpcParameter],
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) -> RpcOutcome {
        let given = parameters.iter().map(given).collect();
        let shown = || call_of(text, declarations);
        let called = ("sp_executesql", &shown as &dyn Fn() -> String);
        let mut outcome = self.call(called, sink, cancel, |run| {
            run.call_text(text, declarations, given)
        });
        if outcome.status.is_some() {
            outcome.status = Some(self.state.error);
        }
        outcome
    }

    /// A procedure by its name as written, with up to four parts.
    pub fn execute_procedure(
        &mut self,
        name: &str,
        parameters: &[RpcParameter],
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) -> RpcOutcome {
        let given = parameters.iter().map(given).collect();
        let shown = || format!("exec {name}");
        let called = (name, &shown as &dyn Fn() -> String);
        self.call(called, sink, cancel, |run| {
            let name = parse_name(name)?;
            run.call_procedure(&name, given)
        })
    }

    /// `called` is the procedure and the text that stands for the call in events.
    fn call(
        &mut self,
        called: (&str, &dyn Fn() -> String),
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
        work: impl FnOnce(&mut Run<'_>) -> RunResult<Called>,
    ) -> RpcOutcome {
        let nothing: Arc<Program> = match compile(
            "",
            Vec::new(),
            Named::new(),
            BodyOf::Batch,
            unsupported::check,
        ) {
            Ok(p) => Arc::new(p),
            Err(e) => {
                duramen_program::outcome::report(sink, &e);
                return RpcOutcome::default();
            }
        };
        let outcome = self.request(sink, cancel, |session, sink| {
            session.activity.note_call(called.0);
            session.report_call(called, cancel, |session| {
                let mut run = Run::new(session, &nothing, sink, cancel);
                let outcome = match work(&mut run) {
                    Ok(called) => match called.ended {
                        Ended::Done(status) => RpcOutcome {
                            status: Some(status.unwrap_or(0)),
                            outputs: called.outputs,
                        },
                        Ended::Stopped => RpcOutcome::default(),
                        Ended::Thrown(error) => run.refused(error),
                    },
                    Err(failure) => {
                        for first in failure.before {
                            run.report_error(&first.at_line(1));
                        }
                        run.refused(failure.error)
                    }
                };
                run.end_of_call();
                outcome
            })
        });
        outcome.unwrap_or_default()
    }
}

impl Run<'_> {
    /// An error of the call itself.
    fn refused(&mut self, error: SqlError) -> RpcOutcome {
        let error = error.at_line(1);
        self.report_error(&error);
        RpcOutcome::default()
    }
}

/// A parameterised statement as events show it, without the values.
fn call_of(text: &str, declarations: &str) -> String {
    let literal = |s: &str| format!("N'{}'", s.replace('\'', "''"));
    match declarations {
        "" => format!("exec sp_executesql {}", literal(text)),
        _ => format!(
            "exec sp_executesql {},{}",
            literal(text),
            literal(declarations)
        ),
    }
}

fn given(p: &RpcParameter) -> Given {
    Given {
        name: (!p.name.is_empty()).then(|| p.name.clone()),
        ty: p.ty,
        value: (!p.default && p.table.is_none()).then(|| p.value.clone()),
        output: p.output,
        table: p.table.clone().map(TableArgument::Rows),
    }
}
