//! The options of a database as `master` keeps them: a bit each.

use duramen_storage::RecoveryModel;

/// Bits of `DatabaseEntry::options`, ours.
pub mod option {
    pub const RECOVERY_FULL: u64 = 1;
    pub const DELAYED_ALLOWED: u64 = 2;
    pub const DELAYED_FORCED: u64 = 4;
    pub const READ_COMMITTED_SNAPSHOT: u64 = 1 << 32;
    pub const ALLOW_SNAPSHOT: u64 = 1 << 33;
    /// What a new database takes over from model.
    pub const INHERITED: u64 = READ_COMMITTED_SNAPSHOT
        | ALLOW_SNAPSHOT
        | RECOVERY_FULL
        | BULK_LOGGED
        | DELAYED_ALLOWED
        | DELAYED_FORCED
        | 0xfff << 16;
    /// Files are being made: the next start takes them away.
    pub const CREATING: u64 = 1 << 4;
    /// Files are being deleted: the next start goes on.
    pub const DROPPING: u64 = 1 << 5;
    pub const OFFLINE: u64 = 1 << 6;
    pub const READ_ONLY: u64 = 1 << 7;
    pub const SINGLE_USER: u64 = 1 << 8;
    pub const RESTRICTED_USER: u64 = 1 << 9;
    /// A restore has begun and not ended.
    pub const RESTORING: u64 = 1 << 10;
    pub const BULK_LOGGED: u64 = 1 << 11;
    /// Restored files wait beside those whose places they take: the next start goes on.
    pub const SWAPPING: u64 = 1 << 12;
    /// Open for reading between two restores; never in master's row.
    pub const STANDBY: u64 = 1 << 13;
    /// Open as its files are, without recovery.
    pub const EMERGENCY: u64 = 1 << 14;
    // From 1 << 16 on: `SWITCHES`.
}

/// Name, the bit that is set when it is not as by default, and its default.
pub const SWITCHES: &[(&str, u64, bool)] = &[
    ("ANSI_NULLS", 1 << 16, false),
    ("ANSI_NULL_DEFAULT", 1 << 17, false),
    ("ANSI_PADDING", 1 << 18, false),
    ("ANSI_WARNINGS", 1 << 19, false),
    ("ARITHABORT", 1 << 20, false),
    ("AUTO_CREATE_STATISTICS", 1 << 21, true),
    ("AUTO_UPDATE_STATISTICS", 1 << 22, true),
    ("AUTO_UPDATE_STATISTICS_ASYNC", 1 << 23, false),
    ("CONCAT_NULL_YIELDS_NULL", 1 << 24, false),
    ("CURSOR_CLOSE_ON_COMMIT", 1 << 25, false),
    ("NUMERIC_ROUNDABORT", 1 << 26, false),
    ("QUOTED_IDENTIFIER", 1 << 27, false),
];

/// The bit of a switch, and its default. For tables that are made when this is compiled: a name that is not in the list
/// does not compile there.
pub const fn switch_bit(name: &str) -> (u64, bool) {
    let mut at = 0;
    while at < SWITCHES.len() {
        let (found, bit, default) = SWITCHES[at];
        if is_same(found.as_bytes(), name.as_bytes()) {
            return (bit, default);
        }
        at += 1;
    }
    panic!("no switch of that name")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Whether a switch is on, by name; `None` for a name that is not in the list.
pub fn switch(bits: u64, name: &str) -> Option<bool> {
    let (_, bit, default) = SWITCHES.iter().find(|s| s.0 == name)?;
    Some((bits & bit != 0) != *default)
}

/// The model that option bits say.
pub fn model_of(options: u64) -> RecoveryModel {
    match options & (option::RECOVERY_FULL | option::BULK_LOGGED) {
        0 => RecoveryModel::Simple,
        bits if bits & option::BULK_LOGGED != 0 => RecoveryModel::BulkLogged,
        _ => RecoveryModel::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_have_a_bit_each_and_know_their_defaults() {
        let mut bits: Vec<u64> = SWITCHES.iter().map(|s| s.1).collect();
        bits.sort();
        bits.dedup();
        assert_eq!(bits.len(), SWITCHES.len());
        assert_eq!(switch(0, "AUTO_CREATE_STATISTICS"), Some(true));
        assert_eq!(switch(1 << 21, "AUTO_CREATE_STATISTICS"), Some(false));
        assert_eq!(switch(1 << 16, "ANSI_NULLS"), Some(true));
        assert_eq!(switch(0, "NO_SUCH"), None);
        assert!(SWITCHES.is_sorted());
    }
}
