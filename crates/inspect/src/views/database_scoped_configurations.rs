//! `sys.database_scoped_configurations` of the current database. Ids and defaults of SQL Server's are those of its version
//! 2022 as far as they are known (*assumed* where the reference has no number); our own have ids far from them.
//!
//! What nothing here follows has its default and no other value: `run::scoped`.

use duramen_program::rights::needs::VISIBLE;
use duramen_storage::default_commit_wait;
use duramen_types::{SqlType, Value};
use duramen_wal::LogProfile;

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1042, &VIEW),
];

const COMMIT_WAIT: i32 = 0x4000_0001;
const LOG_PROFILE: i32 = 0x4000_0002;

const COLUMNS: &[(&str, SqlType, bool)] = &[
    ("configuration_id", SqlType::INT, true),
    ("name", SqlType::nvarchar(60), true),
    ("value", SqlType::VARIANT, true),
    ("value_for_secondary", SqlType::VARIANT, true),
    ("is_value_default", SqlType::BIT, true),
];

/// The value of a configuration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    /// Shown as 0 or 1.
    Bit(bool),
    Number(i32),
    Word(&'static str),
}

const MAXDOP: i32 = 1;
const ON: Held = Held::Bit(true);
const OFF: Held = Held::Bit(false);

/// SQL Server's, with their defaults.
const DEFAULTS: &[(i32, &str, Held)] = &[
    (MAXDOP, "MAXDOP", Held::Number(0)),
    (2, "LEGACY_CARDINALITY_ESTIMATION", OFF),
    (3, "PARAMETER_SNIFFING", ON),
    (4, "QUERY_OPTIMIZER_HOTFIXES", OFF),
    (6, "IDENTITY_CACHE", ON),
    (7, "INTERLEAVED_EXECUTION_TVF", ON),
    (8, "BATCH_MODE_MEMORY_GRANT_FEEDBACK", ON),
    (9, "BATCH_MODE_ADAPTIVE_JOINS", ON),
    (10, "TSQL_SCALAR_UDF_INLINING", ON),
    (11, "ELEVATE_ONLINE", Held::Word("OFF")),
    (12, "ELEVATE_RESUMABLE", Held::Word("OFF")),
    (13, "OPTIMIZE_FOR_AD_HOC_WORKLOADS", OFF),
    (14, "XTP_PROCEDURE_EXECUTION_STATISTICS", OFF),
    (15, "XTP_QUERY_EXECUTION_STATISTICS", OFF),
    (16, "ROW_MODE_MEMORY_GRANT_FEEDBACK", ON),
    (17, "ISOLATE_SECURITY_POLICY_CARDINALITY", OFF),
    (18, "BATCH_MODE_ON_ROWSTORE", ON),
    (19, "DEFERRED_COMPILATION_TV", ON),
    (20, "ACCELERATED_PLAN_FORCING", ON),
    (21, "GLOBAL_TEMPORARY_TABLE_AUTO_DROP", ON),
    (22, "LIGHTWEIGHT_QUERY_PROFILING", ON),
    (23, "VERBOSE_TRUNCATION_WARNINGS", ON),
    (24, "LAST_QUERY_PLAN_STATS", OFF),
    (
        25,
        "PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES",
        Held::Number(1440),
    ),
    (26, "DW_COMPATIBILITY_LEVEL", Held::Number(0)),
    (27, "EXEC_QUERY_STATS_FOR_SCALAR_FUNCTIONS", ON),
    (28, "PARAMETER_SENSITIVE_PLAN_OPTIMIZATION", ON),
    (29, "ASYNC_STATS_UPDATE_WAIT_AT_LOW_PRIORITY", OFF),
    (31, "CE_FEEDBACK", ON),
    (33, "MEMORY_GRANT_FEEDBACK_PERSISTENCE", ON),
    (34, "MEMORY_GRANT_FEEDBACK_PERCENTILE_GRANT", ON),
    (35, "OPTIMIZED_PLAN_FORCING", ON),
    (37, "DOP_FEEDBACK", OFF),
    (38, "LEDGER_DIGEST_STORAGE_ENDPOINT", Held::Word("OFF")),
    (39, "FORCE_SHOWPLAN_RUNTIME_PARAMETER_COLLECTION", OFF),
];

/// What a configuration of SQL Server's (upper case) has when nobody has set it.
pub fn default_of(name: &str) -> Option<Held> {
    let found = DEFAULTS.iter().find(|(_, n, _)| *n == name);
    found.map(|(_, _, held)| *held)
}

fn text(value: &str) -> Value {
    Value::Variant(Box::new((SqlType::nvarchar(60), Value::nvarchar(value))))
}

fn shown(held: Held) -> Value {
    let number = |n| Value::Variant(Box::new((SqlType::INT, Value::Int(n))));
    match held {
        Held::Bit(on) => number(i32::from(on)),
        Held::Number(n) => number(n),
        Held::Word(w) => text(w),
    }
}

pub const VIEW: View = View::new(
    "database_scoped_configurations",
    VISIBLE,
    COLUMNS,
    |cx, _| {
        let Some(db) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let profile = db.db.log_profile();
        let wait = db.db.commit_wait();
        let row = |id, name, value: Value, default: bool| {
            vec![
                Value::Int(id),
                Value::nvarchar(name),
                value,
                Value::Null,
                Value::Bit(default),
            ]
        };
        let degree = i32::from(db.db.max_degree());
        let mut rows: Vec<_> = DEFAULTS
            .iter()
            .map(|(id, name, held)| match *id {
                MAXDOP => row(*id, name, shown(Held::Number(degree)), degree == 0),
                _ => row(*id, name, shown(*held), true),
            })
            .collect();
        rows.extend([
            row(
                COMMIT_WAIT,
                "COMMIT_WAIT",
                text(wait.name()),
                wait == default_commit_wait(profile),
            ),
            row(
                LOG_PROFILE,
                "LOG_PROFILE",
                text(profile.name()),
                profile == LogProfile::default(),
            ),
        ]);
        Ok(rows)
    },
);
