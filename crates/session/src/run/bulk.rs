//! Bulk loads: INSERT BULK says what comes, then the rows come as a stream of their own.
//!
//! The rows go through the same INSERT as any others, in chunks of a bounded size: a chunk stands in a table in memory,
//! and `INSERT ... SELECT` from it is bound once. All chunks are one statement: it succeeds as a whole, or the
//! transaction is as it was before. Check constraints and foreign keys are tested when CHECK_CONSTRAINTS is said; else
//! they are not trusted any more (docs: BULK INSERT, CHECK_CONSTRAINTS). Triggers do not fire unless FIRE_TRIGGERS is said;
//! then they fire once, for all rows of the load.

use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::{DbCounter, count_db};
use duramen_planner::dml;
use duramen_planner::memory::MemoryTableDef;
use duramen_program::announced::Announced;
use duramen_program::named::Named;
use duramen_program::program::{BodyOf, Op, Program, compile, same};
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_program::statements::{Definition, Kind};
use duramen_query::host::{Event, Host, Source, Table, TableColumn};
use duramen_query::{Changed, Expr};
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, StatementKind};
use duramen_txn::TxnKind;
use duramen_types::{SqlType, Target, TypeId, Value};

use super::failure::RunResult;
use super::query::changes;
use super::{Run, command, not_supported};
use crate::session::Session;
use crate::unsupported;

/// A chunk ends at so many rows, or so many bytes of long values.
const CHUNK_ROWS: usize = 1000;
const CHUNK_BYTES: usize = 1 << 20;
/// The command number of a bulk load's DONE.
const COMMAND_BULK: u16 = 0xF0;
/// The table in memory that holds a chunk.
const CHUNK: &str = "@bulk";

/// Where the rows of a bulk load come from.
pub trait BulkSource {
    /// The types in which the client sends its columns.
    fn columns(&mut self) -> SqlResult<Vec<SqlType>>;

    /// The next row, or the end. May wait for the client; an error when it has given up or gone.
    fn row(&mut self) -> SqlResult<Option<Vec<Value>>>;
}

/// What the chunks of a load have put into its table so far.
#[derive(Default)]
pub(super) struct Loaded {
    insert: Option<Arc<dml::Dml>>,
    pub changed: Option<Box<Changed>>,
}

impl Loaded {
    /// The rows so far, for a next chunk to add to.
    pub fn rows(&mut self, insert: &Arc<dml::Dml>) -> Box<Changed> {
        let table = self.insert.get_or_insert_with(|| insert.clone()).table();
        let none = || Box::new(Changed::of(&**table));
        self.changed.take().unwrap_or_else(none)
    }
}

impl Session {
    /// A client's rows after INSERT BULK. Errors go to the sink. False when no rows were expected.
    pub fn bulk_load(
        &mut self,
        source: &mut dyn BulkSource,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) -> bool {
        let Some(announced) = self.state.bulk.take() else {
            return false;
        };
        self.request(sink, cancel, |session, sink| {
            let program = match program_of(&announced) {
                Ok(program) => Arc::new(program),
                Err(error) => {
                    duramen_program::outcome::report(sink, &error);
                    sink.done(&Done {
                        error: true,
                        ..Done::default()
                    });
                    return;
                }
            };
            let mut loader = Loader {
                source,
                announced: &announced,
                program: &program,
                cancel,
            };
            loader.load(session, sink);
        });
        true
    }
}

/// The program that takes what has been announced: an INSERT ... SELECT from a table in memory.
fn program_of(announced: &Announced) -> SqlResult<Program> {
    let batch = duramen_tsql::parse_batch(&announced.text, &ParseOptions::default())?;
    let mut program = compile(
        &announced.text,
        batch.statements,
        Named::new(),
        BodyOf::Batch,
        unsupported::check,
    )?;
    program.tables = vec![MemoryTableDef {
        name: CHUNK.to_owned(),
        columns: announced.columns.clone(),
        keys: Vec::new(),
        checks: Vec::new(),
        computed: Vec::new(),
        identity: None,
    }];
    program
        .steps
        .iter_mut()
        .for_each(|s| s.line = announced.line);
    Ok(program)
}

/// One load while it runs.
struct Loader<'a> {
    source: &'a mut dyn BulkSource,
    announced: &'a Announced,
    program: &'a Arc<Program>,
    cancel: &'a CancelToken,
}

