//! A stored table as the query room sees it: catalog definition plus storage rowsets.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::doubt::{self, Doubt};
use duramen_catalog::shape::IndexSource;
use duramen_catalog::{IndexDef, TableDef, key_text, rows};
use duramen_columns::statistics::ColumnStatistics;
use duramen_query::execution::ExecutionContext;
use duramen_query::host::{
    AccessPath, Bounds, Event, Load, Locator, Part, Partitioning, RowCursor, StoredId, Table,
    TableColumn, TableSize,
};
use duramen_query::rules::Rules;
use duramen_query::{Columns, Cx, LockGrain, Row, ScanLock};
use duramen_storage::{LockHint, OpenRowsets, Reading, RowLocator, ScanSpec, StorageError};
use duramen_txn::{
    IsolationLevel, LockDuration, LockError, LockMode, ReadView, Resource, Transaction,
};
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};

use crate::open_db::OpenDb;
use crate::open_db::{is_single_user, occupied};
use crate::statistics::Changes;
use crate::usage::{self, TableUsage, Usage, Use};
use crate::versioning;

mod computed;
mod cut;
pub mod key_length;
mod load;
mod partitions;
mod rules;
mod shape;
mod used;

use partitions::{Base, Parts};
pub use shape::Shapes;

/// What has been asked of a column.
type Known = OnceLock<Option<Arc<ColumnStatistics>>>;

pub struct StoredTable {
    db: Arc<OpenDb>,
    def: Arc<TableDef>,
    shape: Arc<shape::Shape>,
    computed: OnceLock<computed::Expressions>,
    /// The catalog's version at which the definition was last found unchanged.
    checked: AtomicU64,
    /// As it was when a plan first asked: a plan is chosen by one size.
    size: OnceLock<TableSize>,
    /// The same of its columns' statistics.
    statistics: OnceLock<Box<[Known]>>,
    used: OnceLock<TableUsage>,
    changes: OnceLock<Changes>,
    rowsets: OnceLock<OpenRowsets>,
}

/// Whether a definition is still the catalog's. The object's lock is held.
pub fn is_current(db: &OpenDb, def: &TableDef) -> SqlResult<bool> {
    let Some(now) = db.catalog.table(def.id)? else {
        return Ok(false);
    };
    if std::ptr::eq(&*now, def) || now.version == def.version {
        return Ok(true);
    }
    // The catalog was read again: only its number may differ.
    let mut now = (*now).clone();
    now.version = def.version;
    Ok(now == *def)
}

/// 2801
pub fn changed(def: &TableDef) -> SqlError {
    let name = format!("{}.{}", def.schema_name, def.name);
    SqlError::new(&messages::DEFINITION_CHANGED, &[&name])
}

/// What errors call the table and its database.
struct Names {
    table: String,
    database: String,
    /// `db.schema.table`
    full: String,
}

impl Names {
    fn in_words(&self, e: SqlError) -> SqlError {
        versioning::named(e, &self.table, &self.database)
    }
}

impl fmt::Debug for StoredTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredTable({})", self.def.name)
    }
}

impl StoredTable {
    pub fn new(db: Arc<OpenDb>, def: Arc<TableDef>) -> StoredTable {
        StoredTable {
            shape: db.shapes.of(&db.db.name, &def),
            db,
            def,
            computed: OnceLock::new(),
            checked: AtomicU64::new(0),
            size: OnceLock::new(),
            statistics: OnceLock::new(),
            used: OnceLock::new(),
            changes: OnceLock::new(),
            rowsets: OnceLock::new(),
        }
    }

    /// Where its rows and their entries go.
    fn rowsets(&self) -> &OpenRowsets {
        self.rowsets.get_or_init(|| {
            let entries = self.def.maintained().flat_map(|i| i.rowsets());
            let all = self.def.data_rowsets().iter().chain(entries);
            OpenRowsets::new(&self.db.db, all)
        })
    }

    fn check_writable(&self) -> SqlResult<()> {
        self.db.check_writable()
    }

    /// Rows of all partitions.
    fn row_count(&self) -> u64 {
        let all = self.def.data_rowsets().iter();
        let count = |r| self.db.db.rowset(r).row_count().unwrap_or(0);
        all.map(count).sum()
    }

