//! Rows as keys: equality and hashing as GROUP BY, DISTINCT and hash joins mean them (NULL equals NULL, collations
//! decide about strings), and ordering as ORDER BY means it (NULL first).

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use duramen_columns::hash::SplitMap;
use duramen_types::{CollationId, Value, hash_key};

use crate::expr::Expr;
use crate::plan::{OutColumn, Row, SortKey};

/// A list of values with the collations to compare them by.
#[derive(Clone, Debug)]
pub struct RowKey {
    values: Vec<Value>,
    collations: Arc<[CollationId]>,
}

impl RowKey {
    pub fn new(values: Vec<Value>, collations: Arc<[CollationId]>) -> RowKey {
        RowKey { values, collations }
    }

    pub fn of(values: &[Value], exprs: &[Expr]) -> RowKey {
        RowKey::of_exprs(values, exprs.iter())
    }

    pub fn of_exprs<'e>(values: &[Value], exprs: impl Iterator<Item = &'e Expr>) -> RowKey {
        RowKey {
            values: values.to_vec(),
            collations: exprs.map(|e| e.ty.collation).collect(),
        }
    }

    pub fn values(&self) -> &[Value] {
        &self.values
    }

    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}

/// NULL sorts before everything else.
pub fn compare_nullable(a: &Value, b: &Value, collation: CollationId) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => duramen_types::compare(a, b, collation),
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &RowKey) -> Ordering {
        self.values
            .iter()
            .zip(&other.values)
            .zip(self.collations.iter())
            .map(|((a, b), c)| compare_nullable(a, b, *c))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &RowKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RowKey {
    fn eq(&self, other: &RowKey) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for RowKey {}

impl Hash for RowKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for (v, c) in self.values.iter().zip(self.collations.iter()) {
            hash_key(v, *c, hasher);
        }
    }
}

/// Keys without duplicates.
pub type KeySet = SplitMap<RowKey, ()>;

/// Row numbers by key.
#[derive(Default)]
pub struct KeyIndex {
    rows: SplitMap<RowKey, Vec<usize>>,
}

impl KeyIndex {
    pub fn add(&mut self, key: RowKey, row: usize) {
        self.rows.entry(key).or_default().push(row);
    }

    pub fn get(&self, key: &RowKey) -> &[usize] {
        self.rows.get(key).map_or(&[], Vec::as_slice)
    }
}

/// A set of whole rows.
pub struct RowSet {
    collations: Arc<[CollationId]>,
    rows: KeySet,
}

impl RowSet {
    pub fn new(columns: &[OutColumn]) -> RowSet {
        RowSet {
            collations: columns.iter().map(|c| c.ty.collation).collect(),
            rows: Default::default(),
        }
    }

    /// True when the row was not there yet.
    pub fn insert(&mut self, row: &Row) -> bool {
        let key = RowKey::new(row.clone(), self.collations.clone());
        self.rows.insert(key, ()).is_none()
    }

    pub fn remove(&mut self, row: &Row) {
        self.rows
            .remove(&RowKey::new(row.clone(), self.collations.clone()));
    }

    /// The rows, in no order.
    pub fn into_rows(self) -> VecDeque<Row> {
        self.rows.into_iter().map(|(key, ())| key.values).collect()
    }

    pub fn contains(&self, row: &Row) -> bool {
        let key = RowKey::new(row.clone(), self.collations.clone());
        self.rows.get(&key).is_some()
    }
}

pub fn compare_keys(keys: &[SortKey], a: &[Value], b: &[Value]) -> Ordering {
    for (i, k) in keys.iter().enumerate() {
        let o = compare_nullable(&a[i], &b[i], k.expr.ty.collation);
        let o = if k.descending { o.reverse() } else { o };
        if o.is_ne() {
            return o;
        }
    }
    Ordering::Equal
}
