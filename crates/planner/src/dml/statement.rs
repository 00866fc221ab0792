//! A statement that changes rows, bound.

use std::sync::Arc;

use duramen_query::host::Table;
use duramen_query::{Expr, Plan, ScanLock};

use super::columns::ColumnValue;
use super::guard::Guard;
use super::output::Output;

/// A bound statement that changes rows.
#[derive(Debug)]
pub struct Dml {
    pub(super) table: Arc<dyn Table>,
    pub(super) guard: Guard,
    pub(super) output: Option<Output>,
    pub(super) action: Action,
    /// OPTION (MAXDOP 1)
    pub(super) serial: bool,
}

#[derive(Debug)]
pub(super) enum Action {
    Insert {
        source: InsertSource,
        columns: Vec<ColumnValue>,
        lock: ScanLock,
    },
    Update {
        plan: Plan,
        /// Where the target's columns start in the plan's rows.
        offset: usize,
        assignments: Vec<(usize, Expr)>,
        variables: Vec<(usize, Expr)>,
    },
    Delete {
        plan: Plan,
        offset: usize,
    },
}

#[derive(Debug)]
pub(super) enum InsertSource {
    /// One row of values for the columns named.
    Row(Vec<Expr>),
    Rows(Vec<Vec<Expr>>),
    Query(Box<Plan>),
}