    /// A row as stored: the columns, and room for the uniquifier.
    fn stored(&self, mut row: Row) -> Row {
        if self.shape.generates {
            for (value, column) in row.iter_mut().zip(&self.def.columns) {
                if !column.is_stored() {
                    *value = Value::Null;
                }
            }
        }
        row.resize(self.def.data.layout.columns.len(), Value::Null);
        row
    }

    /// Whether an index with IGNORE_DUP_KEY has the key of a row that is to be inserted. The key's place stays locked,
    /// so that nobody else puts it there.
    fn is_duplicate(&self, tx: &Arc<Transaction>, row: &[Value]) -> SqlResult<bool> {
        let ignoring = |i: &&IndexDef| i.options.ignore_dup_key && !i.options.disabled;
        for index in self.def.indexes.iter().filter(ignoring) {
            let key = index.keys.iter().map(|k| row[k.column].clone()).collect();
            let mut spec = ScanSpec::equal(key, LockHint::Update);
            spec.reading.level = Some(IsolationLevel::Serializable);
            let rowset = self.db.db.rowset(index.rowset_of(row));
            if rowset.scan(tx, spec)?.next(tx)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// 2627 and 2601 in words.
    fn named(&self, e: StorageError, row: &[Value]) -> SqlError {
        let index_id = match e {
            StorageError::DuplicateKey { index_id, .. } => index_id,
            StorageError::Sql(e) => return self.shape.names.in_words(e),
        };
        let Some(index) = self.def.indexes.iter().find(|i| i.id == index_id) else {
            return e.into();
        };
        let table = format!(
            "{}.{}",
            self.def.schema_name,
            crate::temporary::short_name(&self.def.name)
        );
        let key = key_text(row, &index.keys);
        if index.primary_key || index.unique_constraint {
            let kind = if index.primary_key {
                "PRIMARY KEY"
            } else {
                "UNIQUE KEY"
            };
            SqlError::new(
                &messages::DUPLICATE_KEY_CONSTRAINT,
                &[&kind, &index.name, &table, &key],
            )
        } else {
            SqlError::new(&messages::DUPLICATE_KEY_INDEX, &[&table, &index.name, &key])
        }
    }
}

/// The statement's transaction, and what it runs in; every statement that touches tables has them.
fn context<'c>(cx: &Cx<'c>) -> SqlResult<(&'c Arc<Transaction>, &'c ExecutionContext)> {
    let context = cx.host.execution();
    context
        .map(|c| (&c.transaction, c))
        .ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))
}

fn transaction<'c>(cx: &Cx<'c>) -> SqlResult<&'c Arc<Transaction>> {
    Ok(context(cx)?.0)
}

/// A statement touches a database: one that the session has no share of is held for the transaction, so that it does not go
/// while the transaction may have to be undone in it. Where it has gone while this waited for who was alone in it, what its
/// name means is looked up again (2801), unless it has failed (9001).
pub fn hold(db: &OpenDb, tx: &Transaction, shared: u16) -> SqlResult<()> {
    let id = db.db.id;
    if id.0 == shared || id.0 <= 2 {
        return Ok(());
    }
    match is_single_user(db) {
        true => hold_alone(db, tx)?,
        false => lock(db, tx, &Resource::Database(id), LockMode::S)?,
    }
    if !db.db.is_closed() {
        return Ok(());
    }
    if db.db.is_shut_down() {
        return Err(SqlError::new(&messages::LOG_UNAVAILABLE, &[&db.db.name]));
    }
    doubt::put_back(Some(Doubt::Over));
    Err(SqlError::new(&messages::DEFINITION_CHANGED, &[&db.db.name]))
}

/// The one share of a single-user database: 924 where another session has it.
#[cold]
fn hold_alone(db: &OpenDb, tx: &Transaction) -> SqlResult<()> {
    let resource = Resource::Database(db.db.id);
    locked(db, tx, &resource, LockMode::X, Some(Duration::ZERO)).map_err(|e| match e {
        LockError::Timeout => occupied(&db.db.name),
        e => refused(e, tx),
    })
}

fn lock(db: &OpenDb, tx: &Transaction, resource: &Resource, mode: LockMode) -> SqlResult<()> {
    locked(db, tx, resource, mode, tx.lock_timeout()).map_err(|e| refused(e, tx))
}

