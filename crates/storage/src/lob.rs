//! Values outside their rows: (max) values over 8,000 bytes, and the widest columns of rows over 8,060.
//!
//! The pieces are records on the text pages of the rowset's LOB unit, placed like heap rows and logged like them; the
//! row keeps an in-row root. Values are immutable: an update writes new pieces and frees the old ones.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::Transaction;
use duramen_types::Value;
use duramen_types::batch::Column;
use duramen_wal::record::Lcx;

use crate::format::layout::ColumnLayout;
use crate::format::lob::{
    INROW_MAX, INROW_OVERFLOW, Link, MAX_DATA_BYTES, MAX_INROW_LINKS, MAX_INTERNAL_LINKS, Node,
    Pointer, decode_node, decode_pointer, encode_data, encode_inrow, encode_internal, read_value,
};
use crate::format::pack::append_row;
use crate::format::pack_columns::append_rows;
use crate::format::page::MAX_RECORD_BYTES;
use crate::format::row::{Field, decode_fields, encode_fields};
use crate::format::values::{decode_row_with, field_of};
use crate::format::{FormatError, FormatResult};
use crate::rowset::Rowset;

/// The longest (max) value that stays in its row.
const MAX_INLINE_BYTES: usize = 8000;
/// Bytes of an in-row root with one link.
const ROOT_BYTES: usize = 24;

impl Rowset {
    /// The row's bytes; values that do not fit go outside the row where there is a LOB unit.
    pub(crate) fn encode(&self, tx: &Transaction, values: &[Value]) -> SqlResult<Vec<u8>> {
        let mut row = Vec::with_capacity(usize::from(self.def.layout.pminlen) + 64);
        self.encode_into(tx, values, &mut row)?;
        Ok(row)
    }

    /// `encode` at the end of a buffer.
    pub(crate) fn encode_into(
        &self,
        tx: &Transaction,
        values: &[Value],
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        if self.has_pieces() {
            out.extend(self.encode_in_pieces(tx, values)?);
            return Ok(());
        }
        let start = out.len();
        append_row(&self.def.layout, values, None, out)?;
        match out.len() - start {
            0..=MAX_RECORD_BYTES => Ok(()),
            n => Err(row_too_long(n)),
        }
    }

    /// The bytes of many rows, kept by column, and where each ends. The row that cannot be made.
    pub(crate) fn encode_rows(
        &self,
        tx: &Transaction,
        columns: &[Arc<Column>],
        rows: usize,
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), (usize, SqlError)> {
        let (start, first) = (out.len(), ends.len());
        if !self.has_pieces() && append_rows(&self.def.layout, columns, rows, out, ends).is_ok() {
            let mut from = start;
            for (i, end) in ends[first..].iter().enumerate() {
                if end - from > MAX_RECORD_BYTES {
                    return Err((i, row_too_long(end - from)));
                }
                from = *end;
            }
            return Ok(());
        }
        // Row by row: values go outside, or one of the rows has an error.
        out.truncate(start);
        ends.truncate(first);
        for i in 0..rows {
            let row: Vec<Value> = columns.iter().map(|c| c.get(i)).collect();
            self.encode_into(tx, &row, out).map_err(|e| (i, e))?;
            ends.push(out.len());
        }
        Ok(())
    }

    /// Whether values may go outside their rows.
    fn has_pieces(&self) -> bool {
        let layout = &self.def.layout;
        self.def.lob_au.is_some() && (layout.max_row_bytes() > MAX_RECORD_BYTES || self.has_max())
    }

    fn encode_in_pieces(&self, tx: &Transaction, values: &[Value]) -> SqlResult<Vec<u8>> {
        let layout = &self.def.layout;
        if values.len() != layout.columns.len() {
            return Err(FormatError::Corrupt("number of columns").into());
        }
        let mut fields: Vec<Field<'_>> = layout
            .columns
            .iter()
            .zip(values)
            .map(|(c, v)| field_of(c, v))
            .collect::<SqlResult<_>>()?;
        for (c, f) in layout.columns.iter().zip(&mut fields) {
            if c.ty.is_max() && f.len() > MAX_INLINE_BYTES {
                self.push_out(tx, c, f)?;
            }
        }
        self.fit(tx, fields)
    }

    /// A row's bytes with another uniquifier. What is outside the row stays where it is.
    pub(crate) fn renumber(&self, tx: &Transaction, row: &[u8], number: i32) -> SqlResult<Vec<u8>> {
        let layout = &self.def.layout;
        let mut fields = decode_fields(layout, row)?;
        if let (Some(c), Some(f)) = (layout.columns.last(), fields.last_mut()) {
            *f = field_of(c, &Value::Int(number))?;
        }
        if self.has_pieces() {
            return self.fit(tx, fields);
        }
        match encode_fields(layout, &fields, None)? {
            row if row.len() <= MAX_RECORD_BYTES => Ok(row),
            row => Err(row_too_long(row.len())),
        }
    }

    /// A row of these fields, the widest outside it as long as they do not fit.
    fn fit(&self, tx: &Transaction, mut fields: Vec<Field<'_>>) -> SqlResult<Vec<u8>> {
        let layout = &self.def.layout;
        loop {
            match encode_fields(layout, &fields, None) {
                Ok(row) if row.len() <= MAX_RECORD_BYTES => return Ok(row),
                Ok(_) | Err(FormatError::NoSpace) => {}
                Err(e) => return Err(e.into()),
            }
            let widest = layout
                .columns
                .iter()
                .zip(&mut fields)
                .filter(|(c, f)| {
                    c.is_variable() && matches!(f, Field::Inline(b) if b.len() > ROOT_BYTES)
                })
                .max_by_key(|(_, f)| f.len());
            match widest {
                Some((c, f)) => self.push_out(tx, c, f)?,
                None => return Err(row_too_long(MAX_RECORD_BYTES + 1)),
            }
        }
    }

