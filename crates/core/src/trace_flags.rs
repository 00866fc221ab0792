//! The trace flags that mean something here, and which of them are on.
//!
//! A flag is on for a session or for the server. SQL Server takes any number in silence; here a flag is in [`FLAGS`], because
//! it does something or because what it asks for is what happens anyway, or it is refused by name.
//! <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-traceon-trace-flags-transact-sql>

use std::collections::BTreeSet;

use duramen_os::sync::Mutex;

/// What DBCC PAGE and its like print goes to the client.
pub const OUTPUT_TO_CLIENT: i64 = 3604;

/// The graph of a deadlock is told in the error log.
pub const DEADLOCK_LIST: i64 = 1222;

/// Backups that succeed are not told in the error log.
pub const NO_BACKUP_LINES: i64 = 3226;

/// New space of files that is filled is told, in the error log with [`OUTPUT_TO_LOG`].
pub const ZEROING: i64 = 3004;

/// What trace flags print goes to the error log.
pub const OUTPUT_TO_LOG: i64 = 3605;

/// Every flag that is accepted.
const FLAGS: &[(i64, &str)] = &[
    (
        610,
        "minimal logging of inserts into indexes: decided by the database's recovery model, as since 2016",
    ),
    (
        1117,
        "all files of a filegroup grow together: a property of the filegroup since 2016; the flag has no effect",
    ),
    (
        1118,
        "no mixed extents: the way of all databases since 2016",
    ),
    (
        DEADLOCK_LIST,
        "the processes and resources of a deadlock, and its victim, in the error log",
    ),
    (
        ZEROING,
        "the beginning and the end of filling new space of files is told, with 3605 in the error log",
    ),
    (
        NO_BACKUP_LINES,
        "no line in the error log for a backup that succeeded",
    ),
    (OUTPUT_TO_CLIENT, "what DBCC prints goes to the client"),
    (
        OUTPUT_TO_LOG,
        "what 3004 tells goes to the error log, and DBCC's output nowhere else",
    ),
];

/// Every flag that is accepted, and what it does.
pub fn known() -> impl Iterator<Item = (i64, &'static str)> {
    FLAGS.iter().copied()
}

/// The flags that are on for a session, or for the server.
#[derive(Debug, Default)]
pub struct TraceFlags(Mutex<BTreeSet<i64>>);

impl TraceFlags {
    pub fn set(&self, flags: &[i64], on: bool) {
        let mut set = self.0.lock();
        for flag in flags {
            match on {
                true => set.insert(*flag),
                false => set.remove(flag),
            };
        }
    }

    pub fn has(&self, flag: i64) -> bool {
        self.0.lock().contains(&flag)
    }

    pub fn all(&self) -> BTreeSet<i64> {
        self.0.lock().clone()
    }
}

/// Whether a flag is one that the server knows.
pub fn is_known(flag: i64) -> bool {
    FLAGS.iter().any(|(known, _)| *known == flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_says_what_it_is() {
        assert!(FLAGS.is_sorted_by_key(|(n, _)| *n));
        assert!(FLAGS.iter().all(|(_, what)| what.len() > 10));
    }
}
