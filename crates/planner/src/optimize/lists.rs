//! `column IN (...)` and `column = a OR column = b`: a key is sought once for each value of the list.
//!
//! The list becomes rows, each different from the others, and the table is sought for each of them in a loop.

use duramen_columns::CompareOp;
use duramen_query::estimate::{estimate, row_bytes};
use duramen_query::plan::{JoinKind, Node};
use duramen_query::reads::{is_movable, remap};
use duramen_query::{Expr, Kind, OutColumn, Plan, cost, width};
use duramen_types::{SqlType, Value};

use super::access::{self, Want};
use super::{filtered, over};

/// Longer lists are asked row by row.
const MOST: usize = 256;

/// The column of a list, as it is compared, and the values.
fn list_of(e: &Expr) -> Option<(&Expr, Vec<&Expr>)> {
    let column = width::column_of;
    match &e.kind {
        Kind::In {
            item,
            list,
            negated: false,
        } => column(item).map(|_| (&**item, list.iter().collect())),
        Kind::Or(parts) => {
            let mut found: Option<&Expr> = None;
            let mut values = Vec::new();
            for p in parts {
                let Kind::Compare(CompareOp::Eq, l, r) = &p.kind else {
                    return None;
                };
                let (at, value) = match (column(l), column(r)) {
                    (Some(_), None) => (&**l, &**r),
                    (None, Some(_)) => (&**r, &**l),
                    _ => return None,
                };
                if **found.get_or_insert(at) != *at {
                    return None;
                }
                values.push(value);
            }
            Some((found?, values))
        }
        _ => None,
    }
}

/// Whether a value may be sought in a key of this type, which is compared as such.
fn fits(e: &Expr, ty: &SqlType) -> bool {
    let mut free = is_movable(e);
    e.visit_columns(&mut |depth, _| free &= depth > 0);
    let same_type = e.ty.id == ty.id
        || (e.ty.id.is_char() && ty.id.is_char())
        || (e.ty.id.is_nchar() && ty.id.is_nchar());
    free && same_type && (!ty.id.is_string() || e.ty.collation == ty.collation)
}

/// A plan that seeks a list, where it is cheaper than the best way without.
pub fn seek_list(scan: &Plan, parts: &[Expr], want: &Want) -> Option<Plan> {
    let Node::Scan { table, .. } = &scan.node else {
        return None;
    };
    let columns = table.def.columns();
    let (at, (own, values)) = parts.iter().enumerate().find_map(|(at, e)| {
        let (compared, values) = list_of(e)?;
        let column = width::column_of(compared)?;
        let ty = match width::widened(compared) {
            Some(_) => compared.ty,
            None => columns.get(column)?.ty,
        };
        let all = values.len() <= MOST && values.iter().all(|v| fits(v, &ty));
        let keys = table.def.paths();
        let keyed = keys
            .iter()
            .any(|p| p.keys.iter().any(|(c, _)| *c == column));
        let own = Expr::column(column, columns[column].ty, columns[column].nullable);
        let own = match width::widened(compared) {
            Some(_) => compared.clone(),
            None => own,
        };
        (all && keyed).then_some((at, (own, values)))
    })?;
    let ty = own.ty;
    // What the list asks, each of its rows does.
    let rest = parts.iter().enumerate().filter(|(i, _)| *i != at);
    let (mut inside, above): (Vec<Expr>, Vec<Expr>) =
        rest.map(|(_, e)| e.clone()).partition(is_movable);
    for e in &mut inside {
        remap(e, &mut |depth, _| *depth += usize::from(*depth > 0));
    }
    let value = Expr {
        kind: Kind::Column { depth: 1, index: 0 },
        ty,
        nullable: true,
    };
    let equal = Kind::Compare(CompareOp::Eq, Box::new(own), Box::new(value));
    inside.insert(0, Expr::predicate(equal));
    let way = access::best(scan, &inside, &Want::default())?;
    let is_value = |e: &Expr| matches!(e.kind, Kind::Column { depth: 1, index: 0 });
    let reads_value = way
        .seek
        .as_ref()
        .is_some_and(|s| s.equal.iter().any(|e| e.any(&is_value)));
    if !reads_value {
        return None;
    }
    let again = (way.cost - cost::RANDOM_PAGE + cost::LOOKUP_PAGE).max(cost::NEXT_ROW);
    let mut cost = way.cost + (values.len() as f64 - 1.0) * again;
    if !want.order.is_empty() {
        let rows = estimate(scan).rows.min(values.len() as f64);
        cost += cost::sort(rows, row_bytes(&scan.columns)).total();
    }
    if access::best(scan, parts, want).is_some_and(|plain| plain.cost <= cost) {
        return None;
    }
    Some(filtered(looped(scan, rows_of(values, ty), inside), above))
}

/// The values as rows without duplicates.
fn rows_of(values: Vec<&Expr>, ty: SqlType) -> Plan {
    let column = OutColumn::unnamed(ty, true);
    let known: Option<Vec<&Value>> = values
        .iter()
        .map(|e| match &e.kind {
            Kind::Const(v) => Some(v),
            _ => None,
        })
        .collect();
    let (rows, distinct): (Vec<Vec<Expr>>, bool) = match known {
        Some(mut known) => {
            known.retain(|v| !v.is_null());
            known.sort_by(|a, b| duramen_types::compare(a, b, ty.collation));
            known.dedup_by(|a, b| duramen_types::compare(a, b, ty.collation).is_eq());
            let row = |v: &Value| vec![Expr::constant(v.clone(), ty)];
            (known.into_iter().map(row).collect(), true)
        }
        None => (values.into_iter().map(|e| vec![e.clone()]).collect(), false),
    };
    let plan = Plan {
        node: Node::Values(rows),
        columns: [column].into(),
        correlated: false,
    };
    match distinct {
        true => plan,
        false => over(plan, |input| Node::Distinct { input }),
    }
}

/// The table, sought for each row of the list; the table's own columns come out.
fn looped(scan: &Plan, list: Plan, inside: Vec<Expr>) -> Plan {
    let Node::Scan {
        table,
        lock,
        forward,
        ..
    } = &scan.node
    else {
        return list;
    };
    let mut right = Plan {
        node: Node::Scan {
            table: table.clone(),
            seek: None,
            reach: None,
            lock: *lock,
            forward: *forward,
        },
        columns: scan.columns.clone(),
        correlated: false,
    };
    access::choose(&mut right, &inside, &Want::default());
    let mut right = filtered(right, inside);
    right.correlated = true;
    let joined = crate::bind::join(list, right, JoinKind::Inner, None, true);
    let exprs = scan.columns.iter().enumerate();
    let exprs = exprs.map(|(i, c)| Expr::column(i + 1, c.ty, c.nullable));
    Plan {
        columns: scan.columns.clone(),
        correlated: scan.correlated,
        node: Node::Project {
            exprs: exprs.collect(),
            input: Box::new(joined),
        },
    }
}
