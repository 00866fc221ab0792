//! Reading a table through one of its access paths.

use duramen_base::SqlResult;
use duramen_types::Value;

use crate::cx::Cx;
use crate::exec::BATCH_ROWS;
use crate::host::{Bounds, RowCursor};
use crate::plan::{Node, Plan, Row, ScanLock, Seek};

pub struct TableScan<'p> {
    cursor: Option<Box<dyn RowCursor>>,
    /// Give each row's place out as one more column.
    with_locators: bool,
    _plan: &'p Plan,
}

impl<'p> TableScan<'p> {
    pub fn open(plan: &'p Plan, cx: &mut Cx<'_>) -> SqlResult<TableScan<'p>> {
        let Node::Scan {
            table, seek, lock, ..
        } = &plan.node
        else {
            unreachable!("TableScan::open is called for scan nodes")
        };
        let with_locators = plan.columns.len() > table.def.columns().len();
        let bounds = match seek {
            Some(seek) => match bounds(seek, cx)? {
                Some(b) => Some(b),
                None => {
                    return Ok(TableScan {
                        cursor: None,
                        with_locators,
                        _plan: plan,
                    });
                }
            },
            None => None,
        };
        let lock: ScanLock = *lock;
        let cursor = table.def.open(bounds.as_ref(), lock, cx)?;
        Ok(TableScan {
            cursor: Some(cursor),
            with_locators,
            _plan: plan,
        })
    }

    pub fn next(&mut self, cx: &mut Cx<'_>) -> SqlResult<Option<Vec<Row>>> {
        let Some(cursor) = &mut self.cursor else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        while rows.len() < BATCH_ROWS {
            match cursor.next(cx)? {
                Some((locator, mut row)) => {
                    if self.with_locators {
                        row.push(Value::BigInt(cx.locators.len() as i64));
                        cx.locators.push(locator);
                    }
                    rows.push(row);
                }
                None => {
                    self.cursor = None;
                    break;
                }
            }
        }
        Ok((!rows.is_empty()).then_some(rows))
    }
}

/// The values of a seek; `None` when one is NULL, which nothing equals.
fn bounds(seek: &Seek, cx: &mut Cx<'_>) -> SqlResult<Option<Bounds>> {
    let mut out = Bounds {
        path: seek.index,
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
