//! Choosing an access path: which parts of a WHERE can be answered by a key.
//!
//! The whole predicate stays in the filter above; a seek only narrows what is read.

use duramen_types::SqlType;

use super::source::{conjuncts, split};
use crate::expr::{CompareOp, Expr, Kind};
use crate::plan::{JoinKind, Node, Plan, Seek};

/// Narrows the scans below `plan` by `predicate`, whose columns count from the start of the plan's row.
pub(crate) fn narrow(plan: &mut Plan, predicate: &Expr) {
    let parts = conjuncts(Some(predicate.clone()));
    push(plan, &parts, 0);
}

fn push(plan: &mut Plan, parts: &[Expr], offset: usize) {
    match &mut plan.node {
        Node::Scan { table, seek, .. } => {
            let best = table
                .def
                .paths()
                .iter()
                .enumerate()
                .filter_map(|(i, path)| {
                    let s = path_seek(i, path, table.def.columns(), parts, offset)?;
                    let fixed =
                        s.equal.len() * 4 + s.lower.is_some() as usize + s.upper.is_some() as usize;
                    Some((fixed * 2 + path.covers_all as usize, s))
                })
                .max_by_key(|(score, _)| *score);
            *seek = best.map(|(_, s)| s);
        }
        Node::Join {
            left,
            right,
            kind,
            hash,
            apply: false,
            ..
        } => {
            let width = left.columns.len();
            let inner = *kind == JoinKind::Inner;
            // A row that an outer join adds must not be lost: only the side that is kept whole can be narrowed.
            if inner || *kind == JoinKind::Left {
                push(left, parts, offset);
            }
            if inner || *kind == JoinKind::Right {
                push(right, parts, offset + width);
            }
            if inner && hash.is_empty() {
                let end = offset + width + right.columns.len();
                hash.extend(
                    parts
                        .iter()
                        .filter(|p| within(p, offset, end))
                        .filter_map(|p| split(p.shifted(offset), width).ok()),
                );
            }
        }
        _ => {}
    }
}

/// Whether every column read is one of `start..end`.
fn within(e: &Expr, start: usize, end: usize) -> bool {
    let mut inside = true;
    e.visit_columns(&mut |depth, index| {
        inside &= depth > 0 || (start..end).contains(&index);
    });
    inside
}

fn path_seek(
    index: usize,
    path: &crate::host::AccessPath,
    columns: &[crate::host::TableColumn],
    parts: &[Expr],
    offset: usize,
) -> Option<Seek> {
    let mut seek = Seek {
        index,
        ..Seek::default()
    };
    for (ordinal, descending) in &path.keys {
        let ty = columns[*ordinal].ty;
        let found = |wanted: &[CompareOp]| {
            parts
                .iter()
                .find_map(|p| bound_of(p, offset + ordinal, &ty, wanted))
        };
        if let Some((_, e)) = found(&[CompareOp::Eq]) {
            seek.equal.push(e);
            continue;
        }
        // A descending key column's range runs the other way; the filter alone is right for both.
        if !descending {
            seek.lower =
                found(&[CompareOp::Gt, CompareOp::Ge]).map(|(op, e)| (e, op == CompareOp::Ge));
            seek.upper =
                found(&[CompareOp::Lt, CompareOp::Le]).map(|(op, e)| (e, op == CompareOp::Le));
        }
        break;
    }
    (!seek.equal.is_empty() || seek.lower.is_some() || seek.upper.is_some()).then_some(seek)
}

/// `column op value` in either order, the value free of columns and of the column's own type.
fn bound_of(
    e: &Expr,
    column: usize,
    ty: &SqlType,
    wanted: &[CompareOp],
) -> Option<(CompareOp, Expr)> {
    let Kind::Compare(op, l, r) = &e.kind else {
        return None;
    };
    let is_column =
        |e: &Expr| matches!(e.kind, Kind::Column { depth: 0, index } if index == column);
    let (op, value) = if is_column(l) {
        (*op, r)
    } else if is_column(r) {
        (op.mirrored(), l)
    } else {
        return None;
    };
    let mut free = true;
    value.visit_columns(&mut |depth, _| free &= depth > 0);
    let same_type = value.ty.id == ty.id
        || (value.ty.id.is_char() && ty.id.is_char())
        || (value.ty.id.is_nchar() && ty.id.is_nchar());
    // A key is in the order of its column's collation and of no other.
    let same_order = !ty.id.is_string() || l.ty.collation == ty.collation;
    (wanted.contains(&op) && free && !value.has_subquery() && same_type && same_order)
        .then(|| (op, (**value).clone()))
}