impl Loader<'_> {
    fn load(&mut self, session: &mut Session, sink: &mut dyn ResultSink) {
        let own = session.transaction.is_none() && !session.options.implicit_transactions;
        let nocount = std::mem::replace(&mut session.options.nocount, false);
        let rowcount = std::mem::take(&mut session.options.rowcount);
        let identity_insert = session.state.identity_insert.clone();
        if let Some(table) = self.announced.identity_of {
            session.state.identity_insert = session.identity_insert_of(table);
        }
        let mut quiet = Quiet(sink);
        let mut run = Run::new(session, self.program, &mut quiet, self.cancel);
        let result = self.one_statement(&mut run, own);
        let failed = result.is_err();
        let mut rows = 0;
        match result {
            Ok(n) => rows = n,
            Err(error) => {
                run.failed(0, *error);
            }
        }
        let session = &mut *run.session;
        session.options.nocount = nocount;
        session.options.rowcount = rowcount;
        session.state.identity_insert = identity_insert;
        session.state.rowcount = rows;
        if !failed {
            session.state.error = 0;
        }
        let in_transaction = session.in_transaction();
        sink.done(&Done {
            rows: (!failed).then_some(rows),
            command: if failed {
                command::INSERT
            } else {
                COMMAND_BULK
            },
            error: failed,
            in_transaction,
            ..Done::default()
        });
    }

    /// All chunks, in the open transaction or in one of their own.
    fn one_statement(&mut self, run: &mut Run<'_>, own: bool) -> RunResult<u64> {
        let types = self.source.columns()?;
        if types.len() != self.announced.columns.len() {
            // *Assumed*: the first column that one side does not have is the invalid one.
            let id = types.len().min(self.announced.columns.len()) + 1;
            return Err(SqlError::new(&messages::BCP_COLUMN_TYPE, &[&id]).into());
        }
        let defaults = self.defaults(run)?;
        run.begin_implicitly()?;
        if own {
            let t = run
                .session
                .new_transaction(TxnKind::Explicit, "INSERT BULK");
            run.session.transaction = Some(t);
        }
        let transaction = run.session.transaction.clone();
        let mark = run.session.instance.locks.mark(&run.session.owner);
        let point = transaction.as_ref().map(|t| t.statement_point(mark));
        run.loaded = self.announced.fires.then(Loaded::default);
        let result = self.distrust(run);
        let result = result.and_then(|()| self.chunks(run, &types, &defaults));
        let result = result.and_then(|rows| fire(run, rows).map(|()| rows));
        match (own, &result, transaction) {
            (true, Ok(_), Some(t)) => {
                run.session.transaction = None;
                run.session.finish(&t, None)?;
            }
            (true, Err(_), _) => run.session.rollback_all()?,
            (false, Err(_), Some(t)) if !t.is_doomed() => {
                run.session.instance.rollback(&t, point.as_ref())?;
            }
            _ => {}
        }
        result
    }

    /// Before the first row: nothing is locked yet that somebody could wait for.
    fn distrust(&self, run: &mut Run<'_>) -> RunResult<()> {
        let Some(table) = &self.announced.unchecked else {
            return Ok(());
        };
        let (database, table) = run.session.definition_target(table);
        run.define_in(&database, Definition::of_procedure("INSERT BULK"), |d| {
            d.distrust(&table)
        })
    }

    fn chunks(
        &mut self,
        run: &mut Run<'_>,
        types: &[SqlType],
        defaults: &[Option<Expr>],
    ) -> RunResult<u64> {
        let (mut total, mut chunk, mut bytes) = (0, Vec::new(), 0);
        let mut before = None;
        loop {
            let row = self.source.row()?;
            let end = row.is_none();
            if let Some(row) = row {
                let row = self.converted(run, row, types, defaults)?;
                self.sorted(&mut before, &row)?;
                bytes += row.iter().map(bytes_of).sum::<usize>();
                chunk.push(row);
            }
            let full = chunk.len() >= CHUNK_ROWS || bytes >= CHUNK_BYTES;
            if !chunk.is_empty() && (end || full) {
                total += chunk.len() as u64;
                self.insert(run, std::mem::take(&mut chunk))?;
                bytes = 0;
            }
            if self.cancel.is_set() {
                return Err(duramen_query::cancelled().into());
            }
            if end {
                return Ok(total);
            }
        }
    }

    /// 4819: the row comes before the one before it. `before` has the key of that one.
    fn sorted(&self, before: &mut Option<Vec<Value>>, row: &[Value]) -> SqlResult<()> {
        let order = &self.announced.order;
        if order.is_empty() {
            return Ok(());
        }
        let key: Vec<Value> = order.iter().map(|(at, _)| row[*at].clone()).collect();
        let columns = || order.iter().map(|(at, _)| &self.announced.columns[*at].ty);
        if let Some(before) = before {
            let pairs = before.iter().zip(&key).zip(columns()).zip(order);
            let compared = pairs.map(|(((old, new), ty), (_, descends))| {
                let way = match (old.is_null(), new.is_null()) {
                    (false, false) => duramen_types::compare(old, new, ty.collation),
                    // NULL is first.
                    (old, new) => new.cmp(&old),
                };
                if *descends { way.reverse() } else { way }
            });
            let way = compared.into_iter().find(|way| way.is_ne());
            if way.is_some_and(|way| way.is_gt()) {
                let shown = |key: &[Value]| {
                    let each = key.iter().zip(columns());
                    let each = each.map(|(v, ty)| duramen_types::to_display(v, ty));
                    each.collect::<Vec<String>>().join(", ")
                };
                let args: [&dyn std::fmt::Display; 2] = [&shown(before), &shown(&key)];
                return Err(SqlError::new(&messages::BULK_NOT_SORTED, &args));
            }
        }
        *before = Some(key);
        Ok(())
    }

    fn insert(&self, run: &mut Run<'_>, chunk: Vec<Vec<Value>>) -> RunResult<()> {
        let Op::Run(statement @ StatementKind::Insert(stmt)) = &self.program.steps[0].op else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let rows = chunk.len() as u64;
        run.tables[0].replace_rows(chunk);
        let unchecked = self.announced.unchecked.is_some();
        run.change(0, Kind::InsertBulk, |h| {
            let insert = changes(h, statement)?;
            Ok(match unchecked {
                true => insert.unchecked(),
                false => insert,
            })
        })?;
        if let ast::TargetKind::Table(name) = &stmt.target.kind {
            let (database, _) = run.session.definition_target(name);
            if let Some(id) = run.session.instance.database_id(&database) {
                count_db(id, DbCounter::BulkCopyRows, rows);
            }
        }
        Ok(())
    }

    /// What NULLs turn into, bound once.
    fn defaults(&self, run: &mut Run<'_>) -> SqlResult<Vec<Option<Expr>>> {
        let mut out = Vec::new();
        for (column, text) in self.announced.columns.iter().zip(&self.announced.defaults) {
            out.push(match text {
                None => None,
                Some(text) => {
                    let parsed = duramen_tsql::parse_expression(text, &ParseOptions::default())?;
                    Some(run.ask_host(|h| match h.sequential_id(&parsed) {
                        Some(next) => Ok(next),
                        None => {
                            duramen_planner::Binder::new(h).assigned("", column.ty, None, &parsed)
                        }
                    })?)
                }
            });
        }
        Ok(out)
    }

    /// A row as the columns have it.
    fn converted(
        &self,
        run: &mut Run<'_>,
        row: Vec<Value>,
        types: &[SqlType],
        defaults: &[Option<Expr>],
    ) -> RunResult<Vec<Value>> {
        let ctx = run.session.options.convert_ctx();
        let mut out = Vec::with_capacity(row.len());
        for (i, (value, from)) in row.into_iter().zip(types).enumerate() {
            let column = &self.announced.columns[i];
            out.push(match (value.is_null(), &defaults[i]) {
                (true, Some(default)) => run.evaluate(default, |e, cx| e.eval(&[], cx))?,
                (true, None) => Value::Null,
                (false, _) => {
                    let id = i + 1;
                    if duramen_types::check_implicit(from, &column.ty).is_err() {
                        return Err(SqlError::new(&messages::BCP_COLUMN_TYPE, &[&id]).into());
                    }
                    let target = Target::Column {
                        table: "",
                        column: &column.name,
                    };
                    let converted = duramen_types::assign(value, from, &column.ty, target, &ctx);
                    converted.map_err(|e| match e.number {
                        // Too long for its column.
                        2628 | 8152 => SqlError::new(&messages::BCP_COLUMN_LENGTH, &[&id]),
                        _ => e,
                    })?
                }
            });
        }
        Ok(out)
    }
}

