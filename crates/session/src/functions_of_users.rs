//! Views and functions that users have made: found in the catalog, parsed when a statement names them.
//!
//! A scalar or multi-statement function runs inside the statement that calls it, in a loop of its own: it has
//! variables, table variables and control of flow, reads tables under the statement's transaction, and changes nothing
//! outside itself (443).

use std::any::Any;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, ObjectKind};
use duramen_os::sync::Mutex;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_planner::memory::{MemoryTable, MemoryTableDef};
use duramen_planner::{Binder, dml};
use duramen_program::bound::{Bound, Plans};
use duramen_program::program::{BodyOf, Op, Program};
use duramen_program::programs::{Callable, Parameter};
use duramen_program::statement_stats::Running;
use duramen_program::statements::Kind;
use duramen_program::table_types::NoTableTypes;
use duramen_program::table_variable;
use duramen_query::host::{
    FunctionParameter, Host, InlineFunction, RowStream, Table, TableColumn, UserFunction, View,
    VirtualTable,
};
use duramen_query::{Cx, Row};
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, ModuleKind, StatementKind, TargetKind};
use duramen_types::{SqlType, Target, TypeId, Value};

use crate::host::HostView;
use crate::run::{callable, reporting};
use crate::session::Session;

/// How deep functions may call each other.
const MAX_NESTING: u32 = 32;

/// A function with a body.
#[derive(Debug)]
pub struct BodyFunction {
    name: String,
    database: String,
    parameters: Vec<FunctionParameter>,
    /// Of a scalar function.
    returns: SqlType,
    /// The table that a multi-statement function fills.
    result: Option<MemoryTableDef>,
    program: Arc<Program>,
    bound: Mutex<Plans>,
}

/// A statement that a module's text begins with.
fn parsed(module: &ModuleDef) -> SqlResult<ast::CreateModule> {
    let options = ParseOptions {
        quoted_identifier: module.quoted_identifier,
    };
    let batch = duramen_tsql::parse_batch(&module.text, &options)?;
    match batch.statements.into_iter().next().map(|s| s.kind) {
        Some(StatementKind::CreateModule(stmt)) => Ok(*stmt),
        _ => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
    }
}

fn parameters(own: &[Parameter]) -> Vec<FunctionParameter> {
    let own = own.iter().map(|p| FunctionParameter {
        name: p.name.clone(),
        ty: p.ty,
        default: p.default.clone(),
    });
    own.collect()
}

