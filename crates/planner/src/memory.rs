//! Tables that live in memory and in one batch: table variables and the results of table-valued functions.
//!
//! Invariants:
//! 1. No transaction touches them: ROLLBACK leaves their rows, as it does with variables. [golden: table_variables]
//! 2. A statement that fails leaves them as it found them: `statement_ended(false)` undoes its changes, latest first.
//!    [assert: memory/2]
//! 3. Every row has one entry in each key, so a key finds a duplicate without a scan. [assert: memory/3]
//! 4. Computed columns are in the rows, made when a row is written. [golden: table_variables]
//! 5. What they take is bounded: rows go to files, and only their numbers and fingerprints stay. [test: table_variables_have_files]

mod rows;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_columns::hash;
use duramen_os::sync::Mutex;
use duramen_query::host::{AccessPath, Bounds, Locator, RowCursor, Table, TableColumn, TableSize};
use duramen_query::kept::{Held, SpoolReader};
use duramen_query::key::RowKey;
use duramen_query::rules::{CheckRule, Rules};
use duramen_query::{Columns, Cx, Expr, OutColumn, Row, ScanLock, Spooled};
use duramen_types::{SqlType, Value, to_display};

use crate::dml::bind_computed;

use rows::{Place, Prints, Reader, Rows};

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
    /// As files of rows want them, made when the first row is written.
    filed: OnceLock<Columns>,
    /// Shared with the table under its other names.
    state: Arc<Mutex<State>>,
    /// Rows that nobody changes, instead of those.
    fixed: Option<Arc<Spooled>>,
}

