//! Values outside their rows: (max) values over 8,000 bytes, and the widest columns of rows over 8,060.
//!
//! The pieces are records on the text pages of the rowset's LOB unit, placed like heap rows and logged like them; the
//! row keeps an in-row root. Values are immutable: an update writes new pieces and frees the old ones.

use std::borrow::Cow;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_format::layout::ColumnLayout;
use duramen_format::lob::{
    INROW_MAX, INROW_OVERFLOW, Link, MAX_DATA_BYTES, MAX_INROW_LINKS, MAX_INTERNAL_LINKS, Node,
    Pointer, decode_node, decode_pointer, encode_data, encode_inrow, encode_internal, read_value,
};
use duramen_format::pack::append_row;
use duramen_format::pack_columns::append_rows;
use duramen_format::page::MAX_RECORD_BYTES;
use duramen_format::row::{Field, decode_fields, encode_fields};
use duramen_format::values::{Fetched, decode_row_fetching, field_of};
use duramen_format::{FormatError, RowRef};
use duramen_os::memory::{Clerk, out_of_memory};
use duramen_txn::Transaction;
use duramen_types::batch::Column;
use duramen_types::{Spooled, Value};
use duramen_wal::record::Lcx;

use crate::rowset::Rowset;

/// The longest (max) value that stays in its row.
const MAX_INLINE_BYTES: usize = 8000;
/// Pieces of a value that are written between two looks at whether it is still wanted.
const PIECES_ASKED: usize = 64;
/// Before a longer value is read somebody is asked whether there is room for it.
const LARGE_BYTES: u64 = 1 << 20;
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
            out.extend(self.encode_in_pieces(tx, values, &[])?);
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
        self.def.lob_au.is_some() && self.def.layout.may_overflow()
    }

    /// [`Rowset::encode`] of a row that takes the place of one with these pointers: a value that was not changed stays where
    /// it is.
    pub(crate) fn encode_over(
        &self,
        tx: &Transaction,
        values: &[Value],
        pointers: &[Vec<u8>],
    ) -> SqlResult<Vec<u8>> {
        match pointers.is_empty() {
            true => self.encode(tx, values),
            false => self.encode_in_pieces(tx, values, pointers),
        }
    }

    /// Whether a row that is to be changed has values that may stay where they are.
    pub(crate) fn may_stay(&self, values: &[Value]) -> bool {
        self.has_pieces() && values.iter().any(|v| matches!(v, Value::Spooled(_)))
    }

    /// The pointers to values outside a row.
    pub(crate) fn pointers(&self, row: RowRef<'_>) -> SqlResult<Vec<Vec<u8>>> {
        let fields = decode_fields(&self.def.layout, row)?;
        let pointers = fields.into_iter().filter_map(|f| match f {
            Field::Complex(pointer) => Some(pointer.into_owned()),
            _ => None,
        });
        Ok(pointers.collect())
    }

    fn encode_in_pieces(
        &self,
        tx: &Transaction,
        values: &[Value],
        pointers: &[Vec<u8>],
    ) -> SqlResult<Vec<u8>> {
        let layout = &self.def.layout;
        if values.len() != layout.columns.len() {
            return Err(FormatError::Corrupt("number of columns").into());
        }
        let mut fields: Vec<Field<'_>> = layout
            .columns
            .iter()
            .zip(values)
            .map(|(c, v)| match v {
                Value::Spooled(s) => match self.pointer_of(s, pointers) {
                    Some(pointer) => Ok(Field::Complex(Cow::Owned(pointer.to_vec()))),
                    None => self.push_spooled(tx, c, s),
                },
                v => field_of(c, v),
            })
            .collect::<SqlResult<_>>()?;
        for (c, f) in layout.columns.iter().zip(&mut fields) {
            if c.ty.is_max() && f.len() > MAX_INLINE_BYTES {
                self.push_out(tx, c, f)?;
            }
        }
        self.fit(tx, fields)
    }

    /// A row's bytes with another uniquifier. What is outside the row stays where it is.
    pub(crate) fn renumber(
        &self,
        tx: &Transaction,
        row: RowRef<'_>,
        number: i32,
    ) -> SqlResult<Vec<u8>> {
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

    /// A row of these fields, the widest outside it as long as they do not fit. Keys are compared where they are: they stay.
    fn fit(&self, tx: &Transaction, mut fields: Vec<Field<'_>>) -> SqlResult<Vec<u8>> {
        let layout = &self.def.layout;
        loop {
            match encode_fields(layout, &fields, None) {
                Ok(row) if row.len() <= MAX_RECORD_BYTES => return Ok(row),
                Ok(_) | Err(FormatError::NoSpace) => {}
                Err(e) => return Err(e.into()),
            }
            let is_key = |at: usize| self.def.keys.iter().any(|k| k.column == at);
            let widest =
                (0..)
                    .zip(layout.columns.iter().zip(&mut fields))
                    .filter(|(at, (c, f))| {
                        let long = matches!(f, Field::Inline(b) if b.len() > ROOT_BYTES);
                        long && c.is_variable() && !is_key(*at)
                    });
            match widest.max_by_key(|(_, (_, f))| f.len()) {
                Some((_, (c, f))) => self.push_out(tx, c, f)?,
                None => return Err(row_too_long(MAX_RECORD_BYTES + 1)),
            }
        }
    }

    /// Writes a field's bytes to text pages and puts the pointer in its place.
    fn push_out(&self, tx: &Transaction, c: &ColumnLayout, field: &mut Field<'_>) -> SqlResult<()> {
        let Field::Inline(bytes) = &*field else {
            return Ok(());
        };
        let blob = duramen_os::random::next_u64() | 1;
        let mut links = Vec::new();
        self.put_pieces(tx, blob, bytes, &mut links)?;
        *field = self.pointer_to(tx, c, blob, links)?;
        Ok(())
    }

    /// Writes a value that is not in memory to text pages: the pointer that stands in the row.
    fn push_spooled(
        &self,
        tx: &Transaction,
        c: &ColumnLayout,
        value: &Spooled,
    ) -> SqlResult<Field<'static>> {
        let blob = duramen_os::random::next_u64() | 1;
        let mut links = Vec::new();
        let mut window = vec![0; MAX_DATA_BYTES * PIECES_ASKED];
        let mut at = 0;
        while at < value.len() {
            let n = window.len().min(value.len() - at);
            value.read(at, &mut window[..n])?;
            self.put_pieces(tx, blob, &window[..n], &mut links)?;
            at += n;
        }
        self.pointer_to(tx, c, blob, links)
    }

    /// Writes more of a value to text pages; `links` say where its pieces are, in their order.
    fn put_pieces(
        &self,
        tx: &Transaction,
        blob: u64,
        bytes: &[u8],
        links: &mut Vec<Link>,
    ) -> SqlResult<()> {
        let Some(au) = self.def.lob_au else {
            return Err(row_too_long(bytes.len()));
        };
        let storage = self.db.storage(au);
        let mut end = links.last().map_or(0, |l| l.end);
        for chunk in bytes.chunks(MAX_DATA_BYTES) {
            if links.len() % PIECES_ASKED == PIECES_ASKED - 1 {
                tx.check_given_up()?;
            }
            let (page, slot) =
                self.put_row(tx, &storage, &encode_data(blob, chunk)?, Lcx::TEXT_MIX)?;
            end += chunk.len() as u64;
            links.push(Link { end, page, slot });
        }
        Ok(())
    }

    /// What stands in the row for a value whose pieces are written, with the levels between them.
    fn pointer_to(
        &self,
        tx: &Transaction,
        c: &ColumnLayout,
        blob: u64,
        mut links: Vec<Link>,
    ) -> SqlResult<Field<'static>> {
        let Some(au) = self.def.lob_au else {
            return Err(row_too_long(MAX_RECORD_BYTES + 1));
        };
        let storage = self.db.storage(au);
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
        Ok(Field::Complex(Cow::Owned(pointer)))
    }

    /// A row's values, with those outside the row read in, or where they may stay ([`crate::hints::Reading::lends`]) lent.
    pub(crate) fn decode(&self, row: RowRef<'_>, lends: bool) -> SqlResult<Vec<Value>> {
        decode_row_fetching(&self.def.layout, row, &mut |c, pointer| {
            self.off_row(c, pointer, lends).map(Fetched::from)
        })
    }

    pub(crate) fn read_off_row(&self, pointer: &[u8]) -> SqlResult<Vec<u8>> {
        self.check_room(pointer)?;
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
            page.page().expect_record(slot).map(RowRef::to_vec)
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

    /// 701 when a large value is to be read and there is no room for it in memory.
    fn check_room(&self, pointer: &[u8]) -> SqlResult<()> {
        let bytes = match decode_pointer(pointer) {
            Ok(Pointer::InRow { links, .. }) => links.last().map_or(0, |l| l.end),
            _ => 0,
        };
        match bytes < LARGE_BYTES || self.db.engine.memory.fits(Clerk::Values, bytes) {
            true => Ok(()),
            false => Err(out_of_memory()),
        }
    }

    /// Counts the values that were outside `old` and stand in `new`, the row that it becomes.
    pub(crate) fn count_pulled_in(&self, old: RowRef<'_>, new: RowRef<'_>) -> SqlResult<()> {
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
    pub(crate) fn free_lobs(&self, tx: &Transaction, row: RowRef<'_>) -> SqlResult<()> {
        self.free_lobs_but(tx, row, &[])
    }

    /// The same for a row in whose place another one has come, which may have kept some of its pointers.
    pub(crate) fn free_replaced(
        &self,
        tx: &Transaction,
        old: RowRef<'_>,
        new: RowRef<'_>,
        kept: &[Vec<u8>],
    ) -> SqlResult<()> {
        match kept.is_empty() {
            true => self.free_lobs(tx, old),
            false => self.free_lobs_but(tx, old, &self.pointers(new)?),
        }
    }

    /// The same, but for those that the row in its place, with these pointers, points to as well.
    pub(crate) fn free_lobs_but(
        &self,
        tx: &Transaction,
        row: RowRef<'_>,
        kept: &[Vec<u8>],
    ) -> SqlResult<()> {
        let Some(au) = self.def.lob_au else {
            return Ok(());
        };
        let storage = self.db.storage(au);
        let mut todo = Vec::new();
        for field in decode_fields(&self.def.layout, row)? {
            if let Field::Complex(pointer) = field {
                if kept.iter().any(|k| **k == *pointer) {
                    continue;
                }
                let pointer = decode_pointer(&pointer)?;
                self.settle_lent(&pointer)?;
                match pointer {
                    Pointer::Text { page, slot } if !page.is_null() => todo.push((page, slot)),
                    Pointer::Text { .. } => {}
                    Pointer::InRow { links, .. } => {
                        todo.extend(links.iter().map(|l| (l.page, l.slot)));
                    }
                }
            }
        }
        while let Some((id, slot)) = todo.pop() {
            {
                let page = self.db.read_page(id)?;
                let p = page.page();
                match p.sound(decode_node(p.row(slot)?.bytes()))? {
                    Node::Root { links, .. } | Node::Internal { links, .. } => {
                        todo.extend(links.iter().map(|l| (l.page, l.slot)));
                    }
                    Node::Small(_) | Node::Data(_) => {}
                }
            }
            self.remove_text(tx, &storage, id, slot)?;
        }
        Ok(())
    }
}

/// 511
fn row_too_long(bytes: usize) -> SqlError {
    SqlError::new(&messages::ROW_TOO_LARGE, &[&bytes, &MAX_RECORD_BYTES])
}
