//! A world of a page: tables in memory, variables, a clock that stands.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duramen_base::{SqlError, SqlResult};
use duramen_os::sync::Mutex;
use duramen_planner::{Binder, dml};
use duramen_query::execution::ExecutionContext;
use duramen_query::host::{
    AccessPath, Bounds, Host, Locator, RowCursor, Source, Table, TableColumn, TableSize,
    VirtualTable,
};
use duramen_query::spill::Workspace;
use duramen_query::{Cx, Expr, Plan, Row, ScanLock};
use duramen_tsql::ast::{ObjectName, StatementKind};
use duramen_tsql::{ParseOptions, parse_batch, parse_expression};
use duramen_types::{ConvertCtx, SqlType, Value, compare, to_display};

#[derive(Debug)]
pub struct ToyTable {
    name: &'static str,
    full_name: String,
    columns: Vec<TableColumn>,
    paths: Vec<AccessPath>,
    state: Mutex<State>,
    /// How many rows it says it has, to whoever chooses a plan.
    pub claimed: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    rows: Vec<(u64, Row)>,
    next: u64,
    identity: i32,
    /// Seeks made, for the tests that care.
    seeks: usize,
}

impl ToyTable {
    pub fn new(name: &'static str, columns: Vec<TableColumn>, key: &[usize]) -> Arc<ToyTable> {
        ToyTable::keyed(name, columns, key, false)
    }

    /// With a key that may have duplicates, and gives rows in its order, when `ordered`.
    pub fn keyed(
        name: &'static str,
        columns: Vec<TableColumn>,
        key: &[usize],
        ordered: bool,
    ) -> Arc<ToyTable> {
        let path = AccessPath {
            name: format!("PK_{name}"),
            unique: !ordered,
            keys: key.iter().map(|k| (*k, false)).collect(),
            covers_all: true,
            columns: (0..columns.len()).collect(),
            ordered,
        };
        Arc::new(ToyTable {
            name,
            full_name: format!("toy.dbo.{name}"),
            columns,
            paths: if key.is_empty() { vec![] } else { vec![path] },
            state: Mutex::new(State::default()),
            claimed: AtomicU64::new(0),
        })
    }

    pub fn seeks(&self) -> usize {
        self.state.lock().seeks
    }

    fn holds(&self, b: &Bounds, row: &Row) -> bool {
        let keys = &self.paths[b.path].keys;
        let order = |i: usize, v: &Value| {
            let c = keys[i].0;
            let collation = self.columns[c].ty.collation;
            (!row[c].is_null()).then(|| compare(&row[c], v, collation))
        };
        let n = b.equal.len();
        let equal = b.equal.iter().enumerate();
        equal
            .into_iter()
            .all(|(i, v)| order(i, v).is_some_and(|o| o.is_eq()))
            && b.lower.as_ref().is_none_or(|(v, inclusive)| {
                order(n, v).is_some_and(|o| o.is_gt() || *inclusive && o.is_eq())
            })
            && b.upper.as_ref().is_none_or(|(v, inclusive)| {
                order(n, v).is_some_and(|o| o.is_lt() || *inclusive && o.is_eq())
            })
    }
}

struct ToyCursor(std::vec::IntoIter<(u64, Row)>);

impl RowCursor for ToyCursor {
    fn next(&mut self, _: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        Ok(self.0.next().map(|(n, row)| (Locator::Number(n), row)))
    }
}

impl Table for ToyTable {
    fn name(&self) -> &str {
        self.name
    }

    fn full_name(&self) -> &str {
        &self.full_name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn paths(&self) -> &[AccessPath] {
        &self.paths
    }

    fn size(&self) -> TableSize {
        let rows = self.claimed.load(Ordering::Relaxed);
        TableSize { rows, pages: rows }
    }

    fn open(
        &self,
        bounds: Option<&Bounds>,
        _: ScanLock,
        _: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        let mut state = self.state.lock();
        state.seeks += bounds.is_some() as usize;
        let rows = state.rows.iter();
        let mut rows: Vec<_> = rows
            .filter(|(_, row)| bounds.is_none_or(|b| self.holds(b, row)))
            .cloned()
            .collect();
        if let Some(b) = bounds.filter(|b| self.paths[b.path].ordered) {
            let by = &self.paths[b.path].keys;
            rows.sort_by(|(_, x), (_, y)| {
                let each = by
                    .iter()
                    .map(|(c, _)| match (x[*c].is_null(), y[*c].is_null()) {
                        (false, false) => compare(&x[*c], &y[*c], self.columns[*c].ty.collation),
                        (x, y) => y.cmp(&x),
                    });
                let order = each.fold(std::cmp::Ordering::Equal, |all, o| all.then(o));
                if b.backward { order.reverse() } else { order }
            });
        }
        Ok(Box::new(ToyCursor(rows.into_iter())))
    }

    fn next_identity(&self, _: &mut Cx<'_>) -> SqlResult<Value> {
        let mut state = self.state.lock();
        state.identity += 1;
        Ok(Value::Int(state.identity))
    }

    fn insert(&self, row: Row, _: &mut Cx<'_>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let n = state.next;
        state.next += 1;
        state.rows.push((n, row));
        Ok(())
    }

    fn update(&self, at: &Locator, old: &Row, new: Row, _: &mut Cx<'_>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let row = state
            .rows
            .iter_mut()
            .find(|(n, _)| Locator::Number(*n) == *at);
        let row = row.expect("the row to update is there");
        assert_eq!(row.1, *old, "the old row is the stored one");
        row.1 = new;
        Ok(())
    }

    fn delete(&self, at: &Locator, old: &Row, _: &mut Cx<'_>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let i = state
            .rows
            .iter()
            .position(|(n, _)| Locator::Number(*n) == *at);
        let (_, row) = state.rows.remove(i.expect("a row is deleted once"));
        assert_eq!(row, *old, "the old row is the stored one");
        Ok(())
    }
}

pub struct Toy {
    pub tables: Vec<Arc<ToyTable>>,
    pub variables: Vec<(&'static str, SqlType, Value)>,
    /// What operators may keep rows in.
    pub workspace: Arc<Workspace>,
    /// How often it was asked whether its statement has been given up.
    pub asked: AtomicU64,
    /// The time of asking from which on it has; 0 for never.
    pub given_up_at: AtomicU64,
}

impl Host for Toy {
    fn source(&self, name: &ObjectName) -> SqlResult<Option<Source>> {
        let table = self
            .tables
            .iter()
            .find(|t| t.name.eq_ignore_ascii_case(name.name()));
        Ok(table.map(|t| Source::Table(t.clone())))
    }

