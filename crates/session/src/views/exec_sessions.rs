//! `sys.dm_exec_sessions`: the columns that have a source so far.

use duramen_types::{DateTime, SqlType, Value, temporal};

use super::View;

pub const VIEW: View = View {
    name: "dm_exec_sessions",
    columns: &[
        ("session_id", SqlType::SMALLINT, false),
        ("login_time", SqlType::DATETIME, false),
        ("host_name", SqlType::nvarchar(128), true),
        ("program_name", SqlType::nvarchar(128), true),
        ("login_name", SqlType::nvarchar(128), false),
        ("is_user_process", SqlType::BIT, false),
    ],
    rows: |cx, _| {
        let row = |s: crate::instance::SessionInfo| {
            vec![
                Value::SmallInt(s.spid.0 as i16),
                datetime(s.login_time),
                Value::nvarchar(&s.login.host),
                Value::nvarchar(&s.login.app),
                Value::nvarchar(&s.login.user),
                Value::Bit(true),
            ]
        };
        Ok(cx.instance.sessions().into_iter().map(row).collect())
    },
};

/// Nanoseconds since 1970 as a datetime.
fn datetime(unix_nanos: i128) -> Value {
    const DAYS_TO_1970: i128 = 719_162;
    let units = unix_nanos / 100;
    let per_day = temporal::UNITS_PER_DAY as i128;
    let days = (DAYS_TO_1970 + units.div_euclid(per_day)) as i32;
    DateTime::from_days_units(days, units.rem_euclid(per_day) as u64)
        .map_or(Value::Null, Value::DateTime)
}
