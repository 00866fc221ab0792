//! Partition functions and schemes, and what a heap or index is that has partitions.
//!
//! A partition is a rowset of its own: pages, allocation units, locks, log records and recovery know nothing of the
//! others. What joins them is here: which of them a row belongs to, and which of them can have rows of a range.
//!
//! Invariants
//! 1. A row's partition follows from the value of one column, which every entry of every index over it has: a locator
//!    with the entry tells the rowset of the row. [test: a_range_names_the_partitions_that_can_have_it]
//! 2. All partitions of a heap or index have the same layout and keys. [test: placements_are_those_of_a_real_file]
//! 3. Boundaries ascend, all different, of the function's type. NULL is less than any value.
//!    [test: a_boundary_belongs_to_the_side_that_the_function_says; test: null_may_be_a_boundary]

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use duramen_storage::RowsetDef;
use duramen_types::{DateTime, SqlType, Value, compare};

use crate::def::{IndexDef, TableDef};

/// Partitions that a function can have.
pub const MOST_PARTITIONS: usize = 15_000;

/// A partition function.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionFunctionDef {
    /// From 65536.
    pub id: i32,
    pub name: String,
    pub ty: SqlType,
    /// RANGE RIGHT: a boundary is the first value of the partition above it, not the last of the one below.
    pub right: bool,
    pub boundaries: Vec<Value>,
    pub created: DateTime,
    pub modified: DateTime,
}

impl PartitionFunctionDef {
    /// How many partitions it makes.
    pub fn fanout(&self) -> usize {
        self.boundaries.len() + 1
    }

    /// The partition of a value, from 0.
    pub fn partition_of(&self, value: &Value) -> usize {
        self.boundaries
            .partition_point(|b| match self.compare(b, value) {
                Ordering::Less => true,
                Ordering::Equal => self.right,
                Ordering::Greater => false,
            })
    }

    /// How two values of its type stand to each other; NULL is the least.
    pub fn compare(&self, a: &Value, b: &Value) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => compare(a, b, self.ty.collation),
        }
    }

    /// Where a boundary of that value is, or would be.
    pub fn boundary(&self, value: &Value) -> Result<usize, usize> {
        self.boundaries.binary_search_by(|b| self.compare(b, value))
    }

    /// The values of a partition, from 0, with whether the ends belong to it; NULLs are in the first.
    pub fn limits(&self, partition: usize) -> (End, End) {
        let below = partition.checked_sub(1);
        let lower = below.and_then(|i| self.boundaries.get(i));
        let upper = self.boundaries.get(partition);
        let end = |v: Option<&Value>, whole: bool| v.map(|v| (v.clone(), whole));
        (end(lower, self.right), end(upper, !self.right))
    }

    /// The partitions that can have values between these; with each whether it is among them.
    pub fn between(
        &self,
        lower: Option<(&Value, bool)>,
        upper: Option<(&Value, bool)>,
    ) -> Range<usize> {
        // Behind the last value of a partition the next begins, before the first of one the last ends.
        let edge = |v: &Value, whole: bool| usize::from(!whole && self.boundary(v).is_ok());
        let first = lower.map_or(0, |(v, whole)| match self.right {
            true => self.partition_of(v),
            false => self.partition_of(v) + edge(v, whole),
        });
        let last = upper.map_or(self.boundaries.len(), |(v, whole)| match self.right {
            true => self.partition_of(v) - edge(v, whole),
            false => self.partition_of(v),
        });
        first..(last + 1).max(first)
    }
}

/// A partition scheme: which filegroup each partition of a function goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSchemeDef {
    /// `data_space_id`, from 65601.
    pub id: i32,
    pub name: String,
    pub function: i32,
    /// Filegroups by partition.
    pub destinations: Vec<u16>,
    /// NEXT USED: where the next partition goes that a split makes.
    pub next_used: Option<u16>,
}

/// An end of a range of values, and whether it belongs to the range.
pub type End = Option<(Value, bool)>;

/// Where a heap or index is to lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nothing was said: where the table is, or the default filegroup.
    #[default]
    Default,
    Filegroup(u16),
    /// `column` is a position in the table's columns.
    Scheme {
        scheme: i32,
        column: usize,
    },
}