    fn has_max(&self) -> bool {
        self.def.layout.columns.iter().any(|c| c.ty.is_max())
    }

    /// Writes a field's bytes to text pages and puts the pointer in its place.
    fn push_out(&self, tx: &Transaction, c: &ColumnLayout, field: &mut Field<'_>) -> SqlResult<()> {
        let Field::Inline(bytes) = &*field else {
            return Ok(());
        };
        let Some(au) = self.def.lob_au else {
            return Err(row_too_long(bytes.len()));
        };
        let storage = self.db.storage(au);
        let blob = duramen_os::random::next_u64() | 1;
        let mut links = Vec::new();
        let mut end = 0u64;
        for chunk in bytes.chunks(MAX_DATA_BYTES) {
            let (page, slot) =
                self.put_row(tx, &storage, &encode_data(blob, chunk)?, Lcx::TEXT_MIX)?;
            end += chunk.len() as u64;
            links.push(Link { end, page, slot });
        }
        let mut level = 0;
        while links.len() > MAX_INROW_LINKS {
            let mut upper = Vec::new();
            for group in links.chunks(MAX_INTERNAL_LINKS) {
                let node = encode_internal(blob, level, group)?;
                let (page, slot) = self.put_row(tx, &storage, &node, Lcx::TEXT_TREE)?;
                let end = group.last().map_or(0, |l| l.end);
                upper.push(Link { end, page, slot });
            }
            links = upper;
            level += 1;
        }
        let kind = if c.ty.is_max() {
            INROW_MAX
        } else {
            INROW_OVERFLOW
        };
        let pointer = encode_inrow(kind, level as u8, blob as u32, &links)?;
        self.storage.operations.pushed_out.add(1);
        *field = Field::Complex(Cow::Owned(pointer));
        Ok(())
    }

    /// A row's values, with those outside the row read in.
    pub(crate) fn decode(&self, row: &[u8]) -> SqlResult<Vec<Value>> {
        decode_row_with(&self.def.layout, row, &mut |_, pointer| {
            self.read_off_row(pointer)
        })
    }

    pub(crate) fn read_off_row(&self, pointer: &[u8]) -> SqlResult<Vec<u8>> {
        let mut failed = None;
        let mut pages = 0;
        let value = read_value(pointer, &mut |id, slot| {
            let page = match self.db.read_page(id) {
                Ok(page) => page,
                Err(e) => {
                    failed = Some(e);
                    return Err(FormatError::Corrupt("text page"));
                }
            };
            pages += 1;
            page.page().expect_record(slot).map(<[u8]>::to_vec)
        });
        if let Ok(value) = &value {
            let operations = &self.storage.operations;
            let (read, bytes) = match pointer.first() {
                Some(&INROW_OVERFLOW) => (&operations.overflow_pages, &operations.overflow_bytes),
                _ => (&operations.lob_pages, &operations.lob_bytes),
            };
            read.add(pages);
            bytes.add(value.len() as u64);
        }
        match (value, failed) {
            (Ok(v), _) => Ok(v),
            (Err(_), Some(e)) => Err(e),
            (Err(e), None) => Err(e.into()),
        }
    }

    /// Counts the values that were outside `old` and stand in `new`, the row that it becomes.
    pub(crate) fn count_pulled_in(&self, old: &[u8], new: &[u8]) -> SqlResult<()> {
        if !self.has_pieces() {
            return Ok(());
        }
        let layout = &self.def.layout;
        let (old, new) = (decode_fields(layout, old)?, decode_fields(layout, new)?);
        let came = old.iter().zip(&new);
        let came = came.filter(|f| matches!(f, (Field::Complex(_), Field::Inline(_))));
        self.storage.operations.pulled_in.add(came.count() as u64);
        Ok(())
    }

    /// Frees the pieces that a row which goes away points to.
    pub(crate) fn free_lobs(&self, tx: &Transaction, row: &[u8]) -> SqlResult<()> {
        let Some(au) = self.def.lob_au else {
            return Ok(());
        };
        let storage = self.db.storage(au);
        let mut todo = Vec::new();
        for field in decode_fields(&self.def.layout, row)? {
            if let Field::Complex(pointer) = field {
                match decode_pointer(&pointer)? {
                    Pointer::Text { page, slot } if !page.is_null() => todo.push((page, slot)),
                    Pointer::Text { .. } => {}
                    Pointer::InRow { links, .. } => {
                        todo.extend(links.iter().map(|l| (l.page, l.slot)));
                    }
                }
            }
        }
        while let Some((id, slot)) = todo.pop() {
            let children: FormatResult<Vec<_>> = {
                let page = self.db.read_page(id)?;
                page.page().expect_record(slot).and_then(|r| {
                    Ok(match decode_node(r)? {
                        Node::Root { links, .. } | Node::Internal { links, .. } => {
                            links.iter().map(|l| (l.page, l.slot)).collect()
                        }
                        Node::Small(_) | Node::Data(_) => Vec::new(),
                    })
                })
            };
            todo.extend(children.map_err(|e| self.db.corrupt(id, e))?);
            self.remove_text(tx, &storage, id, slot)?;
        }
        Ok(())
    }
}

/// 511
fn row_too_long(bytes: usize) -> SqlError {
    SqlError::new(&messages::ROW_TOO_LARGE, &[&bytes, &MAX_RECORD_BYTES])
}
