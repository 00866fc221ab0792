//! The binary as its users have it: a process that is started, asked over TDS, killed, and started again.

// Processes and their directories are real: nothing here runs in a simulated world.

#![allow(
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test is a script, read from the top, and fails where it stands"
)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod book;
mod cancels;
mod connections;
mod dashboard;
mod first_article;
mod flags;
mod full_disk;
mod isolation;
mod large_parameter;
mod ledger;
mod logins;
mod memory;
mod moved;
mod process;
mod random_large;
mod sqlcmd;
mod terminal;
mod together;
mod upload;
