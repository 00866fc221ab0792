//! SELECT INTO: a new table from what a query gives out, in one transaction with its rows.
//!
//! The table is a heap with the columns' names, types and nullability. A column that is an identity column of the only
//! table read stays one, and `IDENTITY(type, seed, increment)` makes one.

use std::sync::Arc;

use duramen_access::stored;
use duramen_access::temporary::is_temporary;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{Identity, NewColumn, NewTable};
use duramen_define::Ddl;
use duramen_planner::Binder;
use duramen_query::host::{Source, Table};
use duramen_query::{Cx, LockGrain, OutColumn, Plan, ScanLock};
use duramen_tsql::ast::{self, ExprKind, Literal, SelectItem};
use duramen_txn::{LockMode, TxnKind};
use duramen_types::Value;

use super::failure::{RunResult, binding};
use super::{Run, command, not_supported};

/// The identity column that an IDENTITY() in the list makes: its position and numbers.
pub(super) type Made = Option<(usize, Identity)>;

impl Run<'_> {
    pub(super) fn select_into(
        &mut self,
        stmt: &ast::SelectStmt,
        name: &ast::ObjectName,
    ) -> RunResult<()> {
        let line = name.line as i32;
        let (stmt, made) = without_identity(stmt)?;
        let plan = self.ask_host(|h| Binder::new(h).parallel_select(&stmt));
        let plan = binding(plan)?;
        let inherits = single_table(&stmt);
        let columns = new_columns(name.name(), &plan.columns, inherits, &made);
        let columns = columns.map_err(|e| e.at_line(line))?;
        self.writable()?;
        let temporary = is_temporary(name);
        let full = match temporary {
            true => Some(self.new_temporary(name.name(), name.line)?),
            false => None,
        };
        let (database, target) = match &full {
            Some(full) => {
                let parts = vec!["tempdb".to_owned(), "dbo".to_owned(), full.clone()];
                let line = name.line;
                ("tempdb".to_owned(), ast::ObjectName { parts, line })
            }
            None => self.session.definition_target(name),
        };
        let instance = self.session.instance.clone();
        let databases = &instance.databases;
        let db = databases
            .find(&database)
            .ok_or_else(|| databases.not_open(&database))?;
        self.begin_implicitly()?;
        let transaction = self.statement_transaction("SELECT INTO");
        let point = transaction.statement_point(instance.locks.mark(&self.session.owner));
        let shown = name.name().to_owned();
        let shared = self.session.activity.database();
        let result = (|| {
            stored::hold(&db, &transaction, shared)?;
            let ddl = Ddl {
                db: &db,
                tx: &transaction,
                text: &self.program.text,
                host: None,
                notes: Default::default(),
            };
            create(&ddl, &target, &shown, columns)?;
            if duramen_catalog::doubt::any() {
                let what = "of the statement";
                return Err(SqlError::new(&messages::DEFINITION_CHANGED, &[&what]));
            }
            let Some(Source::Table(table)) = instance.table(&database, &target)? else {
                return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
            };
            let limit = self.session.options.row_limit();
            self.with_cx(Some(transaction.clone()), |cx, _| {
                let n = fill(&plan, &table, &made, limit, cx)?;
                Ok((n, cx.identity))
            })
        })();
        if transaction.kind != TxnKind::Autocommit {
            match &result {
                Ok(_) => {}
                Err(_) => instance.rollback(&transaction, Some(&point))?,
            }
        }
        self.end_statement(&transaction, result.is_ok())?;
        let (n, identity) = result.map_err(|e| e.at_line(line))?;
        if let Some(full) = full {
            self.note_temporary(shown, full, false)?;
        }
        let state = &mut self.session.state;
        state.identity = identity;
        state.scope_identity = identity.or(state.scope_identity);
        state.rowcount = n;
        self.done(Some(n), command::SELECT, false);
        Ok(())
    }
}

/// Creates the heap; 2714 when there is something of that name.
fn create(
    ddl: &Ddl<'_>,
    target: &ast::ObjectName,
    shown: &str,
    columns: Vec<NewColumn>,
) -> SqlResult<()> {
    let snapshot = ddl.db.catalog.snapshot()?;
    let schema_name = target.schema().unwrap_or("dbo");
    let missing = || SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&schema_name]);
    let schema = snapshot.schema(schema_name).ok_or_else(missing)?;
    if snapshot.find(schema.id, target.name()).is_some() {
        return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&shown]).with_state(6));
    }
    let new = NewTable {
        schema: schema.id,
        name: target.name().to_owned(),
        columns,
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        place: duramen_catalog::Place::Default,
        lob_filegroup: 0,
    };
    let table = ddl.db.catalog.create_table(ddl.tx, &new)?;
    ddl.lock(&table, LockMode::SchM)
}

