//! What a running statement carries from operator to operator.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::{ConvertCtx, Value};

use crate::batch::{Build, Built, Dealt, Incoming};
use crate::host::{Host, Locator};
use crate::plan::{Plan, Row};
use crate::profile::Profile;

/// The rows that a statement wrote and those that it took away: what `inserted` and `deleted` show.
#[derive(Debug, Default)]
pub struct Changed {
    pub inserted: Vec<Row>,
    pub deleted: Vec<Row>,
}

pub struct Cx<'a> {
    pub host: &'a dyn Host,
    /// The batch's variables, by slot.
    pub vars: &'a mut Vec<Value>,
    pub convert: ConvertCtx,
    /// Rows of enclosing queries, innermost last.
    outer: Vec<Row>,
    /// Results of uncorrelated subqueries, by plan address, for this statement.
    pub(crate) cached: BTreeMap<usize, Arc<Vec<Row>>>,
    /// The values of uncorrelated IN subqueries in order, and whether NULL is among them, by plan address.
    pub(crate) sets: BTreeMap<usize, Arc<(Vec<Value>, bool)>>,
    /// The last round of each running recursion, by its plan's number.
    pub(crate) work: BTreeMap<u64, Arc<Vec<Row>>>,
    /// Where the rows of a modified table lie: the scan of the target adds a column that counts into this.
    pub(crate) locators: Vec<Locator>,
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
    pub(crate) incoming: Option<(usize, bool, Incoming, Incoming)>,
    /// Kept sides of joins that were made before they were opened, and whether those are the left ones, by plan address.
    pub(crate) built: BTreeMap<usize, (bool, Built)>,
    /// SET ROWCOUNT: how many rows a statement gives out or changes at most.
    pub row_limit: u64,
    /// Rows of an OUTPUT clause for the client.
    pub output: Vec<Row>,
    /// The last identity value that the statement made or was given.
    pub identity: Option<i64>,
    /// What a change of a table with triggers did, when they ask for it.
    pub changed: Option<Changed>,
    /// An index left a duplicate key out (warning 3604).
    pub duplicate_ignored: bool,
    /// An aggregate met a NULL (warning 8153).
    pub null_eliminated: bool,
}

impl<'a> Cx<'a> {
    pub fn new(host: &'a dyn Host, vars: &'a mut Vec<Value>, convert: ConvertCtx) -> Cx<'a> {
        Cx {
            host,
            vars,
            convert,
            outer: Vec::new(),
            cached: BTreeMap::new(),
            sets: BTreeMap::new(),
            work: BTreeMap::new(),
            locators: Vec::new(),
            row_by_row: false,
            parallel: true,
            profile: None,
            dealt: None,
            thread: 0,
            part: 0,
            incoming: None,
            built: BTreeMap::new(),
            row_limit: u64::MAX,
            output: Vec::new(),
            identity: None,
            changed: None,
            duplicate_ignored: false,
            null_eliminated: false,
        }
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
            |i: &mut (usize, bool, Incoming, Incoming)| i.0 == std::ptr::from_ref(join).addr();
        let (_, left, build, probe) = self.incoming.take_if(meant)?;
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

    /// An attention ends a statement between batches of rows.
    pub fn check_cancelled(&self) -> SqlResult<()> {
        if self.host.cancelled() {
            Err(cancelled())
        } else {
            Ok(())
        }
    }
}

/// The error that carries a cancellation up; it is never sent to the client.
pub fn cancelled() -> duramen_base::SqlError {
    duramen_base::SqlError {
        number: 0,
        severity: 11,
        state: 0,
        message: "Query was canceled by user.".to_owned(),
        procedure: None,
        line: 0,
        earlier: Vec::new(),
    }
}
