//! What may not stand in a trigger.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast::{RestoreKind, StatementKind};

/// 287: statements that no transaction may have in it, and every trigger runs in one.
pub fn in_trigger(kind: &StatementKind) -> SqlResult<()> {
    let what = match kind {
        StatementKind::CreateDatabase(_)
        | StatementKind::AlterDatabase(_)
        | StatementKind::DropDatabase { .. }
        | StatementKind::Reconfigure { .. } => crate::names::statement_name(kind),
        StatementKind::Restore(stmt) => match stmt.kind {
            RestoreKind::Database => "RESTORE DATABASE",
            RestoreKind::Log => "RESTORE LOG",
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let error = SqlError::new(&messages::NOT_IN_TRIGGER, &[&what]);
    Err(error.with_state(2))
}
