//! Tests of the whole, from outside.

#![allow(
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test is a script, read from the top, and fails where it stands"
)]

mod crash;
mod fuzz;
mod queries;
mod sql;
