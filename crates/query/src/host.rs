//! What query asks of the world around it: tables, functions of the session, variables. The session implements it;
//! a test can implement it in a page.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duramen_base::{DbId, PageId, SqlResult};
use duramen_columns::statistics::ColumnStatistics;
use duramen_tsql::ast;
use duramen_types::batch::Column;
use duramen_types::{SqlType, Value};

use crate::cx::Cx;
use crate::execution::ExecutionContext;
use crate::expr::Expr;
use crate::kept::row_bytes;
use crate::locking::ScanLock;
use crate::plan::{Columns, OutColumn, Row};
use crate::rules::{Generated, Rules};
use crate::spill::{SpillFile, SpilledInMemory, Workspace};

/// What a row operator keeps without asking. *Assumed*: what hundreds of operators may have beside all that is counted.
pub const KEPT_UNASKED: usize = 64 << 10;

/// A column of a table, as binding sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: bool,
    /// The text of the DEFAULT, bound when an INSERT needs it.
    pub default: Option<String>,
    pub generated: Generated,
}

impl TableColumn {
    /// Whether the table makes its values.
    pub fn is_generated(&self) -> bool {
        self.generated != Generated::No
    }

    /// As a scan of its table gives it out.
    pub fn out(&self) -> OutColumn {
        OutColumn {
            name: self.name.as_str().into(),
            ty: self.ty,
            nullable: self.nullable,
            identity: self.identity,
            updatable: true,
        }
    }
}

/// An access path: a key that a scan can seek in.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPath {
    pub name: String,
    pub unique: bool,
    /// Column ordinals of the key, with DESC.
    pub keys: Vec<(usize, bool)>,
    /// Every column can be had from it without a second look-up (the clustered index).
    pub covers_all: bool,
    /// The columns that can be had from its entries alone.
    pub columns: Vec<usize>,
    /// A scan through it gives rows in the order of its key, and any prefix of the key can be sought.
    pub ordered: bool,
}

/// How large a table is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSize {
    pub rows: u64,
    /// Of its rows; 0 where nobody counts them.
    pub pages: u64,
}

/// Where a row lies, as the table that gave it out understands it.
#[derive(Clone, Debug, PartialEq)]
pub enum Locator {
    Rid(PageId, u16),
    Key(Vec<Value>),
    Number(u64),
}

impl Locator {
    /// Bytes of memory, about.
    pub fn bytes(&self) -> usize {
        let own = size_of::<Locator>();
        match self {
            Locator::Key(values) => own + row_bytes(values),
            Locator::Rid(..) | Locator::Number(_) => own,
        }
    }
}

/// An end of a range, and whether it belongs to it.
pub type Limit = Option<(Value, bool)>;

/// A scan's bounds with their values. The first `equal.len()` key columns are fixed; the next one has the range.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    pub path: usize,
    pub equal: Vec<Value>,
    pub lower: Option<(Value, bool)>,
    pub upper: Option<(Value, bool)>,
    /// From the last row to the first.
    pub backward: bool,
    /// The path's entries suffice: columns that they do not hold may be given as NULL.
    pub covering: bool,
    /// Rows beyond it are not asked for: partitions may be left out.
    pub reach: Option<Reached>,
}

/// Values of a column that rows are asked for with.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    pub column: usize,
    pub lower: Limit,
    pub upper: Limit,
    /// Unless it is empty: within one of these ranges, too.
    pub any: Vec<(Limit, Limit)>,
}

impl Bounds {
    /// The `path` of a scan that follows none.
    pub const NO_PATH: usize = usize::MAX;
}

/// How the rows of a table, or the entries of an index, are spread over partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    pub column: usize,
    /// RANGE RIGHT
    pub right: bool,
    /// Ascending.
    pub boundaries: Vec<Value>,
    pub ty: SqlType,
}

impl Partitioning {
    /// The partition of a value, from 1.
    pub fn number(&self, value: &Value) -> usize {
        use std::cmp::Ordering;
        let order = |b: &Value| match (b.is_null(), value.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => duramen_types::compare(b, value, self.ty.collation),
        };
        let below = |b: &Value| match order(b) {
            Ordering::Equal => self.right,
            other => other == Ordering::Less,
        };
        self.boundaries.partition_point(below) + 1
    }
}

/// Some rows of a scan: one of several parts that together give each of its rows once.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Pages of a heap.
    Pages(Vec<PageId>),
    /// Keys from the first on, and before the second.
    Keys(Option<Vec<Value>>, Option<Vec<Value>>),
    /// The same of one partition, by its number from 0.
    Partition(usize, Box<Part>),
}

