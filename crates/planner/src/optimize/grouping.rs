//! GROUP BY by order: where rows come, or can be read, group by group.

use duramen_query::estimate::{estimate, group_count, row_bytes};
use duramen_query::{Expr, Plan, cost};

use super::access::Want;
use super::merge::{columns_of, orders_of, put_back, reads_in_order, seek_now};
use super::{gives_places, order};

/// Whether grouping by order is cheaper than hashing, for whoever wants the groups as `want` says; then the input gives
/// its rows group by group from here on. Otherwise it stays as it is.
pub fn by_order(input: &mut Plan, groups: &[Expr], kept: usize, want: &Want) -> bool {
    let Some(columns) = columns_of(input, groups) else {
        return false;
    };
    if groups.is_empty() || gives_places(input) {
        return false;
    }
    let columns: Vec<usize> = columns.into_iter().map(|(c, _)| c).collect();
    let before = estimate(input);
    let count = group_count(input, groups, before.rows);
    let bytes = row_bytes(&input.columns);
    let mut hashed = before.cost + cost::hash(count, before.rows, bytes).total();
    if !want.order.is_empty() {
        hashed += cost::sort(count, bytes).total();
    }
    let streamed = |input: &Plan| {
        let given = groups_given(&order::of(input), &columns, kept);
        let sort = match want.order.is_empty() || given.gives(&want.order) {
            true => 0.0,
            false => cost::sort(count, bytes).total(),
        };
        estimate(input).cost + cost::stream(before.rows).total() + sort
    };
    let seek = seek_now(input);
    if prefix(&order::of(input), &columns).is_none() {
        let orders = orders_of(input).into_iter();
        let ways = orders.filter_map(|o| {
            let wanted = groups_given(&o, &columns, kept).gives(&want.order);
            Some((!wanted, prefix(&o, &columns)?))
        });
        // The first of those that save a sort above, or of all.
        let found = ways.min_by_key(|w| w.0).map(|w| w.1);
        if !found.is_some_and(|by| reads_in_order(input, &by)) {
            return false;
        }
    }
    let cheaper = prefix(&order::of(input), &columns).is_some() && streamed(input) < hashed;
    if !cheaper {
        put_back(input, seek);
    }
    cheaper
}

/// The beginning of an order in which rows of the same values in these columns come together.
fn prefix(order: &order::Order, columns: &[usize]) -> Option<Vec<(usize, bool)>> {
    let mut open: Vec<usize> = columns.to_vec();
    open.retain(|c| !order.fixed.contains(c));
    let mut by = Vec::new();
    for (column, descending) in &order.by {
        if open.is_empty() {
            break;
        }
        if !open.contains(column) {
            return None;
        }
        open.retain(|c| c != column);
        by.push((*column, *descending));
    }
    open.is_empty().then_some(by)
}

/// The order of groups made of rows in an order: `columns` are what the groups go by.
pub fn groups_given(order: &order::Order, columns: &[usize], kept: usize) -> order::Order {
    let place = |c: &usize| columns.iter().position(|g| g == c).map(|at| kept + at);
    let by = order.by.iter();
    let by: Vec<(usize, bool)> = by
        .map_while(|(c, descending)| Some((place(c)?, *descending)))
        .collect();
    order::Order {
        unique: true,
        fixed: order.fixed.iter().filter_map(place).collect(),
        by,
    }
}
