//! Binding of functions with OVER, and the node that computes them.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::functions::{Entry, of_arguments};
use duramen_query::plan::{
    AggregateKind, FrameEdge, Node, SortKey, WindowCall, WindowFrame, WindowKind,
};
use duramen_query::{Doc, Expr, Kind, OutColumn, Plan, doc};
use duramen_tsql::ast;
use duramen_types::SqlType;

use super::aggregate::{aggregate_kind, aggregate_type};
use super::expr::is_null;
use super::{Aggregates, Binder, Scope, same_name, unsupported};

/// What window functions may do where an expression stands.
#[derive(Debug, Default)]
pub(crate) enum Windows {
    /// 4108: only in the select list and ORDER BY.
    #[default]
    Forbidden,
    /// 4109: not within each other.
    Inside,
    Collect(Vec<WindowCall>),
}

/// A function that makes sense only with OVER.
struct Row {
    doc: Doc,
    kind: WindowKind,
    min: usize,
    max: usize,
}

const fn row(doc: Doc, kind: WindowKind, (min, max): (usize, usize)) -> Row {
    Row {
        doc,
        kind,
        min,
        max,
    }
}

const ROWS: &[Row] = &[
    row(
        doc(
            "cume_dist",
            "the part of the rows up to this one in an order",
            "value, CUME_DIST() OVER (ORDER BY value) FROM GENERATE_SERIES(1, 2)",
        ),
        WindowKind::CumeDist,
        (0, 0),
    ),
    row(
        doc(
            "dense_rank",
            "the rank in an order, without gaps",
            "value % 2 AS n, DENSE_RANK() OVER (ORDER BY value % 2) FROM GENERATE_SERIES(1, 3)",
        ),
        WindowKind::DenseRank,
        (0, 0),
    ),
    row(
        doc(
            "first_value",
            "the first value of the frame",
            "value, FIRST_VALUE(value) OVER (ORDER BY value) FROM GENERATE_SERIES(5, 6)",
        ),
        WindowKind::FirstValue,
        (1, 1),
    ),
    row(
        doc(
            "lag",
            "the value so many rows before",
            "value, LAG(value, 1, 0) OVER (ORDER BY value) FROM GENERATE_SERIES(5, 6)",
        ),
        WindowKind::Lag,
        (1, 3),
    ),
    row(
        doc(
            "last_value",
            "the last value of the frame",
            "value, LAST_VALUE(value) OVER (ORDER BY value) FROM GENERATE_SERIES(5, 6)",
        ),
        WindowKind::LastValue,
        (1, 1),
    ),
    row(
        doc(
            "lead",
            "the value so many rows behind",
            "value, LEAD(value) OVER (ORDER BY value) FROM GENERATE_SERIES(5, 6)",
        ),
        WindowKind::Lead,
        (1, 3),
    ),
    row(
        doc(
            "ntile",
            "the number of the part of equal size",
            "value, NTILE(2) OVER (ORDER BY value) FROM GENERATE_SERIES(1, 3)",
        ),
        WindowKind::Ntile,
        (1, 1),
    ),
    row(
        doc(
            "percent_rank",
            "the rank as a part of the rows",
            "value, PERCENT_RANK() OVER (ORDER BY value) FROM GENERATE_SERIES(1, 3)",
        ),
        WindowKind::PercentRank,
        (0, 0),
    ),
    row(
        doc(
            "rank",
            "the rank in an order",
            "value % 2 AS n, RANK() OVER (ORDER BY value % 2) FROM GENERATE_SERIES(1, 3)",
        ),
        WindowKind::Rank,
        (0, 0),
    ),
    row(
        doc(
            "row_number",
            "the number of the row in an order",
            "value, ROW_NUMBER() OVER (ORDER BY value DESC) FROM GENERATE_SERIES(1, 2)",
        ),
        WindowKind::RowNumber,
        (0, 0),
    ),
];

fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|r| r.doc.name == name)
}

pub(super) fn entries() -> impl Iterator<Item = Entry> {
    let rows = ROWS.iter();
    rows.map(|r| of_arguments(r.doc, (r.min, r.max), "a value like others"))
}

/// Whether a function makes sense only with OVER.
pub(super) fn needs_over(name: &str) -> bool {
    find(name).is_some()
}