/// The partitions of a heap or index.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioned {
    pub scheme: i32,
    pub function: Arc<PartitionFunctionDef>,
    /// The partitioning column: a position in the table's columns.
    pub column: usize,
    /// By partition. The first is what `TableDef::data` and `IndexDef::rowset` have.
    pub rowsets: Vec<Arc<RowsetDef>>,
}

impl Partitioned {
    /// The partition, from 0, of a row of the table.
    pub fn number_of(&self, row: &[Value]) -> usize {
        self.function
            .partition_of(row.get(self.column).unwrap_or(&Value::Null))
    }

    /// The rowset of a row of the table.
    pub fn rowset_of(&self, row: &[Value]) -> Option<&Arc<RowsetDef>> {
        self.rowsets.get(self.number_of(row))
    }

    pub fn place(&self) -> Place {
        Place::Scheme {
            scheme: self.scheme,
            column: self.column,
        }
    }
}

impl TableDef {
    /// The heap's or clustered index's rowsets, by partition; one when it has no partitions.
    pub fn data_rowsets(&self) -> &[Arc<RowsetDef>] {
        match &self.partitioned {
            Some(p) => &p.rowsets,
            None => std::slice::from_ref(&self.data),
        }
    }

    /// The rowset that a row belongs to.
    pub fn data_of(&self, row: &[Value]) -> &Arc<RowsetDef> {
        let of = self.partitioned.as_ref().and_then(|p| p.rowset_of(row));
        of.unwrap_or(&self.data)
    }

    /// Every rowset of the table and its indexes.
    pub fn all_rowsets(&self) -> impl Iterator<Item = &Arc<RowsetDef>> {
        let of_indexes = self.nonclustered().flat_map(IndexDef::rowsets);
        self.data_rowsets().iter().chain(of_indexes)
    }

    /// The index's declared keys and what a partition scheme adds to them: of a clustered index that is not unique, its
    /// partitioning column.
    pub fn clustering_keys(&self) -> Vec<duramen_storage::KeyColumn> {
        let width = self.columns.len();
        let own = self.data.keys.iter().filter(|k| k.column < width);
        own.copied().collect()
    }

    /// Whether every index has the table's own partitions, by the same column: a partition then is a table by itself.
    pub fn is_aligned(&self) -> bool {
        self.nonclustered().all(|i| self.is_aligned_with(i))
    }

    /// Whether an index has partitions as the table has, or none as it.
    pub fn is_aligned_with(&self, index: &IndexDef) -> bool {
        match (&index.partitioned, &self.partitioned) {
            (None, None) => true,
            _ => self.is_slice_of(index),
        }
    }

    /// Whether an index has the table's own partitions.
    pub(crate) fn is_slice_of(&self, index: &IndexDef) -> bool {
        match (&index.partitioned, &self.partitioned) {
            (Some(own), Some(of)) => own.function.id == of.function.id && own.column == of.column,
            _ => false,
        }
    }

    /// A partition of an aligned table as a table.
    pub fn slice(&self, number: usize) -> Option<TableDef> {
        let of = self.partitioned.as_ref().filter(|_| self.is_aligned())?;
        let mut out = TableDef {
            data: of.rowsets.get(number)?.clone(),
            partitioned: None,
            ..self.clone()
        };
        for index in &mut out.indexes {
            if let Some(p) = index.partitioned.take() {
                index.rowset = p.rowsets.get(number)?.clone();
            }
        }
        Some(out)
    }
}

impl IndexDef {
    /// Its rowsets, by partition; one when it has no partitions.
    pub fn rowsets(&self) -> &[Arc<RowsetDef>] {
        match &self.partitioned {
            Some(p) => &p.rowsets,
            None => std::slice::from_ref(&self.rowset),
        }
    }

    /// The rowset that has the entry of a row of the table.
    pub fn rowset_of(&self, row: &[Value]) -> &Arc<RowsetDef> {
        let of = self.partitioned.as_ref().and_then(|p| p.rowset_of(row));
        of.unwrap_or(&self.rowset)
    }
}

#[cfg(test)]
mod tests;