/// The triggers of the table, for all rows of the load.
fn fire(run: &mut Run<'_>, rows: u64) -> RunResult<()> {
    let loaded = run.loaded.take();
    let Some((insert, changed)) = loaded.and_then(|l| Some((l.insert?, l.changed?))) else {
        return Ok(());
    };
    let Some(transaction) = run.session.transaction.clone() else {
        return Ok(());
    };
    let triggers = insert.table().triggers(Event::Insert);
    run.fire(&triggers, &insert, *changed, rows, &transaction)
}

/// What a value weighs beyond its slot.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::VarChar(bytes) | Value::Binary(bytes) => bytes.len(),
        Value::NVarChar(units) => units.len() * 2,
        _ => 0,
    }
}

/// Keeps the ends of chunks from the client, and those of nothing else.
pub(super) struct Quiet<'a>(pub &'a mut dyn ResultSink);

impl ResultSink for Quiet<'_> {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, _: &[Value]) {}
    fn done(&mut self, _: &Done) {}

    fn error(&mut self, error: &SqlError) {
        self.0.error(error);
    }

    fn info(&mut self, message: &SqlError) {
        self.0.info(message);
    }

    fn env_change(&mut self, change: &EnvChange) {
        self.0.env_change(change);
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

impl Run<'_> {
    /// `INSERT BULK`: checks what is announced, and waits for the rows.
    pub(super) fn insert_bulk(&mut self, stmt: &ast::InsertBulk) -> RunResult<()> {
        if self.session.state.nesting > 0 {
            return Err(not_supported("INSERT BULK inside a procedure or string").into());
        }
        let table = match self.ask_host(|h| h.target(&stmt.table))? {
            Some(Source::Table(table)) => table,
            Some(_) => return Err(not_supported("INSERT BULK into a view").into()),
            None => {
                let name = stmt.table.display();
                return Err(SqlError::new(&messages::INVALID_OBJECT_NAME, &[&name]).into());
            }
        };
        let says = |word: &str| stmt.options.iter().any(|o| o == word);
        let rules = table.rules()?;
        let ruled = !rules.checks.is_empty() || !rules.references.is_empty();
        let unchecked = ruled && !says("CHECK_CONSTRAINTS");
        if unchecked && !self.session.who.sysadmin {
            self.may_alter(&stmt.table)?;
        }
        let chosen = chosen(&table, &stmt.columns)?;
        let keep_nulls = says("KEEP_NULLS");
        let identity_of = chosen.iter().find(|c| c.identity);
        let names: Vec<String> = chosen.iter().map(|c| quoted(&c.name)).collect();
        let names = names.join(", ");
        let parts: Vec<String> = stmt.table.parts.iter().map(|p| quoted(p)).collect();
        let hint = if says("TABLOCK") {
            " WITH (TABLOCK)"
        } else {
            ""
        };
        self.session.state.bulk = Some(Announced {
            defaults: chosen
                .iter()
                .map(|c| c.default.clone().filter(|_| !keep_nulls))
                .collect(),
            text: format!(
                "INSERT {}{hint} ({names}) SELECT {names} FROM {CHUNK}",
                parts.join(".")
            ),
            fires: says("FIRE_TRIGGERS") && !table.triggers(Event::Insert).is_empty(),
            identity_of: identity_of.and_then(|_| table.stored_id()),
            unchecked: unchecked.then(|| stmt.table.clone()),
            line: stmt.line,
            order: order_of(&table, &chosen, &stmt.order),
            columns: chosen
                .into_iter()
                .map(|c| TableColumn {
                    nullable: true,
                    identity: false,
                    default: None,
                    ..c
                })
                .collect(),
        });
        self.done(None, command::OTHER, false);
        Ok(())
    }
}

