//! STRING_AGG whose texts find no room in memory: they wait in files, sorted by the numbers of their groups and by what a
//! group is ordered by, and each group's are joined when it goes out.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_types::batch::{Batch, Column, Data, IntKind};
use duramen_types::{CollationId, SqlType, Value};

use super::sort::{Direction, Sorted, Sorter};
use super::{BATCH_ROWS, batch_of_types};
use crate::aggregate::{ListText, State};
use crate::cx::Cx;
use crate::plan::{Aggregate, OutColumn, Row};

/// The texts of all groups, in any order.
pub(super) struct Lists {
    /// Of the group's number, the sort keys, and the text behind them.
    types: Vec<SqlType>,
    sorter: Sorter<'static>,
    /// By group.
    separators: Vec<Value>,
    bytes: Vec<usize>,
    /// Bytes that a value may have, unless it may be large.
    most: Option<usize>,
}

/// Bytes of a group's texts that come before it is asked whether there may be a value of so many.
const ASKED: usize = 1 << 20;

impl Lists {
    pub fn new(aggregate: &Aggregate, cx: &Cx<'_>) -> Lists {
        let by: Vec<_> = aggregate.list.iter().flat_map(|(_, by)| by).collect();
        let mut types = vec![SqlType::BIGINT];
        types.extend(by.iter().map(|k| k.expr.ty));
        types.push(aggregate.input.as_ref().map_or(aggregate.ty, |e| e.ty));
        let columns = types.iter().map(|ty| OutColumn::unnamed(*ty, true));
        let columns: Vec<OutColumn> = columns.collect();
        // The keys stand behind the text in any case.
        let kept: Vec<bool> = (0..types.len()).map(|i| i + 1 == types.len()).collect();
        let group = Direction {
            collation: CollationId::NONE,
            descending: false,
        };
        let mut sorter = Sorter::new((&columns, &kept), Vec::new(), u64::MAX, cx);
        sorter = sorter.then_by_values(0, &types[0], group);
        for (i, k) in by.iter().enumerate() {
            let direction = Direction::of(&k.expr, k.descending);
            sorter = sorter.then_by_values(i + 1, &types[i + 1], direction);
        }
        Lists {
            types,
            sorter,
            separators: Vec::new(),
            bytes: Vec::new(),
            most: ListText::most_bytes(aggregate),
        }
    }

    /// So many groups there are.
    pub fn grow(&mut self, groups: usize) {
        self.separators.resize(groups, Value::Null);
        self.bytes.resize(groups, 0);
    }

    /// Notes a text: what could never be one value is refused before it fills a file.
    fn count(&mut self, group: usize, text: &Value, cx: &Cx<'_>) -> SqlResult<()> {
        let before = self.bytes[group];
        let bytes = before + text.heap_bytes();
        self.bytes[group] = bytes;
        if self.most.is_some_and(|most| bytes > most) {
            return Err(ListText::too_long());
        }
        match before / ASKED == bytes / ASKED {
            true => Ok(()),
            false => cx.room_for(bytes),
        }
    }

    /// Takes what the next group has kept in memory.
    pub fn take_over(&mut self, state: State, cx: &mut Cx<'_>) -> SqlResult<()> {
        let group = self.separators.len();
        let (separator, parts) = state.into_list();
        self.grow(group + 1);
        self.separators[group] = separator;
        for (_, text) in &parts {
            self.count(group, text, cx)?;
        }
        let mut parts = parts.into_iter();
        loop {
            let some = parts.by_ref().take(BATCH_ROWS).map(|(order, text)| {
                let mut row: Row = vec![Value::BigInt(group as i64)];
                row.extend(order);
                row.push(text);
                row
            });
            let some: Vec<Row> = some.collect();
            if some.is_empty() {
                return Ok(());
            }
            self.sorter.add(&batch_of_types(some, &self.types), cx)?;
        }
    }

    /// One batch: the numbers of the groups, and the text, the separator and the sort keys of each row.
    pub fn take(
        &mut self,
        numbers: &[u32],
        arguments: &[Arc<Column>],
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        let [text, separator, order @ ..] = arguments else {
            return Ok(());
        };
        let rows: Vec<u32> = (0..numbers.len() as u32)
            .filter(|i| !text.is_null(*i as usize))
            .collect();
        for i in rows.iter().map(|i| *i as usize) {
            let group = numbers[i] as usize;
            if self.separators[group].is_null() {
                self.separators[group] = separator.get(i);
            }
            self.count(group, &text.get(i), cx)?;
        }
        let groups = rows.iter().map(|i| i64::from(numbers[*i as usize]));
        let groups = Column::new(Data::Ints(IntKind::BigInt, groups.collect()));
        let mut columns = vec![Arc::new(groups)];
        let rest = order.iter().chain([text]);
        columns.extend(rest.map(|c| Arc::new(c.gather(&rows))));
        self.sorter.add(&Batch::new(rows.len(), columns), cx)
    }

    /// The last text has come.
    pub fn finish<'p>(self, aggregate: &'p Aggregate, cx: &mut Cx<'_>) -> SqlResult<Joined<'p>> {
        Ok(Joined {
            aggregate,
            sorted: self.sorter.finish(cx)?,
            separators: self.separators,
            batch: None,
        })
    }
}

/// The values of all groups, one after the other.
pub(super) struct Joined<'p> {
    aggregate: &'p Aggregate,
    sorted: Sorted,
    separators: Vec<Value>,
    /// Texts and their groups' numbers, and how many of them have been joined.
    batch: Option<(Arc<Column>, Arc<Column>, usize)>,
}

impl Joined<'_> {
    /// A column for values like these.
    pub fn column(&self) -> Column {
        Column::of(&self.aggregate.ty)
    }

    /// The value of the group with this number; those before it have gone out.
    pub fn of(&mut self, group: usize, cx: &mut Cx<'_>) -> SqlResult<Value> {
        let separator = self.separators.get(group).unwrap_or(&Value::Null);
        let mut joined = ListText::new(self.aggregate, separator);
        loop {
            if let Some((texts, groups, next)) = &mut self.batch {
                while *next < groups.len() {
                    if groups.get(*next).as_i64() != Some(group as i64) {
                        return Ok(joined.finish());
                    }
                    joined.put(&texts.get(*next), cx)?;
                    *next += 1;
                }
            }
            let Some(batch) = self.sorted.next(cx)? else {
                self.batch = None;
                return Ok(joined.finish());
            };
            let (columns, keys) = self.sorted.part(batch);
            let pair = columns.last().zip(keys.first());
            self.batch = pair.map(|(text, group)| (text.clone(), group.clone(), 0));
        }
    }
}
