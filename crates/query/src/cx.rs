//! What a running statement carries from operator to operator.

use std::cell::RefCell;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{ConvertCtx, Value};

use crate::batch::{BATCH_ROWS, Build, Built, Dealt, Incoming};
use crate::host::{Host, Locator, Table, TableColumn};
use crate::in_list::InList;
use crate::kept::{Held, Spool, SpoolReader, Spooled, out_of_memory};
use crate::plan::{Columns, Plan, Row};
use crate::profile::Profile;
use crate::rare::Rare;
use crate::spill::{Grant, Workspace};

/// Bytes of a value that are asked for before it is made.
const LARGE_VALUE: usize = 1 << 20;
/// Bytes of any value, at most.
const MAX_VALUE: usize = 2_147_483_647;

/// The rows that a statement wrote and those that it took away: what `inserted` and `deleted` show.
pub struct Changed {
    pub inserted: Spool,
    pub deleted: Spool,
}

impl Changed {
    /// For rows of this table.
    pub fn of(table: &dyn Table) -> Changed {
        let columns: Columns = table.columns().iter().map(TableColumn::out).collect();
        Changed {
            inserted: Spool::new(&columns),
            deleted: Spool::new(&columns),
        }
    }

    /// The rows written, and those taken away.
    pub fn finish(self) -> SqlResult<(Spooled, Spooled)> {
        Ok((self.inserted.finish()?, self.deleted.finish()?))
    }
}

pub struct Cx<'a> {
    pub host: &'a dyn Host,
    /// The batch's variables, by slot.
    pub vars: &'a mut Vec<Value>,
    /// By how many bytes what they hold has grown.
    pub vars_grown: isize,
    pub convert: ConvertCtx,
    /// Rows of enclosing queries, innermost last.
    outer: Vec<Row>,
    /// Results of uncorrelated subqueries, by plan address, for this statement.
    pub(crate) cached: Rare<usize, Arc<Vec<Row>>>,
    /// The values of uncorrelated IN subqueries, by plan address.
    pub(crate) lists: Rare<usize, Arc<InList>>,
    /// The last round of each running recursion, by its plan's number.
    pub(crate) work: Rare<u64, Arc<Spooled>>,
    /// What is kept until the statement ends.
    held: Held,
    /// Large values that were made and may still be on their way.
    values: RefCell<(Option<Grant>, usize)>,
    /// Who says whether there is room for a large value, where the host does not know.
    pub lender: Option<&'a Arc<Workspace>>,
    /// Where the rows of a modified table lie: the scan of the target adds a column that counts into this.
    pub locators: Vec<Locator>,
    /// Those stay until all rows have been found: they are counted.
    pub keeps_locators: bool,
    /// Every operator runs row by row: what tests hold the operators over columns against.
    pub row_by_row: bool,
    /// The running statement may use more than one thread: no MAXDOP 1 forbids it.
    pub parallel: bool,
    /// Where operators count what they do, when somebody asks.
    pub profile: Option<Arc<Profile>>,
    /// Of a thread that runs a part of a parallel plan: what it shares with the others.
    pub(crate) dealt: Option<Arc<Dealt>>,
    /// The number of a helping thread; 0 for the statement's own.
    pub(crate) thread: u32,
    /// Of a scan that is dealt out by parts: the part that the last batch was of.
    pub(crate) part: usize,
    /// The join, by plan address, whose rows come from other threads: whether the left side is kept, the kept side's rows
    /// and the others.
    pub(crate) incoming: Option<Box<(usize, bool, Incoming, Incoming)>>,
    /// Kept sides of joins that were made before they were opened, and whether those are the left ones, by plan address.
    pub(crate) built: Rare<usize, (bool, Built)>,
    /// How many rows the one who asks for the next batch can use: what nobody uses is not read, locked or computed. At most
    /// [`BATCH_ROWS`], which is what everybody wants who reads to the end.
    pub(crate) wanted: usize,
    /// SET ROWCOUNT: how many rows a statement gives out or changes at most.
    pub row_limit: u64,
    /// Rows of an OUTPUT clause for the client.
    pub output: Option<Box<Spool>>,
    /// The last identity value that the statement made or was given.
    pub identity: Option<i64>,
    /// What a change of a table with triggers did, when they ask for it.
    pub changed: Option<Box<Changed>>,
    /// An index left a duplicate key out (warning 3604).
    pub duplicate_ignored: bool,
    /// An aggregate met a NULL (warning 8153).
    pub null_eliminated: bool,
}

