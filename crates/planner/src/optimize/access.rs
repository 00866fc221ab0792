//! Choosing how a table is read: whole, through an index in order, or by a seek.
//!
//! The whole condition stays in a filter above the scan; a seek only narrows what is read.

use duramen_columns::CompareOp;
use duramen_query::estimate::{
    path_pages, row_bytes, seek_share, shares, table_pages, table_rows, together,
};
use duramen_query::host::{AccessPath, ScanHint, TableColumn};
use duramen_query::plan::{Node, Seek};
use duramen_query::{Expr, Kind, Plan, cost, width};
use duramen_types::SqlType;

use super::reach::reach_of;
use super::{like, order};

/// What the plan above likes.
#[derive(Clone, Debug, Default)]
pub struct Want {
    /// Rows in this order save a sort.
    pub order: Vec<(usize, bool)>,
    /// No more rows than this will be taken.
    pub limit: Option<f64>,
}

/// A way to read a table, and what it costs with everything that the plan above has to add.
pub struct Way {
    pub seek: Option<Seek>,
    /// Of one run.
    pub cost: f64,
}

/// The best way to read the table of a scan under a condition given in parts.
pub fn best(scan: &Plan, parts: &[Expr], want: &Want) -> Option<Way> {
    let Node::Scan { table, .. } = &scan.node else {
        return None;
    };
    let def = &*table.def;
    let all = table_rows(def);
    let kept = together(shares(scan, &parts.iter().collect::<Vec<_>>()));
    let result = (all * kept).max(1.0);
    let limited = |cost: f64, in_order: bool, rows: f64| match want.limit {
        // Rows come evenly: a share of them is found after that share of the work.
        Some(limit) if in_order => cost * (limit / rows.min(result).max(1.0)).min(1.0),
        _ => cost,
    };
    let sorting = |in_order: bool| match in_order {
        true => 0.0,
        false => cost::sort(result, row_bytes(&scan.columns)).total(),
    };
    let mut ways = Vec::new();
    let unordered = want.order.is_empty();
    let part = def
        .partitioning(None)
        .and_then(|p| reach_of(scan, p, parts))
        .map_or(1.0, |r| r.share);
    let whole = cost::scan((table_pages(def) * part).max(1.0), all * part).total();
    if !matches!(table.hint, ScanHint::Index(_) | ScanHint::Seek) {
        ways.push(Way {
            seek: None,
            cost: limited(whole, unordered, all) + sorting(unordered),
        });
    }
    for (i, path) in def.paths().iter().enumerate() {
        let another = matches!(table.hint, ScanHint::Index(wanted) if wanted != i);
        if another || table.hint == ScanHint::Whole {
            continue;
        }
        let needed = table.needed.as_deref();
        let covering = !path.covers_all
            && path.ordered
            && needed.is_some_and(|n| n.iter().all(|c| path.columns.contains(c)));
        let sought = path_seek(i, path, def.columns(), parts, 0);
        let bounded = sought.is_some();
        let mut seek = match sought {
            Some(s) => s,
            None if path.ordered => Seek {
                index: i,
                ..Seek::default()
            },
            None => continue,
        };
        seek.covering = covering;
        if !bounded && !covering && unordered && !matches!(table.hint, ScanHint::Index(_)) {
            continue;
        }
        if table.hint == ScanHint::Seek && !bounded || table.hint == ScanHint::Scan && bounded {
            continue;
        }
        let part = match bounded {
            true => seek_share(def, &seek),
            false => 1.0,
        };
        let rows = (all * part).max(f64::MIN_POSITIVE);
        let pages = (path_pages(def, i) * part).ceil().max(1.0);
        let mut cost = cost::scan(pages, rows).total();
        if !path.covers_all && !covering {
            cost += cost::lookups(rows).total();
        }
        for forward in [true, false] {
            let in_order = unordered || {
                let given = order::of_path(path, &seek, forward);
                given.gives(&want.order)
            };
            if !forward && (unordered || !in_order) {
                continue;
            }
            // A scan downwards under locks is dearer in other ways: it is taken only where it saves a sort.
            seek.backward = !forward;
            ways.push(Way {
                seek: Some(seek.clone()),
                cost: limited(cost, in_order, rows) + sorting(in_order),
            });
        }
    }
    let fixed = |w: &Way| {
        let bounds = |s: &Seek| usize::from(s.lower.is_some()) + usize::from(s.upper.is_some());
        w.seek.as_ref().map_or(0, |s| s.equal.len() * 2 + bounds(s))
    };
    ways.into_iter().reduce(|best, way| {
        let better = way.cost < best.cost * 0.999_999
            || (way.cost <= best.cost * 1.000_001 && fixed(&way) > fixed(&best));
        if better { way } else { best }
    })
}