#[derive(Default)]
struct State {
    rows: Rows,
    /// Of each key the fingerprints of the rows' values, with the rows' numbers: rows with one fingerprint need not be equal.
    keys: Vec<BTreeSet<(u64, u64)>>,
    next_row: u64,
    next_identity: i64,
    /// Reads rows when what a key says is compared.
    reader: Reader,
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
            rows: Rows::new(def.keys.len()),
            keys: def.keys.iter().map(|_| BTreeSet::new()).collect(),
            next_identity: def.identity.map_or(0, |(seed, _)| seed),
            ..State::default()
        };
        MemoryTable {
            paths: paths.collect(),
            computed: OnceLock::new(),
            filed: OnceLock::new(),
            state: Arc::new(Mutex::new(state)),
            fixed: None,
            def,
        }
    }

    /// A table without keys of rows that stay as they are: `inserted` and `deleted`.
    pub fn of_rows(def: MemoryTableDef, rows: Spooled) -> MemoryTable {
        debug_assert!(def.keys.is_empty());
        MemoryTable {
            fixed: Some(Arc::new(rows)),
            ..MemoryTable::new(def)
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
            filed: OnceLock::new(),
            state: self.state.clone(),
            fixed: self.fixed.clone(),
        }
    }

    /// How many rows it holds.
    pub fn len(&self) -> usize {
        match &self.fixed {
            Some(rows) => rows.len(),
            None => self.state.lock().rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Other rows instead of those that are there; for tables without keys.
    pub fn replace_rows(&self, rows: Vec<Row>) {
        debug_assert!(self.def.keys.is_empty());
        let mut state = self.state.lock();
        state.rows.replace(rows);
        state.next_row = state.rows.len() as u64;
    }

    fn key(&self, key: &MemoryKey, row: &[Value]) -> RowKey {
        self.key_of(key, key.columns.iter().map(|c| row[*c].clone()).collect())
    }

    fn key_of(&self, key: &MemoryKey, values: Vec<Value>) -> RowKey {
        let columns = key.columns.iter();
        RowKey::new(
            values,
            columns.map(|c| self.def.columns[*c].ty.collation).collect(),
        )
    }

    fn prints(&self, row: &[Value]) -> Prints {
        let keys = self.def.keys.iter();
        keys.map(|k| print(&self.key(k, row))).collect()
    }

    /// Places of the rows that have a key, by their numbers.
    fn with_key(&self, state: &mut State, at: usize, key: &RowKey) -> SqlResult<Vec<(u64, Place)>> {
        let State {
            rows, keys, reader, ..
        } = state;
        let mut found = Vec::new();
        let wanted = print(key);
        for (_, id) in keys[at].range((wanted, 0)..=(wanted, u64::MAX)) {
            let Some(place) = rows.get(*id) else { continue };
            let row = reader.read(place)?;
            if self.key(&self.def.keys[at], &row) == *key {
                found.push((*id, place.clone()));
            }
        }
        Ok(found)
    }

    /// Whether another row than `but` has one of the row's keys that no two may have.
    fn check_keys(&self, state: &mut State, but: Option<u64>, row: &[Value]) -> SqlResult<()> {
        for (at, key) in self.def.keys.iter().enumerate() {
            if key.kind != KeyKind::Index
                && let found = self.with_key(state, at, &self.key(key, row))?
                && found.iter().any(|(id, _)| Some(*id) != but)
            {
                return Err(self.duplicate(key, row));
            }
        }
        Ok(())
    }

    fn filed(&self) -> &Columns {
        let column = |c: &TableColumn| OutColumn::unnamed(c.ty, c.nullable);
        self.filed
            .get_or_init(|| self.def.columns.iter().map(column).collect())
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
}

/// What equal keys have in common.
fn print(key: &RowKey) -> u64 {
    hash::Build::default().hash_one(key)
}

/// A row is found by other fingerprints, or no more.
fn enter(keys: &mut [BTreeSet<(u64, u64)>], id: u64, was: Option<&Prints>, is: Option<&Prints>) {
    for (at, key) in keys.iter_mut().enumerate() {
        if let Some(was) = was {
            key.remove(&(was[at], id));
        }
        if let Some(is) = is {
            key.insert((is[at], id));
        }
    }
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
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        if let Some(rows) = &self.fixed {
            let columns = self.def.columns.iter().enumerate();
            let large = columns.filter(|(_, c)| c.ty.is_max() && !lock.lends);
            return Ok(Box::new(FixedCursor {
                large: large.map(|(at, c)| (at, c.ty)).collect(),
                rows: SpoolReader::new(rows.clone()),
                some: VecDeque::new(),
                next: 0,
            }));
        }
        let mut state = self.state.lock();
        let whole = bounds.and_then(|b| {
            let key = self.def.keys.get(b.path)?;
            (b.equal.len() == key.columns.len()).then_some((b, key))
        });
        let places = match whole {
            Some((b, key)) => {
                let wanted = self.key_of(key, b.equal.clone());
                self.with_key(&mut state, b.path, &wanted)?
            }
            None => state.rows.iter().collect(),
        };
        drop(state);
        let mut held = Held::default();
        held.must(places.len() * size_of::<(u64, Place)>(), cx)?;
        Ok(Box::new(MemoryCursor {
            places: places.into_iter(),
            reader: Reader::default(),
            _held: held,
        }))
    }

    fn next_identity(&self, _cx: &mut Cx<'_>) -> SqlResult<Value> {
        let mut state = self.state.lock();
        let n = state.next_identity;
        let column = self.def.columns.iter().find(|c| c.identity);
        let ty = column.map_or(SqlType::BIGINT, |c| c.ty);
        let value = Value::whole(n, &ty);
        let overflow = || {
            let what: [&dyn fmt::Display; 2] = [&"IDENTITY", &ty.id.name()];
            SqlError::new(&messages::ARITHMETIC_OVERFLOW, &what)
        };
        let increment = self.def.identity.map_or(1, |(_, i)| i);
        state.next_identity = n.checked_add(increment).ok_or_else(overflow)?;
        value.ok_or_else(overflow)
    }

    fn insert(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut state = self.state.lock();
        let state = &mut *state;
        self.check_keys(state, None, &row)?;
        let prints = self.prints(&row);
        let place = state.rows.place(row, self.filed(), cx)?;
        let id = state.next_row;
        state.next_row += 1;
        enter(&mut state.keys, id, None, Some(&prints));
        state.rows.insert(id, place, prints);
        Ok(())
    }

    fn update(&self, at: &Locator, _old: &Row, new: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        let id = number(at)?;
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(old) = state.rows.get(id) else {
            return Ok(());
        };
        let old = state.reader.read(old)?;
        self.check_keys(state, Some(id), &new)?;
        let (was, is) = (self.prints(&old), self.prints(&new));
        let place = state.rows.place(new, self.filed(), cx)?;
        enter(&mut state.keys, id, Some(&was), Some(&is));
        state.rows.update(id, place, was, is);
        Ok(())
    }

    fn delete(&self, at: &Locator, _old: &Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        let id = number(at)?;
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(old) = state.rows.get(id) {
            let was = self.prints(&state.reader.read(old)?);
            enter(&mut state.keys, id, Some(&was), None);
            state.rows.delete(id, was);
        }
        Ok(())
    }

    fn statement_ended(&self, succeeded: bool) {
        let mut state = self.state.lock();
        let State {
            rows, keys, reader, ..
        } = &mut *state;
        reader.forget();
        match succeeded {
            true => rows.keep(),
            false => {
                let _undoing = given_up::undoing();
                let before = rows.len_before();
                rows.undo(|id, is, was| enter(keys, id, is.as_ref(), was.as_ref()));
                debug_assert_eq!(
                    rows.len(),
                    before,
                    "memory/2: a statement that failed has left rows or taken some"
                );
            }
        }
        debug_assert!(
            keys.iter().all(|k| k.len() == rows.len()),
            "memory/3: a key has not an entry for each row"
        );
    }
}

struct FixedCursor {
    rows: SpoolReader,
    some: VecDeque<Row>,
    next: u64,
    /// Columns whose values have to be in memory.
    large: Vec<(usize, SqlType)>,
}

impl RowCursor for FixedCursor {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        while self.some.is_empty() {
            match self.rows.next(duramen_query::exec::BATCH_ROWS)? {
                Some(rows) => self.some = rows.into(),
                None => return Ok(None),
            }
        }
        self.next += 1;
        let at = Locator::Number(self.next - 1);
        let Some(mut row) = self.some.pop_front() else {
            return Ok(None);
        };
        for (column, ty) in &self.large {
            if let Value::Spooled(s) = &row[*column] {
                row[*column] = duramen_query::long::in_memory(s, ty, cx)?;
            }
        }
        Ok(Some((at, row)))
    }
}

struct MemoryCursor {
    places: std::vec::IntoIter<(u64, Place)>,
    reader: Reader,
    _held: Held,
}

impl RowCursor for MemoryCursor {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        let Some((id, place)) = self.places.next() else {
            return Ok(None);
        };
        Ok(Some((Locator::Number(id), self.reader.read(&place)?)))
    }
}
