//! IDENTITY: seeds, the value last given out, and how it survives a restart.
//!
//! `syscolpars.idtval` of an identity column holds (ours; the real layout is not public): seed, increment, the last
//! value reserved, each an i64, and one byte that says whether any value was reserved. Values are reserved in blocks by a
//! transaction of their own, which a rollback does not take back; a crash loses at most a block.
//!
//! What makes a column or empties its table writes the state in the user's own transaction, and its rollback puts back what
//! was there: the block in memory goes with it, and that alone ([`CatalogDb::undone`]). Before such a write the row says
//! exactly which value was given out last, so that nothing is skipped afterwards.
//!
//! [`CatalogDb::undone`]: crate::CatalogDb::undone

mod given;

use std::collections::BTreeMap;

use duramen_base::{Lsn, ObjectId, SqlError, SqlResult, messages};
use duramen_types::{SqlType, TypeId, Value};

use crate::def::{Identity, TableDef};
use crate::rows::{Base, id};

/// What `idtval` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentityState {
    pub identity: Identity,
    /// `None`: no value was given out, the next is the seed.
    pub last: Option<i64>,
}

/// Values given out and reserved, in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub state: IdentityState,
    /// The last value that `idtval` covers.
    pub reserved: i64,
    /// The transaction that has written the state itself, and its record: undone with it.
    by: Option<(u64, Lsn)>,
}

impl Block {
    /// As it is stored: nothing is reserved beyond what was given out.
    fn of(state: IdentityState) -> Block {
        let reserved = state.last.unwrap_or(state.identity.seed);
        Block {
            state,
            reserved,
            by: None,
        }
    }

    /// `last` was given out last; what was reserved is not any more.
    fn set(&mut self, last: Option<i64>) {
        let stored = Block::of(IdentityState { last, ..self.state });
        *self = Block {
            by: self.by,
            ..stored
        };
    }
}

pub(crate) type Blocks = BTreeMap<ObjectId, Block>;

pub(crate) fn encode_idtval(s: &IdentityState) -> Vec<u8> {
    let mut b = Vec::with_capacity(25);
    b.extend(s.identity.seed.to_le_bytes());
    b.extend(s.identity.increment.to_le_bytes());
    b.extend(s.last.unwrap_or(0).to_le_bytes());
    b.push(u8::from(s.last.is_some()));
    b
}

pub(crate) fn decode_idtval(b: &[u8]) -> Option<IdentityState> {
    let word = |at: usize| Some(i64::from_le_bytes(b.get(at..at + 8)?.try_into().ok()?));
    Some(IdentityState {
        identity: Identity {
            seed: word(0)?,
            increment: word(8)?,
        },
        last: (*b.get(24)? != 0).then_some(word(16)?),
    })
}

/// How many values a block has, by type.
fn block_of(ty: &SqlType) -> i64 {
    match ty.id {
        TypeId::TinyInt => 10,
        TypeId::SmallInt => 100,
        TypeId::Int => 1000,
        _ => 10_000,
    }
}

/// The range of values that the column's type can hold.
fn range_of(ty: &SqlType) -> (i64, i64) {
    match ty.id {
        TypeId::TinyInt => (0, 255),
        TypeId::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        TypeId::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        TypeId::Decimal | TypeId::Numeric if ty.precision < 19 => {
            let most = 10i64.pow(u32::from(ty.precision)) - 1;
            (-most, most)
        }
        _ => (i64::MIN, i64::MAX),
    }
}

fn overflow(ty: &SqlType) -> SqlError {
    SqlError::new(
        &messages::ARITHMETIC_OVERFLOW,
        &[&"IDENTITY", &ty.id.name()],
    )
}

/// The next value of a table, from its block; `None` when a new block has to be reserved first.
fn take(block: &mut Block, ty: &SqlType) -> SqlResult<Option<i64>> {
    let i = block.state.identity;
    let next = match block.state.last {
        None => i.seed,
        Some(last) => last.checked_add(i.increment).ok_or_else(|| overflow(ty))?,
    };
    let (low, high) = range_of(ty);
    if next < low || next > high {
        return Err(overflow(ty));
    }
    let covered = if i.increment >= 0 {
        next <= block.reserved
    } else {
        next >= block.reserved
    };
    if block.state.last.is_none() || !covered {
        return Ok(None);
    }
    block.state.last = Some(next);
    Ok(Some(next))
}

/// Reserves a block from `next` on and gives `next` out.
fn reserve(block: &mut Block, ty: &SqlType) -> i64 {
    let i = block.state.identity;
    let next = block
        .state
        .last
        .map_or(i.seed, |last| last.saturating_add(i.increment));
    let ahead = i.increment.saturating_mul(block_of(ty) - 1);
    let (low, high) = range_of(ty);
    block.reserved = next.saturating_add(ahead).clamp(low, high);
    block.state.last = Some(next);
    next
}

/// Reads the state of a table's identity column.
fn read(base: &Base<'_>, table: &TableDef) -> SqlResult<Option<IdentityState>> {
    let Some(at) = table.identity_column() else {
        return Ok(None);
    };
    let key = key_of(table, at);
    let rows = base.rows(id::COLPARS, &key)?;
    Ok(rows.first().and_then(|r| match r.get(15) {
        Some(Value::Binary(b)) => decode_idtval(b),
        _ => None,
    }))
}

/// Writes a state, where room in the log was made before.
fn write(base: &Base<'_>, table: &TableDef, state: &IdentityState) -> SqlResult<()> {
    if let Some(at) = table.identity_column() {
        let bytes = encode_idtval(state);
        base.update_prepared(id::COLPARS, &key_of(table, at), |row| {
            row[15] = Value::Binary(bytes.clone());
            true
        })?;
    }
    Ok(())
}

fn key_of(table: &TableDef, column: usize) -> [Value; 3] {
    [
        Value::Int(table.id.0),
        Value::SmallInt(0),
        Value::Int(table.columns[column].id),
    ]
}

#[cfg(test)]
mod tests;
