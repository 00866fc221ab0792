//! UPDATE and DELETE as they run: all rows are found and all values computed before the first row changes.

use duramen_base::SqlResult;
use duramen_query::host::Locator;
use duramen_query::plan::Node;
use duramen_query::{Cx, Expr, Plan, Row, long};
use duramen_types::Value;

use super::changes::{Changes, Types};
use super::guard::{Moved, Pending};
use super::row::{self, moves_keys};
use super::statement::Dml;

impl Dml {
    /// Whether somebody looks at rows as they were once they have been changed.
    fn shows_old(&self, cx: &Cx<'_>) -> bool {
        self.output.is_some() || cx.changed.is_some()
    }

    pub(super) fn delete(&self, (plan, offset): (&Plan, usize), cx: &mut Cx<'_>) -> SqlResult<u64> {
        let targets = self.targets(plan, offset, cx)?;
        let width = self.table.columns().len();
        let n = targets.len() as u64;
        if self.output.is_none() && !self.guard.follows() {
            // Nobody asks for the rows afterwards.
            targets.give(cx, &mut |(at, found, _), cx| {
                let mut old = only(found, offset, width);
                if !self.shows_old(cx) {
                    forget_replaced(&mut old, &[]);
                }
                self.table.delete(&at, &old, cx)?;
                keep_changed(cx, &[], &[&old])
            })?;
            return Ok(n);
        }
        let old = |found: &Row| found[offset..offset + width].to_vec();
        targets.each(cx, &mut |(at, found, _), cx| {
            let mut old = old(found);
            if !self.shows_old(cx) {
                forget_replaced(&mut old, &[]);
            }
            self.table.delete(at, &old, cx)?;
            self.emit(&[], &old, found, cx)?;
            keep_changed(cx, &[], &[&old])
        })?;
        if self.guard.follows() {
            let mut pending = Pending::default();
            targets.chunks(cx, &mut |some, cx| {
                let gone: Vec<Row> = some.iter().map(|(_, found, _)| old(found)).collect();
                self.guard
                    .deleted(gone.iter(), &mut pending, "DELETE", cx)?;
                pending.count(cx)
            })?;
            pending.verify("DELETE", cx)?;
        }
        Ok(n)
    }