    fn table_function(&self, _: &ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        Ok(None)
    }

    fn function_type(&self, name: &str) -> Option<SqlType> {
        (name == "db_name").then(|| SqlType::nvarchar(128))
    }

    fn function(&self, _: &str, _: &[Value]) -> SqlResult<Value> {
        Ok(Value::nvarchar("toy"))
    }

    fn global_type(&self, _: &str) -> Option<(&'static str, SqlType)> {
        None
    }

    fn global(&self, name: &str) -> SqlResult<Value> {
        Ok(match name {
            "datefirst" => Value::TinyInt(7),
            _ => Value::Null,
        })
    }

    fn variable(&self, name: &str) -> Option<(usize, SqlType)> {
        let at = self
            .variables
            .iter()
            .position(|v| v.0.eq_ignore_ascii_case(name))?;
        Some((at, self.variables[at].1))
    }

    fn table_variable(&self, _: &str) -> Option<Arc<dyn Table>> {
        None
    }

    fn now(&self) -> (u64, i16) {
        (1_700_000_000_123_456_700, 60)
    }

    fn random(&self) -> u64 {
        0x1234_5678_9abc_def0
    }

    fn cancelled(&self) -> bool {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let at = self.given_up_at.load(Ordering::Relaxed);
        at > 0 && asked >= at
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.workspace.clone()
    }

    fn keeps_unasked(&self) -> usize {
        match self.workspace.limit() {
            0 => 0,
            _ => duramen_query::host::KEPT_UNASKED,
        }
    }

    fn bind_default(&self, text: &str) -> SqlResult<Expr> {
        Binder::new(self).scalar(&parse_expression(text, &ParseOptions::default())?)
    }

    fn execution(&self) -> Option<&ExecutionContext> {
        None
    }

    fn session(&self) -> &dyn Any {
        &()
    }
}

impl Toy {
    /// Runs a batch; the rows of its SELECTs, values joined by `|`, and `(n)` for a statement that changed n rows.
    pub fn run(&self, sql: &str) -> SqlResult<Vec<String>> {
        let mut out = Vec::new();
        let mut vars: Vec<Value> = self.variables.iter().map(|v| v.2.clone()).collect();
        for statement in parse_batch(sql, &ParseOptions::default())?.statements {
            let mut cx = Cx::new(self, &mut vars, ConvertCtx::default());
            let changed = match &statement.kind {
                StatementKind::Select(s) => {
                    let plan = Binder::new(self).select(s)?;
                    for row in all_rows(&plan, &mut cx)? {
                        for (v, c) in row.iter().zip(&*plan.columns) {
                            assert!(
                                c.nullable || !v.is_null(),
                                "{} is said to be NOT NULL",
                                c.name
                            );
                        }
                        let shown = row.iter().zip(&*plan.columns).map(|(v, c)| show(v, &c.ty));
                        out.push(shown.collect::<Vec<_>>().join("|"));
                    }
                    continue;
                }
                kind => match dml::bind(self, kind)? {
                    Some(change) => change.run(&mut cx)?,
                    None => panic!("not a statement of these tests: {kind:?}"),
                },
            };
            out.push(format!("({changed})"));
        }
        Ok(out)
    }

    /// The rows, one string, for short expectations.
    pub fn text(&self, sql: &str) -> String {
        match self.run(sql) {
            Ok(rows) => rows.join(" "),
            Err(e) => panic!("{sql}: {} {}", e.number, e.message),
        }
    }

    pub fn fails(&self, sql: &str) -> SqlError {
        match self.run(sql) {
            Ok(rows) => panic!("{sql} gave {rows:?}"),
            Err(e) => e,
        }
    }
}

fn show(v: &Value, ty: &SqlType) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        v => to_display(v, ty),
    }
}

pub fn column(name: &str, ty: SqlType, nullable: bool) -> TableColumn {
    TableColumn {
        name: name.to_owned(),
        ty,
        nullable,
        identity: false,
        default: None,
        generated: Default::default(),
    }
}

/// What a client gets, which keeps the rows itself.
pub fn all_rows(plan: &Plan, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
    let mut operator = plan.start(cx)?;
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(cx)? {
        assert!(!batch.is_empty(), "a batch is never empty");
        rows.extend(batch);
    }
    Ok(rows)
}
