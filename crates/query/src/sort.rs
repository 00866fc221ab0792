//! Sorting rows. Those that find no room in memory are sorted by column, which knows files: the order is the same.

use std::collections::VecDeque;

use duramen_base::SqlResult;
use duramen_columns::steps::ordered_while;
use duramen_types::Value;

use crate::batch::{self, Handed};
use crate::cx::Cx;
use crate::exec::{Operator, open};
use crate::kept::{Held, Leaving, row_bytes};
use crate::key::compare_keys;
use crate::plan::{Plan, Row, SortKey};

/// So many rows are sorted where they are, in one step.
const FEW: usize = 4096;

/// The rows of `input` in the order of `keys`; rows that sort alike in the order in which they came.
pub fn sorted<'p>(
    input: &'p Plan,
    keys: &'p [SortKey],
    cx: &mut Cx<'_>,
) -> SqlResult<Operator<'p>> {
    let mut keyed: Vec<(Vec<Value>, Row)> = Vec::new();
    let mut held = Held::default();
    let mut rows = open(input, cx)?;
    while let Some(batch) = rows.next(cx)? {
        let mut bytes = 0;
        for row in batch {
            let mut key = Vec::with_capacity(keys.len());
            for k in keys {
                key.push(k.expr.eval(&row, cx)?);
            }
            bytes += row_bytes(&key) + row_bytes(&row);
            keyed.push((key, row));
        }
        if !held.add(bytes, cx) {
            let first = keyed.into_iter().map(|(_, row)| row).collect();
            let handed = Handed::new(input, Leaving::new(first, held), Some(rows));
            return batch::sorted(handed, (input, keys), cx);
        }
    }
    let rows = match keyed.len() <= FEW {
        true => {
            keyed.sort_by(|(a, _), (b, _)| compare_keys(keys, a, b));
            keyed.into_iter().map(|(_, row)| row).collect()
        }
        false => {
            let compare = |a: usize, b: usize| compare_keys(keys, &keyed[a].0, &keyed[b].0);
            let order = ordered_while(&|| cx.check_cancelled(), keyed.len(), compare)?;
            let take = |at: u32| std::mem::take(&mut keyed[at as usize].1);
            order.into_iter().map(take).collect::<VecDeque<Row>>()
        }
    };
    Ok(Operator::Leaving(Leaving::new(rows, held)))
}
