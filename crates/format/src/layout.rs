//! Where each column of a row stands.
//!
//! A layout is data: it comes from `sysrscols` when a table is opened (ours or foreign), and from [`layout_for`] when a
//! table is created. Nothing may guess a placement from column types: upgraded databases keep old ones.
//!
//! Placement rules of [`layout_for`]: fixed columns in the given order from the row's first data byte (4 in data rows,
//! 1 in index rows); bit columns share bytes, eight each; variable columns are numbered in the given order; a
//! uniquifier is the first variable column of data rows; null bits count columns in the given order, where rows have a null
//! bitmap. Data rows are made at least 9 bytes long, so that a forwarding stub fits where the row was. Index rows on
//! non-leaf levels end their fixed part with the child's page pointer.

use duramen_types::{SqlType, TypeId};

use super::page::MAX_RECORD_BYTES;

/// Which of the three row shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RowKind {
    /// Heaps and clustered leaves: two status bytes, end of fixed part, always a null bitmap.
    Data,
    /// Nonclustered leaves: one status byte; a null bitmap when some column is nullable.
    IndexLeaf,
    /// Non-leaf levels: as `IndexLeaf`, plus the child pointer.
    IndexNode,
}

/// A column to place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnSpec {
    pub ty: SqlType,
    pub nullable: bool,
    pub uniquifier: bool,
    /// Rows carry no value of it: computed columns that are not persisted. Such a column is not placed.
    pub absent: bool,
}

impl ColumnSpec {
    pub const fn new(ty: SqlType, nullable: bool) -> ColumnSpec {
        ColumnSpec {
            ty,
            nullable,
            uniquifier: false,
            absent: false,
        }
    }

    /// The hidden column that makes the keys of a non-unique clustered index different: absent means 0.
    pub const fn uniquifier() -> ColumnSpec {
        ColumnSpec {
            ty: SqlType::INT,
            nullable: true,
            uniquifier: true,
            absent: false,
        }
    }
}

/// A placed column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnLayout {
    pub ty: SqlType,
    /// Offset from the row's start, or -k for the k-th variable column.
    pub leaf_offset: i16,
    /// 1-based position in the null bitmap; 0: none.
    pub nullbit: u16,
    /// Bit within the byte, for bit columns.
    pub bitpos: u8,
    pub nullable: bool,
    pub uniquifier: bool,
}

impl ColumnLayout {
    pub fn is_variable(&self) -> bool {
        self.leaf_offset < 0
    }

    /// 0-based position in the variable part.
    pub fn variable_index(&self) -> Option<usize> {
        (self.leaf_offset < 0).then(|| usize::from(self.leaf_offset.unsigned_abs()) - 1)
    }
}

/// A row's layout. Values of a row are given and returned in the order of `columns`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowLayout {
    pub kind: RowKind,
    pub columns: Vec<ColumnLayout>,
    /// Bytes of the fixed part from the row's start, the child pointer of node rows included: the page's `pminlen`.
    pub pminlen: u16,
    /// Columns that the null bitmap counts.
    pub null_bits: u16,
    /// Variable columns.
    pub variable_columns: u16,
}

/// Bytes of the child pointer of node rows.
pub const CHILD_BYTES: usize = 6;

impl RowLayout {
    /// Puts placed columns together; `null_bits` and the like follow from them.
    pub fn from_columns(kind: RowKind, columns: Vec<ColumnLayout>) -> RowLayout {
        let mut pminlen = first_byte(kind);
        let (mut null_bits, mut variable_columns) = (0, 0);
        for c in &columns {
            null_bits = null_bits.max(c.nullbit);
            match c.variable_index() {
                Some(i) => variable_columns = variable_columns.max(i as u16 + 1),
                None if c.leaf_offset == 0 => {}
                None => {
                    let end = c.leaf_offset as usize + c.ty.fixed_bytes().max(1);
                    pminlen = pminlen.max(end);
                }
            }
        }
        if kind == RowKind::IndexNode {
            pminlen += CHILD_BYTES;
        }
        RowLayout {
            kind,
            columns,
            pminlen: pminlen.min(usize::from(u16::MAX)) as u16,
            null_bits,
            variable_columns,
        }
    }