impl Session {
    pub(crate) fn view(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<View>>> {
        let Some((db, module)) = self.module(name, &[ObjectKind::VIEW])? else {
            return Ok(None);
        };
        let ModuleKind::View { columns, query, .. } = parsed(&module)?.kind else {
            return Ok(None);
        };
        let fixed: Vec<String> = module.columns.iter().map(|c| c.name.clone()).collect();
        Ok(Some(Arc::new(View {
            name: module.name.clone(),
            database: db.db.name.clone(),
            columns: if fixed.is_empty() { columns } else { fixed },
            query: *query,
            system: false,
        })))
    }

    pub(crate) fn inline_function(
        &self,
        name: &ast::ObjectName,
    ) -> SqlResult<Option<Arc<InlineFunction>>> {
        let Some((db, module)) = self.module(name, &[ObjectKind::INLINE_FUNCTION])? else {
            return Ok(None);
        };
        let ModuleKind::InlineFunction { params, query } = parsed(&module)?.kind else {
            return Ok(None);
        };
        let callable = callable(
            &module.text,
            &params,
            Vec::new(),
            BodyOf::Batch,
            &NoTableTypes,
        )?;
        Ok(Some(Arc::new(InlineFunction {
            name: module.name.clone(),
            database: db.db.name.clone(),
            parameters: parameters(&callable.parameters),
            query: *query,
        })))
    }

    /// A function with a body of one of these kinds.
    pub(crate) fn body_function(
        &self,
        name: &ast::ObjectName,
        kind: ObjectKind,
    ) -> SqlResult<Option<Arc<BodyFunction>>> {
        let Some((db, module)) = self.module(name, &[kind])? else {
            return Ok(None);
        };
        let shown = name.name().to_owned();
        let function = body_function(&module.text, &parsed(&module)?, (shown, db.db.name.clone()))?;
        let Some(mut function) = function else {
            return Ok(None);
        };
        function.program.stats.belongs_to(db.db.id, &module);
        if kind == ObjectKind::SCALAR_FUNCTION {
            // All statements that call it add to the figures of one program.
            let key = self.module_key(db.db.id, &module);
            let version = self.schema_version(true);
            let known = self.shared_program(&key, version);
            let known = known.unwrap_or_else(|| self.adopt_program(&key, function.callable()));
            function.program = known.program;
        }
        Ok(Some(Arc::new(function)))
    }
}

/// Compiles a scalar or multi-statement function; `None` for other modules. 443 for what a function may not do.
pub fn body_function(
    text: &str,
    stmt: &ast::CreateModule,
    (name, database): (String, String),
) -> SqlResult<Option<BodyFunction>> {
    let (params, body, returns, result) = match &stmt.kind {
        ModuleKind::ScalarFunction {
            params,
            returns,
            body,
        } => {
            let returns = resolve_type(returns, TypeSite::Variable(0))?;
            if returns.id.is_legacy_lob() || returns.id == TypeId::RowVersion {
                let args: [&dyn std::fmt::Display; 1] = [&returns.id.name()];
                return Err(SqlError::new(&messages::RETURN_TYPE_INVALID, &args));
            }
            (params, body, returns, None)
        }
        ModuleKind::TableFunction {
            params,
            variable,
            elements,
            body,
        } => {
            let refused = duramen_program::refused::table_variable(variable, elements);
            refused.map_err(|e| e.at_line(stmt.name.line as i32))?;
            let def = table_variable::definition(text, variable, elements)?;
            (params, body, SqlType::INT, Some(def))
        }
        _ => return Ok(None),
    };
    let body_of = match &result {
        Some(_) => BodyOf::TableFunction,
        None => BodyOf::Procedure,
    };
    let callable = callable(text, params, body.clone(), body_of, &NoTableTypes)?;
    for step in callable.program.steps.iter() {
        if result.is_none() && matches!(step.op, Op::Return(None)) {
            let error = SqlError::new(&messages::SCALAR_RETURN_WITHOUT_VALUE, &[]);
            return Err(error.at_line(step.line as i32));
        }
        let allowed = match &step.op {
            Op::Run(statement) => {
                Kind::of(statement).row().allowed_in_functions() && of_its_own(statement)
            }
            Op::EnterTry { .. } | Op::LeaveTry { .. } | Op::EndCatch => false,
            _ => true,
        };
        if !allowed {
            let line = step.line as i32;
            return Err(match &step.op {
                Op::Run(StatementKind::Select(_)) => {
                    SqlError::new(&messages::SELECT_IN_FUNCTION, &[]).with_state(2)
                }
                Op::Run(kind) => {
                    let what = Kind::of(kind).row().name;
                    SqlError::new(&messages::SIDE_EFFECT_IN_FUNCTION, &[&what]).with_state(14)
                }
                _ => SqlError::new(&messages::SIDE_EFFECT_IN_FUNCTION, &[&"BEGIN TRY"])
                    .with_state(14),
            }
            .at_line(line));
        }
    }
    let last = callable.program.steps.last();
    if !matches!(last.map(|s| &s.op), Some(Op::Return(_))) {
        return Err(SqlError::new(&messages::FUNCTION_LAST_STATEMENT, &[]).with_state(2));
    }
    Ok(Some(BodyFunction {
        name,
        database,
        parameters: parameters(&callable.parameters),
        returns,
        result,
        bound: Mutex::new(Plans::none(callable.program.steps.len())),
        program: callable.program,
    }))
}

/// Whether a statement that a function may have changes only what is the function's.
fn of_its_own(statement: &StatementKind) -> bool {
    match statement {
        StatementKind::Select(s) => assigns_only(s),
        StatementKind::Insert(s) => is_variable(&s.target),
        StatementKind::Update(s) => is_variable(&s.target),
        StatementKind::Delete(s) => is_variable(&s.target),
        _ => true,
    }
}

fn is_variable(target: &ast::Target) -> bool {
    matches!(target.kind, TargetKind::Variable(_))
}

fn assigns_only(stmt: &ast::SelectStmt) -> bool {
    match &stmt.body {
        ast::QueryExpr::Select(spec) => spec
            .items
            .iter()
            .all(|i| matches!(i, ast::SelectItem::Assign { .. })),
        _ => false,
    }
}

impl BodyFunction {
    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    /// An empty table such as a call fills.
    pub(crate) fn result_table(&self) -> Option<Arc<MemoryTable>> {
        let def = self.result.as_ref()?;
        Some(Arc::new(MemoryTable::new(def.clone())))
    }

