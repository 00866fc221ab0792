//! Values in order that wait in a file, to be looked up: a look-up reads the block in which its value would stand.

use std::collections::VecDeque;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_os::sync::Mutex;
use duramen_types::batch::{Batch, Column};
use duramen_types::{CollationId, SqlType, Value, compare};

use super::order::compare_cells;
use super::sort::{Direction, Sorter};
use super::spilled::{Purpose, Reader, Writer};
use crate::cx::Cx;
use crate::kept::value_bytes;
use crate::plan::OutColumn;

/// Blocks that stay in memory: look-ups in no order hardly ever meet one again.
const RECENT: usize = 4;

/// Values on their way to the file, in any order.
pub struct ValueSorter {
    ty: SqlType,
    collation: CollationId,
    sorter: Sorter<'static>,
}

impl ValueSorter {
    pub fn new(ty: SqlType, collation: CollationId, cx: &Cx<'_>) -> ValueSorter {
        let direction = Direction {
            collation,
            descending: false,
        };
        let columns = [OutColumn::unnamed(ty, false)];
        let sorter = Sorter::new((&columns, &[false]), Vec::new(), u64::MAX, cx);
        ValueSorter {
            sorter: sorter.then_by_values(0, &ty, direction),
            ty,
            collation,
        }
    }

    pub fn add(&mut self, values: Vec<Value>, cx: &mut Cx<'_>) -> SqlResult<()> {
        let mut values = values.into_iter();
        loop {
            let mut column = Column::of(&self.ty);
            let some = values.by_ref().take(super::BATCH_ROWS);
            some.for_each(|v| column.push(v));
            if column.is_empty() {
                return Ok(());
            }
            let batch = Batch::new(column.len(), vec![Arc::new(column)]);
            self.sorter.add(&batch, cx)?;
        }
    }

    /// The last value has come. Of those that are equal one is kept.
    pub fn finish(self, cx: &mut Cx<'_>) -> SqlResult<ValueFile> {
        let mut sorted = self.sorter.finish(cx)?;
        let mut writer = Writer::new(Purpose::Spool, cx)?;
        let part = writer.part();
        let (mut last, mut left): (Option<Arc<Column>>, usize) = (None, 0);
        while let Some(batch) = sorted.next(cx)? {
            let (_, keys) = sorted.part(batch);
            let Some(keys) = keys.into_iter().next() else {
                break;
            };
            let equal = |l: &Column, i, j| compare_cells(l, i, &keys, j, self.collation).is_eq();
            let again = |i: usize| match (i, &last) {
                (0, None) => false,
                (0, Some(last)) => equal(last, last.len() - 1, 0),
                (i, _) => equal(&keys, i - 1, i),
            };
            let rows: Vec<u32> = (0..keys.len() as u32)
                .filter(|i| !again(*i as usize))
                .collect();
            left += rows.len();
            writer.put(part, std::slice::from_ref(&keys), &rows)?;
            last = Some(keys);
        }
        let mut blocks = Vec::new();
        let reader = writer.finish()?.into_iter().next();
        if let Some(reader) = &reader {
            let mut at = 0;
            while at < left {
                cx.check_cancelled()?;
                let (first, batch) = reader.block_of(at)?;
                let least = batch.columns()[0].get(0);
                cx.keep(value_bytes(&least))?;
                blocks.push((least, first));
                at = first + batch.rows();
            }
        }
        Ok(ValueFile {
            reader,
            blocks,
            collation: self.collation,
            recent: Mutex::default(),
        })
    }
}

/// Different values in order.
pub struct ValueFile {
    reader: Option<Reader>,
    /// The first value of each block, and its number among all.
    blocks: Vec<(Value, usize)>,
    collation: CollationId,
    /// The blocks that were looked at last, by their places, the last one first.
    recent: Mutex<VecDeque<(usize, Arc<Column>)>>,
}

impl ValueFile {
    pub fn contains(&self, value: &Value) -> SqlResult<bool> {
        let is_behind = |v: &Value| compare(v, value, self.collation).is_gt();
        let after = self.blocks.partition_point(|(first, _)| !is_behind(first));
        let Some(at) = after.checked_sub(1) else {
            return Ok(false);
        };
        let values = self.block(at)?;
        let (mut low, mut high) = (0, values.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare(&values.get(middle), value, self.collation) {
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(false)
    }

    fn block(&self, at: usize) -> SqlResult<Arc<Column>> {
        let known = {
            let mut recent = self.recent.lock();
            let known = recent.iter().position(|(of, _)| *of == at);
            known.inspect(|i| recent.swap(0, *i));
            known.map(|_| recent[0].1.clone())
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let found = match &self.reader {
            Some(reader) => reader.block_of(self.blocks[at].1)?.1.columns()[0].clone(),
            None => Arc::new(Column::absent()),
        };
        let mut recent = self.recent.lock();
        recent.push_front((at, found.clone()));
        recent.truncate(RECENT);
        Ok(found)
    }
}
