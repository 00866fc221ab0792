//! The values of an IN subquery that looks at no row outside: they are put in order once, and every row's is looked up.
//!
//! Values that find no room in memory wait in a file, in the same order.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_columns::steps::ordered_while;
use duramen_types::{CollationId, Value, compare};

use crate::batch::{ValueFile, ValueSorter};
use crate::cx::Cx;
use crate::kept::{Held, value_bytes};
use crate::plan::Plan;

pub struct InList {
    has_null: bool,
    values: Values,
    collation: CollationId,
}

enum Values {
    Memory(
        Vec<Value>,
        #[expect(dead_code, reason = "counts them")] Held,
    ),
    File(ValueFile),
}

impl InList {
    /// The list of a plan, which is run once for the statement.
    pub fn of(
        plan: &Arc<Plan>,
        row: &[Value],
        collation: CollationId,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Arc<InList>> {
        let address = Arc::as_ptr(plan) as usize;
        if let Some(list) = cx.lists.get(&address) {
            return Ok(list.clone());
        }
        // Of threads that run the same one reads, the others wait for what it finds.
        let common = cx.dealt.as_ref().map(|dealt| dealt.list_once(address));
        let mut found = common.as_ref().map(|list| list.lock());
        let list = match found.as_deref().and_then(Option::as_ref) {
            Some(list) => list.clone(),
            None => {
                // An uncorrelated plan never reads outer rows, but inner correlated ones count their depth from here.
                cx.push_outer(row);
                let list = InList::read(plan, collation, cx);
                cx.pop_outer();
                Arc::new(list?)
            }
        };
        if let Some(found) = found.as_deref_mut() {
            *found = Some(list.clone());
        }
        cx.lists.insert(address, list.clone());
        Ok(list)
    }

    fn read(plan: &Plan, collation: CollationId, cx: &mut Cx<'_>) -> SqlResult<InList> {
        let mut operator = plan.start(cx)?;
        let (mut values, mut held, mut has_null) = (Vec::new(), Held::default(), false);
        let mut file: Option<ValueSorter> = None;
        while let Some(rows) = cx.asking(u64::MAX, |cx| operator.next(cx))? {
            let before = rows.len();
            let some = rows.into_iter().filter_map(|row| row.into_iter().next());
            let mut some: Vec<Value> = some.filter(|v| !v.is_null()).collect();
            has_null |= some.len() < before;
            if file.is_none() {
                if held.add(some.iter().map(value_bytes).sum(), cx) {
                    values.append(&mut some);
                    continue;
                }
                held.clear();
                let mut sorter = ValueSorter::new(plan.columns[0].ty, collation, cx);
                sorter.add(std::mem::take(&mut values), cx)?;
                file = Some(sorter);
            }
            if let Some(file) = &mut file {
                file.add(some, cx)?;
            }
        }
        drop(operator);
        let values = match file {
            Some(file) => Values::File(file.finish(cx)?),
            None => Values::Memory(in_order(values, collation, cx)?, held),
        };
        Ok(InList {
            has_null,
            values,
            collation,
        })
    }

    fn is_empty(&self) -> bool {
        // What went to a file is some values at least.
        !self.has_null && matches!(&self.values, Values::Memory(v, _) if v.is_empty())
    }

    /// Whether a value is among them; `None` is unknown.
    pub fn contains(&self, needle: &Value) -> SqlResult<Option<bool>> {
        if needle.is_null() {
            return Ok(self.is_empty().then_some(false));
        }
        let found = match &self.values {
            Values::Memory(values, _) => values
                .binary_search_by(|v| compare(v, needle, self.collation))
                .is_ok(),
            Values::File(file) => file.contains(needle)?,
        };
        Ok((found || !self.has_null).then_some(found))
    }
}

fn in_order(
    mut values: Vec<Value>,
    collation: CollationId,
    cx: &mut Cx<'_>,
) -> SqlResult<Vec<Value>> {
    let before = |a: usize, b: usize| compare(&values[a], &values[b], collation);
    let order = ordered_while(&|| cx.check_cancelled(), values.len(), before)?;
    let take = |at: u32| std::mem::take(&mut values[at as usize]);
    Ok(order.into_iter().map(take).collect())
}