/// Gives a variable its next value; by how many bytes what it holds has grown.
#[inline]
pub fn assign(variable: &mut Value, value: Value) -> isize {
    if variable.owns_memory() || value.owns_memory() {
        let grown = value.heap_bytes() as isize;
        let before = std::mem::replace(variable, value);
        return grown - before.heap_bytes() as isize;
    }
    // Most of what loops compute: there is nothing to give back.
    std::mem::forget(std::mem::replace(variable, value));
    0
}

impl<'a> Cx<'a> {
    /// Gives a variable its next value.
    #[inline]
    pub fn set_variable(&mut self, slot: usize, value: Value) {
        self.vars_grown += assign(&mut self.vars[slot], value);
    }

    pub fn new(host: &'a dyn Host, vars: &'a mut Vec<Value>, convert: ConvertCtx) -> Cx<'a> {
        Cx {
            host,
            vars,
            vars_grown: 0,
            convert,
            outer: Vec::new(),
            cached: Rare::default(),
            lists: Rare::default(),
            work: Rare::default(),
            held: Held::default(),
            values: RefCell::default(),
            lender: None,
            locators: Vec::new(),
            keeps_locators: false,
            row_by_row: false,
            parallel: true,
            profile: None,
            dealt: None,
            thread: 0,
            part: 0,
            incoming: None,
            built: Rare::default(),
            wanted: BATCH_ROWS,
            row_limit: u64::MAX,
            output: None,
            identity: None,
            changed: None,
            duplicate_ignored: false,
            null_eliminated: false,
        }
    }

    /// Does something that can use at most `rows` rows of each batch.
    pub fn asking<T>(&mut self, rows: u64, work: impl FnOnce(&mut Self) -> T) -> T {
        let rows = usize::try_from(rows).map_or(BATCH_ROWS, |n| n.clamp(1, BATCH_ROWS));
        let before = std::mem::replace(&mut self.wanted, rows);
        let done = work(self);
        self.wanted = before;
        done
    }

    /// The kept side of a join, where one was made for all threads.
    pub(crate) fn shared_build(&self, join: &Plan) -> Option<Arc<Build>> {
        self.dealt.as_ref()?.build_of(join)
    }

    /// The kept side of a join, where one was made for this thread alone.
    pub(crate) fn take_built(&mut self, join: &Plan) -> Option<(bool, Built)> {
        self.built.remove(&std::ptr::from_ref(join).addr())
    }

    /// Where the rows of a join come from other threads: whether its left side is kept, that side's, and the others.
    pub(crate) fn take_incoming(&mut self, join: &Plan) -> Option<(bool, Incoming, Incoming)> {
        let meant =
            |i: &mut Box<(usize, bool, Incoming, Incoming)>| i.0 == std::ptr::from_ref(join).addr();
        let (_, left, build, probe) = *self.incoming.take_if(meant)?;
        Some((left, build, probe))
    }

    pub(crate) fn outer_row(&self, depth: usize) -> &Row {
        &self.outer[self.outer.len() - depth]
    }

    pub(crate) fn push_outer(&mut self, row: &[Value]) {
        self.outer.push(row.to_vec());
    }

    pub(crate) fn pop_outer(&mut self) {
        self.outer.pop();
    }

    /// Gives out the rows of an OUTPUT clause for the client.
    pub fn send_output(&mut self, send: &mut dyn FnMut(&Row)) -> SqlResult<()> {
        let Some(rows) = self.output.take() else {
            return Ok(());
        };
        let mut reader = SpoolReader::new(Arc::new(rows.finish()?));
        while let Some(some) = reader.next(crate::exec::BATCH_ROWS)? {
            self.check_cancelled()?;
            some.iter().for_each(&mut *send);
        }
        Ok(())
    }

    /// Counts what is kept until the statement ends; 701 where there is no room for it.
    pub fn keep(&mut self, bytes: usize) -> SqlResult<()> {
        let mut held = std::mem::take(&mut self.held);
        let kept = held.must(bytes, self);
        self.held = held;
        kept
    }

    /// Whether a value of so many bytes may be made: 7119 for one that is too large for its type, 701 for one that there
    /// is no memory.
    pub(crate) fn room_for(&self, bytes: usize) -> SqlResult<()> {
        match bytes {
            0..LARGE_VALUE => Ok(()),
            LARGE_VALUE..=MAX_VALUE if self.could_lend(bytes) => Ok(()),
            LARGE_VALUE..=MAX_VALUE => Err(out_of_memory()),
            _ => Err(SqlError::new(&messages::LOB_TOO_LARGE, &[&MAX_VALUE])),
        }
    }

    #[cold]
    fn could_lend(&self, bytes: usize) -> bool {
        match self.lender {
            Some(workspace) => workspace.could_lend(bytes),
            None => self.host.workspace().could_lend(bytes),
        }
    }

    /// Counts a value that was made, if it is large, until [`Cx::values_gone`].
    pub(crate) fn made(&self, value: Value) -> SqlResult<Value> {
        match value.heap_bytes() {
            0..LARGE_VALUE => Ok(value),
            bytes => self.counted(bytes).map(|()| value),
        }
    }

    /// The same before it is made, of whose bytes `more` are not counted yet: 7119 for one that is too large for its type, 701
    /// for one that there is no memory for.
    pub(crate) fn make(&self, bytes: usize, more: usize) -> SqlResult<()> {
        match (bytes, more) {
            (n, _) if n > MAX_VALUE => self.room_for(n),
            (_, 0..LARGE_VALUE) => Ok(()),
            _ => self.counted(more),
        }
    }

    #[cold]
    fn counted(&self, bytes: usize) -> SqlResult<()> {
        let mut values = self.values.borrow_mut();
        let (grant, all) = &mut *values;
        let grant = grant.get_or_insert_with(|| {
            Grant::of_values(match self.lender {
                Some(workspace) => workspace.clone(),
                None => self.host.workspace(),
            })
        });
        if !grant.hold(*all + bytes) {
            return Err(out_of_memory());
        }
        *all += bytes;
        Ok(())
    }

    /// Bytes of the large values on their way.
    pub(crate) fn values_made(&self) -> usize {
        self.values.borrow().1
    }

    /// Whoever has asked for the values so far has taken them.
    pub(crate) fn values_gone(&self) {
        if self.values_made() > 0 {
            *self.values.borrow_mut() = (None, 0);
        }
    }

    /// An attention ends a statement between batches of rows, and so does a process that has no memory left, when this
    /// statement has taken much of it (701).
    pub fn check_cancelled(&self) -> SqlResult<()> {
        if self.host.cancelled() {
            return Err(cancelled());
        }
        match duramen_os::heap::is_pressed_here() {
            true => Err(duramen_os::memory::out_of_memory()),
            false => Ok(()),
        }
    }

    /// [`Cx::check_cancelled`] at some rows of many, of which this is the `at`th.
    pub(crate) fn check_at(&self, at: usize) -> SqlResult<()> {
        match at % UNWATCHED == UNWATCHED - 1 {
            true => self.check_cancelled(),
            false => Ok(()),
        }
    }
}

/// How many rows are gone through without a look at whether the statement is still wanted.
pub(crate) const UNWATCHED: usize = 1 << 15;

/// The error that carries a cancellation up; it is never sent to the client.
pub fn cancelled() -> duramen_base::SqlError {
    duramen_base::SqlError::given_up()
}
