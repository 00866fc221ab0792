//! Giving identity values out.

use std::collections::btree_map::Entry;

use duramen_base::{Lsn, ObjectId, SqlError, SqlResult, messages};
use duramen_txn::{SavePoint, Transaction};

use super::{Block, Blocks, IdentityState, key_of, read, reserve, take, write};
use crate::catalog::{CatalogDb, system_transaction};
use crate::def::TableDef;
use crate::rows::{Base, id};
use crate::system_write::SystemWrite;

impl CatalogDb {
    /// The next IDENTITY value of a table. Never rolled back.
    pub fn next_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<i64> {
        let column = table.identity_column().ok_or_else(|| no_identity(table))?;
        let ty = table.columns[column].ty;
        self.change_block(tx, "IdentReserve", table, |block| {
            if let Some(value) = take(block, &ty)? {
                return Ok((value, None));
            }
            let value = reserve(block, &ty);
            let stored = IdentityState {
                last: Some(block.reserved),
                ..block.state
            };
            Ok((value, Some(stored)))
        })
    }

    /// The next `n` IDENTITY values of a table, one behind the other. After an error those before it are gone.
    pub fn next_identities(
        &self,
        tx: &Transaction,
        table: &TableDef,
        n: usize,
    ) -> SqlResult<Vec<i64>> {
        let column = table.identity_column().ok_or_else(|| no_identity(table))?;
        let ty = table.columns[column].ty;
        let mut values = Vec::with_capacity(n);
        while values.len() < n {
            values.push(self.next_identity(tx, table)?);
            let mut blocks = self.identities.lock();
            let block = self.block(&mut blocks, tx, table)?;
            while values.len() < n
                && let Some(value) = take(block, &ty)?
            {
                values.push(value);
            }
        }
        Ok(values)
    }

    /// The value given out last; `None` when there was none (DBCC CHECKIDENT, IDENT_CURRENT).
    pub fn current_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<Option<i64>> {
        let mut blocks = self.identities.lock();
        Ok(self.block(&mut blocks, tx, table)?.state.last)
    }

    /// The same, read without a user's transaction: `IDENT_CURRENT`, `sys.identity_columns`.
    pub fn peek_identity(&self, table: &TableDef) -> SqlResult<Option<i64>> {
        let tx = system_transaction(self.database(), "IdentRead");
        let last = self.current_identity(&tx, table);
        self.database().engine.locks.release_all(&tx.owner);
        last
    }

    /// Sets the value given out last (CHECKIDENT RESEED, explicit values); `None` starts again at the seed.
    pub fn set_identity(
        &self,
        tx: &Transaction,
        table: &TableDef,
        last: Option<i64>,
    ) -> SqlResult<()> {
        self.change_block(tx, "IdentSet", table, |block| {
            block.set(last);
            Ok(((), Some(block.state)))
        })
    }

    /// Notes an explicit value (IDENTITY_INSERT) when it is further out than any given before.
    pub fn note_identity(&self, tx: &Transaction, table: &TableDef, value: i64) -> SqlResult<()> {
        self.change_block(tx, "IdentSet", table, |block| {
            let up = block.state.identity.increment >= 0;
            let further = |a: i64, b: i64| if up { a > b } else { a < b };
            if block.state.last.is_some_and(|last| !further(value, last)) {
                return Ok(((), None));
            }
            if block.state.last.is_some() && !further(value, block.reserved) {
                block.state.last = Some(value);
                return Ok(((), None));
            }
            block.set(Some(value));
            Ok(((), Some(block.state)))
        })
    }

    /// Changes a block; what `change` wants stored is stored before anybody sees it changed. `change` may be called again,
    /// with a block that others have changed meanwhile: see [`crate::beside`].
    fn change_block<T>(
        &self,
        tx: &Transaction,
        name: &'static str,
        table: &TableDef,
        change: impl Fn(&mut Block) -> SqlResult<(T, Option<IdentityState>)>,
    ) -> SqlResult<T> {
        let mut system = SystemWrite::new(self, tx, name);
        loop {
            self.database().make_log_room();
            let mut blocks = self.identities.lock();
            let block = self.block(&mut blocks, tx, table)?;
            let mut changed = *block;
            let (result, stored) = change(&mut changed)?;
            let done = match stored {
                Some(state) => system.write(&|base| write(base, table, &state))?,
                None => true,
            };
            if done {
                *block = changed;
                return Ok(result);
            }
            drop(blocks);
            if let Some(at) = table.identity_column() {
                system.lock(id::COLPARS, &key_of(table, at))?;
            }
        }
    }