/// The columns of ORDER, where they are the key of the table's clustered index: another order says nothing.
fn order_of(
    table: &Arc<dyn Table>,
    chosen: &[TableColumn],
    asked: &[(String, bool)],
) -> Vec<(usize, bool)> {
    let all = table.columns();
    let clustered = table.paths().iter().find(|p| p.covers_all);
    let keys = clustered.map_or(&[][..], |p| &p.keys);
    let alike = |((name, descends), (column, down)): (&(String, bool), &(usize, bool))| {
        same(&all[*column].name, name) && descends == down
    };
    if asked.len() > keys.len() || !asked.iter().zip(keys).all(alike) {
        return Vec::new();
    }
    let place = |(name, descends): &(String, bool)| {
        let at = chosen.iter().position(|c| same(&c.name, name));
        at.map(|at| (at, *descends))
    };
    asked
        .iter()
        .map(place)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The columns that are announced, or all that take values.
fn chosen(table: &Arc<dyn Table>, asked: &[ast::BulkColumn]) -> SqlResult<Vec<TableColumn>> {
    let all = table.columns();
    if asked.is_empty() {
        let takes = |c: &&TableColumn| !c.identity && c.ty.id != TypeId::RowVersion;
        return Ok(all.iter().filter(takes).cloned().collect());
    }
    let mut out: Vec<TableColumn> = Vec::new();
    for a in asked {
        let name = a.name.to_lowercase();
        let found = all.iter().find(|c| c.name.to_lowercase() == name);
        let missing = || SqlError::new(&messages::INVALID_COLUMN_NAME, &[&a.name]);
        out.push(found.ok_or_else(missing)?.clone());
    }
    Ok(out)
}

pub(super) fn quoted(name: &str) -> String {
    match name {
        // `db..table`
        "" => String::new(),
        name => duramen_tsql::ast::bracketed(name),
    }
}