#[inline]
fn locked(
    db: &OpenDb,
    tx: &Transaction,
    resource: &Resource,
    mode: LockMode,
    timeout: Option<Duration>,
) -> Result<(), LockError> {
    let locks = &db.db.engine.locks;
    locks.lock(&tx.owner, resource, mode, LockDuration::Normal, timeout)?;
    tx.keep_lock(resource);
    Ok(())
}

fn refused(e: LockError, tx: &Transaction) -> SqlError {
    duramen_txn::errors::lock_error(e, tx.spid()).unwrap_or_else(duramen_query::cancelled)
}

impl StoredTable {
    /// A statement touches the table.
    fn enter<'c>(&self, cx: &Cx<'c>) -> SqlResult<(&'c Arc<Transaction>, &'c ExecutionContext)> {
        let (tx, context) = context(cx)?;
        hold(&self.db, tx, context.shared)?;
        Ok((tx, context))
    }

    fn lock(&self, tx: &Transaction, resource: &Resource, mode: LockMode) -> SqlResult<()> {
        lock(&self.db, tx, resource, mode)
    }

    /// With the table's lock held: is the definition that was bound still the one that counts (2801, bind again), and
    /// the one of the snapshot (3961)?
    fn check_definition(&self, tx: &Transaction, reading: &Reading) -> SqlResult<()> {
        self.check_current()?;
        if tx.isolation() != IsolationLevel::Snapshot {
            return Ok(());
        }
        self.check_view(tx, reading.view.as_ref().or(tx.view().as_ref()))
    }

    fn check_current(&self) -> SqlResult<()> {
        let version = self.db.catalog.version();
        if self.checked.load(Ordering::Relaxed) != version {
            if !is_current(&self.db, &self.def)? {
                return Err(changed(&self.def));
            }
            self.checked.store(version, Ordering::Relaxed);
        }
        Ok(())
    }

    fn check_view(&self, tx: &Transaction, view: Option<&ReadView>) -> SqlResult<()> {
        match view {
            Some(view) if !self.db.db.knows_definition(tx, view, self.def.id) => Err(
                SqlError::new(&messages::SNAPSHOT_DDL_CONFLICT, &[&self.db.db.name]),
            ),
            _ => Ok(()),
        }
    }
}

fn to_locator(at: RowLocator) -> Locator {
    match at {
        RowLocator::Rid(page, slot) => Locator::Rid(page, slot),
        RowLocator::Key(key) => Locator::Key(key),
    }
}

fn from_locator(at: &Locator) -> SqlResult<RowLocator> {
    match at {
        Locator::Rid(page, slot) => Ok(RowLocator::Rid(*page, *slot)),
        Locator::Key(key) => Ok(RowLocator::Key(key.clone())),
        Locator::Number(_) => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
    }
}

/// Bounds as keys of the rowset: the fixed columns, then the range's.
fn spec(bounds: Option<&Bounds>, reading: &Reading) -> ScanSpec {
    let mut spec = ScanSpec::all(reading);
    let Some(b) = bounds else { return spec };
    let side = |bound: &Option<(Value, bool)>| match bound {
        Some((v, inclusive)) => {
            let mut key = b.equal.clone();
            key.push(v.clone());
            Some((key, *inclusive))
        }
        None => (!b.equal.is_empty()).then(|| (b.equal.clone(), true)),
    };
    spec.forward = !b.backward;
    spec.lower = side(&b.lower);
    spec.upper = side(&b.upper);
    spec
}

impl StoredTable {
    /// 1946
    fn check_keys(&self, row: &[Value]) -> SqlResult<()> {
        self.shape.long_keys.iter().try_for_each(|k| k.check(row))
    }
}

impl Table for StoredTable {
    fn name(&self) -> &str {
        &self.def.name
    }

    fn full_name(&self) -> &str {
        &self.shape.names.full
    }

    fn stored_id(&self) -> Option<StoredId> {
        Some(StoredId {
            database: self.db.db.id.0,
            object: self.def.id.0,
        })
    }

    fn column_id(&self, column: usize) -> i32 {
        self.def.columns.get(column).map_or(0, |c| c.id)
    }

