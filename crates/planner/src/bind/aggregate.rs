//! Binding of aggregates: their arguments, and the types of their results.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::functions::{Entry, of_arguments};
use duramen_query::plan::{Aggregate, AggregateKind};
use duramen_query::{Doc, Expr, Kind, doc};
use duramen_tsql::ast;
use duramen_types::{SqlType, TypeId};

use super::expr::is_null;
use super::window::refuse_constant_order;
use super::{Aggregates, Binder, Scope};

impl Binder<'_> {
    pub(super) fn aggregate(
        &mut self,
        kind: AggregateKind,
        name: &str,
        call: &ast::FunctionCall,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let mut nested = Aggregates::Forbidden(&messages::AGGREGATE_OF_AGGREGATE);
        let mut texts = None;
        let input = match kind {
            AggregateKind::CountStar => None,
            AggregateKind::StringAgg => {
                let [arg, separator] = call.args.as_slice() else {
                    let args: [&dyn std::fmt::Display; 2] = [&name, &2];
                    return Err(SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &args));
                };
                let mut order = Vec::new();
                for o in &call.within_group {
                    let expr = self.expr(&o.expr, scope, &mut nested)?;
                    refuse_constant_order(&o.expr, &expr)?;
                    order.push(duramen_query::plan::SortKey {
                        expr,
                        descending: o.desc,
                    });
                }
                let separator = self.expr(separator, scope, &mut nested)?;
                texts = Some((Box::new(separator), order));
                let value = self.expr(arg, scope, &mut nested)?;
                let ty = string_list_type(&value.ty);
                let national = ty.id.is_nchar() == value.ty.id.is_nchar();
                Some(match value.ty.id.is_string() && national {
                    true => value,
                    false => self.coerce(value, ty)?,
                })
            }
            _ => {
                let [arg] = call.args.as_slice() else {
                    return Err(SqlError::new(
                        &messages::FUNCTION_ARGUMENT_COUNT,
                        &[&name, &1],
                    ));
                };
                Some(self.expr(arg, scope, &mut nested)?)
            }
        };
        let order = texts.iter().flat_map(|(_, order)| order);
        let mut operands = input.iter().chain(order.map(|k| &k.expr));
        if operands.any(Expr::has_subquery) {
            return Err(SqlError::new(&messages::AGGREGATE_OF_AGGREGATE, &[]));
        }
        let ty = aggregate_type(kind, name, input.as_ref())?;
        match agg {
            Aggregates::Forbidden(message) => Err(SqlError::new(message, &[])),
            Aggregates::Collect(list) => {
                let nullable = !matches!(kind, AggregateKind::Count | AggregateKind::CountStar);
                list.push(Aggregate {
                    kind,
                    input,
                    distinct: call.distinct || name == "approx_count_distinct",
                    ty,
                    list: texts,
                });
                Ok(Expr {
                    kind: Kind::Aggregate(list.len() - 1),
                    ty,
                    nullable,
                })
            }
        }
    }
}

/// STRING_AGG gives varchar for varchar, nvarchar for everything else, (max) for (max).
fn string_list_type(ty: &SqlType) -> SqlType {
    match (ty.id.is_char(), ty.is_max()) {
        (true, true) => SqlType::VARCHAR_MAX,
        (true, false) => SqlType::varchar(8000),
        (false, true) => SqlType::NVARCHAR_MAX,
        (false, false) => SqlType::nvarchar(4000),
    }
}

/// 8117 for what no aggregate takes, the word NULL among it, and for bits, which have no least and no greatest. STRING_AGG
/// makes texts of whatever becomes one.
fn check_operand(kind: AggregateKind, name: &str, e: &Expr) -> SqlResult<()> {
    let refused = match (kind, e.ty.id) {
        (AggregateKind::StringAgg, _) => false,
        _ if is_null(e) => return Err(operand_invalid("NULL", name)),
        (AggregateKind::Min | AggregateKind::Max, TypeId::Bit) => true,
        (_, id) => id.is_legacy_lob() || id == TypeId::Xml,
    };
    match refused {
        true => Err(operand_invalid(e.ty.id.name(), name)),
        false => Ok(()),
    }
}

fn operand_invalid(ty: &str, aggregate: &str) -> SqlError {
    SqlError::new(&messages::OPERAND_TYPE_INVALID, &[&ty, &aggregate])
}

