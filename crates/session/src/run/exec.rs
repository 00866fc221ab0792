//! EXECUTE: strings, `sp_executesql` and procedures, with their parameters, outputs and return codes.

use std::sync::Arc;

use duramen_access::temporary::is_temporary;
use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_catalog::ObjectKind;
use duramen_planner::Binder;
use duramen_planner::memory::MemoryTable;
use duramen_program::coded::is_of_the_wire;
use duramen_program::program::{BodyOf, same};
use duramen_program::programs::{Callable, Parameter};
use duramen_program::rights::Right;
use duramen_program::statement_stats::Standing;
use duramen_program::table_types::TableArgument;
use duramen_query::host::Table;
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, ExecArg, ExprKind, ModuleKind, StatementKind};
use duramen_types::{SqlType, Target, Value};

use super::arguments::check_places;
use super::callable::callable;
use super::failure::{Failure, Origin, RunResult};
use super::nested::Inner;
use super::{Ended, Next, Run, command, not_supported};
use crate::run::TypesOf;

/// Bytes of a text or value that may be copied or looked through without a look at whether the call is still wanted.
const LARGE: usize = 1 << 20;

/// Asked between two steps with something large.
pub(super) fn still_wanted(bytes: usize) -> SqlResult<()> {
    match bytes {
        0..LARGE => Ok(()),
        _ => given_up::check(),
    }
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Given {
    /// With the `@`; `None` by position.
    pub name: Option<String>,
    pub ty: SqlType,
    /// `None` for DEFAULT.
    pub value: Option<Value>,
    pub output: bool,
    /// A table instead of a value.
    pub table: Option<TableArgument>,
}

/// How a call ended, and the outputs by the position of their argument.
pub struct Called {
    pub ended: Ended,
    pub outputs: Vec<(usize, SqlType, Value)>,
    /// No statement of it has said what @@ERROR is.
    pub is_code: bool,
}

impl Called {
    /// Of a procedure that is code.
    pub(super) fn with_status(status: i32) -> Called {
        Called {
            ended: Ended::Done(Some(status)),
            outputs: Vec::new(),
            is_code: true,
        }
    }
}

impl Run<'_> {
    pub(super) fn exec(&mut self, at: usize, stmt: &ast::ExecStmt) -> RunResult<Next> {
        let mut targets = Vec::new();
        let called = match &stmt.call {
            ast::ExecCall::Text { text, .. } => {
                let bound = self.expr(at, |b| b.scalar(text))?;
                let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                still_wanted(value.heap_bytes())?;
                self.call_text(&value.as_text().unwrap_or_default(), "", Vec::new())?
            }
            ast::ExecCall::Procedure { name, args, .. } => {
                let given = self.arguments(args, &mut targets)?;
                self.call_procedure(name, given)?
            }
            ast::ExecCall::ProcedureVariable { variable, args } => {
                let slot = self.slot(variable)?;
                let text = self.vars[slot].as_text().unwrap_or_default();
                let invalid =
                    |_| SqlError::new(&messages::INVALID_IDENTIFIER, &[&text]).with_state(2);
                let name = duramen_tsql::parse_name(&text).map_err(invalid)?;
                let given = self.arguments(args, &mut targets)?;
                self.call_procedure(&name, given)?
            }
        };
        let status = match called.ended {
            Ended::Done(status) => status,
            Ended::Stopped => return Ok(Next::End(Ended::Stopped)),
            Ended::Thrown(error) => {
                return Err(Failure::of(error, Origin::Inside));
            }
        };
        for (argument, ty, value) in called.outputs {
            if let Some(slot) = targets.get(argument).copied().flatten() {
                self.store_variable(slot, &ty, value)?;
            }
        }
        if let Some(variable) = &stmt.result {
            let slot = self.slot(variable)?;
            self.store_variable(slot, &SqlType::INT, Value::Int(status.unwrap_or(0)))?;
        }
        // A string has no return status.
        let status = status.filter(|_| !matches!(stmt.call, ast::ExecCall::Text { .. }));
        self.done_call(status);
        Ok(Next::Step)
    }

    fn slot(&self, name: &str) -> RunResult<usize> {
        let missing = || SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[&name]).with_state(2);
        Ok(self.program.variables.find(name).ok_or_else(missing)?)
    }

    fn store_variable(&mut self, slot: usize, from: &SqlType, value: Value) -> RunResult<()> {
        let to = self.program.variables[slot].ty;
        let ctx = self.session.options.convert_ctx();
        let value = duramen_types::assign(value, from, &to, Target::Variable, &ctx)?;
        self.set_variable(slot, value);
        Ok(())
    }

    /// The values of a call's arguments; `targets` gets the variable of each OUTPUT argument.
    fn arguments(
        &mut self,
        args: &[ExecArg],
        targets: &mut Vec<Option<usize>>,
    ) -> RunResult<Vec<Given>> {
        let mut out: Vec<Given> = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            if arg.name.is_none() && out.last().is_some_and(|g| g.name.is_some()) {
                return Err(SqlError::new(&messages::POSITIONAL_AFTER_NAMED, &[&(i + 1)]).into());
            }
            let table = match &arg.value.kind {
                ExprKind::Variable(name) => self.table_argument(name),
                _ => None,
            };
            let variable = match &arg.value.kind {
                ExprKind::Variable(name) if !name.starts_with("@@") && table.is_none() => {
                    Some(self.slot(name)?)
                }
                _ => None,
            };
            if arg.output && variable.is_none() {
                return Err(SqlError::new(&messages::OUTPUT_WITH_CONSTANT, &[]).into());
            }
            targets.push(variable.filter(|_| arg.output));
            let (ty, value) = match (&arg.value.kind, variable) {
                (ExprKind::Default, _) => (SqlType::INT, None),
                _ if table.is_some() => (SqlType::INT, None),
                (_, Some(slot)) => {
                    let ty = self.program.variables[slot].ty;
                    (ty, Some(self.vars[slot].clone()))
                }
                _ => {
                    let bound = self.ask_host(|h| Binder::new(h).scalar(&arg.value))?;
                    let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                    (bound.ty, Some(value))
                }
            };
            still_wanted(value.as_ref().map_or(0, Value::heap_bytes))?;
            out.push(Given {
                name: arg.name.clone(),
                ty,
                value,
                output: arg.output,
                table,
            });
        }
        Ok(out)
    }

    /// A table variable as an argument.
    fn table_argument(&self, name: &str) -> Option<TableArgument> {
        let at = self.tables.iter().position(|t| same(t.name(), name))?;
        let of = self.program.table_types.get(at).cloned().flatten();
        Some(TableArgument::Variable(of, self.tables[at].clone()))
    }

    /// Calls a procedure by name: a system procedure, or one of a database.
    pub(crate) fn call_procedure(
        &mut self,
        name: &ast::ObjectName,
        given: Vec<Given>,
    ) -> RunResult<Called> {
        let called = self.call_by_name(name, given)?;
        if called.is_code {
            self.session.state.error = 0;
        }
        Ok(called)
    }

    fn call_by_name(&mut self, name: &ast::ObjectName, given: Vec<Given>) -> RunResult<Called> {
        self.session.instance.knows_server(name)?;
        let system = match name.schema() {
            None | Some("") => true,
            Some(s) => s.eq_ignore_ascii_case("sys") || s.eq_ignore_ascii_case("dbo"),
        };
        if system && let Some(database) = self.named_elsewhere(name) {
            return self.call_in(&database, name, given);
        }
        if system {
            self.may_call(name)?;
            if let Some(row) = duramen_program::coded::find(name.schema(), name.name()) {
                return self.call_coded(row, given);
            }
            let called = name.name().to_ascii_lowercase();
            if is_of_the_wire(&called) {
                return Err(not_supported(&called).into());
            }
            if called == "sp_configure"
                && let Some(set) = self.set_configuration(&given)
            {
                return set;
            }
        }
        let Some((key, database, callable)) = self.settled(|run| run.procedure(name))? else {
            let error = SqlError::new(&messages::PROCEDURE_NOT_FOUND, &[&name.display()]);
            return Err(error.with_state(62).into());
        };
        let shown = name.name().to_owned();
        let inputs = match self.fill(&callable.parameters, &given, &shown) {
            Ok(inputs) => inputs,
            Err(mut error) => {
                error.error.procedure = Some(shown);
                error.origin = Origin::Inside;
                let memory = &self.session.instance.databases.engine.memory;
                self.session.core.state.programs.put(key, callable, memory);
                return Err(error);
            }
        };
        self.call((key, callable), inputs, &given, (Some(shown), database))
    }

    /// The database that the name of a procedure which is code says, if that is not the current one.
    fn named_elsewhere(&self, name: &ast::ObjectName) -> Option<String> {
        let database = name.database()?;
        let coded = duramen_program::coded::find(Some("sys"), name.name()).is_some();
        (coded && !same(database, &self.session.database)).then(|| database.to_owned())
    }

    /// Calls a procedure that is code with another database as the current one.
    fn call_in(
        &mut self,
        database: &str,
        name: &ast::ObjectName,
        given: Vec<Given>,
    ) -> RunResult<Called> {
        let Some(db) = self.session.instance.databases.find(database) else {
            let error = SqlError::new(&messages::PROCEDURE_NOT_FOUND, &[&name.display()]);
            return Err(error.with_state(62).into());
        };
        self.session.may_enter(&db)?;
        let here = ast::ObjectName {
            parts: vec!["sys".to_owned(), name.name().to_owned()],
            line: name.line,
        };
        self.session.go_within(Some(&db.db.name))?;
        let called = self.call_procedure(&here, given);
        self.session.come_home();
        called
    }

    /// Asks what a procedure of the system needs, which its row says, unless it depends on arguments.
    fn may_call(&self, name: &ast::ObjectName) -> RunResult<()> {
        if self.session.who.sysadmin {
            return Ok(());
        }
        let caller = self.session.caller();
        if let Some(coded) = duramen_program::coded::find(name.schema(), name.name()) {
            return match coded.asks_itself() {
                true => Ok(()),
                false => {
                    Ok(caller.require(&coded.needs, &[], |_| coded.refused(&caller.who.name))?)
                }
            };
        }
        let found =
            duramen_program::resource::find(name.schema(), name.name(), ObjectKind::PROCEDURE);
        found.map_or(Ok(()), |m| {
            Ok(
                caller.require(&duramen_program::resource::needs(m), &[], |_| {
                    let error = SqlError::new(&messages::USER_PERMISSION_DENIED, &[]);
                    SqlError {
                        procedure: Some(m.name.clone()),
                        ..error
                    }
                })?,
            )
        })
    }

    /// sp_executesql: its first two arguments are the statement and the declarations of the others.
    pub(super) fn execute_sql(&mut self, mut given: Vec<Given>) -> RunResult<Called> {
        let mut texts = Vec::new();
        for (names, shown) in [
            (["@stmt", "@statement"], "@statement"),
            (["@params", "@parameters"], "@params"),
        ] {
            let named = |g: &Given| {
                let name = g.name.as_deref();
                name.is_none() || name.is_some_and(|n| names.iter().any(|m| same(n, m)))
            };
            let Some(first) = given.first().filter(|g| named(g)) else {
                texts.push(String::new());
                continue;
            };
            if !first.ty.id.is_nchar() && !matches!(first.value, Some(Value::Null)) {
                let args: [&dyn std::fmt::Display; 2] = [&shown, &"ntext/nchar/nvarchar"];
                let error = SqlError::new(&messages::PROCEDURE_PARAMETER_TYPE, &args);
                let procedure = Some("sp_executesql".to_owned());
                return Err(SqlError { procedure, ..error }.with_state(2).into());
            }
            let first = given.remove(0);
            let text = first.value.and_then(|v| v.as_text()).unwrap_or_default();
            still_wanted(text.len())?;
            texts.push(text);
        }
        let skipped = 2;
        let mut called = self.call_text(&texts[0], &texts[1], given)?;
        called.outputs.iter_mut().for_each(|o| o.0 += skipped);
        if let Ended::Done(_) = called.ended {
            // What sp_executesql returns is the last error of the statement.
            called.ended = Ended::Done(Some(self.session.state.error));
        }
        Ok(called)
    }

    /// Runs text as a batch of its own inside this one, with the parameters that `declarations` declares.
    pub(crate) fn call_text(
        &mut self,
        text: &str,
        declarations: &str,
        given: Vec<Given>,
    ) -> RunResult<Called> {
        still_wanted(text.len())?;
        let key = self.session.text_key(text, declarations);
        still_wanted(text.len())?;
        let version = self.session.schema_version(true);
        let callable = match self.session.known_program(&key, version) {
            Some(c) => c,
            None => match self.session.compiled_text(text, declarations) {
                Ok(c) => c,
                // A syntax error of the text is one of the scope inside: a TRY around this call catches it.
                Err(error) => return Ok(self.failed_inside(error)),
            },
        };
        still_wanted(text.len())?;
        if declarations.is_empty() && !given.is_empty() {
            let error = SqlError::new(&messages::TOO_MANY_ARGUMENTS, &[&""]).with_state(2);
            return Err(error.into());
        }
        let inputs = match self.fill(&callable.parameters, &given, "") {
            Ok(inputs) => inputs,
            Err(error) => {
                let mut error = error;
                if error.error.number == messages::PARAMETER_NOT_SUPPLIED.number {
                    let missing = callable.parameters.iter().enumerate();
                    let missing = missing.filter(|(i, p)| argument(p, *i, &given).is_none());
                    let name = missing.map(|(_, p)| p.name.clone()).next();
                    let name = name.unwrap_or_default();
                    let statement = format!("({declarations}){text}");
                    let message = &messages::QUERY_PARAMETER_NOT_SUPPLIED;
                    error = SqlError::new(message, &[&statement, &name]).into();
                }
                let memory = &self.session.instance.databases.engine.memory;
                self.session.core.state.programs.put(key, callable, memory);
                return Err(error);
            }
        };
        self.call((key, callable), inputs, &given, (None, None))
    }

    /// An error that a scope inside has before it runs.
    fn failed_inside(&mut self, error: SqlError) -> Called {
        let ended = if self.place.caught_outside || !self.tries.is_empty() {
            Ended::Thrown(error)
        } else {
            self.session.state.error = error.number;
            duramen_program::outcome::report(self.sink, &error);
            self.done(None, command::OTHER, true);
            Ended::Done(Some(error.number))
        };
        Called {
            ended,
            outputs: Vec::new(),
            is_code: false,
        }
    }

    fn call(
        &mut self,
        (key, mut callable): (String, Callable),
        inputs: (Vec<Value>, Vec<Arc<MemoryTable>>),
        given: &[Given],
        place: (Option<String>, Option<String>),
    ) -> RunResult<Called> {
        if callable.fresh {
            callable = self.session.adopt_program(&key, callable);
            still_wanted(key.len())?;
        }
        let bound = std::mem::take(&mut callable.bound);
        let program = callable.program.clone();
        self.session.activity.note_program(&program);
        let Inner {
            ended,
            vars,
            bound,
            rebound,
        } = self.nested(&program, bound, inputs, place)?;
        callable.bound = bound;
        if let Some(bytes) = rebound {
            callable.grew(bytes);
        }
        let gone = program.stats.standing() == Standing::Gone;
        if std::mem::take(&mut callable.fresh) || rebound.is_some() || gone {
            self.session.share_program(&key, &callable);
        }
        let mut outputs = Vec::new();
        if matches!(ended, Ended::Done(_)) {
            for (i, p) in callable
                .parameters
                .iter()
                .enumerate()
                .filter(|(_, p)| p.output)
            {
                if let Some(at) = argument(p, i, given).filter(|at| given[*at].output) {
                    let value = match &vars[i] {
                        Value::Spooled(s) => self.session.in_memory(s, &p.ty)?,
                        value => value.clone(),
                    };
                    outputs.push((at, p.ty, value));
                }
            }
        }
        let memory = &self.session.instance.databases.engine.memory;
        self.session.core.state.programs.put(key, callable, memory);
        let ended = match ended {
            Ended::Done(status) => Ended::Done(Some(status.unwrap_or(0))),
            other => other,
        };
        Ok(Called {
            ended,
            outputs,
            is_code: false,
        })
    }

    /// The first variables of a program from the arguments of a call.
    fn fill(
        &mut self,
        parameters: &[Parameter],
        given: &[Given],
        procedure: &str,
    ) -> RunResult<(Vec<Value>, Vec<Arc<MemoryTable>>)> {
        if parameters.is_empty() && !given.is_empty() && !procedure.is_empty() {
            let message = &messages::PROCEDURE_HAS_NO_PARAMETERS;
            return Err(SqlError::new(message, &[&procedure]).with_state(2).into());
        }
        let place = |name: &str| parameters.iter().position(|p| same(&p.name, name));
        check_places(procedure, given, parameters.len(), place)?;
        let ctx = self.session.options.convert_ctx();
        let mut vars = Vec::with_capacity(parameters.len());
        let mut tables = Vec::new();
        for (i, p) in parameters.iter().enumerate() {
            let at = argument(p, i, given);
            if let Some(ty) = &p.table {
                let argument = at.map(|at| &given[at]);
                // A value that is not NULL is no table.
                if let Some(value) = argument.and_then(|g| g.value.as_ref())
                    && !value.is_null()
                {
                    let from = argument.map_or(SqlType::INT, |g| g.ty);
                    let short = ty.name.rsplit('.').next().unwrap_or_default().to_owned();
                    let args: [&dyn std::fmt::Display; 2] = [&from.id.name(), &short];
                    return Err(SqlError::new(&messages::OPERAND_TYPE_CLASH, &args).into());
                }
                let table = argument.and_then(|g| g.table.as_ref());
                tables.push(self.table_of((&p.name, ty), table, procedure)?);
                vars.push(Value::Null);
                continue;
            }
            if at.is_some_and(|at| given[at].table.is_some()) {
                let args: [&dyn std::fmt::Display; 2] = [&"table", &p.ty.id.name()];
                return Err(SqlError::new(&messages::OPERAND_TYPE_CLASH, &args).into());
            }
            let (ty, value) = match (at.and_then(|at| given[at].value.clone()), &p.default) {
                (Some(value), _) => (at.map_or(p.ty, |at| given[at].ty), value),
                (None, Some(default)) => {
                    let bound = self.ask_host(|h| Binder::new(h).scalar(default))?;
                    let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                    (bound.ty, value)
                }
                (None, None) => {
                    let args: [&dyn std::fmt::Display; 2] = [&procedure, &p.name];
                    let error = SqlError::new(&messages::PARAMETER_NOT_SUPPLIED, &args);
                    return Err(error.with_state(4).into());
                }
            };
            if !value.is_null() {
                duramen_types::check_implicit(&ty, &p.ty)?;
            }
            still_wanted(value.heap_bytes())?;
            let value = match value {
                Value::Spooled(s) if !(ty.is_max() && p.ty.is_max() && ty.id == p.ty.id) => {
                    self.session.in_memory(&s, &ty)?
                }
                value => value,
            };
            let converted = duramen_types::assign(value, &ty, &p.ty, Target::Variable, &ctx);
            vars.push(converted.map_err(|e| parameter_error(e, &ty, &p.ty))?);
        }
        Ok((vars, tables))
    }

    /// A procedure of a database, ready to be called: its key in the cache and the database it runs in, `None` for that of its
    /// caller, whose rights it has then.
    fn procedure(
        &mut self,
        name: &ast::ObjectName,
    ) -> RunResult<Option<(String, Option<String>, Callable)>> {
        let Some((db, module)) = self.session.procedure_module(name)? else {
            return Ok(None);
        };
        let temporary = is_temporary(name);
        let database = match temporary {
            true => self.session.database.to_string(),
            false => db.db.name.clone(),
        };
        let runs_in = (!temporary).then(|| database.clone());
        // One of the system's looks at the database that its name says.
        if module.id.0 <= 0 {
            self.session.may_enter(&db)?;
        }
        if module.id.0 > 0 && !temporary {
            // A synonym in the same database opens what it stands for.
            let own = |m: &super::Meaning| !m.elsewhere;
            match self.session.synonym(name)?.filter(own) {
                Some(_) => self.session.require_on(name, Right::Execute)?,
                None => self.session.require_execute(&db, &module)?,
            }
        }
        let mut key = self.session.module_key(db.db.id, &module);
        if temporary {
            // Its names mean what they mean where it is called.
            key += "\u{1}";
            key += &database;
        }
        let version = self.session.schema_version(true);
        if let Some(callable) = self.session.known_program(&key, version) {
            return Ok(Some((key, runs_in, callable)));
        }
        let options = ParseOptions {
            quoted_identifier: module.quoted_identifier,
        };
        let mut batch = duramen_tsql::parse_batch(&module.text, &options)?;
        self.session.instance.knows_servers(&batch)?;
        let first = batch.statements.drain(..).next().map(|s| s.kind);
        let Some(StatementKind::CreateModule(stmt)) = first else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let ModuleKind::Procedure { params, body } = stmt.kind else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let types = TypesOf {
            session: &*self.session,
            database: &database,
        };
        let mut callable = callable(&module.text, &params, body, BodyOf::Procedure, &types)?;
        callable.program.stats.belongs_to(db.db.id, &module);
        callable.schema = callable.program.is_typed().then_some(version);
        Ok(Some((key, runs_in, callable)))
    }
}

/// The position of the argument that a parameter gets.
fn argument(p: &Parameter, at: usize, given: &[Given]) -> Option<usize> {
    let named = given
        .iter()
        .position(|g| g.name.as_ref().is_some_and(|n| same(n, &p.name)));
    named.or_else(|| given.get(at).filter(|g| g.name.is_none()).map(|_| at))
}

/// A value that does not convert to a parameter's type is 8114, whatever the types.
pub(super) fn parameter_error(e: SqlError, from: &SqlType, to: &SqlType) -> SqlError {
    if e.number != messages::CONVERSION_FAILED.number {
        return e;
    }
    let names: [&dyn std::fmt::Display; 2] = [&from.id.name(), &to.id.name()];
    SqlError::new(&messages::ERROR_CONVERTING, &names).with_state(5)
}
