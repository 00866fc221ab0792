//! `sys.database_scoped_configurations` of the current database: those that can be set. Their ids are ours, far from the
//! numbers that SQL Server gives to its own.

use duramen_storage::default_commit_wait;
use duramen_types::{SqlType, Value};
use duramen_wal::LogProfile;

use super::View;

const COMMIT_WAIT: i32 = 0x4000_0001;
const LOG_PROFILE: i32 = 0x4000_0002;

const COLUMNS: &[(&str, SqlType, bool)] = &[
    ("configuration_id", SqlType::INT, true),
    ("name", SqlType::nvarchar(60), true),
    ("value", SqlType::VARIANT, true),
    ("value_for_secondary", SqlType::VARIANT, true),
    ("is_value_default", SqlType::BIT, true),
];

pub const VIEW: View = View::new("database_scoped_configurations", COLUMNS, |cx, _| {
    let Some(db) = cx.instance.databases.find(&cx.database) else {
        return Ok(Vec::new());
    };
    let profile = db.db.log_profile();
    let wait = db.db.commit_wait();
    let row = |id, name, value: &str, default: bool| {
        let variant = Value::Variant(Box::new((SqlType::nvarchar(60), Value::nvarchar(value))));
        vec![
            Value::Int(id),
            Value::nvarchar(name),
            variant,
            Value::Null,
            Value::Bit(default),
        ]
    };
    Ok(vec![
        row(
            COMMIT_WAIT,
            "COMMIT_WAIT",
            wait.name(),
            wait == default_commit_wait(profile),
        ),
        row(
            LOG_PROFILE,
            "LOG_PROFILE",
            profile.name(),
            profile == LogProfile::default(),
        ),
    ])
});
