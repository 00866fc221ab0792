//! The database's counter of changes of rows that have a `rowversion` column: `@@DBTS`.
//!
//! A number is given out once, whatever becomes of the transaction that took it. Numbers are taken from blocks; a row of
//! `sysobjvalues` (class 200, ours: SQL Server keeps its counter in the boot page at an offset that is not public) says
//! where the block ends, written in a transaction of its own before its first number is used. After a crash the counter
//! goes on behind the block.

use duramen_base::SqlResult;
use duramen_txn::Transaction;
use duramen_types::{SqlType, Value};

use crate::catalog::{CatalogDb, system_transaction};
use crate::cells::int;
use crate::counter::Counter;
use crate::rows::{Base, Fields, id};
use crate::system_write::SystemWrite;

/// `sysobjvalues.valclass` of the counter.
const VALUE_ROWVERSION: i64 = 200;
const KEY: [Value; 1] = [Value::TinyInt(VALUE_ROWVERSION as u8)];
/// Where every database begins, as SQL Server's do.
const FIRST: i64 = 2000;
const BLOCK: i64 = 4000;

impl CatalogDb {
    /// The next number, for a row that `tx` writes.
    pub fn next_rowversion(&self, tx: &Transaction) -> SqlResult<i64> {
        let mut system = SystemWrite::new(self, tx, "RowversionReserve");
        loop {
            self.database().make_log_room();
            let mut counter = self.rowversions.lock();
            let mut now = match *counter {
                Some(c) => c,
                None => self.read_counter()?,
            };
            let mut done = true;
            if now.last == now.reserved {
                now.reserved += BLOCK;
                done = system.write(&|base| store(base, now.reserved))?;
            }
            if done {
                now.last += 1;
                *counter = Some(now);
                return Ok(now.last);
            }
            drop(counter);
            system.lock(id::OBJVALUES, &KEY)?;
        }
    }

    /// The number given out last.
    pub fn last_rowversion(&self) -> SqlResult<i64> {
        let mut counter = self.rowversions.lock();
        let now = match *counter {
            Some(c) => c,
            None => self.read_counter()?,
        };
        *counter = Some(now);
        Ok(now.last)
    }

    fn read_counter(&self) -> SqlResult<Counter> {
        let tx = system_transaction(self.database(), "RowversionRead");
        let base = Base {
            db: self.database(),
            tx: &tx,
        };
        let rows = base.rows(id::OBJVALUES, &KEY);
        self.database().engine.locks.release_all(&tx.owner);
        let end = rows?.first().map_or(FIRST, |r| match &r[4] {
            Value::Variant(v) => v.1.as_i64().unwrap_or(FIRST),
            _ => int(r, 4).max(FIRST),
        });
        Ok(Counter {
            last: end,
            reserved: end,
        })
    }
}

/// Writes where the block ends; room in the log was made before.
fn store(base: &Base<'_>, end: i64) -> SqlResult<()> {
    let value = Value::Variant(Box::new((SqlType::BIGINT, Value::BigInt(end))));
    let there = base.update_prepared(id::OBJVALUES, &KEY, |row| {
        row[4] = value.clone();
        true
    })?;
    match there {
        0 => base.insert_prepared(
            Fields::new(id::OBJVALUES)?
                .int("valclass", VALUE_ROWVERSION)
                .set("value", value.clone()),
        ),
        _ => Ok(()),
    }
}
