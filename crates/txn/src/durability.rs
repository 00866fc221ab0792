//! When a COMMIT may be delayed: the decision table of DELAYED_DURABILITY.

/// `ALTER DATABASE ... SET DELAYED_DURABILITY`, in the order of `sys.databases.delayed_durability`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum DelayedDurability {
    #[default]
    Disabled = 0,
    Allowed = 1,
    Forced = 2,
}

impl DelayedDurability {
    /// `sys.databases.delayed_durability_desc`.
    pub fn name(self) -> &'static str {
        match self {
            DelayedDurability::Disabled => "DISABLED",
            DelayedDurability::Allowed => "ALLOWED",
            DelayedDurability::Forced => "FORCED",
        }
    }
}

/// `ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT`: when a fully durable COMMIT goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[repr(u8)]
pub enum CommitWait {
    /// At once: the reply packet waits for the log, not the statement.
    #[default]
    Packet = 0,
    /// When its record is hardened; locks are kept until then.
    Statement = 1,
}

impl CommitWait {
    /// The word the configuration takes.
    pub fn name(self) -> &'static str {
        match self {
            CommitWait::Packet => "PACKET",
            CommitWait::Statement => "STATEMENT",
        }
    }

    /// The inverse of [`CommitWait::name`].
    pub fn parse(word: &str) -> Option<CommitWait> {
        [CommitWait::Packet, CommitWait::Statement]
            .into_iter()
            .find(|w| w.name().eq_ignore_ascii_case(word))
    }
}

/// What a commit promises when it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Durability {
    Full,
    Delayed,
}

/// `option` is `COMMIT ... WITH (DELAYED_DURABILITY = ON|OFF)`, `None` when absent. A transaction that wrote more than
/// one database is always fully durable: its parts must not be lost separately.
pub fn decide(
    database: DelayedDurability,
    option: Option<bool>,
    cross_database: bool,
) -> Durability {
    let delayed = !cross_database
        && match database {
            DelayedDurability::Disabled => false,
            DelayedDurability::Allowed => option == Some(true),
            DelayedDurability::Forced => true,
        };
    if delayed {
        Durability::Delayed
    } else {
        Durability::Full
    }
}

#[cfg(test)]
mod tests {
    use super::DelayedDurability::*;
    use super::Durability::*;
    use super::*;

    #[test]
    fn the_documented_table() {
        for (database, absent, off, on) in [
            (Disabled, Full, Full, Full),
            (Allowed, Full, Full, Delayed),
            (Forced, Delayed, Delayed, Delayed),
        ] {
            assert_eq!(decide(database, None, false), absent);
            assert_eq!(decide(database, Some(false), false), off);
            assert_eq!(decide(database, Some(true), false), on);
            for option in [None, Some(false), Some(true)] {
                assert_eq!(decide(database, option, true), Full);
            }
        }
    }
}
