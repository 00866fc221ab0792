//! Plans: a tree of operators with every expression bound. A plan is immutable and can be run any number of times.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::{SqlType, Value};

use crate::cx::Cx;
use crate::exec;
use crate::expr::Expr;
use crate::host::{TableSource, VirtualTable};
use crate::kept::{Held, rows_bytes};
use crate::locking::ScanLock;

pub type Row = Vec<Value>;

/// A column that a plan gives out.
#[derive(Clone, Debug)]
pub struct OutColumn {
    pub name: Arc<str>,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: bool,
    /// A plain column of a base table.
    pub updatable: bool,
}

impl OutColumn {
    /// A computed column without a name.
    pub fn unnamed(ty: SqlType, nullable: bool) -> OutColumn {
        OutColumn {
            name: Arc::default(),
            ty,
            nullable,
            identity: false,
            updatable: false,
        }
    }
}

/// The columns of a plan, one list for all plans over each other that give out the same.
pub type Columns = Arc<[OutColumn]>;

#[derive(Debug)]
pub struct Plan {
    pub node: Node,
    pub columns: Columns,
    /// Reads a row of an enclosing query.
    pub correlated: bool,
}

impl Plan {
    /// Whoever takes the rows of the plan knows values that are not in memory.
    pub fn lending(mut self) -> Plan {
        crate::lent::mark(&mut self);
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

/// What an access path is asked to find: equality on a prefix of the key, then a range on the next column.
#[derive(Clone, Debug, Default)]
pub struct Seek {
    /// Position in the table's `indexes`; 0 is the clustered index or heap.
    pub index: usize,
    pub equal: Vec<Expr>,
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
    /// From the last row to the first.
    pub backward: bool,
    /// The index's entries hold every column that is read: the table is not looked at, other columns are NULL.
    pub covering: bool,
}

/// An end of a range, and whether rows equal to it are among them.
pub type Side = (Expr, bool);

impl Reach {
    /// Every value in it.
    pub fn values(&self) -> impl Iterator<Item = &Expr> {
        let any = self.any.iter().flat_map(|(l, u)| l.iter().chain(u));
        let all = self.lower.iter().chain(&self.upper).chain(any);
        all.map(|(e, _)| e)
    }
}

/// What is known of the partitions that a scan has to read, from conditions on the partitioning column. Values free of
/// columns; NULL says nothing. The conditions themselves stay in the filter above.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The partitioning column.
    pub column: usize,
    pub lower: Option<Side>,
    pub upper: Option<Side>,
    /// Unless it is empty: every row is within one of these, too.
    pub any: Vec<(Option<Side>, Option<Side>)>,
    /// The share of the rows that is read, as far as it was guessed.
    pub share: f64,
}

#[derive(Debug)]
pub enum Node {
    OneRow,
    Values(Vec<Vec<Expr>>),
    Scan {
        table: TableSource,
        seek: Option<Seek>,
        /// Of a table or index with partitions.
        reach: Option<Box<Reach>>,
        lock: ScanLock,
        forward: bool,
    },
    Virtual {
        table: Arc<dyn VirtualTable>,
        args: Vec<Expr>,
    },
    Filter {
        input: Box<Plan>,
        predicate: Expr,
    },
    Project {
        input: Box<Plan>,
        exprs: Vec<Expr>,
    },
    /// SELECT @x = e, ...: row by row, each variable in turn; gives out rows without columns, to be counted.
    Assign {
        input: Box<Plan>,
        targets: Vec<(usize, Expr)>,
    },
    Join {
        left: Box<Plan>,
        right: Box<Plan>,
        kind: JoinKind,
        hash: Vec<(Expr, Expr)>,
        on: Option<Expr>,
        apply: bool,
        /// Both sides come in the order of the pairs in `hash`, of which there is one at least.
        merge: bool,
    },
    Aggregate {
        input: Box<Plan>,
        groups: Vec<Expr>,
        aggregates: Vec<Aggregate>,
        /// Columns of one input row of the group that stand before the keys, for subqueries.
        kept: usize,
        /// The rows of each group come one after the other, and the groups go out in that order.
        ordered: bool,
    },
    /// Appends a column for each call.
    Window {
        input: Box<Plan>,
        calls: Vec<WindowCall>,
    },
    /// A recursive common table expression: the anchor's rows, then round after round what the members make of the
    /// round before, until there is none.
    Recursive {
        anchor: Box<Plan>,
        members: Vec<Plan>,
        id: u64,
        /// Rounds at most; 0 for no limit.
        limit: u64,
    },
    /// The rows of the last round of a recursion.
    WorkTable {
        id: u64,
    },
    Sort {
        input: Box<Plan>,
        keys: Vec<SortKey>,
    },
    Top {
        input: Box<Plan>,
        count: Expr,
        percent: bool,
        /// FETCH, which takes at least one row.
        fetch: bool,
        ties: Vec<Expr>,
    },
    Skip {
        input: Box<Plan>,
        count: Expr,
    },
    Distinct {
        input: Box<Plan>,
    },
    /// A part of the plan that several threads may run: see [`crate::parallel`]. Where they may not, it is as if this node
    /// were not there.
    Parallel {
        zone: Arc<Plan>,
        /// Of the whole statement.
        cost: f64,
        /// OPTION (MAXDOP n)
        max_degree: Option<u64>,
        /// Its rows may come in any order, another one each time, and all of them are wanted.
        any_order: bool,
    },
    Concat(Vec<Plan>),
    /// EXCEPT (`keep_common` false) and INTERSECT.
    SetOperation {
        left: Box<Plan>,
        right: Box<Plan>,
        keep_common: bool,
    },
}

#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateKind {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    StDev,
    StDevP,
    Var,
    VarP,
    StringAgg,
}

