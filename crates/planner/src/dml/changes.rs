//! The rows that an UPDATE or DELETE is about, each with its place and what becomes of it: in memory, and in a file when
//! there is no room.
//!
//! A statement finds all its rows before it changes the first one, however many they are.

use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

use duramen_query::batch::{Keeper, Kept};
use duramen_query::host::{Locator, Table};
use duramen_query::kept::{Held, row_bytes};
use duramen_query::{Cx, OutColumn, Row};

/// A row's place, the row as it was found, and as it will be (without columns where it goes).
pub(super) type Change = (Locator, Row, Row);

/// Rows that are given to a file together.
const TOGETHER: usize = 256;
/// Rows that are written without a look at whether the statement is still wanted: each may hold large values.
const WRITTEN: usize = 4;
/// The part of the workspace that they take: keys that move with them have no file.
const PART: usize = 4;

/// The types of a row's values. Asked for only when there is a file.
pub(super) enum Types<'p> {
    Of(&'p [OutColumn]),
    Given(Vec<SqlType>),
}

impl Types<'_> {
    fn len(&self) -> usize {
        match self {
            Types::Of(columns) => columns.len(),
            Types::Given(types) => types.len(),
        }
    }

    fn column(&self, i: usize) -> OutColumn {
        let ty = match self {
            Types::Of(columns) => columns[i].ty,
            Types::Given(types) => types[i],
        };
        OutColumn::unnamed(ty, true)
    }
}

/// See the module. Rows come out in the order in which they were put in, any number of times.
pub(super) struct Changes<'p> {
    /// Of a row as it was found, and as it will be.
    types: [Types<'p>; 2],
    first: Vec<Change>,
    held: Held,
    /// Beyond so many bytes they go to the file; 0 until asked.
    most: usize,
    file: Option<Box<Keeper>>,
    /// Rows on their way to the file.
    waiting: Vec<Row>,
    rest: Option<Box<Kept>>,
    kind: Place,
    len: usize,
}

/// What the places of the file's rows are.
#[derive(Clone, Copy)]
enum Place {
    Rid,
    Key(usize),
    Number,
}

impl<'p> Changes<'p> {
    pub fn new(found: Types<'p>, changed: Types<'p>) -> Changes<'p> {
        Changes {
            types: [found, changed],
            first: Vec::new(),
            held: Held::default(),
            most: 0,
            file: None,
            waiting: Vec::new(),
            rest: None,
            kind: Place::Number,
            len: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn put(&mut self, at: Locator, old: Row, new: Row, cx: &Cx<'_>) -> SqlResult<()> {
        self.len += 1;
        if self.file.is_none() {
            let bytes = at.bytes() + row_bytes(&old) + row_bytes(&new);
            if self.most == 0 {
                self.most = cx.host.workspace().limit() / PART;
            }
            if self.held.add(bytes, cx) && self.held.bytes() <= self.most {
                self.first.push((at, old, new));
                return Ok(());
            }
            self.held.less(bytes);
            self.begin_file(&at, cx)?;
        }
        self.waiting.push(joined((at, old, new)));
        match self.waiting.len() >= TOGETHER {
            true => self.write(),
            false => Ok(()),
        }
    }

    fn begin_file(&mut self, at: &Locator, cx: &Cx<'_>) -> SqlResult<()> {
        self.kind = match at {
            Locator::Rid(..) => Place::Rid,
            Locator::Key(values) => Place::Key(values.len()),
            Locator::Number(_) => Place::Number,
        };
        // The values of a key are of any type.
        let (n, ty) = match self.kind {
            Place::Key(n) => (n, SqlType::VARIANT),
            _ => (3, SqlType::BIGINT),
        };
        let mut columns = vec![OutColumn::unnamed(ty, true); n];
        for types in &self.types {
            columns.extend((0..types.len()).map(|i| types.column(i)));
        }
        self.file = Some(Box::new(Keeper::new(&columns, cx)?));
        Ok(())
    }

    fn write(&mut self) -> SqlResult<()> {
        match &mut self.file {
            Some(file) => file.put(std::mem::take(&mut self.waiting)),
            None => Ok(()),
        }
    }

    /// All have been put in.
    pub fn finish(mut self) -> SqlResult<Changes<'p>> {
        if !self.waiting.is_empty() {
            self.write()?;
        }
        if let Some(file) = self.file.take() {
            self.rest = Some(Box::new(file.finish()?));
        }
        Ok(self)
    }

