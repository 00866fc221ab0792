//! Tables that live in memory and in one batch: table variables and the results of table-valued functions.
//!
//! Invariants:
//! 1. No transaction touches them: ROLLBACK leaves their rows, as it does with variables.
//! 2. A statement that fails leaves them as it found them: `statement_ended(false)` undoes its changes, latest first.
//! 3. Every row has one entry in each key, so a key finds a duplicate without a scan.
//! 4. Computed columns are in the rows, made when a row is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, OnceLock};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_types::{TypeId, Value, to_display};

use crate::cx::Cx;
use crate::expr::Expr;
use crate::host::{AccessPath, Bounds, Locator, RowCursor, Table, TableColumn, TableSize};
use crate::key::RowKey;
use crate::locking::ScanLock;
use crate::plan::Row;
use crate::rules::{CheckRule, Rules, bind_computed};

/// What a key was declared as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    PrimaryKey,
    UniqueConstraint,
    /// `INDEX name UNIQUE (...)`
    UniqueIndex,
    /// `INDEX name (...)`: rows may share a key.
    Index,
}

/// A constraint or index; rows are found by it.
#[derive(Clone, Debug)]
pub struct MemoryKey {
    pub name: String,
    pub kind: KeyKind,
    pub columns: Vec<usize>,
}

/// What a table in memory is made of.
#[derive(Clone, Debug)]
pub struct MemoryTableDef {
    /// As messages show it: `@t`.
    pub name: String,
    pub columns: Vec<TableColumn>,
    pub keys: Vec<MemoryKey>,
    pub checks: Vec<CheckRule>,
    /// Places and expressions of computed columns.
    pub computed: Vec<(usize, String)>,
    /// Seed and increment of the IDENTITY column.
    pub identity: Option<(i64, i64)>,
}

pub struct MemoryTable {
    def: MemoryTableDef,
    paths: Vec<AccessPath>,
    /// Those of the definition, bound when the first row is written.
    computed: OnceLock<Vec<(usize, Expr)>>,
    /// Shared with the table under its other names.
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rows: BTreeMap<u64, Row>,
    keys: Vec<BTreeSet<(RowKey, u64)>>,
    next_row: u64,
    next_identity: i64,
    /// What the running statement has done.
    undo: Vec<Undo>,
}

enum Undo {
    Inserted(u64),
    Updated(u64, Row),
    Deleted(u64, Row),
}

impl fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryTable({})", self.def.name)
    }
}

impl MemoryTable {
    pub fn new(def: MemoryTableDef) -> MemoryTable {
        let paths = def.keys.iter().map(|k| AccessPath {
            name: k.name.clone(),
            unique: k.kind != KeyKind::Index,
            keys: k.columns.iter().map(|c| (*c, false)).collect(),
            covers_all: true,
            columns: (0..def.columns.len()).collect(),
            ordered: false,
        });
        let state = State {
            keys: def.keys.iter().map(|_| BTreeSet::new()).collect(),
            next_identity: def.identity.map_or(0, |(seed, _)| seed),
            ..State::default()
        };
        MemoryTable {
            paths: paths.collect(),
            computed: OnceLock::new(),
            state: Arc::new(Mutex::new(state)),
            def,
        }
    }

    /// The same table under another name: what a parameter calls the table that was handed to it.
    pub fn under(&self, name: &str) -> MemoryTable {
        MemoryTable {
            def: MemoryTableDef {
                name: name.to_owned(),
                ..self.def.clone()
            },
            paths: self.paths.clone(),
            computed: OnceLock::new(),
            state: self.state.clone(),
        }
    }