/// The type of an aggregate over its argument.
pub(super) fn aggregate_type(
    kind: AggregateKind,
    name: &str,
    input: Option<&Expr>,
) -> SqlResult<SqlType> {
    if let Some(e) = input {
        check_operand(kind, name, e)?;
    }
    Ok(match (input, kind) {
        (_, AggregateKind::CountStar | AggregateKind::Count) if name != "count" => SqlType::BIGINT,
        (Some(e), AggregateKind::StringAgg) => string_list_type(&e.ty),
        (None, _) | (_, AggregateKind::Count) => SqlType::INT,
        (Some(e), AggregateKind::Min | AggregateKind::Max) => e.ty,
        (Some(e), AggregateKind::Sum | AggregateKind::Avg) => sum_type(e, kind, name)?,
        (Some(e), _) if !e.ty.id.is_numeric() => {
            return Err(operand_invalid(e.ty.id.name(), name));
        }
        _ => SqlType::FLOAT,
    })
}

fn sum_type(e: &Expr, kind: AggregateKind, name: &str) -> SqlResult<SqlType> {
    Ok(match e.ty.id {
        TypeId::TinyInt | TypeId::SmallInt | TypeId::Int => SqlType::INT,
        TypeId::BigInt => SqlType::BIGINT,
        TypeId::Real | TypeId::Float => SqlType::FLOAT,
        TypeId::Money | TypeId::SmallMoney => SqlType::MONEY,
        TypeId::Decimal | TypeId::Numeric if kind == AggregateKind::Avg => SqlType {
            id: e.ty.id,
            ..SqlType::numeric(38, e.ty.scale.max(6))
        },
        TypeId::Decimal | TypeId::Numeric => SqlType {
            id: e.ty.id,
            ..SqlType::numeric(38, e.ty.scale)
        },
        other => {
            return Err(operand_invalid(other.name(), name));
        }
    })
}

/// An aggregate function. How many arguments it takes its kind says.
struct Row {
    doc: Doc,
    kind: AggregateKind,
}

const fn row(doc: Doc, kind: AggregateKind) -> Row {
    Row { doc, kind }
}

const ROWS: &[Row] = &[
    // Exact: counting costs no more than the estimate would.
    row(
        doc(
            "approx_count_distinct",
            "how many different values there are",
            "APPROX_COUNT_DISTINCT(value % 3) FROM GENERATE_SERIES(1, 10)",
        ),
        AggregateKind::Count,
    ),
    row(
        doc(
            "avg",
            "the mean; of whole numbers a whole number",
            "AVG(value) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::Avg,
    ),
    row(
        doc(
            "count",
            "how many rows, or values that are not NULL, as int",
            "COUNT(*) FROM GENERATE_SERIES(1, 10)",
        ),
        AggregateKind::Count,
    ),
    row(
        doc(
            "count_big",
            "how many rows, or values that are not NULL, as bigint",
            "COUNT_BIG(*) FROM GENERATE_SERIES(1, 10)",
        ),
        AggregateKind::Count,
    ),
    row(
        doc(
            "max",
            "the greatest value",
            "MAX(value) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::Max,
    ),
    row(
        doc(
            "min",
            "the least value",
            "MIN(value) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::Min,
    ),
    row(
        doc(
            "stdev",
            "the standard deviation of a sample",
            "ROUND(STDEV(value), 4) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::StDev,
    ),
    row(
        doc(
            "stdevp",
            "the standard deviation of all values",
            "ROUND(STDEVP(value), 4) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::StDevP,
    ),
    row(
        doc(
            "string_agg",
            "the texts of rows with a separator between them",
            "STRING_AGG(value, '+') WITHIN GROUP (ORDER BY value) FROM GENERATE_SERIES(1, 3)",
        ),
        AggregateKind::StringAgg,
    ),
    row(
        doc("sum", "the sum", "SUM(value) FROM GENERATE_SERIES(1, 4)"),
        AggregateKind::Sum,
    ),
    row(
        doc(
            "var",
            "the variance of a sample",
            "ROUND(VAR(value), 4) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::Var,
    ),
    row(
        doc(
            "varp",
            "the variance of all values",
            "VARP(value) FROM GENERATE_SERIES(1, 4)",
        ),
        AggregateKind::VarP,
    ),
];

pub(super) fn aggregate_kind(name: &str, star: bool) -> Option<AggregateKind> {
    let found = ROWS.iter().find(|r| r.doc.name == name)?;
    Some(match (found.doc.name, star) {
        ("count" | "count_big", true) => AggregateKind::CountStar,
        _ => found.kind,
    })
}

pub(super) fn entries() -> impl Iterator<Item = Entry> {
    ROWS.iter().map(|r| {
        let count = if r.kind == AggregateKind::StringAgg {
            2
        } else {
            1
        };
        of_arguments(r.doc, (count, count), "leaves it out")
    })
}