    fn place(&self) -> (&str, &str) {
        (&self.shape.names.database, &self.shape.names.table)
    }

    fn triggers(&self, event: Event) -> Vec<i32> {
        match self.def.triggers.is_empty() {
            true => Vec::new(),
            false => crate::fired::fired_by(&self.def, event),
        }
    }

    fn rules(&self) -> SqlResult<Rules> {
        rules::of(&self.db, &self.def)
    }

    fn generates(&self) -> bool {
        self.shape.generates
    }

    fn generate(&self, row: &mut Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.make_values(row, cx)
    }

    fn columns(&self) -> &[TableColumn] {
        &self.shape.columns
    }

    fn out_columns(&self) -> Columns {
        self.shape.out.clone()
    }

    fn paths(&self) -> &[AccessPath] {
        &self.shape.paths
    }

    fn partitioning(&self, path: Option<usize>) -> Option<&Partitioning> {
        match path.and_then(|p| self.def.indexes.get(p)) {
            Some(index) if !index.clustered => self.shape.of_indexes.get(path?)?.as_ref(),
            _ => self.shape.of_rows.as_ref(),
        }
    }

    fn rows_about(&self) -> u64 {
        self.row_count()
    }

    fn statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        let of = |column| {
            let made = self.db.statistics.of(&self.db, &self.def, column)?;
            Some(made.statistics)
        };
        let all = self.statistics.get_or_init(|| {
            let columns = self.def.columns.iter();
            columns.map(|_| OnceLock::new()).collect()
        });
        match all.get(column) {
            // Never waits for another thread that looks at the table.
            Some(known) => match known.get() {
                Some(known) => known.clone(),
                None => {
                    let found = of(column);
                    let _ = known.set(found.clone());
                    found
                }
            },
            None => of(column),
        }
    }

    fn size(&self) -> TableSize {
        if let Some(known) = self.size.get() {
            return *known;
        }
        let rows = self.row_count();
        let all = self.def.data_rowsets().iter();
        let pages = all
            .map(|r| self.db.db.pages_about(r.au).unwrap_or(0))
            .sum::<u64>();
        let size = TableSize {
            rows,
            pages: pages.max(1),
        };
        let _ = self.size.set(size);
        size
    }

    fn open(
        &self,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        let (tx, context) = self.enter(cx)?;
        self.note_read(bounds);
        let log = &self.db.db.transactions;
        tx.note_read(log);
        let versions = &self.db.db.engine.versions;
        let reading = versioning::reading(&self.db.db, tx, lock, || {
            let now = || ReadView::now(versions, log);
            context.view.get_or_init(now).clone()
        })?;
        match &reading.view {
            Some(view) => context.deps.note_read_at(log.db, view.owes(log)),
            None => context.deps.note_read(&log.commits),
        }
        let index = bounds
            .and_then(|b| self.def.indexes.get(b.path))
            .filter(|i| !i.clustered);
        let width = self.shape.columns.len();
        match index {
            None => {
                let path = bounds.and_then(|b| self.shape.paths.get(b.path));
                let keys = path.map_or(&[][..], |p| &p.keys);
                let data = (&self.def.data, self.def.partitioned.as_deref());
                let spec = spec(bounds, &reading);
                let cursor = Parts::open(&self.db.db, data, keys, bounds, spec, tx);
                self.check_definition(tx, &reading)?;
                let cursor = cursor?;
                let names = self.shape.names.clone();
                let rows = DataCursor {
                    cursor,
                    tx: tx.clone(),
                    width,
                    names,
                };
                self.completed(Box::new(rows), cx)
            }
            Some(index) => {
                let path = bounds.and_then(|b| self.shape.paths.get(b.path));
                let keys = path.map_or(&[][..], |p| &p.keys);
                let entries = (&index.rowset, index.partitioned.as_deref());
                let spec = spec(bounds, &reading);
                let cursor = Parts::open(&self.db.db, entries, keys, bounds, spec, tx);
                self.check_definition(tx, &reading)?;
                let cursor = cursor?;
                if bounds.is_some_and(|b| b.covering) {
                    return Ok(Box::new(EntryCursor {
                        cursor,
                        held: held(index, width),
                        tx: tx.clone(),
                        width,
                        names: self.shape.names.clone(),
                    }));
                }
                let heap = self.def.is_heap();
                let rows = IndexCursor {
                    cursor,
                    lookups: Some(self.used().data.clone()),
                    base: Base::new(&self.db.db, &self.def, index),
                    locator: index.locator.clone(),
                    heap,
                    reading,
                    tx: tx.clone(),
                    width,
                    names: self.shape.names.clone(),
                };
                self.completed(Box::new(rows), cx)
            }
        }
    }

    fn parts(
        &self,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        wanted: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Vec<Part>>> {
        self.cut(bounds, lock, wanted, cx)
    }

    fn open_part(
        &self,
        part: &Part,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        self.open_cut(part, bounds, lock, cx)
    }

    fn begin_insert(&self, lock: ScanLock, cx: &mut Cx<'_>) -> SqlResult<()> {
        let (tx, _) = self.enter(cx)?;
        self.note_all_updated();
        tx.start_as();
        if tx.isolation() == IsolationLevel::Snapshot {
            let seen = versioning::snapshot(&self.db.db, tx)?;
            self.check_view(tx, seen.as_ref())?;
        }
        let table = Resource::Object(self.db.db.id, self.def.id);
        if lock.grain == LockGrain::Table {
            self.lock(tx, &table, LockMode::X)?;
        } else {
            self.lock(tx, &table, LockMode::IX)?;
        }
        self.check_current()
    }

    fn next_identity(&self, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let tx = transaction(cx)?;
        let n = self.db.catalog.next_identity(tx, &self.def)?;
        let column = self.def.identity_column();
        let ty = column.map_or(SqlType::BIGINT, |i| self.def.columns[i].ty);
        // The catalog gives none out beyond the type.
        Ok(Value::whole(n, &ty).unwrap_or(Value::BigInt(n)))
    }

    fn next_identities(&self, n: usize, cx: &mut Cx<'_>) -> SqlResult<Vec<i64>> {
        let tx = transaction(cx)?;
        self.db.catalog.next_identities(tx, &self.def, n)
    }

    fn note_identity(&self, value: &Value, cx: &mut Cx<'_>) -> SqlResult<()> {
        let tx = transaction(cx)?;
        match value.as_whole() {
            Some(n) => self.db.catalog.note_identity(tx, &self.def, n),
            None => Ok(()),
        }
    }

    fn takes_spooled(&self) -> bool {
        true
    }

    fn insert(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.check_writable()?;
        let tx = transaction(cx)?;
        let row = self.stored(row);
        if self.shape.ignores && self.is_duplicate(tx, &row)? {
            return Err(SqlError::new(&messages::DUPLICATE_KEY_IGNORED, &[]));
        }
        self.check_keys(&row)?;
        rows::insert_row(self.rowsets(), tx, &self.def, &row).map_err(|e| self.named(e, &row))?;
        self.changes().rows(1);
        Ok(())
    }

    fn load(&self, lock: ScanLock, cx: &mut Cx<'_>) -> SqlResult<Option<Box<dyn Load + '_>>> {
        self.loader(lock, cx)
    }

    fn insert_again(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        let tx = transaction(cx)?;
        let row = self.stored(row);
        self.check_keys(&row)?;
        rows::insert_row(self.rowsets(), tx, &self.def, &row).map_err(|e| self.named(e, &row))?;
        Ok(())
    }

    fn update(&self, at: &Locator, old: &Row, new: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.check_writable()?;
        let tx = transaction(cx)?;
        let (old, new) = (self.stored(old.clone()), self.stored(new));
        self.check_keys(&new)?;
        self.note_update(&old, &new);
        let at = from_locator(at)?;
        rows::update_row(self.rowsets(), tx, &self.def, &at, &old, &new)
            .map_err(|e| self.named(e, &new))?;
        self.changes().row(&old, &new);
        Ok(())
    }

    fn delete(&self, at: &Locator, old: &Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.check_writable()?;
        let tx = transaction(cx)?;
        let old = self.stored(old.clone());
        self.note_all_updated();
        rows::delete_row(self.rowsets(), tx, &self.def, &from_locator(at)?, &old)
            .map_err(|e| self.shape.names.in_words(e))?;
        self.changes().rows(1);
        Ok(())
    }
}

/// Rows straight from the heap or clustered index.
struct DataCursor {
    cursor: Parts,
    tx: Arc<Transaction>,
    width: usize,
    names: Arc<Names>,
}

impl RowCursor for DataCursor {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        let next = self.cursor.next(&self.tx);
        Ok(next
            .map_err(|e| self.names.in_words(e))?
            .map(|(at, mut row)| {
                row.truncate(self.width);
                (to_locator(at), row)
            }))
    }

    fn fill(&mut self, wanted: &[usize], out: &mut [Column], _cx: &mut Cx<'_>) -> SqlResult<usize> {
        let filled = self.cursor.fill(&self.tx, wanted, out);
        filled.map_err(|e| self.names.in_words(e))
    }

    fn keep(&mut self) {
        self.cursor.keep();
    }
}