    /// Whether rows that we write carry a null bitmap.
    pub fn has_null_bitmap(&self) -> bool {
        has_null_bitmap(self.kind, &self.columns)
    }

    /// The longest a row can get without off-row values; (max) columns count as their pointer.
    pub fn max_row_bytes(&self) -> usize {
        let mut n = usize::from(self.pminlen);
        if self.has_null_bitmap() {
            n += 2 + usize::from(self.null_bits).div_ceil(8);
        }
        if self.variable_columns > 0 {
            n += 2 + 2 * usize::from(self.variable_columns);
        }
        for c in &self.columns {
            if c.is_variable() {
                n += match c.ty.id {
                    _ if c.uniquifier => 4,
                    TypeId::SqlVariant => 8016,
                    _ if c.ty.is_max() => 24,
                    _ => usize::from(c.ty.length),
                };
            }
        }
        n
    }

    /// Whether there are (max) columns, whose values lie outside the row when they are long.
    pub fn has_large(&self) -> bool {
        let mut stored = self.columns.iter().filter(|c| c.is_variable());
        stored.any(|c| c.ty.is_max())
    }

    /// Whether a row may need room outside itself: for large values, or because its columns may be longer than a page.
    pub fn may_overflow(&self) -> bool {
        self.has_large() || self.max_row_bytes() > MAX_RECORD_BYTES
    }
}

fn has_null_bitmap(kind: RowKind, columns: &[ColumnLayout]) -> bool {
    kind == RowKind::Data || columns.iter().any(|c| c.nullable)
}

fn first_byte(kind: RowKind) -> usize {
    match kind {
        RowKind::Data => 4,
        RowKind::IndexLeaf | RowKind::IndexNode => 1,
    }
}

/// Places `columns` (see the module's rules). The result's columns are in the given order.
pub fn layout_for(columns: &[ColumnSpec], kind: RowKind) -> RowLayout {
    let order: Vec<usize> = (0..columns.len()).collect();
    layout_in_order(columns, &order, kind)
}

/// Places `columns` in the physical order `order` (positions in `columns`); the result's columns are in the order of
/// `columns`. Columns that `order` leaves out are not placed and count as always NULL.
pub fn layout_in_order(columns: &[ColumnSpec], order: &[usize], kind: RowKind) -> RowLayout {
    let mut placed: Vec<ColumnLayout> = columns
        .iter()
        .map(|c| ColumnLayout {
            ty: c.ty,
            leaf_offset: 0,
            nullbit: 0,
            bitpos: 0,
            nullable: c.nullable,
            uniquifier: c.uniquifier,
        })
        .collect();
    let mut offset = first_byte(kind);
    let uniquifier_first = kind == RowKind::Data && columns.iter().any(|c| c.uniquifier);
    let mut variable = i16::from(uniquifier_first);
    let mut bits: Option<(usize, u8)> = None;
    let bitmap = has_null_bitmap(kind, &placed);
    let mut nullbit = 0;
    for &at in order {
        let Some(c) = placed.get_mut(at) else {
            continue;
        };
        nullbit += u16::from(bitmap);
        c.nullbit = nullbit;
        if c.uniquifier && uniquifier_first {
            c.leaf_offset = -1;
        } else if c.uniquifier || c.ty.is_variable() {
            variable += 1;
            c.leaf_offset = -variable;
        } else if c.ty.id == TypeId::Bit {
            let (byte, bit) = match bits {
                Some((byte, bit)) if bit < 8 => (byte, bit),
                _ => {
                    offset += 1;
                    (offset - 1, 0)
                }
            };
            c.leaf_offset = clamp(byte);
            c.bitpos = bit;
            bits = Some((byte, bit + 1));
        } else {
            c.leaf_offset = clamp(offset);
            offset += c.ty.fixed_bytes();
        }
    }
    let mut layout = RowLayout::from_columns(kind, placed);
    if kind == RowKind::Data {
        layout.pminlen = layout.pminlen.max(6);
    }
    layout
}

/// Rows that long are refused by their length (`max_row_bytes`), this only keeps the arithmetic sane.
fn clamp(offset: usize) -> i16 {
    offset.min(i16::MAX as usize) as i16
}

#[cfg(test)]
mod tests;
