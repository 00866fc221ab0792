//! What a showplan calls the steps of a program, and where they stand in its text.

use duramen_tsql::ast::{SetOption, StatementKind};

use super::Op;
use crate::statements::Kind;

/// Whether a statement turns SHOWPLAN on or off: it runs even while nothing else does.
pub fn sets_showplan(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::SetOption(SetOption::OnOff { names, .. }) => {
            names.iter().any(|n| n.starts_with("SHOWPLAN_"))
        }
        _ => false,
    }
}

/// What SHOWPLAN_ALL calls a statement; nothing for steps that are none.
pub fn kind_of(op: &Op) -> &'static str {
    match op {
        Op::Run(kind) => Kind::of(kind).row().shown,
        Op::Assign { .. } => "ASSIGN",
        Op::BranchUnless { .. } => "COND",
        Op::Return(_) => "RETURN",
        Op::Jump(_)
        | Op::EnterTry { .. }
        | Op::LeaveTry { .. }
        | Op::EndCatch
        | Op::Unwind { .. } => "",
    }
}

/// Bytes of UTF-16 before a place of a text.
pub fn offset(text: &str, at: usize) -> i64 {
    let before = text.get(..at).unwrap_or(text);
    before.encode_utf16().count() as i64 * 2
}
