//! The rows of a bulk load: COLMETADATA, rows and, from most clients, a DONE, read as they arrive.
//!
//! What is kept is what the reader has not understood yet: at most one row beyond the last bytes pushed, and never more
//! than the limit it was given.

use duramen_types::{SqlType, Value};

use crate::bytes::{Reader, TdsError, TdsResult};
use crate::dialect::Dialect;
use crate::token::MAX_COLUMNS;
use crate::typeinfo::{Place, TypeInfo};
use crate::value::parse_value;

const COLMETADATA: u8 = 0x81;
const ROW: u8 = 0xD1;
const NBCROW: u8 = 0xD2;
const DONE: u8 = 0xFD;
/// What stands in a DONE behind its token.
const DONE_BYTES: usize = 12;
/// The same with the count of rows in four bytes, as before TDS 7.2: mssql-rs ends its streams so.
const SHORT_DONE_BYTES: usize = 8;
/// A row that is not whole at this size is tried again only when it has grown by half.
const LARGE_ROW_BYTES: usize = 64 * 1024;

/// What the stream says next.
#[derive(Clone, PartialEq, Debug)]
pub enum BulkItem {
    Columns(Vec<SqlType>),
    Row(Vec<Value>),
    Done,
}

/// Reads a bulk load from pieces of any size.
#[derive(Debug)]
pub struct BulkReader {
    columns: Option<Vec<TypeInfo>>,
    buffer: Vec<u8>,
    used: usize,
    retry_at: usize,
    limit: usize,
    done: bool,
    dialect: Dialect,
}

impl BulkReader {
    /// `limit`: a longer row is refused, in bytes.
    pub fn new(limit: usize) -> BulkReader {
        BulkReader::speaking(Dialect::V74, limit)
    }

    /// Reads what a client says in that dialect.
    pub fn speaking(dialect: Dialect, limit: usize) -> BulkReader {
        BulkReader {
            columns: None,
            buffer: Vec::new(),
            used: 0,
            retry_at: 0,
            limit,
            done: false,
            dialect,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next item; `None` when more bytes are needed. After an error the stream cannot be read further.
    pub fn next_item(&mut self) -> TdsResult<Option<BulkItem>> {
        let pending = &self.buffer[self.used..];
        if pending.is_empty() || pending.len() < self.retry_at {
            return Ok(None);
        }
        if self.done {
            return Err(TdsError::Malformed("bytes after the end of a bulk load"));
        }
        let mut reader = Reader::new(pending);
        match self.item(&mut reader) {
            Ok((item, columns)) => {
                self.used += reader.position();
                self.retry_at = 0;
                if columns.is_some() {
                    self.columns = columns;
                }
                self.done = item == BulkItem::Done;
                Ok(Some(item))
            }
            Err(TdsError::Truncated) if pending.len() > self.limit => {
                Err(TdsError::TooLarge("row of a bulk load"))
            }
            Err(TdsError::Truncated) => {
                if pending.len() >= LARGE_ROW_BYTES {
                    self.retry_at = pending.len() + pending.len() / 2;
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The message has ended: everything must have been understood. The DONE may be missing.
    pub fn finish(&mut self) -> TdsResult<Option<BulkItem>> {
        // What was put off is tried once more.
        self.retry_at = 0;
        match self.next_item()? {
            None if matches!(self.buffer[self.used..], [DONE, ..])
                && self.buffer.len() - self.used == 1 + SHORT_DONE_BYTES =>
            {
                self.used = self.buffer.len();
                self.done = true;
                Ok(Some(BulkItem::Done))
            }
            None if self.used < self.buffer.len() => {
                Err(TdsError::Malformed("a bulk load that ends inside a row"))
            }
            item => Ok(item),
        }
    }

    fn item(&self, r: &mut Reader<'_>) -> TdsResult<(BulkItem, Option<Vec<TypeInfo>>)> {
        let Some(columns) = &self.columns else {
            let columns = columns(r, self.dialect)?;
            let types = columns.iter().map(|c| c.ty).collect();
            return Ok((BulkItem::Columns(types), Some(columns)));
        };
        let item = match r.u8()? {
            ROW => BulkItem::Row(
                columns
                    .iter()
                    .map(|c| parse_value(r, c))
                    .collect::<TdsResult<_>>()?,
            ),
            NBCROW => {
                let nulls = r.take(columns.len().div_ceil(8))?;
                let mut row = Vec::with_capacity(columns.len());
                for (i, column) in columns.iter().enumerate() {
                    row.push(match nulls[i / 8] >> (i % 8) & 1 {
                        0 => parse_value(r, column)?,
                        _ => Value::Null,
                    });
                }
                BulkItem::Row(row)
            }
            DONE => {
                r.take(match self.dialect {
                    Dialect::V71 => SHORT_DONE_BYTES,
                    _ => DONE_BYTES,
                })?;
                BulkItem::Done
            }
            _ => return Err(TdsError::Malformed("token of a bulk load")),
        };
        Ok((item, None))
    }
}

/// COLMETADATA. Clients disagree on the table name behind text, ntext and image: several counted parts, as the server
/// sends them, or one name (FreeTDS); the one that leads to a row or the end is meant.
fn columns(r: &mut Reader<'_>, dialect: Dialect) -> TdsResult<Vec<TypeInfo>> {
    let start = *r;
    let first = columns_with(r, dialect, dialect.has_headers());
    let follows = |r: &Reader<'_>| matches!(r.peek(), None | Some(ROW | NBCROW | DONE));
    if first.is_ok() && follows(r) {
        return first;
    }
    let mut other = start;
    match columns_with(&mut other, dialect, false) {
        Ok(columns) if follows(&other) => {
            *r = other;
            Ok(columns)
        }
        _ => first,
    }
}

fn columns_with(r: &mut Reader<'_>, dialect: Dialect, parts: bool) -> TdsResult<Vec<TypeInfo>> {
    if r.u8()? != COLMETADATA {
        return Err(TdsError::Malformed("bulk load without columns"));
    }
    let count = r.u16()? as usize;
    if count == 0 || count > MAX_COLUMNS {
        return Err(TdsError::Malformed("number of columns"));
    }
    let mut columns = Vec::new();
    for _ in 0..count {
        match dialect {
            Dialect::V71 => r.take(2)?,
            _ => r.take(4)?,
        };
        let _flags = r.u16()?;
        let info = TypeInfo::parse(r, Place::Column)?;
        if info.ty.id.is_legacy_lob() {
            let names = if parts { r.u8()? } else { 1 };
            for _ in 0..names {
                r.us_varchar()?;
            }
        }
        r.b_varchar()?;
        columns.push(info);
    }
    Ok(columns)
}

#[cfg(test)]
mod tests;