    fn block<'a>(
        &self,
        blocks: &'a mut Blocks,
        tx: &Transaction,
        table: &TableDef,
    ) -> SqlResult<&'a mut Block> {
        match blocks.entry(table.id) {
            Entry::Occupied(e) => Ok(e.into_mut()),
            Entry::Vacant(e) => {
                let db = self.database();
                let state = read(&Base { db, tx }, table)?.ok_or_else(|| no_identity(table))?;
                Ok(e.insert(Block::of(state)))
            }
        }
    }

    /// Sets a table's identity back to its seed, as TRUNCATE does: a rollback of `tx` takes it back. The table is locked
    /// against everybody else.
    pub fn restart_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<()> {
        let Some(at) = table.identity_column() else {
            return Ok(());
        };
        self.settle_identity(tx, table)?;
        let db = self.database();
        let stored = read(&Base { db, tx }, table)?.ok_or_else(|| no_identity(table))?;
        let state = IdentityState {
            last: None,
            ..stored
        };
        Base { db, tx }.lock(id::COLPARS, &key_of(table, at))?;
        db.make_log_room();
        write(&Base { db, tx }, table, &state)?;
        self.place_identity(tx, table.id, state);
        Ok(())
    }

    /// `tx` has written the state of an identity itself.
    pub(crate) fn place_identity(&self, tx: &Transaction, table: ObjectId, state: IdentityState) {
        tx.defines();
        let part = tx.part(self.database().id);
        let mut block = Block::of(state);
        block.by = Some((tx.id, part.map_or(Lsn::NULL, |p| p.last_lsn)));
        self.identities.lock().insert(table, block);
    }

    /// Writes down the value given out last, for good, and forgets the block: the column or its table is about to go, and
    /// a rollback brings back the row as it is.
    pub(crate) fn settle_identity(&self, tx: &Transaction, table: &TableDef) -> SqlResult<()> {
        if table.identity_column().is_none() || !self.identities.lock().contains_key(&table.id) {
            return Ok(());
        }
        self.change_block(tx, "IdentSet", table, |block| {
            let ahead = block.state.last.is_some_and(|last| last != block.reserved);
            block.set(block.state.last);
            Ok(((), ahead.then_some(block.state)))
        })?;
        self.identities.lock().remove(&table.id);
        Ok(())
    }

    /// `tx` was undone, or what it did after `point`: so are the states that it has written itself.
    pub fn undone(&self, tx: &Transaction, point: Option<&SavePoint>) {
        let keep = point.map(|p| p.lsn(self.database().id));
        let is_undone = |(by, lsn): (u64, Lsn)| by == tx.id && keep.is_none_or(|k| lsn > k);
        let mut blocks = self.identities.lock();
        blocks.retain(|_, block| !block.by.is_some_and(is_undone));
    }

    /// Writes the values given out last back, so that a clean shutdown leaves no gaps.
    pub fn flush_identities(&self) -> SqlResult<()> {
        let blocks = std::mem::take(&mut *self.identities.lock());
        if blocks.is_empty() {
            return Ok(());
        }
        let db = self.database();
        let tx = system_transaction(db, "IdentFlush");
        // Who holds a row is still open: what it reserved stays reserved.
        tx.set_lock_timeout(0);
        let snapshot = self.snapshot()?;
        for (id, block) in &blocks {
            if let Some(table) = snapshot.table(*id)
                && block.state.last.is_some()
            {
                db.make_log_room();
                match write(&Base { db, tx: &tx }, table, &block.state) {
                    Err(e) if e.number != messages::LOCK_TIMEOUT.number => return Err(e),
                    _ => {}
                }
            }
        }
        db.engine.commit(&tx, None)?;
        Ok(())
    }
}

fn no_identity(table: &TableDef) -> SqlError {
    SqlError::new(&messages::NO_IDENTITY_PROPERTY, &[&table.name])
}