    /// What is kept of it: its program, without what one statement has bound.
    fn callable(&self) -> Callable {
        Callable {
            bytes: 0,
            program: self.program.clone(),
            parameters: Arc::default(),
            bound: Plans::none(self.program.steps.len()),
            schema: None,
            fresh: false,
        }
    }
}

impl UserFunction for BodyFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> &[FunctionParameter] {
        &self.parameters
    }

    fn returns(&self) -> SqlType {
        self.returns
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A multi-statement function as a source of rows.
#[derive(Debug)]
pub struct TableResult {
    function: Arc<BodyFunction>,
    columns: Vec<TableColumn>,
}

impl TableResult {
    pub fn new(function: Arc<BodyFunction>) -> TableResult {
        let columns = function.result.as_ref().map(|d| d.columns.clone());
        TableResult {
            columns: columns.unwrap_or_default(),
            function,
        }
    }
}

impl VirtualTable for TableResult {
    fn name(&self) -> &str {
        &self.function.name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn parameters(&self) -> Option<&[FunctionParameter]> {
        Some(&self.function.parameters)
    }

    fn rows(&self, host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
        let (_, rows) = host.call_function(&*self.function, args.to_vec())?;
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

/// Runs a function: its value, and the rows of its table.
pub fn call(
    outer: &HostView<'_>,
    function: &BodyFunction,
    args: Vec<Value>,
) -> SqlResult<(Value, Vec<Row>)> {
    let program = &function.program;
    let defs = program.tables.iter();
    let mut tables: Vec<Arc<MemoryTable>> = defs
        .map(|d| Arc::new(MemoryTable::new(d.clone())))
        .collect();
    let result = function.result.as_ref();
    let result = result.map(|d| Arc::new(MemoryTable::new(d.clone())));
    tables.extend(result.iter().cloned());
    let keeps_plans = tables.is_empty();
    let host = outer.inside(&function.database, &program.variables, &tables);
    if host.depth() > MAX_NESTING {
        let limit: [&dyn std::fmt::Display; 1] = [&MAX_NESTING];
        return Err(SqlError::new(&messages::NESTING_LEVEL_EXCEEDED, &limit));
    }
    let ctx = outer.session().options.convert_ctx();
    let mut vars = args;
    vars.resize(program.variables.len(), Value::Null);
    let mut run = FunctionRun {
        function,
        host: &host,
        vars,
        local: Plans::none(program.steps.len()),
        keeps_plans,
        ctx,
        row_count: 0,
    };
    let who = outer.activity();
    who.enter(program);
    let reported = match reporting::modules_are_wanted() {
        true => reporting::ReportedModule::begins(program, &function.name, who),
        false => None,
    };
    let running = Running::begin();
    let value = run.run();
    if value.is_ok() {
        program.stats.ran(&running);
    }
    if let Some(reported) = reported {
        reported.ends(run.row_count);
    }
    who.leave();
    let value = value?;
    let rows = match &result {
        Some(t) => {
            let mut cx = Cx::new(&host, &mut run.vars, ctx);
            let mut cursor = t.open(None, Default::default(), &mut cx)?;
            let mut rows = Vec::new();
            while let Some((_, row)) = cursor.next(&mut cx)? {
                rows.push(row);
            }
            rows
        }
        None => Vec::new(),
    };
    Ok((value, rows))
}

struct FunctionRun<'a> {
    function: &'a BodyFunction,
    host: &'a HostView<'a>,
    vars: Vec<Value>,
    /// What this call has bound, where tables of its own keep plans from being shared.
    local: Plans,
    keeps_plans: bool,
    ctx: duramen_types::ConvertCtx,
    /// Rows of the last statement.
    row_count: u64,
}

impl FunctionRun<'_> {
    fn run(&mut self) -> SqlResult<Value> {
        let program = self.function.program.clone();
        let mut at = 0;
        while let Some(step) = program.steps.get(at) {
            if self.host.cancelled() {
                return Err(duramen_query::cancelled());
            }
            let reported = reporting::statements_are_wanted() && reporting::is_reported(step);
            let reported = reported.then(|| {
                let module = Some(self.function.name.clone());
                reporting::ReportedStatement::begins(&program, at, module, self.host.nest_level())
            });
            self.host.activity().at_step(&program, at);
            let next = self.step(at, &step.op);
            if let Some(reported) = reported {
                reported.ends(self.row_count);
            }
            let next = next.map_err(|mut e| {
                if e.procedure.is_none() {
                    e = e.at_line(step.line as i32);
                    e.procedure = Some(self.function.name.clone());
                }
                e
            })?;
            match next {
                Ok(target) => at = target,
                Err(value) => return Ok(value),
            }
        }
        Ok(Value::Null)
    }

    /// The next step, or the value of RETURN.
    fn step(&mut self, at: usize, op: &Op) -> SqlResult<Result<usize, Value>> {
        let program = self.function.program.clone();
        match op {
            Op::Jump(target) => return Ok(Ok(*target)),
            Op::BranchUnless { condition, target } => {
                let e = self.expr(at, |b| b.scalar(condition))?;
                let holds = self.with_cx(|cx| e.test(&[], cx))?;
                if holds != Some(true) {
                    return Ok(Ok(*target));
                }
            }
            Op::Assign { slot, op, value } => {
                let variable = &program.variables[*slot];
                let e = self.expr(at, |b| b.assigned(&variable.name, variable.ty, *op, value))?;
                let value = self.with_cx(|cx| e.eval_kept(&[], cx))?;
                self.vars[*slot] = value;
            }
            Op::Return(None) => return Ok(Err(Value::Null)),
            Op::Return(Some(value)) => {
                let e = self.expr(at, |b| b.scalar(value))?;
                let value = self.with_cx(|cx| e.eval(&[], cx))?;
                let to = &self.function.returns;
                duramen_types::check_implicit(&e.ty, to)?;
                let value = duramen_types::assign(value, &e.ty, to, Target::Variable, &self.ctx)?;
                return Ok(Err(value));
            }
            Op::Run(StatementKind::Select(stmt)) => {
                let plan = match self.bound(at) {
                    Some(Bound::Plan(p, _)) => p,
                    _ => {
                        let plan = Arc::new(Binder::new(self.host).select(stmt)?);
                        self.keep(at, Bound::Plan(plan.clone(), Default::default()));
                        plan
                    }
                };
                self.row_count = self.with_cx(|cx| plan.rows(cx).map(|rows| rows.len() as u64))?;
            }
            Op::Run(kind) => {
                let internal = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
                let dml = dml::bind(self.host, kind)?.ok_or_else(internal)?;
                let done = self.with_cx(|cx| dml.run(cx));
                dml.statement_ended(done.is_ok());
                self.row_count = done?;
            }
            Op::EnterTry { .. } | Op::LeaveTry { .. } | Op::EndCatch | Op::Unwind { .. } => {}
        }
        Ok(Ok(at + 1))
    }

    fn with_cx<T>(&mut self, f: impl FnOnce(&mut Cx<'_>) -> SqlResult<T>) -> SqlResult<T> {
        f(&mut Cx::new(self.host, &mut self.vars, self.ctx))
    }

    fn bound(&self, at: usize) -> Option<Bound> {
        let version = self.host.schema_version();
        let found = match self.keeps_plans {
            true => self.function.bound.lock()[at].clone(),
            false => self.local[at].clone(),
        };
        found.filter(|(v, _)| *v == version).map(|(_, b)| b)
    }

    fn keep(&mut self, at: usize, bound: Bound) {
        let kept = Some((self.host.schema_version(), bound));
        match self.keeps_plans {
            true => self.function.bound.lock()[at] = kept,
            false => self.local[at] = kept,
        }
    }

    fn expr(
        &mut self,
        at: usize,
        bind: impl FnOnce(&mut Binder<'_>) -> SqlResult<duramen_query::Expr>,
    ) -> SqlResult<Arc<duramen_query::Expr>> {
        if let Some(Bound::Expr(e)) = self.bound(at) {
            return Ok(e);
        }
        let e = Arc::new(bind(&mut Binder::new(self.host))?);
        self.keep(at, Bound::Expr(e.clone()));
        Ok(e)
    }
}
