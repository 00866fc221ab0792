//! What becomes of the rows that refer to keys that are gone: they follow, or the statement is refused at its end.
//!
//! The rows to follow are found before the first one is changed, and wait in a file when they are many ([`Changes`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_query::host::{Bounds, Locator};
use duramen_query::key::RowKey;
use duramen_query::{Cx, LockIntent, Row, ScanLock};
use duramen_txn::IsolationLevel;

use super::changes::{Changes, Types};
use super::guard::{Follow, Moved, Pending, Referrer, TEST, has_key, key_of};
use super::row::{self, moves_keys};

/// How a cascade finds the rows it changes.
const CASCADE: ScanLock = ScanLock {
    intent: LockIntent::Change,
    level: Some(IsolationLevel::ReadCommitted),
    unversioned: true,
    ..ScanLock::READ
};

/// Takes a row that refers to a key; whether it wants more.
type Found<'f> = &'f mut dyn FnMut(Locator, Row, &mut Cx<'_>) -> SqlResult<bool>;

impl Referrer {
    /// The keys on the left are gone; in their place are those on the right.
    pub(super) fn gone(
        self: &Arc<Referrer>,
        keys: BTreeMap<RowKey, RowKey>,
        pending: &mut Pending,
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let Some(follow) = &self.follow else {
            let mut gone: BTreeSet<RowKey> = BTreeSet::new();
            for key in keys.into_keys() {
                if !self.is_there(&key, cx)? {
                    gone.insert(key);
                }
            }
            pending.gone.push((self.clone(), gone));
            return Ok(());
        };
        let changes = self.followers(follow, &keys, statement, cx)?;
        if follow.values.is_none() {
            changes.each(cx, &mut |(at, old, _), cx| self.table.delete(at, old, cx))?;
            return changes.chunks(cx, &mut |some, cx| {
                let rows = some.iter().map(|(_, row, _)| row);
                follow.guard.deleted(rows, pending, statement, cx)?;
                pending.count(cx)
            });
        }
        changes.apply(&*self.table, moves_keys(&*self.table, &self.there), cx)?;
        let mut moved = Moved::default();
        changes.chunks(cx, &mut |some, cx| {
            let rows = some.iter().map(|(_, old, new)| (old, new));
            follow.guard.updated(rows, &mut moved, pending, cx)
        })?;
        follow.guard.follow(moved, pending, statement, cx)
    }

    /// The rows that refer to the keys on the left, and what becomes of them.
    fn followers(
        &self,
        follow: &Follow,
        keys: &BTreeMap<RowKey, RowKey>,
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> SqlResult<Changes<'_>> {
        let types: Vec<_> = self.table.columns().iter().map(|c| c.ty).collect();
        let new_types = match follow.values {
            Some(_) => types.clone(),
            None => Vec::new(),
        };
        let mut changes = Changes::new(Types::Given(types), Types::Given(new_types));
        self.find(keys, CASCADE, cx, &mut |at, old, cx| {
            let Some(values) = &follow.values else {
                changes.put(at, old, Row::new(), cx)?;
                return Ok(true);
            };
            let key = key_of(&old, &self.there, &self.collations);
            let Some(now) = key.and_then(|key| keys.get(&key)) else {
                return Ok(true);
            };
            let mut new = old.clone();
            for (i, column) in self.there.iter().enumerate() {
                new[*column] = match &values[i] {
                    Some(e) => e.eval(&[], cx)?,
                    None => now.values()[i].clone(),
                };
            }
            row::store(&self.table, &mut new, "UPDATE", cx)?;
            follow.guard.check(&*self.table, &new, statement, cx)?;
            changes.put(at, old, new, cx)?;
            Ok(true)
        })?;
        changes.finish()
    }

    /// Whether a row refers to one of the keys.
    pub(super) fn is_referred_to(
        &self,
        keys: &BTreeSet<RowKey>,
        cx: &mut Cx<'_>,
    ) -> SqlResult<bool> {
        let mut found = false;
        self.find(keys, TEST, cx, &mut |_, _, _| {
            found = true;
            Ok(false)
        })?;
        Ok(found)
    }

    /// Whether the table referred to has the key (still, or again: an UPDATE may pass it from row to row).
    fn is_there(&self, key: &RowKey, cx: &mut Cx<'_>) -> SqlResult<bool> {
        let Some((table, path, order)) = &self.own else {
            return Ok(false);
        };
        let values = order.iter().map(|i| key.values()[*i].clone()).collect();
        has_key(table, *path, values, cx)
    }

    /// Gives the rows that refer to one of the keys to `found`, which stay locked as `lock` says.
    fn find(
        &self,
        keys: &impl Keys,
        lock: ScanLock,
        cx: &mut Cx<'_>,
        found: Found<'_>,
    ) -> SqlResult<()> {
        let refers = |row: &Row| {
            let key = key_of(row, &self.there, &self.collations);
            key.is_some_and(|key| keys.has(&key))
        };
        // Whether more are wanted.
        let mut look = |bounds: Option<&Bounds>, cx: &mut Cx<'_>| -> SqlResult<bool> {
            let mut cursor = self.table.open(bounds, lock, cx)?;
            while let Some((at, row)) = cursor.next(cx)? {
                if refers(&row) {
                    cursor.keep();
                    if !found(at, row, cx)? {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        };
        let Some((path, order)) = &self.path else {
            if !keys.is_empty() {
                look(None, cx)?;
            }
            return Ok(());
        };
        // Keys that share what the path takes of them are sought once.
        let mut sought: BTreeSet<RowKey> = BTreeSet::new();
        for key in keys.all() {
            cx.check_cancelled()?;
            let equal: Row = order.iter().map(|i| key.values()[*i].clone()).collect();
            let kept = order.iter().map(|i| self.collations[*i]).collect();
            if !sought.insert(RowKey::new(equal.clone(), kept)) {
                continue;
            }
            let bounds = Bounds {
                path: *path,
                equal,
                ..Bounds::default()
            };
            if !look(Some(&bounds), cx)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Keys, whatever is known of each.
trait Keys {
    fn has(&self, key: &RowKey) -> bool;
    fn is_empty(&self) -> bool;
    fn all(&self) -> impl Iterator<Item = &RowKey>;
}

impl Keys for BTreeSet<RowKey> {
    fn has(&self, key: &RowKey) -> bool {
        self.contains(key)
    }

    fn is_empty(&self) -> bool {
        BTreeSet::is_empty(self)
    }

    fn all(&self) -> impl Iterator<Item = &RowKey> {
        self.iter()
    }
}

impl Keys for BTreeMap<RowKey, RowKey> {
    fn has(&self, key: &RowKey) -> bool {
        self.contains_key(key)
    }

    fn is_empty(&self) -> bool {
        BTreeMap::is_empty(self)
    }

    fn all(&self) -> impl Iterator<Item = &RowKey> {
        self.keys()
    }
}