/// Puts the plan's rows into the new table.
fn fill(
    plan: &Plan,
    table: &Arc<dyn Table>,
    made: &Made,
    limit: u64,
    cx: &mut Cx<'_>,
) -> SqlResult<u64> {
    let kept = table.columns().iter().position(|c| c.identity);
    let (mut n, mut highest) = (0, None);
    let mut operator = plan.start_for(limit, cx)?;
    let internal = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
    let mut load = table.load(ALONE, cx)?.ok_or_else(internal)?;
    while n < limit
        && let Some(batch) = cx.asking(limit - n, |cx| operator.next(cx))?
    {
        for mut row in batch {
            if n == limit {
                break;
            }
            match (made, kept) {
                (Some((at, _)), _) => {
                    row[*at] = table.next_identity(cx)?;
                    cx.identity = row[*at].as_whole();
                }
                (None, Some(at)) => {
                    cx.identity = row[at].as_whole();
                    highest = highest.max(cx.identity);
                }
                (None, None) => {}
            }
            if table.generates() {
                table.generate(&mut row, cx)?;
            }
            load.put(row, cx)?;
            n += 1;
        }
    }
    load.finish(cx)?;
    // An inherited identity goes up by 1: the table goes on from the highest, told once.
    if let Some(highest) = highest {
        table.note_identity(&Value::BigInt(highest), cx)?;
    }
    Ok(n)
}

/// Nobody else sees the table before the statement has ended.
const ALONE: ScanLock = ScanLock {
    grain: LockGrain::Table,
    ..ScanLock::READ
};

fn new_columns(
    table: &str,
    from: &[OutColumn],
    inherits: bool,
    made: &Made,
) -> SqlResult<Vec<NewColumn>> {
    let mut columns: Vec<NewColumn> = Vec::with_capacity(from.len());
    for (i, c) in from.iter().enumerate() {
        if c.name.is_empty() {
            return Err(SqlError::new(&messages::NAME_MISSING, &[]).with_state(5));
        }
        let same = |o: &NewColumn| o.name.to_lowercase() == c.name.to_lowercase();
        if columns.iter().any(same) {
            let args: [&dyn std::fmt::Display; 2] = [&c.name, &table];
            return Err(SqlError::new(&messages::DUPLICATE_COLUMN_NAME, &args).with_state(3));
        }
        let mine = made.as_ref().filter(|(at, _)| *at == i);
        let inherited = (made.is_none() && inherits && c.identity).then_some(Identity {
            seed: 1,
            increment: 1,
        });
        let identity = mine.map(|(_, identity)| *identity).or(inherited);
        columns.push(NewColumn {
            name: c.name.to_string(),
            ty: c.ty,
            nullable: c.nullable && identity.is_none(),
            identity,
            default: None,
            computed: None,
            rowguid: false,
            user_type: 0,
        });
    }
    Ok(columns)
}

/// Whether the query reads one table and nothing else, so that its identity column stays one.
fn single_table(stmt: &ast::SelectStmt) -> bool {
    match &stmt.body {
        ast::QueryExpr::Select(spec) => {
            matches!(spec.from.as_slice(), [ast::TableSource::Table(_)]) && spec.group_by.is_none()
        }
        _ => false,
    }
}

/// The statement with a typed zero where IDENTITY(type, seed, increment) stood.
pub(super) fn without_identity(stmt: &ast::SelectStmt) -> SqlResult<(ast::SelectStmt, Made)> {
    let mut stmt = stmt.clone();
    let mut made = None;
    if let ast::QueryExpr::Select(spec) = &mut stmt.body {
        for (i, item) in spec.items.iter_mut().enumerate() {
            let SelectItem::Expr { expr, .. } = item else {
                continue;
            };
            let ExprKind::Function(call) = &expr.kind else {
                continue;
            };
            let Some(ty) = call.type_arg.clone() else {
                continue;
            };
            let number = |at: usize| match call.args.get(at) {
                None => Ok(1),
                Some(e) => constant(e),
            };
            let identity = Identity {
                seed: number(0)?,
                increment: number(1)?,
            };
            if made.is_some() {
                return Err(not_supported("two IDENTITY functions in one SELECT INTO"));
            }
            made = Some((i, identity));
            let zero = ast::Expr {
                kind: ExprKind::Literal(Literal::Int(0)),
                line: expr.line,
            };
            let cast = ast::Cast {
                kind: ast::CastKind::Cast,
                expr: zero,
                ty,
                style: None,
                try_: false,
            };
            expr.kind = ExprKind::Cast(Box::new(cast));
        }
        // `*` before it would move the column.
        let stars = spec
            .items
            .iter()
            .any(|i| matches!(i, SelectItem::Star { .. }));
        if made.is_some() && stars {
            return Err(not_supported("IDENTITY() beside * in SELECT INTO"));
        }
        spec.into = None;
    }
    Ok((stmt, made))
}

fn constant(e: &ast::Expr) -> SqlResult<i64> {
    match &e.kind {
        ExprKind::Literal(Literal::Int(n)) => Ok(i64::from(*n)),
        ExprKind::Unary {
            op: ast::UnaryOp::Minus,
            expr,
        } => Ok(-constant(expr)?),
        _ => Err(not_supported(
            "IDENTITY() with arguments that are no integers",
        )),
    }
}
