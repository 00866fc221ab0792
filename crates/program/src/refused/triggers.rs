//! What may not stand in a trigger.

use duramen_base::{SqlError, SqlResult, messages};

use crate::statements::Kind;

/// 287: statements that no transaction may have in it, and every trigger runs in one.
pub(crate) fn in_trigger(kind: Kind) -> SqlResult<()> {
    let row = kind.row();
    match row.refused_in_triggers() {
        true => Err(SqlError::new(&messages::NOT_IN_TRIGGER, &[&row.name]).with_state(2)),
        false => Ok(()),
    }
}