/// The table's column that each of an index's entries' is.
fn held(index: &IndexDef, width: usize) -> Vec<Option<usize>> {
    let column = |s: &IndexSource| match s {
        IndexSource::Column(c) if *c < width => Some(*c),
        _ => None,
    };
    index.sources.iter().map(column).collect()
}

/// Entries of a nonclustered index that hold all that is read.
struct EntryCursor {
    cursor: Parts,
    /// The table's column that each of the entry's is.
    held: Vec<Option<usize>>,
    tx: Arc<Transaction>,
    width: usize,
    names: Arc<Names>,
}

impl RowCursor for EntryCursor {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        let next = self.cursor.next(&self.tx);
        Ok(next
            .map_err(|e| self.names.in_words(e))?
            .map(|(at, entry)| {
                let mut row = vec![Value::Null; self.width];
                for (value, held) in entry.into_iter().zip(&self.held) {
                    if let Some(column) = held {
                        row[*column] = value;
                    }
                }
                (to_locator(at), row)
            }))
    }

    fn fill(&mut self, wanted: &[usize], out: &mut [Column], _cx: &mut Cx<'_>) -> SqlResult<usize> {
        let of_entry = |w: &usize| self.held.iter().position(|held| *held == Some(*w));
        // What the entries have not is asked for with the rest of the row, and looked at by nobody.
        let place = |w: &usize| of_entry(w).unwrap_or(duramen_storage::NOTHING);
        let wanted: Vec<usize> = wanted.iter().map(place).collect();
        let filled = self.cursor.fill(&self.tx, &wanted, out);
        filled.map_err(|e| self.names.in_words(e))
    }

    fn keep(&mut self) {
        self.cursor.keep();
    }
}