    /// How many rows it holds.
    pub fn len(&self) -> usize {
        self.state.lock().rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Other rows instead of those that are there; for tables without keys.
    pub fn replace_rows(&self, rows: Vec<Row>) {
        debug_assert!(self.def.keys.is_empty());
        let mut state = self.state.lock();
        state.undo.clear();
        state.rows = (0..).zip(rows).collect();
        state.next_row = state.rows.len() as u64;
    }

    fn key(&self, key: &MemoryKey, row: &[Value]) -> RowKey {
        let columns = key.columns.iter();
        RowKey::new(
            columns.clone().map(|c| row[*c].clone()).collect(),
            columns.map(|c| self.def.columns[*c].ty.collation).collect(),
        )
    }

    /// Enters a row into every key, or into none.
    fn enter(&self, state: &mut State, id: u64, row: &[Value]) -> SqlResult<()> {
        let keys: Vec<RowKey> = self.def.keys.iter().map(|k| self.key(k, row)).collect();
        for (i, key) in keys.iter().enumerate() {
            let declared = &self.def.keys[i];
            if declared.kind != KeyKind::Index && with_key(&state.keys[i], key).next().is_some() {
                return Err(self.duplicate(declared, row));
            }
        }
        for (i, key) in keys.into_iter().enumerate() {
            state.keys[i].insert((key, id));
        }
        Ok(())
    }

    fn leave(&self, state: &mut State, id: u64, row: &[Value]) {
        for (i, key) in self.def.keys.iter().enumerate() {
            state.keys[i].remove(&(self.key(key, row), id));
        }
    }

    /// The expressions of computed columns.
    fn computed(&self, cx: &Cx<'_>) -> SqlResult<&[(usize, Expr)]> {
        if let Some(known) = self.computed.get() {
            return Ok(known);
        }
        let mut all = Vec::new();
        for (at, text) in &self.def.computed {
            let ty = self.def.columns[*at].ty;
            all.push((*at, bind_computed(cx.host, self, text, ty)?));
        }
        Ok(self.computed.get_or_init(|| all))
    }

    fn duplicate(&self, key: &MemoryKey, row: &[Value]) -> SqlError {
        let shown = |c: &usize| match &row[*c] {
            Value::Null => "<NULL>".to_owned(),
            v => to_display(v, &self.def.columns[*c].ty),
        };
        let values: Vec<String> = key.columns.iter().map(shown).collect();
        let object = format!("dbo.{}", self.def.name);
        let values = format!("({})", values.join(", "));
        let kind = match key.kind {
            KeyKind::PrimaryKey => "PRIMARY KEY",
            KeyKind::UniqueConstraint => "UNIQUE KEY",
            KeyKind::UniqueIndex | KeyKind::Index => {
                let args: [&dyn fmt::Display; 3] = [&object, &key.name, &values];
                return SqlError::new(&messages::DUPLICATE_KEY_INDEX, &args);
            }
        };
        let args: [&dyn fmt::Display; 4] = [&kind, &key.name, &object, &values];
        SqlError::new(&messages::DUPLICATE_KEY_CONSTRAINT, &args)
    }

    fn undo(&self, state: &mut State, change: Undo) {
        // The keys of what stood before were free of duplicates: entering them again cannot fail.
        match change {
            Undo::Inserted(id) => {
                if let Some(row) = state.rows.remove(&id) {
                    self.leave(state, id, &row);
                }
            }
            Undo::Updated(id, old) => {
                if let Some(new) = state.rows.insert(id, old.clone()) {
                    self.leave(state, id, &new);
                }
                let _ = self.enter(state, id, &old);
            }
            Undo::Deleted(id, row) => {
                let _ = self.enter(state, id, &row);
                state.rows.insert(id, row);
            }
        }
    }
}

/// The rows that have a key.
fn with_key<'a>(
    keys: &'a BTreeSet<(RowKey, u64)>,
    key: &RowKey,
) -> impl Iterator<Item = u64> + use<'a> {
    let range = (key.clone(), 0)..=(key.clone(), u64::MAX);
    keys.range(range).map(|(_, id)| *id)
}

fn number(at: &Locator) -> SqlResult<u64> {
    match at {
        Locator::Number(n) => Ok(*n),
        _ => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
    }
}

impl Table for MemoryTable {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn full_name(&self) -> &str {
        &self.def.name
    }

    fn columns(&self) -> &[TableColumn] {
        &self.def.columns
    }

    fn place(&self) -> (&str, &str) {
        ("tempdb", &self.def.name)
    }

    fn rules(&self) -> SqlResult<Rules> {
        Ok(Rules {
            checks: self.def.checks.clone(),
            ..Rules::default()
        })
    }

