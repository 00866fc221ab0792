//! `sys.dm_os_wait_stats`.

use duramen_types::{SqlType, Value};

use super::View;

pub const VIEW: View = View {
    name: "dm_os_wait_stats",
    columns: &[
        ("wait_type", SqlType::nvarchar(60), false),
        ("waiting_tasks_count", SqlType::BIGINT, false),
        ("wait_time_ms", SqlType::BIGINT, false),
        ("max_wait_time_ms", SqlType::BIGINT, false),
        ("signal_wait_time_ms", SqlType::BIGINT, false),
    ],
    rows: |_, _| {
        let row = |s: duramen_observe::WaitStat| {
            vec![
                Value::nvarchar(s.name),
                Value::BigInt(s.waiting_tasks_count as i64),
                Value::BigInt(s.wait_time_ms as i64),
                Value::BigInt(s.max_wait_time_ms as i64),
                Value::BigInt(s.signal_wait_time_ms as i64),
            ]
        };
        Ok(duramen_observe::wait_stats().into_iter().map(row).collect())
    },
};