    /// The rows to change with their places, in the order found. A row that joins several times is there once; one that an
    /// outer join made up is not.
    fn targets<'p>(
        &self,
        plan: &'p Plan,
        offset: usize,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Changes<'p>> {
        cx.locators.clear();
        let at_once = comes_at_once(plan);
        cx.keeps_locators = !at_once;
        let locator = offset + self.table.columns().len();
        let mut seen: Vec<u64> = Vec::new();
        let mut out = Changes::new(Types::Of(&plan.columns), Types::Of(&[]));
        let limit = cx.row_limit;
        let mut rows = plan.start_for(limit, cx)?;
        'all: while (out.len() as u64) < limit
            && let Some(batch) = cx.asking(limit - out.len() as u64, |cx| rows.next(cx))?
        {
            for row in batch {
                if out.len() as u64 == limit {
                    break 'all;
                }
                let at = row.get(locator).and_then(Value::as_i64);
                let Some(at) = at.map(|at| at as usize) else {
                    continue;
                };
                if !at_once && !first_time(&mut seen, at) {
                    continue;
                }
                let place = match at_once {
                    true => std::mem::replace(&mut cx.locators[at], Locator::Number(0)),
                    false => cx.locators[at].clone(),
                };
                out.put(place, row, Vec::new(), cx)?;
            }
            if at_once {
                cx.locators.clear();
            }
        }
        drop(rows);
        cx.locators.clear();
        out.finish()
    }

    pub(super) fn update(
        &self,
        (plan, offset): (&Plan, usize),
        assignments: &[(usize, Expr)],
        variables: &[(usize, Expr)],
        cx: &mut Cx<'_>,
    ) -> SqlResult<u64> {
        let width = self.table.columns().len();
        let targets = self.targets(plan, offset, cx)?;
        // With OUTPUT the whole row is kept that was found, else what the table had.
        let own = &plan.columns[offset..offset + width];
        let (kept, offset_kept) = match self.output.is_some() {
            true => (&plan.columns[..], offset),
            false => (own, 0),
        };
        let mut changes = Changes::new(Types::Of(kept), Types::Of(own));
        targets.give(cx, &mut |(at, full, _), cx| {
            let mut new = full[offset..offset + width].to_vec();
            for (column, e) in assignments {
                new[*column] = match e.ty.is_max() && self.table.takes_spooled() {
                    true => long::kept(e, &full, cx)?,
                    false => e.eval(&full, cx)?,
                };
            }
            for (slot, e) in variables {
                let v = long::assigned(e, &full, cx)?;
                cx.set_variable(*slot, v);
            }
            row::store(&self.table, &mut new, "UPDATE", cx)?;
            self.guard.check(&*self.table, &new, "UPDATE", cx)?;
            let mut found = match self.output.is_some() {
                true => full,
                false => only(full, offset, width),
            };
            if !self.shows_old(cx) {
                forget_replaced(&mut found, &new);
            }
            changes.put(at, found, new, cx)
        })?;
        let changes = changes.finish()?;
        let old = |found: &Row| found[offset_kept..offset_kept + width].to_vec();
        if self.output.is_some() {
            changes.each(cx, &mut |(_, found, new), cx| {
                self.emit(new, &old(found), found, cx)
            })?;
        }
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        // When key values may pass from row to row, all old rows leave before the new ones come.
        if changes.len() > 1 && moves_keys(&*self.table, &assigned) {
            changes.each(cx, &mut |(at, found, _), cx| {
                self.table.delete(at, &old(found), cx)
            })?;
            changes.each(cx, &mut |(_, _, new), cx| {
                self.table.insert_again(new.clone(), cx)
            })?;
        } else if self.output.is_none() && !self.guard.follows() && cx.changed.is_none() {
            // Nobody asks for the rows afterwards.
            let n = changes.len() as u64;
            changes.give(cx, &mut |(at, old, new), cx| {
                self.table.update(&at, &old, new, cx)
            })?;
            return Ok(n);
        } else {
            changes.each(
                cx,
                &mut |(at, found, new), cx| match self.output.is_some() {
                    true => self.table.update(at, &old(found), new.clone(), cx),
                    false => self.table.update(at, found, new.clone(), cx),
                },
            )?;
        }
        if self.guard.follows() {
            let (mut moved, mut pending) = (Moved::default(), Pending::default());
            changes.chunks(cx, &mut |some, cx| {
                let both: Vec<(Row, &Row)> = some.iter().map(|(_, f, new)| (old(f), new)).collect();
                let rows = both.iter().map(|(old, new)| (old, *new));
                self.guard.updated(rows, &mut moved, &mut pending, cx)
            })?;
            self.guard.follow(moved, &mut pending, "UPDATE", cx)?;
            pending.verify("UPDATE", cx)?;
        }
        if cx.changed.is_some() {
            changes.each(cx, &mut |(_, found, new), cx| {
                keep_changed(cx, &[new], &[&old(found)])
            })?;
        }
        Ok(changes.len() as u64)
    }
}

/// The table's own columns of a row that was found.
fn only(mut found: Row, offset: usize, width: usize) -> Row {
    found.truncate(offset + width);
    found.drain(..offset);
    found
}

/// Takes large values out of a row that goes away, but for those that stay: nobody asks for them any more, and whoever frees
/// what somebody has lent makes a copy.
fn forget_replaced(old: &mut [Value], new: &[Value]) {
    for (at, value) in old.iter_mut().enumerate() {
        if matches!(value, Value::Spooled(_)) && new.get(at) != Some(value) {
            *value = Value::Null;
        }
    }
}

/// Whether a plan gives out every row that it has read before it reads on.
fn comes_at_once(plan: &Plan) -> bool {
    match &plan.node {
        Node::Scan { .. } => true,
        Node::Filter { input, .. } => comes_at_once(input),
        _ => false,
    }
}

/// Notes that a number has come; whether it is the first time.
fn first_time(seen: &mut Vec<u64>, at: usize) -> bool {
    if seen.len() <= at / 64 {
        seen.resize(at / 64 + 1, 0);
    }
    let bit = 1 << (at % 64);
    let first = seen[at / 64] & bit == 0;
    seen[at / 64] |= bit;
    first
}

/// Notes for triggers what a statement has written and taken away.
pub(super) fn keep_changed(cx: &mut Cx<'_>, inserted: &[&Row], deleted: &[&Row]) -> SqlResult<()> {
    let Some(mut changed) = cx.changed.take() else {
        return Ok(());
    };
    let mut put = || {
        for row in inserted {
            changed.inserted.put_row((*row).clone(), cx)?;
        }
        for row in deleted {
            changed.deleted.put_row((*row).clone(), cx)?;
        }
        Ok(())
    };
    let done = put();
    cx.changed = Some(changed);
    done
}
