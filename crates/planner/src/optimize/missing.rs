//! Indexes that a plan would have been cheaper with: what `sys.dm_db_missing_index_details` and `MissingIndexes` of plans
//! tell.
//!
//! Looked for are scans of stored tables under conditions that a key could answer. The index has the columns of equalities,
//! then those of other comparisons, each in the order of the table, and includes what else the query reads; what it saves is
//! the cost of the scan without that of such a seek, beside the cost of the whole plan.
//!
//! *Assumed*: that columns of the clustered key are not included (every index has them), that IN and IS NULL count as
//! equalities, that of other comparisons the one that leaves fewest rows narrows the seek, and [`LEAST`]. Deliberately not
//! looked for: keys of joins that are hashed or merged, tables with a hint, rows that a change finds for other than the
//! condition (what it reads besides is not included).

use duramen_columns::CompareOp;
use duramen_query::children::{each_expr, each_input, each_subquery};
use duramen_query::estimate::{column_bytes, estimate, share, table_rows, together};
use duramen_query::host::{ScanHint, StoredId, TableSource};
use duramen_query::plan::Node;
use duramen_query::reads::is_movable;
use duramen_query::{Expr, Kind, Plan, cost, width};
use duramen_types::{MAX_LENGTH, SqlType, TypeId};

use super::access::bound_of;
use super::like;

/// What is saved less of is not told, in percent. *Assumed.*
const LEAST: f64 = 5.0;

/// Longest list of columns of one kind, as long as the views' texts can be.
const MOST: usize = 64;

/// An index that is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingIndex {
    pub table: StoredId,
    /// Its database, schema and name.
    pub names: [String; 3],
    /// Ids and names of columns, in the table's order.
    pub equality: Vec<(i32, String)>,
    pub inequality: Vec<(i32, String)>,
    pub included: Vec<(i32, String)>,
    /// What the plan costs without it.
    pub cost: f64,
    /// How much of that it would save, in percent.
    pub impact: f64,
}

/// Those of a plan that costs `more` than its operators below do; the one that saves most comes first.
pub fn missing_indexes(plan: &Plan, more: f64) -> Vec<MissingIndex> {
    let mut found = Vec::new();
    look(plan, 1.0, &mut found);
    if found.is_empty() {
        return found;
    }
    let whole = estimate(plan).cost + more;
    for index in &mut found {
        index.impact = (100.0 * index.impact / whole.max(f64::MIN_POSITIVE)).min(99.999);
        index.cost = whole;
    }
    found.retain(|i| i.impact >= LEAST);
    found.sort_by(|a, b| b.impact.total_cmp(&a.impact));
    // One index may serve several scans of its table.
    let mut kept: Vec<MissingIndex> = Vec::new();
    for index in found {
        let same = |k: &&mut MissingIndex| {
            k.table == index.table
                && k.equality == index.equality
                && k.inequality == index.inequality
                && k.included == index.included
        };
        match kept.iter_mut().find(same) {
            Some(k) => k.impact = (k.impact + index.impact).min(99.999),
            None => kept.push(index),
        }
    }
    kept
}

/// Goes through a plan that runs so many times; what is found has the cost that it saves as its impact.
fn look(plan: &Plan, times: f64, found: &mut Vec<MissingIndex>) {
    if let Node::Filter { input, predicate } = &plan.node
        && matches!(input.node, Node::Scan { .. })
    {
        let parts = match &predicate.kind {
            Kind::And(parts) => &parts[..],
            _ => std::slice::from_ref(predicate),
        };
        found.extend(of_scan(input, parts, times));
    }
    match &plan.node {
        Node::Join {
            left,
            right,
            apply: true,
            ..
        } => {
            look(left, times, found);
            look(right, times * estimate(left).rows.max(1.0), found);
        }
        node => each_input(node, &mut |p| look(p, times, found)),
    }
    let mut rows = None;
    each_expr(plan, &mut |e| {
        each_subquery(e, &mut |p| {
            let each = || {
                let mut rows = 1.0f64;
                each_input(&plan.node, &mut |p| rows = rows.max(estimate(p).rows));
                rows
            };
            let times = match p.correlated {
                true => times * *rows.get_or_insert_with(each),
                false => times,
            };
            look(p, times, found);
        });
    });
}

/// How a part of a condition could be answered by a key.
enum Answer {
    Equality,
    Inequality,
}

fn may_be_key(ty: &SqlType) -> bool {
    !matches!(
        ty.id,
        TypeId::Xml | TypeId::Text | TypeId::NText | TypeId::Image
    ) && ty.length != MAX_LENGTH
}

