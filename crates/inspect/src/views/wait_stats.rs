//! `sys.dm_os_wait_stats`, `sys.dm_exec_session_wait_stats`, `sys.dm_os_latch_stats` and `sys.dm_os_waiting_tasks`.

use duramen_observe::{LatchStat, WaitStat};
use duramen_program::column::*;
use duramen_types::SqlType as T;

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1001, &WAIT_STATS),
    (-1011, &LATCH_STATS),
    (-1012, &WAITING_TASKS),
    (-1110, &SESSION_WAIT_STATS),
];

columns! { WaitStat;
    "wait_type", DESC, NOT_NULL, |s| text(s.name);
    "waiting_tasks_count", T::BIGINT, NOT_NULL, |s| big(s.waiting_tasks_count);
    "wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.wait_time_ms);
    "max_wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.max_wait_time_ms);
    "signal_wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.signal_wait_time_ms);
}

pub const WAIT_STATS: View = View::new("dm_os_wait_stats", SERVER_STATE, COLUMNS, |_, _| {
    Ok(duramen_observe::wait_stats().iter().map(row).collect())
});

mod sessions {
    use super::*;

    columns! { (u16, WaitStat);
        "session_id", T::SMALLINT, NOT_NULL, |s| small(s.0);
        "wait_type", DESC, NOT_NULL, |s| text(s.1.name);
        "waiting_tasks_count", T::BIGINT, NOT_NULL, |s| big(s.1.waiting_tasks_count);
        "wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.1.wait_time_ms);
        "max_wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.1.max_wait_time_ms);
        "signal_wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.1.signal_wait_time_ms);
    }
}

/// What open sessions have waited for since they were opened or reset by a pool; those that the caller may see.
pub const SESSION_WAIT_STATS: View = View::new(
    "dm_exec_session_wait_stats",
    OWN_SESSIONS,
    sessions::COLUMNS,
    |cx, _| {
        let mut rows = Vec::new();
        for session in super::exec::visible_sessions(cx) {
            let of = |stat| sessions::row(&(session.spid.0, stat));
            rows.extend(session.waits.stats().into_iter().map(of));
        }
        Ok(rows)
    },
);

mod latches {
    use super::*;

    columns! { LatchStat;
        "latch_class", DESC, NULL, |s| text(s.name);
        "waiting_requests_count", T::BIGINT, NULL, |s| big(s.waiting_requests_count);
        "wait_time_ms", T::BIGINT, NULL, |s| big(s.wait_time_ms);
        "max_wait_time_ms", T::BIGINT, NULL, |s| big(s.max_wait_time_ms);
    }
}

pub const LATCH_STATS: View = View::new(
    "dm_os_latch_stats",
    SERVER_STATE,
    latches::COLUMNS,
    |_, _| {
        Ok(duramen_observe::latch_stats()
            .iter()
            .map(latches::row)
            .collect())
    },
);

mod tasks {
    use duramen_observe::WaitingTask;
    use duramen_types::Value;

    use super::*;

    /// The task of a session has no address of its own: the session and its context number stand for it.
    fn address(session: u16, context: u32) -> Value {
        let packed = u64::from(session) << 32 | u64::from(context);
        Value::Binary(packed.to_be_bytes().to_vec())
    }

    fn blocker(t: &WaitingTask) -> Option<u16> {
        t.blocking_session
    }

    columns! { WaitingTask;
        "waiting_task_address", T::varbinary(8), NOT_NULL, |t| address(t.session.0, t.exec_context);
        "session_id", T::SMALLINT, NULL, |t| small(t.session.0);
        "exec_context_id", T::INT, NULL, |t| int(t.exec_context);
        "wait_duration_ms", T::BIGINT, NULL, |t| big(t.waited.as_millis() as u64);
        "wait_type", DESC, NULL, |t| text(t.wait_type.name());
        "resource_address", T::varbinary(8), NULL, |_| Value::Null;
        "blocking_task_address", T::varbinary(8), NULL, |t| {
            blocker(t).map_or(Value::Null, |b| address(b, 0))
        };
        "blocking_session_id", T::SMALLINT, NULL, |t| blocker(t).map_or(Value::Null, small);
        "blocking_exec_context_id", T::INT, NULL, |t| blocker(t).map_or(Value::Null, |_| int(0));
        "resource_description", T::nvarchar(3072), NULL, |t| {
            text_or_null(Some(t.resource.as_str()).filter(|r| !r.is_empty()))
        };
    }
}

pub const WAITING_TASKS: View = View::new(
    "dm_os_waiting_tasks",
    SERVER_STATE,
    tasks::COLUMNS,
    |_, _| {
        let mut all = duramen_observe::waiting_tasks();
        let own = duramen_observe::background_tasks();
        all.extend(own.iter().filter_map(super::exec::background_wait));
        Ok(all.iter().map(tasks::row).collect())
    },
);
