//! How a read is asked to treat what others do, and which locks it wants.

use duramen_txn::{IsolationLevel, LockDuration, LockMode, ReadView, Resource};

/// What a read wants to hold on the rows it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockHint {
    /// What the isolation level asks for.
    #[default]
    Read,
    /// U: the row may be changed next. Given back when the cursor goes on, unless it was changed.
    Update,
    /// X, kept.
    Exclusive,
    /// NOLOCK.
    None,
}

/// What a hint says about the size of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grain {
    #[default]
    Row,
    /// TABLOCK, TABLOCKX
    Table,
}

/// How to read; see the module.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub lock: LockHint,
    /// A table hint's level, in place of the transaction's.
    pub level: Option<IsolationLevel>,
    pub grain: Grain,
    /// UPDLOCK: U locks stay, whether the row is changed or not.
    pub keep: bool,
    /// READPAST: rows that others hold are left out.
    pub skip_locked: bool,
    /// NOWAIT: 1222 instead of waiting.
    pub no_wait: bool,
    /// Look as of this moment and lock no row. Only with `LockHint::Read`.
    pub view: Option<ReadView>,
    /// Large values may stay where they are: whoever takes the rows knows spooled ones.
    pub lends: bool,
}

impl From<LockHint> for Reading {
    fn from(lock: LockHint) -> Reading {
        Reading {
            lock,
            ..Reading::default()
        }
    }
}

impl From<&Reading> for Reading {
    fn from(reading: &Reading) -> Reading {
        reading.clone()
    }
}

/// A lock that a read wants: what, how, how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub resource: Resource,
    pub mode: LockMode,
    pub duration: LockDuration,
}

/// The locks that one read takes on one rowset.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Locking {
    /// Mode on the table, and whether it is kept beyond the statement.
    pub object: Option<(LockMode, bool)>,
    pub page: Option<(LockMode, LockDuration)>,
    pub row: Option<(LockMode, LockDuration)>,
    /// Rows are locked with the range below them, and the key after the last.
    pub range: bool,
    /// Locks of rows that turn out not to be wanted are kept all the same.
    pub keeps: bool,
}

impl Locking {
    /// The mode of a row that is found by its whole key: nothing can come between.
    pub fn point(&self) -> Option<(LockMode, LockDuration)> {
        self.row.map(|(mode, duration)| {
            let plain = match mode {
                LockMode::RangeSS => LockMode::S,
                LockMode::RangeSU => LockMode::U,
                LockMode::RangeXX => LockMode::X,
                other => other,
            };
            (plain, duration)
        })
    }
}