    fn generates(&self) -> bool {
        !self.def.computed.is_empty()
    }

    fn generate(&self, row: &mut Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        for (at, e) in self.computed(cx)? {
            row[*at] = e.eval(row, cx)?;
        }
        Ok(())
    }

    fn rows_about(&self) -> u64 {
        self.len() as u64
    }

    fn size(&self) -> TableSize {
        TableSize {
            rows: self.len() as u64,
            pages: 0,
        }
    }

    fn paths(&self) -> &[AccessPath] {
        &self.paths
    }

    /// The rows as they are now; later changes are not seen. Only a whole key is sought, other bounds read everything.
    fn open(
        &self,
        bounds: Option<&Bounds>,
        _lock: ScanLock,
        _cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        let state = self.state.lock();
        let whole = bounds.and_then(|b| {
            let key = self.def.keys.get(b.path)?;
            (b.equal.len() == key.columns.len()).then_some((b, key))
        });
        let rows: Vec<(u64, Row)> = match whole {
            Some((b, key)) => {
                let collations = key.columns.iter();
                let collations = collations.map(|c| self.def.columns[*c].ty.collation);
                let wanted = RowKey::new(b.equal.clone(), collations.collect());
                let found = with_key(&state.keys[b.path], &wanted);
                let row = |id: u64| Some((id, state.rows.get(&id)?.clone()));
                found.filter_map(row).collect()
            }
            None => state.rows.iter().map(|(id, r)| (*id, r.clone())).collect(),
        };
        Ok(Box::new(MemoryCursor {
            rows: rows.into_iter(),
        }))
    }

    fn next_identity(&self, _cx: &mut Cx<'_>) -> SqlResult<Value> {
        let mut state = self.state.lock();
        let n = state.next_identity;
        let column = self.def.columns.iter().find(|c| c.identity);
        let id = column.map_or(TypeId::BigInt, |c| c.ty.id);
        let value = match id {
            TypeId::TinyInt => u8::try_from(n).ok().map(Value::TinyInt),
            TypeId::SmallInt => i16::try_from(n).ok().map(Value::SmallInt),
            TypeId::Int => i32::try_from(n).ok().map(Value::Int),
            _ => Some(Value::BigInt(n)),
        };
        let overflow = || {
            let what: [&dyn fmt::Display; 2] = [&"IDENTITY", &id.name()];
            SqlError::new(&messages::ARITHMETIC_OVERFLOW, &what)
        };
        let increment = self.def.identity.map_or(1, |(_, i)| i);
        state.next_identity = n.checked_add(increment).ok_or_else(overflow)?;
        value.ok_or_else(overflow)
    }

    fn insert(&self, row: Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let id = state.next_row;
        self.enter(&mut state, id, &row)?;
        state.next_row += 1;
        state.rows.insert(id, row);
        state.undo.push(Undo::Inserted(id));
        Ok(())
    }

    fn update(&self, at: &Locator, _old: &Row, new: Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let id = number(at)?;
        let mut state = self.state.lock();
        let Some(old) = state.rows.get(&id).cloned() else {
            return Ok(());
        };
        self.leave(&mut state, id, &old);
        if let Err(e) = self.enter(&mut state, id, &new) {
            let _ = self.enter(&mut state, id, &old);
            return Err(e);
        }
        state.rows.insert(id, new);
        state.undo.push(Undo::Updated(id, old));
        Ok(())
    }

    fn delete(&self, at: &Locator, _old: &Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let id = number(at)?;
        let mut state = self.state.lock();
        if let Some(row) = state.rows.remove(&id) {
            self.leave(&mut state, id, &row);
            state.undo.push(Undo::Deleted(id, row));
        }
        Ok(())
    }

    fn statement_ended(&self, succeeded: bool) {
        let mut state = self.state.lock();
        let done = std::mem::take(&mut state.undo);
        if !succeeded {
            for change in done.into_iter().rev() {
                self.undo(&mut state, change);
            }
        }
    }
}

struct MemoryCursor {
    rows: std::vec::IntoIter<(u64, Row)>,
}

impl RowCursor for MemoryCursor {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        Ok(self.rows.next().map(|(id, row)| (Locator::Number(id), row)))
    }
}