/// How many threads a statement may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parallelism {
    /// The server's `max degree of parallelism`; 0 for as many as there are processors.
    pub max_degree: u64,
    /// `cost threshold for parallelism`, in the unit of estimated plans.
    pub threshold: f64,
    pub processors: usize,
    /// Rows, groups and kept sides of joins change threads from so many on.
    pub sent_from: f64,
}

impl Parallelism {
    /// One thread.
    pub const NONE: Parallelism = Parallelism {
        max_degree: 1,
        threshold: f64::INFINITY,
        processors: 1,
        sent_from: f64::INFINITY,
    };

    /// Where sending rows to other threads begins to be worth starting more threads for it. *Assumed.*
    pub const SENT_FROM: usize = 4096;

    /// How many threads may run a statement of that estimated cost; `hint` is OPTION (MAXDOP n).
    pub fn degree(&self, cost: f64, hint: Option<u64>) -> usize {
        /// Workers of a statement, at most.
        const MOST: usize = 64;
        if cost <= self.threshold {
            return 1;
        }
        let wanted = match hint.unwrap_or(self.max_degree) {
            0 => usize::MAX,
            n => usize::try_from(n).unwrap_or(usize::MAX),
        };
        wanted.min(self.processors).clamp(1, MOST)
    }
}

/// What threads that run parts of a plan see of the host. Lives as long as they do.
pub trait WorkerHost: Send + Sync {
    /// Calls `f` on this thread with its host. What waits in there ends when `stop` is set. `number` counts from 1.
    fn work(&self, number: u32, stop: &Arc<AtomicBool>, f: &mut dyn FnMut(&dyn Host));
    /// The threads have ended: what they have read counts as read by the calling one.
    fn collect(&self) {}
}

/// What the hints of a table say about reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScanHint {
    #[default]
    None,
    /// INDEX (0): the table itself, from one end to the other.
    Whole,
    /// INDEX (...): this access path, by position.
    Index(usize),
    /// FORCESEEK
    Seek,
    /// FORCESCAN
    Scan,
}

/// What fires triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Insert,
    Update,
    Delete,
}

/// A cursor over a table. Rows come with all columns in order.
pub trait RowCursor {
    fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<(Locator, Row)>>;

    /// Appends some of the next rows to `out`, one column for each of `wanted` (places of columns). How many; 0 at the
    /// end. Rows are given out once, by this or by `next`.
    fn fill(&mut self, wanted: &[usize], out: &mut [Column], cx: &mut Cx<'_>) -> SqlResult<usize> {
        let (mut rows, mut bytes) = (0, 0);
        while rows < crate::exec::BATCH_ROWS
            && bytes < crate::passing::TOGETHER
            && let Some((_, mut row)) = self.next(cx)?
        {
            for (column, at) in out.iter_mut().zip(wanted) {
                let value = std::mem::take(&mut row[*at]);
                bytes += value.heap_bytes();
                column.push(value);
            }
            rows += 1;
        }
        Ok(rows)
    }

    /// The row given last will be changed: its update lock stays, where the next call would give it back.
    fn keep(&mut self) {}
}

