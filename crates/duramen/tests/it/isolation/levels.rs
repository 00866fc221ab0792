//! The isolation levels as rows: how one is asked for, and what it may show and what not.

/// An isolation level of a run.
pub struct Level {
    /// As `cargo xtask isolation --level` knows it.
    pub name: &'static str,
    /// As the results name it.
    pub title: &'static str,
    /// What SET TRANSACTION ISOLATION LEVEL is told.
    pub set: &'static str,
    /// What ALTER DATABASE is told.
    pub database: &'static [&'static str],
    /// The models of the `adya` crate that must hold. They include real time, for a transaction that begins after another's
    /// commit was acknowledged comes after it.
    pub models: &'static [&'static str],
    /// Anomalies beside those of the models that the level forbids.
    pub forbids: &'static [&'static str],
    /// What a predicate did not find is protected, too: phantoms are anomalies.
    pub predicates: bool,
    /// Each statement reads one committed state of the database.
    pub statement_snapshots: bool,
    /// A row that was read stays as it is until the reader's end, so that it commits first.
    pub readers_commit_first: bool,
    /// What the level allows and ten thousand transactions do show.
    pub shows: &'static [&'static str],
}

pub const LEVELS: [Level; 6] = [
    Level {
        name: "read-uncommitted",
        title: "READ UNCOMMITTED",
        set: "READ UNCOMMITTED",
        database: &[],
        models: &["strong-read-uncommitted"],
        forbids: &[],
        predicates: true,
        statement_snapshots: false,
        readers_commit_first: false,
        shows: &["G1a", "G1b", "G1c", "lost-update", "G-single-item"],
    },
    Level {
        name: "read-committed",
        title: "READ COMMITTED",
        set: "READ COMMITTED",
        database: &[],
        models: &["strong-read-committed"],
        forbids: &["duplicate-elements", "incompatible-order", "future-read"],
        predicates: true,
        statement_snapshots: false,
        readers_commit_first: false,
        shows: &["lost-update", "G-single-item", "G2-item"],
    },
    Level {
        name: "rcsi",
        title: "READ COMMITTED (RCSI)",
        set: "READ COMMITTED",
        database: &["READ_COMMITTED_SNAPSHOT ON"],
        models: &["strong-read-committed"],
        forbids: &["duplicate-elements", "incompatible-order", "future-read"],
        predicates: true,
        statement_snapshots: true,
        readers_commit_first: false,
        shows: &["lost-update", "G-single-item", "G2-item"],
    },
    Level {
        name: "repeatable-read",
        title: "REPEATABLE READ",
        set: "REPEATABLE READ",
        database: &[],
        models: &["repeatable-read", "strong-read-committed"],
        forbids: &["internal", "duplicate-elements", "future-read"],
        predicates: false,
        statement_snapshots: false,
        readers_commit_first: true,
        shows: &["G2"],
    },
    Level {
        name: "snapshot",
        title: "SNAPSHOT",
        set: "SNAPSHOT",
        database: &["ALLOW_SNAPSHOT_ISOLATION ON"],
        models: &["strong-snapshot-isolation"],
        forbids: &["lost-update", "duplicate-elements", "future-read"],
        predicates: true,
        statement_snapshots: false,
        readers_commit_first: false,
        shows: &["G2-item"],
    },
    Level {
        name: "serializable",
        title: "SERIALIZABLE",
        set: "SERIALIZABLE",
        database: &[],
        models: &["strict-serializable"],
        forbids: &["duplicate-elements", "future-read"],
        predicates: true,
        statement_snapshots: false,
        readers_commit_first: true,
        shows: &[],
    },
];

pub fn level(name: &str) -> &'static Level {
    let found = LEVELS.iter().find(|level| level.name == name);
    found.unwrap_or_else(|| panic!("unknown level '{name}'"))
}
