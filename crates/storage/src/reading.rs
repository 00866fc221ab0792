//! How a read treats what others do: which locks it takes, for how long, or as of which moment it looks.
//!
//! | level | row | table |
//! |---|---|---|
//! | READ UNCOMMITTED, NOLOCK | none | Sch-S, for the statement |
//! | versioned (a view) | none | Sch-S, for the statement |
//! | READ COMMITTED | S, tested and given back at once | IS, for the statement |
//! | REPEATABLE READ | S, kept | IS, kept |
//! | SERIALIZABLE, B-tree | RangeS-S on every key met and on the next one, kept | IS, kept |
//! | SERIALIZABLE, heap | S, kept | S, kept |
//!
//! Update and exclusive reads take U and X (RangeS-U and RangeX-X) on rows and IX on the table. A hint for tables takes S or
//! X on the table and no row locks.

use duramen_base::SqlResult;
use duramen_txn::{
    Acquired, IsolationLevel, LockDuration, LockMode, Resource, Transaction, TxnKind,
};

use crate::hints::{Grain, LockHint, Locking, Reading, Wanted};
use crate::rowset::Rowset;

/// The announcement on a page of row locks in `mode`.
fn intent(mode: LockMode) -> LockMode {
    match mode {
        LockMode::S | LockMode::RangeSS => LockMode::IS,
        LockMode::U | LockMode::RangeSU => LockMode::IU,
        _ => LockMode::IX,
    }
}

impl Rowset {
    /// Whether this is one of the catalog's own tables: their readers do not lock unless they say so.
    pub(crate) fn is_system(&self) -> bool {
        /// User objects have higher ids.
        const LAST_SYSTEM_OBJECT: i32 = 100;
        self.def.object.0 <= LAST_SYSTEM_OBJECT
    }

    pub(crate) fn locking(&self, tx: &Transaction, reading: &Reading) -> Locking {
        let level = reading.level.unwrap_or(tx.isolation());
        let no_rows = reading.view.is_some()
            || reading.lock == LockHint::None
            || reading.lock == LockHint::Read && level == IsolationLevel::ReadUncommitted;
        if no_rows {
            let object = (!self.is_system()).then_some((LockMode::SchS, false));
            return Locking {
                object,
                ..Locking::default()
            };
        }
        let serializable = level == IsolationLevel::Serializable;
        let keeps = serializable || level == IsolationLevel::RepeatableRead;
        let reads = reading.lock == LockHint::Read;
        if reading.grain == Grain::Table {
            let object = if reads {
                (LockMode::S, keeps)
            } else {
                (LockMode::X, true)
            };
            return Locking {
                object: Some(object),
                ..Locking::default()
            };
        }
        let (mode, duration) = match reading.lock {
            LockHint::Update => (LockMode::U, LockDuration::Normal),
            LockHint::Exclusive => (LockMode::X, LockDuration::Normal),
            _ if keeps => (LockMode::S, LockDuration::Normal),
            _ => (LockMode::S, LockDuration::Instant),
        };
        let mut object = if reads {
            (LockMode::IS, keeps)
        } else {
            (LockMode::IX, true)
        };
        if serializable && self.def.is_heap() {
            object = (object.0.join(LockMode::S), true);
        }
        let page = match duration {
            LockDuration::Normal => Some((intent(mode), duration)),
            _ => None,
        };
        let range = serializable && !self.def.is_heap();
        let mode = match mode {
            LockMode::S if range => LockMode::RangeSS,
            LockMode::U if range => LockMode::RangeSU,
            LockMode::X if range => LockMode::RangeXX,
            other => other,
        };
        Locking {
            object: Some(object),
            page,
            row: Some((mode, duration)),
            range,
            keeps: keeps || reading.keep,
        }
    }

    /// The table's lock of a read. What only the statement needs is given back at its end.
    pub(crate) fn lock_for_read(
        &self,
        tx: &Transaction,
        locking: &Locking,
        reading: &Reading,
    ) -> SqlResult<()> {
        let Some((mode, kept)) = locking.object else {
            return Ok(());
        };
        let wanted = Wanted {
            resource: Resource::Object(self.db.id, self.def.object),
            mode,
            duration: LockDuration::Normal,
        };
        match (kept, self.wait_for(tx, &wanted, reading.no_wait)?) {
            (false, Acquired::New) if tx.kind != TxnKind::Autocommit => {
                tx.until_statement_end(wanted.resource, mode);
            }
            (true, Acquired::Already) => tx.keep_lock(&wanted.resource),
            _ => {}
        }
        Ok(())
    }

    /// Takes a lock, waiting for it. Never with a latch held.
    pub(crate) fn wait_for(
        &self,
        tx: &Transaction,
        wanted: &Wanted,
        no_wait: bool,
    ) -> SqlResult<Acquired> {
        let Wanted {
            resource,
            mode,
            duration,
        } = wanted;
        let timeout = if no_wait {
            Some(std::time::Duration::ZERO)
        } else {
            tx.lock_timeout()
        };
        let outcome = self.lock_counted(tx, resource, (*mode, *duration), timeout)?;
        Ok(outcome.acquired)
    }

    /// Takes a lock at once, or gives it back as what to wait for. Allowed with a latch held.
    pub(crate) fn try_wanted(&self, tx: &Transaction, wanted: Wanted) -> Result<Acquired, Wanted> {
        self.storage.operations.asked(&wanted.resource);
        self.try_uncounted(tx, wanted)
    }

    /// The same for a caller that counts what it asks for.
    pub(crate) fn try_uncounted(
        &self,
        tx: &Transaction,
        wanted: Wanted,
    ) -> Result<Acquired, Wanted> {
        let Wanted {
            resource,
            mode,
            duration,
        } = &wanted;
        let locks = &self.db.engine.locks;
        let outcome = locks.try_lock_in(&tx.owner, &self.entity(), resource, *mode, *duration);
        match outcome {
            None => Err(wanted),
            Some(outcome) => {
                self.escalate_if(tx, &outcome);
                Ok(outcome.acquired)
            }
        }
    }

    /// What stands for the range behind the last key of an index: `(ffffffffffff)`.
    pub(crate) fn end_resource(&self) -> Resource {
        Resource::Key(self.db.id, self.def.rowset, 0xffff_ffff_ffff)
    }
}