/// Makes a scan read its table the best way.
/// False when none follows the table's hint.
pub fn choose(scan: &mut Plan, parts: &[Expr], want: &Want) -> bool {
    let Some(way) = best(scan, parts, want) else {
        return false;
    };
    let reached = match &scan.node {
        Node::Scan { table, .. } => {
            let path = way.seek.as_ref().map(|s| s.index);
            let partitioning = table.def.partitioning(path);
            partitioning.and_then(|p| reach_of(scan, p, parts))
        }
        _ => None,
    };
    if let Node::Scan { seek, reach, .. } = &mut scan.node {
        *seek = way.seek;
        *reach = reached.map(Box::new);
    }
    true
}

/// What a path can seek of the parts of a condition; the table's columns start at `offset` in them.
pub fn path_seek(
    index: usize,
    path: &AccessPath,
    columns: &[TableColumn],
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
        let mut low =
            found(&[CompareOp::Gt, CompareOp::Ge]).map(|(op, e)| (e, op == CompareOp::Ge));
        let mut high =
            found(&[CompareOp::Lt, CompareOp::Le]).map(|(op, e)| (e, op == CompareOp::Le));
        if low.is_none() && high.is_none() {
            let like = |p: &Expr| like::range(p, offset + ordinal, &ty);
            if let Some((from, to)) = parts.iter().find_map(like) {
                low = Some((from, true));
                high = to.map(|e| (e, false));
            }
        }
        // The range of a descending key column runs the other way; the filter alone is right for both.
        if !descending {
            (seek.lower, seek.upper) = (low, high);
        }
        break;
    }
    (!seek.equal.is_empty() || seek.lower.is_some() || seek.upper.is_some()).then_some(seek)
}

/// `column op value` in either order, the value free of the row's columns and of the column's own type, or both integers:
/// then what comes back holds for all the rows that the condition holds for, and perhaps for more.
pub fn bound_of(
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
    let is_widened = |e: &Expr| width::widened(e) == Some(column);
    let (op, value, wide) = if is_column(l) {
        (*op, r, false)
    } else if is_column(r) {
        (op.mirrored(), l, false)
    } else if is_widened(l) {
        (*op, r, true)
    } else if is_widened(r) {
        (op.mirrored(), l, true)
    } else {
        return None;
    };
    if !wanted.contains(&op) {
        return None;
    }
    let mut free = true;
    value.visit_columns(&mut |depth, _| free &= depth > 0);
    if wide {
        let movable =
            free && duramen_query::reads::is_movable(value) && width::is_integer(&value.ty);
        return movable.then(|| width::narrowed(op, value, ty)).flatten();
    }
    let same_type = value.ty.id == ty.id
        || (value.ty.id.is_char() && ty.id.is_char())
        || (value.ty.id.is_nchar() && ty.id.is_nchar());
    // A key is in the order of its column's collation and of no other.
    let same_order = !ty.id.is_string() || l.ty.collation == ty.collation;
    (free && duramen_query::reads::is_movable(value) && same_type && same_order)
        .then(|| (op, (**value).clone()))
}