/// Entries of a nonclustered index, each looked up in the table.
struct IndexCursor {
    cursor: Parts,
    /// What the first look-up is noted for.
    lookups: Option<Arc<Usage>>,
    base: Base,
    locator: Vec<usize>,
    heap: bool,
    reading: Reading,
    tx: Arc<Transaction>,
    width: usize,
    names: Arc<Names>,
}

impl RowCursor for IndexCursor {
    fn next(&mut self, _cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>> {
        self.look_up().map_err(|e| self.names.in_words(e))
    }

    fn keep(&mut self) {
        self.cursor.keep();
    }
}

impl IndexCursor {
    fn look_up(&mut self) -> SqlResult<Option<(Locator, Row)>> {
        while let Some((_, entry)) = self.cursor.next(&self.tx)? {
            if let Some(used) = self.lookups.take() {
                usage::note(&used, Use::Lookup);
            }
            let values: Vec<Value> = self
                .locator
                .iter()
                .filter_map(|i| entry.get(*i).cloned())
                .collect();
            let at = match (self.heap, values.first()) {
                (true, Some(Value::Binary(b))) => RowLocator::from_rid_bytes(b),
                (true, _) => None,
                (false, _) => Some(RowLocator::Key(values)),
            };
            let at = at.ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?;
            // Another transaction may have deleted the row between the two looks.
            let Some(data) = self.base.of(&entry) else {
                continue;
            };
            if let Some(mut row) = data.fetch(&self.tx, &at, &self.reading)? {
                row.truncate(self.width);
                return Ok(Some((to_locator(at), row)));
            }
        }
        Ok(None)
    }
}
