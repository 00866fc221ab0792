//! The options of ALTER DATABASE ... SET, a row each: the words that it takes, and what follows it.
//!
//! An option takes effect and shows in `sys.databases`, or is refused by its name. One that is only remembered is a default
//! for connections that set none of their own, which every login does as those of ODBC do, but for NUMERIC_ROUNDABORT,
//! which `Session::follow_database` gives to sessions that have not said it.

use duramen_access::database_options::{option, switch_bit};
use duramen_core::unavailable::DatabaseState;

/// What a word of an option does to the bits of a database, or to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    /// Of these bits the other ones stay.
    Bits { mask: u64, set: u64 },
    /// It goes into another state.
    State(DatabaseState),
    /// It is so anyway.
    Fixed,
}

/// What stands behind the name of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum Takes {
    /// One of these words; the empty one is none.
    Words(&'static [(&'static str, Effect)]),
    Level,
    Seconds,
}

#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    pub name: &'static str,
    pub(super) takes: Takes,
    /// What follows it.
    pub follows: &'static str,
}

impl OptionRow {
    /// The words that it takes, for the reference.
    pub fn words(&self) -> Vec<&'static str> {
        match self.takes {
            Takes::Words(all) => all.iter().map(|w| w.0).filter(|w| !w.is_empty()).collect(),
            Takes::Level => vec!["100 to 160"],
            Takes::Seconds => vec!["n SECONDS", "n MINUTES"],
        }
    }

    pub(super) fn effect(&self, word: &str) -> Option<Effect> {
        let Takes::Words(all) = self.takes else {
            return None;
        };
        all.iter().find(|w| w.0 == word).map(|w| w.1)
    }
}

pub fn find(name: &str) -> Option<&'static OptionRow> {
    let at = ROWS.binary_search_by(|row| row.name.cmp(name)).ok()?;
    Some(&ROWS[at])
}

const MODEL: u64 = option::RECOVERY_FULL | option::BULK_LOGGED;
const DELAYED: u64 = option::DELAYED_ALLOWED | option::DELAYED_FORCED;
const ACCESS: u64 = option::SINGLE_USER | option::RESTRICTED_USER;

const fn bits(mask: u64, set: u64) -> Effect {
    Effect::Bits { mask, set }
}

const fn words(
    name: &'static str,
    words: &'static [(&'static str, Effect)],
    follows: &'static str,
) -> OptionRow {
    OptionRow {
        name,
        takes: Takes::Words(words),
        follows,
    }
}