/// Takes the rows of a statement that inserts many. An error may be that of a row that was given earlier.
pub trait Load {
    fn put(&mut self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()>;
    /// Rows by column, one for each of the table's: values as the table stores them. Only for tables that make none
    /// themselves.
    fn put_columns(
        &mut self,
        columns: &[Arc<Column>],
        rows: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        for i in 0..rows {
            self.put(columns.iter().map(|c| c.get(i)).collect(), cx)?;
        }
        Ok(())
    }
    /// Bytes that it keeps until the end.
    fn held(&self) -> usize {
        0
    }
    /// Keeps nothing of what has come so far.
    fn settle(&mut self, _cx: &mut Cx<'_>) -> SqlResult<()> {
        Ok(())
    }
    /// The last row has been given.
    fn finish(&mut self, cx: &mut Cx<'_>) -> SqlResult<()>;
}

/// A table of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredId {
    pub database: u16,
    pub object: i32,
}

impl StoredId {
    /// Whether other sessions know it, too, and may add an index to it: neither in tempdb nor the system's own.
    pub fn is_common(self) -> bool {
        const FIRST_USER_OBJECT: i32 = 100;
        self.database != DbId::TEMPDB.0 && self.object >= FIRST_USER_OBJECT
    }
}

/// A table that holds rows: stored, temporary, or a variable.
pub trait Table: fmt::Debug + Send + Sync {
    fn name(&self) -> &str;
    /// `db.schema.table`, for messages 515 and 2627.
    fn full_name(&self) -> &str;
    /// The database and `schema.table`, for message 547 and for names in the texts of constraints.
    fn place(&self) -> (&str, &str) {
        ("", self.full_name())
    }
    /// Where a catalog has it; `None` for variables and whatever else lies in memory alone.
    fn stored_id(&self) -> Option<StoredId> {
        None
    }
    /// The catalog's number of a column.
    fn column_id(&self, column: usize) -> i32 {
        column as i32 + 1
    }
    fn columns(&self) -> &[TableColumn];
    /// Its columns as a scan gives them out.
    fn out_columns(&self) -> Columns {
        self.columns().iter().map(TableColumn::out).collect()
    }
    /// The enabled constraints, keys apart.
    fn rules(&self) -> SqlResult<Rules> {
        Ok(Rules::default())
    }
    /// The triggers that a change of this kind fires, by object id.
    fn triggers(&self, _event: Event) -> Vec<i32> {
        Vec::new()
    }
    /// Whether a row to be inserted may hold spooled values.
    fn takes_spooled(&self) -> bool {
        false
    }
    /// Whether [`Table::generate`] has anything to do.
    fn generates(&self) -> bool {
        false
    }
    /// Makes the values of computed and rowversion columns of a row that is to be written.
    fn generate(&self, _row: &mut Row, _cx: &mut Cx<'_>) -> SqlResult<()> {
        Ok(())
    }
    fn paths(&self) -> &[AccessPath];
    /// The partitions of an access path, or of the table itself.
    fn partitioning(&self, _path: Option<usize>) -> Option<&Partitioning> {
        None
    }
    /// How many rows it has, without a look at them.
    fn rows_about(&self) -> u64 {
        0
    }
    /// What is known of a column's values.
    fn statistics(&self, _column: usize) -> Option<Arc<ColumnStatistics>> {
        None
    }
    /// Its size when it was first asked for, for choosing plans.
    fn size(&self) -> TableSize {
        TableSize::default()
    }
    fn open(
        &self,
        bounds: Option<&Bounds>,
        lock: ScanLock,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>>;
    /// Cuts a reader's scan in about `wanted` parts, and takes the locks that it needs. `None` where it has to stay whole.
    fn parts(
        &self,
        _bounds: Option<&Bounds>,
        _lock: ScanLock,
        _wanted: usize,
        _cx: &mut Cx<'_>,
    ) -> SqlResult<Option<Vec<Part>>> {
        Ok(None)
    }
    /// Reads one of the parts that this table has made, under the same bounds and lock.
    fn open_part(
        &self,
        _part: &Part,
        _bounds: Option<&Bounds>,
        _lock: ScanLock,
        _cx: &mut Cx<'_>,
    ) -> SqlResult<Box<dyn RowCursor>> {
        Err(nobody())
    }
    /// An INSERT into the table begins: takes what the hints on its target ask for.
    fn begin_insert(&self, _lock: ScanLock, _cx: &mut Cx<'_>) -> SqlResult<()> {
        Ok(())
    }
    /// The next identity value, as the column's type.
    fn next_identity(&self, cx: &mut Cx<'_>) -> SqlResult<Value>;
    /// The next `n` identity values, for identity columns of whole numbers.
    fn next_identities(&self, n: usize, cx: &mut Cx<'_>) -> SqlResult<Vec<i64>> {
        let next = |_| Ok(self.next_identity(cx)?.as_i64().unwrap_or_default());
        (0..n).map(next).collect()
    }
    /// An explicit value for the identity column: later ones go on from it.
    fn note_identity(&self, _value: &Value, _cx: &mut Cx<'_>) -> SqlResult<()> {
        Ok(())
    }
    fn insert(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()>;
    /// Many rows are to come, after [`Table::begin_insert`] with the same lock: who takes them. `None`: they come one by
    /// one.
    fn load(&self, _lock: ScanLock, _cx: &mut Cx<'_>) -> SqlResult<Option<Box<dyn Load + '_>>> {
        Ok(None)
    }
    /// A row comes back with the values that an UPDATE gave it: no index may leave it out.
    fn insert_again(&self, row: Row, cx: &mut Cx<'_>) -> SqlResult<()> {
        self.insert(row, cx)
    }
    fn update(&self, at: &Locator, old: &Row, new: Row, cx: &mut Cx<'_>) -> SqlResult<()>;
    fn delete(&self, at: &Locator, old: &Row, cx: &mut Cx<'_>) -> SqlResult<()>;
    /// The statement that changed it has ended. Tables that no transaction keeps undo their part of one that failed.
    fn statement_ended(&self, _succeeded: bool) {}
}

#[derive(Clone, Debug)]
pub struct TableSource {
    pub def: Arc<dyn Table>,
    /// Its name in the query; empty for its own.
    pub alias: String,
    pub hint: ScanHint,
    /// The columns that are read of it; `None`: all.
    pub needed: Option<Vec<usize>>,
}

/// A view computed from the engine's state: a DMV, a catalog view, `fn_dblog`.
pub trait VirtualTable: fmt::Debug + Send + Sync {
    fn name(&self) -> &str;
    fn columns(&self) -> &[TableColumn];
    /// The parameters of a user's function: arguments are brought to their types.
    fn parameters(&self) -> Option<&[FunctionParameter]> {
        None
    }
    /// Whether a statement that reads it may find what it has itself written.
    fn may_change(&self) -> bool {
        true
    }
    /// The rows, made as they are asked for.
    fn rows(&self, host: &dyn Host, args: &[Value]) -> SqlResult<RowStream>;
}

/// Rows that come one by one.
pub type RowStream = Box<dyn Iterator<Item = SqlResult<Row>>>;

/// A view: its query, bound anew wherever it is used.
#[derive(Debug)]
pub struct View {
    pub name: String,
    /// Where the names in its query are looked up.
    pub database: String,
    /// The column list of CREATE VIEW; empty: the query's names.
    pub columns: Vec<String>,
    pub query: ast::SelectStmt,
    /// It is one of the system's.
    pub system: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct FunctionParameter {
    /// With the `@`.
    pub name: String,
    pub ty: SqlType,
    pub default: Option<ast::Expr>,
}

/// An inline table-valued function: a view with parameters.
#[derive(Debug)]
pub struct InlineFunction {
    pub name: String,
    pub database: String,
    pub parameters: Vec<FunctionParameter>,
    pub query: ast::SelectStmt,
}

/// A scalar function of a user.
pub trait UserFunction: fmt::Debug + Send + Sync {
    fn name(&self) -> &str;
    fn parameters(&self) -> &[FunctionParameter];
    fn returns(&self) -> SqlType;
    /// For the host that made it and runs it.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// What a name in FROM turned out to be.
pub enum Source {
    View(Arc<View>),
    Table(Arc<dyn Table>),
    Virtual(Arc<dyn VirtualTable>),
}

/// A host that knows nothing: expressions that are self-contained need no more.
#[derive(Debug)]
pub struct Nowhere;

impl Host for Nowhere {
    fn source(&self, _name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        Ok(None)
    }
    fn table_function(&self, _name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        Ok(None)
    }
    fn function_type(&self, _name: &str) -> Option<SqlType> {
        None
    }
    fn function(&self, _name: &str, _args: &[Value]) -> SqlResult<Value> {
        Err(nobody())
    }
    fn global_type(&self, _name: &str) -> Option<(&'static str, SqlType)> {
        None
    }
    fn global(&self, _name: &str) -> SqlResult<Value> {
        Err(nobody())
    }
    fn variable(&self, _name: &str) -> Option<(usize, SqlType)> {
        None
    }
    fn table_variable(&self, _name: &str) -> Option<Arc<dyn Table>> {
        None
    }
    fn now(&self) -> (u64, i16) {
        (0, 0)
    }
    fn random(&self) -> u64 {
        0
    }
    fn cancelled(&self) -> bool {
        false
    }
    fn bind_default(&self, _text: &str) -> SqlResult<Expr> {
        Err(nobody())
    }
    fn execution(&self) -> Option<&ExecutionContext> {
        None
    }
    fn session(&self) -> &dyn std::any::Any {
        self
    }
}

fn nobody() -> duramen_base::SqlError {
    duramen_base::SqlError::new(&duramen_base::messages::INTERNAL_QUERY_ERROR, &[])
}

/// The session, as binding and evaluation see it.
pub trait Host {
    /// Where names without a database are looked up.
    fn database(&self) -> &str {
        ""
    }
    /// A table, view or DMV; `None` when there is no such object.
    fn source(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>>;
    /// The same of what a statement changes, or looks for keys in: that need not be readable.
    fn target(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        self.source(name)
    }
    /// A table-valued function.
    fn table_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>>;
    /// An inline function of a user.
    fn inline_function(&self, _name: &ast::ObjectName) -> SqlResult<Option<Arc<InlineFunction>>> {
        Ok(None)
    }
    /// A scalar function of a user.
    fn scalar_function(&self, _name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn UserFunction>>> {
        Ok(None)
    }
    /// Runs a function that this host gave out: its value, and its rows if it makes a table.
    fn call_function(
        &self,
        _function: &dyn UserFunction,
        _args: Vec<Value>,
    ) -> SqlResult<(Value, Vec<Row>)> {
        let error = &duramen_base::messages::INTERNAL_QUERY_ERROR;
        Err(duramen_base::SqlError::new(error, &[]))
    }
    /// The same world seen from a database, without variables: what a view's or function's query sees. Inside a view of
    /// the system nothing is asked of who looks at it: that was asked of the view.
    fn within(&self, _database: &str, _of_system: bool) -> Option<Box<dyn Host + '_>> {
        None
    }
    /// The compatibility level of the database whose language is spoken here.
    fn compatibility_level(&self) -> u8 {
        160
    }
    /// The type of a session function; `None` when there is none of that (lower-case) name.
    fn function_type(&self, name: &str) -> Option<SqlType>;
    /// How many arguments a session function takes, at least and at most.
    fn function_arguments(&self, _name: &str) -> (usize, usize) {
        (0, usize::MAX)
    }
    fn function(&self, name: &str, args: &[Value]) -> SqlResult<Value>;
    /// The name kept and type of a global such as `@@rowcount`.
    fn global_type(&self, name: &str) -> Option<(&'static str, SqlType)>;
    fn global(&self, name: &str) -> SqlResult<Value>;
    /// Slot and type of a declared variable (name with `@`, any case).
    fn variable(&self, name: &str) -> Option<(usize, SqlType)>;
    fn table_variable(&self, name: &str) -> Option<Arc<dyn Table>>;
    /// Nanoseconds since 1970-01-01 UTC and the offset of local time in minutes.
    fn now(&self) -> (u64, i16);
    fn random(&self) -> u64;
    /// The collation of the current database: of literals, variables and what else has none of its own.
    fn collation(&self) -> duramen_types::CollationId {
        duramen_types::CollationId::DEFAULT
    }
    /// SET IDENTITY_INSERT, as the statement that is bound finds it: whether the table is given values for its identity
    /// column.
    fn identity_insert(&self, _table: &dyn Table) -> bool {
        false
    }
    /// SET ANSI_NULLS, as the statement that is bound finds it.
    fn ansi_nulls(&self) -> bool {
        true
    }
    /// RAND: the next number of the session's sequence, begun anew at `seed`.
    fn rand(&self, seed: Option<i32>) -> f64 {
        let bits = seed.map_or_else(|| self.random(), |s| (s as u64) << 11) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }
    fn cancelled(&self) -> bool;
    /// How many threads a statement may use.
    fn parallelism(&self) -> Parallelism {
        Parallelism::NONE
    }
    /// What other threads that run a part of this statement see. `None`: it has to run on this one.
    fn for_workers(&self) -> Option<Arc<dyn WorkerHost>> {
        None
    }
    /// UPDATE(column): whether the statement that fired the running trigger gave the column a value; `None` outside of
    /// triggers, and for columns that the table has not.
    fn column_assigned(&self, _column: &str) -> Option<bool> {
        None
    }
    /// The memory that operators may keep rows in.
    fn workspace(&self) -> Arc<Workspace> {
        Workspace::new(usize::MAX)
    }
    /// Bytes that a row operator keeps before it asks for any.
    fn keeps_unasked(&self) -> usize {
        KEPT_UNASKED
    }
    /// A new file for rows that find no room there.
    fn spill_file(&self) -> SqlResult<Box<dyn SpillFile>> {
        Ok(Box::new(SpilledInMemory::default()))
    }
    /// Keeps an expression bound from a column's DEFAULT text.
    fn bind_default(&self, text: &str) -> SqlResult<Expr>;
    /// What a statement's reads and writes run in; none while binding.
    fn execution(&self) -> Option<&ExecutionContext>;
    /// What the implementer wants views and functions to find again: they know its type, this room does not.
    fn session(&self) -> &dyn std::any::Any;
}