/// The column that a part asks of, and how.
fn answer(part: &Expr, source: &TableSource) -> Option<(usize, Answer)> {
    let columns = source.def.columns();
    let own = width::column_of;
    match &part.kind {
        Kind::Compare(op, l, r) => {
            let column = own(l).or_else(|| own(r))?;
            let ty = &columns.get(column)?.ty;
            bound_of(part, column, ty, &[*op, op.mirrored()])?;
            Some(match op {
                CompareOp::Eq => (column, Answer::Equality),
                _ => (column, Answer::Inequality),
            })
        }
        Kind::IsNull { input, negated } => Some(match negated {
            false => (own(input)?, Answer::Equality),
            true => (own(input)?, Answer::Inequality),
        }),
        Kind::In {
            item,
            list,
            negated: false,
        } => {
            let mut free = true;
            for e in list {
                e.visit_columns(&mut |depth, _| free &= depth > 0);
                free &= is_movable(e);
            }
            free.then_some((own(item)?, Answer::Equality))
        }
        Kind::Like { input, .. } => {
            let column = own(input)?;
            like::range(part, column, &columns.get(column)?.ty)?;
            Some((column, Answer::Inequality))
        }
        _ => None,
    }
}

fn of_scan(scan: &Plan, parts: &[Expr], times: f64) -> Option<MissingIndex> {
    let Node::Scan { table, .. } = &scan.node else {
        return None;
    };
    let def = &*table.def;
    let id = def.stored_id().filter(|id| id.is_common())?;
    if table.hint != ScanHint::None {
        return None;
    }
    let columns = def.columns();
    let (mut equal, mut others) = (Vec::new(), Vec::new());
    let (mut shares, mut narrowest) = (Vec::new(), 1.0f64);
    for part in parts {
        let Some((column, how)) = answer(part, table) else {
            continue;
        };
        if !columns.get(column).is_some_and(|c| may_be_key(&c.ty)) {
            continue;
        }
        match how {
            Answer::Equality => {
                equal.push(column);
                shares.push(share(scan, part));
            }
            Answer::Inequality => {
                others.push(column);
                narrowest = narrowest.min(share(scan, part));
            }
        }
    }
    let in_order = |all: &mut Vec<usize>| {
        all.sort_unstable();
        all.dedup();
    };
    in_order(&mut equal);
    others.retain(|c| !equal.contains(c));
    in_order(&mut others);
    if equal.is_empty() && others.is_empty() {
        return None;
    }
    if !others.is_empty() {
        shares.push(narrowest);
    }
    // Rows to change are read from the table, whatever found them.
    let changed = scan.columns.iter().any(|c| c.name.starts_with('\0'));
    let clustered = def.paths().iter().find(|p| p.covers_all);
    let of_key = |c: &usize| clustered.is_some_and(|p| p.keys.iter().any(|(k, _)| k == c));
    let mut included: Vec<usize> = match (&table.needed, changed) {
        (_, true) => Vec::new(),
        (Some(needed), _) => needed.clone(),
        (None, _) => (0..columns.len()).collect(),
    };
    included
        .retain(|c| *c < columns.len() && !equal.contains(c) && !others.contains(c) && !of_key(c));
    in_order(&mut included);
    if equal.len() + others.len() > 16 || included.len() > MOST {
        return None;
    }
    let rows = table_rows(def);
    let found = together(shares).max(1.0 / rows);
    let all = equal.iter().chain(&others).chain(&included);
    let bytes: f64 = all.map(|c| column_bytes(&columns[*c].ty)).sum();
    let pages = (rows * found * (bytes + 9.0) / cost::PAGE).ceil().max(1.0);
    let mut seek = cost::scan(pages, rows * found).total();
    if changed {
        seek += cost::lookups(rows * found).total();
    }
    let saved = (estimate(scan).cost - seek) * times;
    if saved <= 0.0 {
        return None;
    }
    // Of an index that has all of it, another plan has been made for a reason.
    let has = |path: &duramen_query::host::AccessPath| {
        let keys = equal.len() + others.len();
        let first = path.keys.iter().take(keys).map(|(c, _)| c);
        path.keys.len() >= keys
            && first
                .clone()
                .all(|c| equal.contains(c) || others.contains(c))
            && (path.covers_all || included.iter().all(|c| path.columns.contains(c)))
    };
    if def.paths().iter().any(has) {
        return None;
    }
    let named = |all: Vec<usize>| {
        let one = |c: usize| (def.column_id(c), columns[c].name.clone());
        all.into_iter().map(one).collect()
    };
    let (database, place) = def.place();
    let (schema, name) = place.split_once('.')?;
    Some(MissingIndex {
        table: id,
        names: [database, schema, name].map(str::to_owned),
        equality: named(equal),
        inequality: named(others),
        included: named(included),
        cost: 0.0,
        impact: saved,
    })
}