    /// Gives them to `f`, those in memory together, those of the file some at a time.
    pub fn chunks(
        &self,
        cx: &mut Cx<'_>,
        f: &mut dyn FnMut(&[Change], &mut Cx<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if !self.first.is_empty() {
            f(&self.first, cx)?;
        }
        let Some(rest) = &self.rest else {
            return Ok(());
        };
        let mut rest = rest.again();
        while let Some(rows) = rest.next_rows()? {
            cx.check_cancelled()?;
            let parted = rows.into_iter().map(|row| self.parted(row));
            f(&parted.collect::<SqlResult<Vec<Change>>>()?, cx)?;
        }
        Ok(())
    }

    /// Gives them away, one by one.
    pub fn give(
        mut self,
        cx: &mut Cx<'_>,
        f: &mut dyn FnMut(Change, &mut Cx<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let first = std::mem::take(&mut self.first);
        let several = first.len() > 1;
        for (i, change) in first.into_iter().enumerate() {
            if i % WRITTEN == WRITTEN - 1 {
                cx.check_cancelled()?;
            }
            if several {
                self.held.less(bytes_of(&change));
            }
            f(change, cx)?;
        }
        self.chunks(cx, &mut |some, cx| {
            some.iter().try_for_each(|change| f(change.clone(), cx))
        })
    }

    /// One by one.
    pub fn each(
        &self,
        cx: &mut Cx<'_>,
        f: &mut dyn FnMut(&Change, &mut Cx<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        self.chunks(cx, &mut |some, cx| {
            for (i, change) in some.iter().enumerate() {
                if i % WRITTEN == WRITTEN - 1 {
                    cx.check_cancelled()?;
                }
                f(change, cx)?;
            }
            Ok(())
        })
    }

    /// Writes the rows as they will be. When key values may pass from row to row, all old rows leave before the new ones come.
    pub fn apply(&self, table: &dyn Table, moves_keys: bool, cx: &mut Cx<'_>) -> SqlResult<()> {
        if self.len > 1 && moves_keys {
            self.each(cx, &mut |(at, old, _), cx| table.delete(at, old, cx))?;
            return self.each(cx, &mut |(_, _, new), cx| {
                table.insert_again(new.clone(), cx)
            });
        }
        self.each(cx, &mut |(at, old, new), cx| {
            table.update(at, old, new.clone(), cx)
        })
    }

    fn parted(&self, row: Row) -> SqlResult<Change> {
        let lost = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
        let mut values = row.into_iter();
        let mut number = || values.next().and_then(|v| v.as_i64()).ok_or_else(lost);
        let at = match self.kind {
            Place::Rid => {
                let (file, page, slot) = (number()?, number()?, number()?);
                let page = PageId {
                    file: file as u16,
                    page: page as u32,
                };
                Locator::Rid(page, slot as u16)
            }
            Place::Number => {
                let n = number()? as u64;
                let _ = (number()?, number()?);
                Locator::Number(n)
            }
            Place::Key(n) => Locator::Key(values.by_ref().take(n).collect()),
        };
        let old = values.by_ref().take(self.types[0].len()).collect();
        Ok((at, old, values.collect()))
    }
}

fn bytes_of((at, old, new): &Change) -> usize {
    at.bytes() + row_bytes(old) + row_bytes(new)
}

/// As the file keeps it.
fn joined((at, old, new): Change) -> Row {
    let number = |n: u64| Value::BigInt(n as i64);
    let mut row = match at {
        Locator::Rid(page, slot) => vec![
            number(page.file.into()),
            number(page.page.into()),
            number(slot.into()),
        ],
        Locator::Number(n) => vec![number(n), number(0), number(0)],
        Locator::Key(values) => values,
    };
    row.extend(old);
    row.extend(new);
    row
}
