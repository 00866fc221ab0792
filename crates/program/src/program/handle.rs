//! What a program is known by outside.

use super::Program;

/// A handle of a program: 2 begins one of a batch's text, 3 of a module's, 5 and 6 those of its plan.
pub fn handle_bytes(first: u8, program: &Program) -> Vec<u8> {
    let mut bytes = vec![first, 0, 0, 0];
    bytes.extend(program.stats.id.to_be_bytes());
    bytes.resize(20, 0);
    bytes
}

/// The handle of a program's text.
pub fn sql_handle(program: &Program) -> Vec<u8> {
    handle_bytes(
        if program.stats.module().is_some() {
            3
        } else {
            2
        },
        program,
    )
}
