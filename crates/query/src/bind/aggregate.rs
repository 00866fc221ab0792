//! Binding of aggregates: their arguments, and the types of their results.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_types::{SqlType, TypeId};

use super::expr::is_null;
use super::window::refuse_constant_order;
use super::{Aggregates, Binder, Scope};
use crate::expr::{Expr, Kind};
use crate::plan::{Aggregate, AggregateKind};

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
                    order.push(crate::plan::SortKey {
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

pub(super) fn aggregate_kind(name: &str, star: bool) -> Option<AggregateKind> {
    Some(match name {
        "count" | "count_big" if star => AggregateKind::CountStar,
        // Exact: counting costs no more than the estimate would.
        "count" | "count_big" | "approx_count_distinct" => AggregateKind::Count,
        "sum" => AggregateKind::Sum,
        "avg" => AggregateKind::Avg,
        "min" => AggregateKind::Min,
        "max" => AggregateKind::Max,
        "stdev" => AggregateKind::StDev,
        "stdevp" => AggregateKind::StDevP,
        "var" => AggregateKind::Var,
        "varp" => AggregateKind::VarP,
        "string_agg" => AggregateKind::StringAgg,
        _ => return None,
    })
}
