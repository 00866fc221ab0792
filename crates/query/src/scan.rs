//! Reading a table through one of its access paths.

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cx::Cx;
use crate::expr::Expr;
use crate::host::{Bounds, Limit, Locator, Reached, RowCursor};
use crate::locking::ScanLock;
use crate::passing::Passing;
use crate::plan::{Node, Plan, Row, Seek};

pub struct TableScan<'p> {
    cursor: Option<Box<dyn RowCursor>>,
    /// Give each row's place out as one more column.
    with_locators: bool,
    /// Rows for which this does not hold are passed over. Of a scan for rows to change: and their locks given back.
    filter: Option<&'p Expr>,
    passing: Passing,
    _plan: &'p Plan,
}

/// Rows that are passed over between two looks at whether somebody still wants the others.
const PASSED: usize = 64;

impl<'p> TableScan<'p> {
    pub fn open(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<TableScan<'p>> {
        let Node::Scan { table, lock, .. } = &plan.node else {
            unreachable!("TableScan::open is called for scan nodes")
        };
        let with_locators = plan.columns.len() > table.def.columns().len();
        let bounds = match asked(plan, cx)? {
            Asked::All => None,
            Asked::Within(b) => Some(b),
            Asked::Nothing => {
                return Ok(TableScan {
                    passing: Passing::of([].iter()),
                    cursor: None,
                    with_locators,
                    filter: None,
                    _plan: plan,
                });
            }
        };
        let lock: ScanLock = *lock;
        let cursor = table.def.open(bounds.as_deref(), lock, cx)?;
        let columns = table.def.columns();
        Ok(TableScan {
            passing: Passing::of(columns.iter().map(|c| &c.ty)),
            cursor: Some(cursor),
            with_locators,
            filter: None,
            _plan: plan,
        })
    }

    /// Takes the condition above a scan, so that no row behind the last one that is wanted is looked at; of a scan for rows
    /// to change each row's lock is kept or given back while the cursor stands on it. A reader does not stand on a row
    /// while a subquery or a user's function reads others: that condition is not taken.
    pub fn take_filter(&mut self, predicate: &'p Expr) -> bool {
        if self.filter.is_some() || !self.with_locators && predicate.reads() {
            return false;
        }
        self.filter = Some(predicate);
        true
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        let places = cx.locators.len();
        let mut passed = 0_usize;
        let wanted = cx.wanted;
        while rows.len() < wanted {
            match cursor.next(cx)? {
                Some((locator, mut row)) => {
                    if self.with_locators {
                        row.push(Value::BigInt(cx.locators.len() as i64));
                    }
                    if let Some(filter) = self.filter
                        && filter.test(&row, cx)? != Some(true)
                    {
                        passed += 1;
                        if passed.is_multiple_of(PASSED) {
                            cx.check_cancelled()?;
                        }
                        continue;
                    }
                    if self.with_locators {
                        // The change comes after the scan: until then nobody else may change the row.
                        cursor.keep();
                        cx.locators.push(locator);
                    }
                    self.passing.add(&row);
                    rows.push(row);
                    if self.passing.is_full() {
                        break;
                    }
                }
                None => {
                    self.cursor = None;
                    break;
                }
            }
        }
        self.passing.go_on(cx);
        if cx.keeps_locators && self.with_locators {
            let bytes = cx.locators[places..].iter().map(Locator::bytes).sum();
            cx.keep(bytes)?;
        }
        Ok((!rows.is_empty()).then_some(rows))
    }
}

/// What a scan asks its table for.
pub(crate) enum Asked {
    All,
    Within(Box<Bounds>),
    /// A value that has to be equal to something is NULL.
    Nothing,
}

/// The bounds of a scan with their values.
pub(crate) fn asked(plan: &Plan, cx: &mut Cx<'_>) -> SqlResult<Asked> {
    let Node::Scan { seek, reach, .. } = &plan.node else {
        return Ok(Asked::All);
    };
    let sought = match seek {
        Some(seek) => match bounds(seek, cx)? {
            Some(b) => Some(b),
            None => return Ok(Asked::Nothing),
        },
        None => None,
    };
    let Some(reach) = reach else {
        return Ok(sought.map_or(Asked::All, |b| Asked::Within(Box::new(b))));
    };
    let mut value = |e: &Option<(Expr, bool)>| -> SqlResult<Limit> {
        let Some((e, whole)) = e else {
            return Ok(None);
        };
        let value = e.eval(&[], cx)?;
        Ok((!value.is_null()).then_some((value, *whole)))
    };
    let mut reached = Reached {
        column: reach.column,
        lower: value(&reach.lower)?,
        upper: value(&reach.upper)?,
        any: Vec::with_capacity(reach.any.len()),
    };
    for (lower, upper) in &reach.any {
        let both = (value(lower)?, value(upper)?);
        reached.any.push(match both {
            // What is compared with NULL: where NULLs are, if anywhere.
            (None, None) => (Some((Value::Null, true)), Some((Value::Null, true))),
            both => both,
        });
    }
    let reach = Some(reached);
    let found = sought.unwrap_or(Bounds {
        path: Bounds::NO_PATH,
        ..Bounds::default()
    });
    Ok(Asked::Within(Box::new(Bounds { reach, ..found })))
}

/// The values of a seek; `None` when one is NULL, which nothing equals.
pub(crate) fn bounds(seek: &Seek, cx: &mut Cx<'_>) -> SqlResult<Option<Bounds>> {
    let mut out = Bounds {
        path: seek.index,
        backward: seek.backward,
        covering: seek.covering,
        ..Bounds::default()
    };
    for e in &seek.equal {
        match e.eval(&[], cx)? {
            Value::Null => return Ok(None),
            v => out.equal.push(v),
        }
    }
    for (side, slot) in [(&seek.lower, &mut out.lower), (&seek.upper, &mut out.upper)] {
        if let Some((e, inclusive)) = side {
            match e.eval(&[], cx)? {
                Value::Null => return Ok(None),
                v => *slot = Some((v, *inclusive)),
            }
        }
    }
    Ok(Some(out))
}