/// What is so anyway, and can be said.
const fn fixed(name: &'static str, word: &'static [(&'static str, Effect)]) -> OptionRow {
    words(name, word, "so anyway")
}

const OFF: &[(&str, Effect)] = &[("OFF", Effect::Fixed)];

/// Both words of an option that has a bit.
macro_rules! on_off {
    ($bit:expr) => {
        &[("ON", bits($bit, $bit)), ("OFF", bits($bit, 0))]
    };
}

/// Both words of one of `database_options::SWITCHES`.
macro_rules! switch {
    ($name:literal, $follows:expr) => {
        words(
            $name,
            &[
                ("ON", switched($name, true)),
                ("OFF", switched($name, false)),
            ],
            $follows,
        )
    };
}

const fn switched(name: &str, on: bool) -> Effect {
    let (bit, by_default) = switch_bit(name);
    bits(bit, if on == by_default { 0 } else { bit })
}

const REMEMBERED: &str = "remembered and shown";
const MAKES: &str = "whether statistics of columns are made by themselves";
const RENEWS: &str = "whether statistics that are old are made anew";

/// By name.
#[rustfmt::skip]
pub const ROWS: &[OptionRow] = &[
    fixed("ACCELERATED_DATABASE_RECOVERY", OFF),
    words("ALLOW_SNAPSHOT_ISOLATION", on_off!(option::ALLOW_SNAPSHOT), "whether the level SNAPSHOT may be used"),
    switch!("ANSI_NULLS", REMEMBERED),
    switch!("ANSI_NULL_DEFAULT", REMEMBERED),
    switch!("ANSI_PADDING", REMEMBERED),
    switch!("ANSI_WARNINGS", REMEMBERED),
    switch!("ARITHABORT", REMEMBERED),
    fixed("AUTO_CLOSE", OFF),
    switch!("AUTO_CREATE_STATISTICS", MAKES),
    fixed("AUTO_SHRINK", OFF),
    switch!("AUTO_UPDATE_STATISTICS", RENEWS),
    switch!("AUTO_UPDATE_STATISTICS_ASYNC", "whether a query waits for them"),
    OptionRow { name: "COMPATIBILITY_LEVEL", takes: Takes::Level, follows: "what the reference lists for each level" },
    switch!("CONCAT_NULL_YIELDS_NULL", REMEMBERED),
    fixed("CONTAINMENT", &[("NONE", Effect::Fixed)]),
    // There are no cursors that a commit would close.
    words("CURSOR_CLOSE_ON_COMMIT", &[("OFF", switched("CURSOR_CLOSE_ON_COMMIT", false))], "so anyway"),
    fixed("CURSOR_DEFAULT", &[("GLOBAL", Effect::Fixed)]),
    fixed("DATE_CORRELATION_OPTIMIZATION", OFF),
    fixed("DB_CHAINING", OFF),
    words("DELAYED_DURABILITY",
        &[("DISABLED", bits(DELAYED, 0)), ("ALLOWED", bits(DELAYED, option::DELAYED_ALLOWED)), ("FORCED", bits(DELAYED, option::DELAYED_FORCED))],
        "whether a commit waits for the log"),
    fixed("DISABLE_BROKER", &[("", Effect::Fixed)]),
    words("EMERGENCY", &[("", Effect::State(DatabaseState::Emergency))], "read as its files are, by sysadmin alone"),
    fixed("ENCRYPTION", OFF),
    fixed("HONOR_BROKER_PRIORITY", OFF),
    fixed("MIXED_PAGE_ALLOCATION", OFF),
    words("MULTI_USER", &[("", bits(ACCESS, 0))], "who may be in the database"),
    switch!("NUMERIC_ROUNDABORT", "sessions that have not set it"),
    words("OFFLINE", &[("", Effect::State(DatabaseState::Offline))], "closed, with its files"),
    words("ONLINE", &[("", Effect::State(DatabaseState::Online))], "open"),
    fixed("PAGE_VERIFY", &[("CHECKSUM", Effect::Fixed)]),
    fixed("PARAMETERIZATION", &[("SIMPLE", Effect::Fixed)]),
    fixed("QUERY_STORE", OFF),
    switch!("QUOTED_IDENTIFIER", REMEMBERED),
    words("READ_COMMITTED_SNAPSHOT", on_off!(option::READ_COMMITTED_SNAPSHOT), "whether READ COMMITTED reads row versions"),
    words("READ_ONLY", &[("", bits(0, option::READ_ONLY))], "nothing may be changed"),
    words("READ_WRITE", &[("", bits(option::READ_ONLY, 0))], "everything may be changed"),
    words("RECOVERY",
        &[("SIMPLE", bits(MODEL, 0)), ("FULL", bits(MODEL, option::RECOVERY_FULL)), ("BULK_LOGGED", bits(MODEL, option::BULK_LOGGED))],
        "how long log is kept, and what it holds of loads"),
    fixed("RECURSIVE_TRIGGERS", OFF),
    words("RESTRICTED_USER", &[("", bits(ACCESS, option::RESTRICTED_USER))], "who may be in the database"),
    words("SINGLE_USER", &[("", bits(ACCESS, option::SINGLE_USER))], "who may be in the database"),
    OptionRow { name: "TARGET_RECOVERY_TIME", takes: Takes::Seconds, follows: "indirect checkpoints; 0: automatic ones" },
    fixed("TEMPORAL_HISTORY_RETENTION", OFF),
    fixed("TORN_PAGE_DETECTION", OFF),
    fixed("TRUSTWORTHY", OFF),
];

#[cfg(test)]
mod tests {
    use super::*;
    use duramen_access::database_options::SWITCHES;

    #[test]
    fn rows_are_in_order_and_have_every_switch() {
        assert!(ROWS.is_sorted_by_key(|row| row.name));
        for (name, ..) in SWITCHES {
            assert!(find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_switch_has_its_bit_where_it_is_not_as_by_default() {
        let on = |name| find(name).and_then(|row| row.effect("ON"));
        assert_eq!(on("ANSI_NULLS"), Some(bits(1 << 16, 1 << 16)));
        assert_eq!(on("AUTO_CREATE_STATISTICS"), Some(bits(1 << 21, 0)));
        assert_eq!(on("TRUSTWORTHY"), None);
        assert_eq!(on("CURSOR_CLOSE_ON_COMMIT"), None);
    }
}