impl Binder<'_> {
    pub(super) fn window(
        &mut self,
        call: &ast::FunctionCall,
        line: u32,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let name = call.name.name().to_ascii_lowercase();
        let outside = std::mem::replace(&mut self.windows, Windows::Inside);
        let mut calls = match outside {
            Windows::Collect(calls) => calls,
            Windows::Forbidden => {
                self.windows = Windows::Forbidden;
                return Err(SqlError::new(&messages::WINDOWED_NOT_ALLOWED, &[]));
            }
            Windows::Inside => return Err(SqlError::new(&messages::WINDOWED_NESTED, &[])),
        };
        let bound = self.window_call(call, &name, line, scope, agg);
        let ty_and_null = bound.map(|c| {
            let nullable = !matches!(
                c.kind,
                WindowKind::RowNumber
                    | WindowKind::Rank
                    | WindowKind::DenseRank
                    | WindowKind::Ntile
                    | WindowKind::Aggregate(AggregateKind::Count | AggregateKind::CountStar)
            );
            let ty = c.ty;
            calls.push(c);
            (ty, nullable)
        });
        let at = calls.len().saturating_sub(1);
        self.windows = Windows::Collect(calls);
        let (ty, nullable) = ty_and_null?;
        Ok(Expr {
            kind: Kind::Window(at),
            ty,
            nullable,
        })
    }

    fn window_call(
        &mut self,
        call: &ast::FunctionCall,
        name: &str,
        line: u32,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<WindowCall> {
        let over = call.over.clone().unwrap_or_default();
        let over = self.named_window(over)?;
        if call.distinct {
            return Err(SqlError::new(&messages::DISTINCT_WITH_OVER, &[]));
        }
        if call.ignore_nulls == Some(true) {
            return Err(unsupported("IGNORE NULLS", line));
        }
        let mut args = Vec::with_capacity(call.args.len());
        for a in &call.args {
            args.push(self.expr(a, scope, agg)?);
        }
        let (kind, wanted) = match (find(name), aggregate_kind(name, call.star)) {
            (Some(row), _) => (row.kind, row.min..=row.max),
            (None, Some(AggregateKind::StringAgg)) | (None, None) => {
                return Err(SqlError::new(&messages::NOT_WINDOWING_FUNCTION, &[&name]));
            }
            (None, Some(AggregateKind::CountStar)) => {
                (WindowKind::Aggregate(AggregateKind::CountStar), 0..=0)
            }
            (None, Some(kind)) => (WindowKind::Aggregate(kind), 1..=1),
        };
        if !wanted.contains(&args.len()) {
            let args: [&dyn std::fmt::Display; 2] = [&name, wanted.end()];
            return Err(SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &args));
        }
        if matches!(kind, WindowKind::Aggregate(_)) && args.iter().any(Expr::has_subquery) {
            return Err(SqlError::new(&messages::AGGREGATE_OF_AGGREGATE, &[]));
        }
        let ty = match kind {
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::Ntile => SqlType::BIGINT,
            WindowKind::PercentRank | WindowKind::CumeDist => SqlType::FLOAT,
            WindowKind::Aggregate(kind) => aggregate_type(kind, name, args.first())?,
            _ => args[0].ty,
        };
        if let Some(default) = args.get(2).cloned() {
            args[2] = match is_null(&default) {
                true => Expr { ty, ..default },
                false => self.coerce(default, ty)?,
            };
        }
        let mut partition = Vec::new();
        for e in &over.partition_by {
            partition.push(self.expr(e, scope, agg)?);
        }
        let mut order = Vec::new();
        for o in &over.order_by {
            let expr = self.expr(&o.expr, scope, agg)?;
            refuse_constant_order(&o.expr, &expr)?;
            order.push(SortKey {
                expr,
                descending: o.desc,
            });
        }
        let ordered = !matches!(kind, WindowKind::Aggregate(_));
        if ordered && order.is_empty() {
            let shown = name.to_ascii_uppercase();
            return Err(SqlError::new(&messages::OVER_NEEDS_ORDER_BY, &[&shown]));
        }
        let frame = self.frame(over.frame.as_ref(), kind, name, !order.is_empty())?;
        Ok(WindowCall {
            kind,
            args,
            partition,
            order,
            frame,
            ty,
        })
    }

    /// `OVER name`: what the WINDOW clause says of the name.
    fn named_window(&self, over: ast::Over) -> SqlResult<ast::Over> {
        let Some(name) = &over.window else {
            return Ok(over);
        };
        let found = self.window_names.iter().find(|(n, _)| same_name(n, name));
        let (_, base) = found.ok_or_else(|| SqlError::new(&messages::WINDOW_UNDEFINED, &[name]))?;
        let base = self.named_window(base.clone())?;
        Ok(ast::Over {
            window: None,
            partition_by: match over.partition_by.is_empty() {
                true => base.partition_by,
                false => over.partition_by,
            },
            order_by: match over.order_by.is_empty() {
                true => base.order_by,
                false => over.order_by,
            },
            frame: over.frame.or(base.frame),
        })
    }

    fn frame(
        &mut self,
        frame: Option<&ast::Frame>,
        kind: WindowKind,
        name: &str,
        ordered: bool,
    ) -> SqlResult<WindowFrame> {
        let Some(frame) = frame else {
            let end = match ordered {
                true => FrameEdge::CurrentRow,
                false => FrameEdge::UnboundedFollowing,
            };
            return Ok(WindowFrame {
                rows: false,
                start: FrameEdge::UnboundedPreceding,
                end,
            });
        };
        let framed = matches!(
            kind,
            WindowKind::Aggregate(_) | WindowKind::FirstValue | WindowKind::LastValue
        );
        if !framed {
            return Err(SqlError::new(&messages::FUNCTION_NO_WINDOW_FRAME, &[&name]));
        }
        if !ordered {
            return Err(SqlError::new(&messages::WINDOW_FRAME_NEEDS_ORDER_BY, &[]));
        }
        let start = self.edge(&frame.start, frame.rows)?;
        let end = match &frame.end {
            Some(e) => self.edge(e, frame.rows)?,
            None => FrameEdge::CurrentRow,
        };
        let backwards = matches!(start, FrameEdge::UnboundedFollowing)
            || matches!(end, FrameEdge::UnboundedPreceding);
        if backwards {
            let words = if frame.rows { "ROWS" } else { "RANGE" };
            return Err(SqlError::new(&messages::INVALID_WINDOW_FRAME, &[&words]));
        }
        Ok(WindowFrame {
            rows: frame.rows,
            start,
            end,
        })
    }

    fn edge(&mut self, bound: &ast::FrameBound, rows: bool) -> SqlResult<FrameEdge> {
        let mut counted = |e: &ast::Expr| {
            if !rows {
                return Err(SqlError::new(&messages::RANGE_DELIMITERS, &[]));
            }
            self.scalar(e)
        };
        Ok(match bound {
            ast::FrameBound::UnboundedPreceding => FrameEdge::UnboundedPreceding,
            ast::FrameBound::CurrentRow => FrameEdge::CurrentRow,
            ast::FrameBound::UnboundedFollowing => FrameEdge::UnboundedFollowing,
            ast::FrameBound::Preceding(e) => FrameEdge::Preceding(counted(e)?),
            ast::FrameBound::Following(e) => FrameEdge::Following(counted(e)?),
        })
    }
}

