//! Arithmetic that goes on: under SET ANSI_WARNINGS OFF and ARITHABORT OFF an overflow or a division by zero gives NULL.
//!
//! That it happened is noted for the thread that computes: a statement runs on one, and tells the client once when it ends.

use std::cell::Cell;

use duramen_base::{SqlError, SqlResult};

use crate::{ConvertCtx, Value};

/// What happened since the last `take`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// Message 3607.
    pub division_by_zero: bool,
    /// Message 3606.
    pub overflow: bool,
}

thread_local! {
    static NOTED: Cell<Noted> = const {
        Cell::new(Noted {
            division_by_zero: false,
            overflow: false,
        })
    };
}

/// What was forgiven on this thread since it was last asked.
pub fn take() -> Noted {
    NOTED.replace(Noted::default())
}

/// Errors of arithmetic: overflow of a type (220, 232, 8115, 236 and 294 of money), a float that is none (3623), division by
/// zero (8134).
pub fn is_arithmetic(error: &SqlError) -> bool {
    matches!(error.number, 220 | 232 | 236 | 294 | 3623 | 8115 | 8134)
}

/// NULL for an error of arithmetic that the session forgives; any other error as it is.
#[cold]
pub fn forgiven(error: SqlError, ctx: &ConvertCtx) -> SqlResult<Value> {
    if !ctx.lenient || !is_arithmetic(&error) {
        return Err(error);
    }
    let mut noted = NOTED.get();
    match error.number {
        8134 => noted.division_by_zero = true,
        _ => noted.overflow = true,
    }
    NOTED.set(noted);
    Ok(Value::Null)
}
