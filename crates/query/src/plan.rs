//! Plans: a tree of operators with every expression bound. A plan is immutable and can be run any number of times.

use std::fmt;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::{SqlType, Value};

use crate::cx::Cx;
use crate::exec;
use crate::expr::Expr;
use crate::host::{TableSource, VirtualTable};
use crate::locking::ScanLock;

pub type Row = Vec<Value>;

/// A column that a plan gives out.
#[derive(Clone, Debug)]
pub struct OutColumn {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: bool,
    /// A plain column of a base table.
    pub updatable: bool,
}

#[derive(Debug)]
pub struct Plan {
    pub node: Node,
    pub columns: Vec<OutColumn>,
    /// Reads a row of an enclosing query.
    pub correlated: bool,
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

#[derive(Debug)]
pub enum Node {
    OneRow,
    Values(Vec<Vec<Expr>>),
    Scan {
        table: TableSource,
        seek: Option<Seek>,
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
    /// Opens the plan's operators.
    pub fn start<'p>(&'p self, cx: &mut Cx<'_>) -> SqlResult<exec::Operator<'p>> {
        exec::open(self, cx)
    }

    /// Every row, for subqueries and small results.
    pub fn rows(&self, cx: &mut Cx<'_>) -> SqlResult<Vec<Row>> {
        let mut operator = self.start(cx)?;
        let mut rows = Vec::new();
        while let Some(batch) = operator.next(cx)? {
            rows.extend(batch);
        }
        Ok(rows)
    }
}

/// Text for people: one operator a line.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f, 0)
    }
}

impl Plan {
    fn describe(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let (name, inputs): (String, Vec<&Plan>) = match &self.node {
            Node::OneRow => ("Constant Scan".into(), vec![]),
            Node::Values(rows) => (format!("Constant Scan ({} rows)", rows.len()), vec![]),
            Node::Scan {
                table, seek: None, ..
            } => (format!("Table Scan [{}]", table.def.name()), vec![]),
            Node::Scan {
                table,
                seek: Some(s),
                ..
            } => (
                format!("Index Seek [{}] index {}", table.def.name(), s.index),
                vec![],
            ),
            Node::Virtual { table, .. } => {
                (format!("Table-valued function [{}]", table.name()), vec![])
            }
            Node::Filter { input, .. } => ("Filter".into(), vec![input]),
            Node::Project { input, .. } | Node::Assign { input, .. } => {
                ("Compute Scalar".into(), vec![input])
            }
            Node::Join {
                left,
                right,
                kind,
                hash,
                merge,
                ..
            } => {
                let how = match (*merge, hash.is_empty()) {
                    (true, _) => "Merge Join",
                    (false, true) => "Nested Loops",
                    (false, false) => "Hash Match",
                };
                (format!("{how} ({kind:?} Join)"), vec![left, right])
            }
            Node::Aggregate { input, .. } => ("Hash Match (Aggregate)".into(), vec![input]),
            Node::Window { input, .. } => ("Window Aggregate".into(), vec![input]),
            Node::Recursive {
                anchor, members, ..
            } => {
                let mut inputs: Vec<&Plan> = vec![anchor];
                inputs.extend(members);
                ("Concatenation (recursive)".into(), inputs)
            }
            Node::WorkTable { .. } => ("Table Spool".into(), vec![]),
            Node::Sort { input, .. } => ("Sort".into(), vec![input]),
            Node::Top { input, .. } => ("Top".into(), vec![input]),
            Node::Skip { input, .. } => ("Top (offset)".into(), vec![input]),
            Node::Distinct { input } => ("Hash Match (Distinct)".into(), vec![input]),
            Node::Concat(inputs) => ("Concatenation".into(), inputs.iter().collect()),
            Node::SetOperation { left, right, .. } => {
                ("Hash Match (Set Operation)".into(), vec![left, right])
            }
        };
        writeln!(f, "{:indent$}|--{name}", "", indent = depth * 5 + 2)?;
        inputs.iter().try_for_each(|p| p.describe(f, depth + 1))
    }
}