/// 5308 and 5309: what a window function, or an aggregate with an order of its own, cannot be ordered by.
pub(super) fn refuse_constant_order(written: &ast::Expr, bound: &Expr) -> SqlResult<()> {
    match (&written.kind, &bound.kind) {
        (ast::ExprKind::Literal(ast::Literal::Int(_)), _) => {
            Err(SqlError::new(&messages::WINDOW_ORDER_INTEGER, &[]))
        }
        (_, Kind::Const(_)) => Err(SqlError::new(&messages::WINDOW_ORDER_CONSTANT, &[])),
        _ => Ok(()),
    }
}

/// The expressions of a window function.
pub(super) fn call_exprs(call: &mut WindowCall) -> impl Iterator<Item = &mut Expr> {
    let order = call.order.iter_mut().map(|k| &mut k.expr);
    call.args.iter_mut().chain(&mut call.partition).chain(order)
}

/// Window functions in an expression become the columns that the window node appends.
pub(super) fn window_columns(e: &mut Expr, width: usize) {
    if let Kind::Window(i) = e.kind {
        e.kind = Kind::Column {
            depth: 0,
            index: width + i,
        };
    }
    let _ = e.try_for_each_child(&mut |child| {
        window_columns(child, width);
        Ok(())
    });
}

pub(super) fn windowed(plan: Plan, calls: Vec<WindowCall>) -> Plan {
    let own = plan.columns.iter().cloned();
    let columns = own
        .chain(calls.iter().map(|c| OutColumn::unnamed(c.ty, true)))
        .collect();
    let correlated = plan.correlated;
    Plan {
        node: Node::Window {
            input: Box::new(plan),
            calls,
        },
        columns,
        correlated,
    }
}
