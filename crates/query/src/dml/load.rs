//! INSERT ... SELECT into a table that takes many rows at once.

use std::sync::Arc;

use duramen_base::SqlResult;

use super::guard::Guard;
use super::{ColumnValue, row, source};
use crate::cx::Cx;
use crate::host::{Load, Table};
use crate::plan::Plan;

/// Gives the rows of a query to `load`; how many.
pub(super) fn rows(
    table: &Arc<dyn Table>,
    guard: &Guard,
    (plan, columns): (&Plan, &[ColumnValue]),
    mut load: Box<dyn Load + '_>,
    cx: &mut Cx<'_>,
) -> SqlResult<u64> {
    let mut rows = source::Rows::open(plan, &**table, cx)?;
    let (mut n, mut left) = (0, cx.row_limit);
    while left > 0
        && let Some(mut some) = rows.next(cx)?
    {
        cx.check_cancelled()?;
        some.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= some.len() as u64;
        n += some.len() as u64;
        for given in some {
            load.put(row::new_row(table, given, columns, guard, cx)?, cx)?;
        }
    }
    load.finish(cx)?;
    Ok(n)
}