#[derive(Clone, Debug)]
pub struct Aggregate {
    pub kind: AggregateKind,
    pub input: Option<Expr>,
    pub distinct: bool,
    pub ty: SqlType,
    /// STRING_AGG: the separator, and WITHIN GROUP (ORDER BY).
    pub list: Option<(Box<Expr>, Vec<SortKey>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    Ntile,
    PercentRank,
    CumeDist,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    Aggregate(AggregateKind),
}

/// A function with OVER.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub kind: WindowKind,
    pub args: Vec<Expr>,
    pub partition: Vec<Expr>,
    pub order: Vec<SortKey>,
    pub frame: WindowFrame,
    pub ty: SqlType,
}

#[derive(Clone, Debug)]
pub struct WindowFrame {
    /// ROWS, else RANGE.
    pub rows: bool,
    pub start: FrameEdge,
    pub end: FrameEdge,
}

#[derive(Clone, Debug)]
pub enum FrameEdge {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

/// Plans are compared by identity: two subqueries are the same only when they are one.
impl PartialEq for Plan {
    fn eq(&self, other: &Plan) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Plan {
    /// One row without columns; also what stands where a plan was taken away.
    pub fn one_row() -> Plan {
        Plan {
            node: Node::OneRow,
            columns: Default::default(),
            correlated: false,
        }
    }

    /// Opens the plan's operators.
    pub fn start<'p>(&'p self, cx: &mut Cx<'_>) -> SqlResult<exec::Operator<'p>> {
        exec::open(self, cx)
    }

    /// The same for somebody who wants at most `rows` rows.
    pub fn start_for<'p>(&'p self, rows: u64, cx: &mut Cx<'_>) -> SqlResult<exec::Operator<'p>> {
        cx.asking(rows, |cx| exec::open_for(self, rows < u64::MAX, cx))
    }

    /// Every row, for small results. They are counted while they are read.
    pub fn rows(&self, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
        self.chosen_rows(&mut Held::default(), cx, &mut |_| true)
    }

    /// Every row that `keep` leaves; it says whether more are wanted. 701 where there is no room for them.
    pub(crate) fn chosen_rows(
        &self,
        held: &mut Held,
        cx: &mut Cx<'_>,
        keep: &mut dyn FnMut(&mut Vec<Row>) -> bool,
    ) -> SqlResult<Vec<Row>> {
        let mut operator = self.start(cx)?;
        let mut rows = Vec::new();
        while let Some(batch) = cx.asking(u64::MAX, |cx| operator.next(cx))? {
            held.must(rows_bytes(&batch), cx)?;
            let all = rows.len() + batch.len();
            rows.extend(batch);
            let more = keep(&mut rows);
            if rows.len() < all {
                held.clear();
                held.must(rows_bytes(&rows), cx)?;
            }
            if !more {
                break;
            }
        }
        Ok(rows)
    }
}
