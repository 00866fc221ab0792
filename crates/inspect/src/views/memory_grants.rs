//! `sys.dm_exec_query_memory_grants` and `sys.dm_exec_query_resource_semaphores`: statements that were granted memory for rows
//! or wait for it, and the workspace that it is of.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-query-memory-grants-transact-sql>
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-query-resource-semaphores-transact-sql>

use std::sync::Arc;

use duramen_core::memory_grants::Asked;
use duramen_os::time;
use duramen_program::column::*;
use duramen_program::program::Program;
use duramen_program::program::handle::handle_bytes;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::query_stats::text_handle;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1108, &MEMORY_GRANTS),
    (-1109, &SEMAPHORES),
];

const KB: u64 = 1024;

pub struct Source {
    asked: Arc<Asked>,
    /// When, and the bytes granted, in use and most in use.
    granted: Option<(i64, [u64; 3])>,
    /// Its place among those that wait.
    order: Option<usize>,
    program: Option<Arc<Program>>,
    processors: i64,
}

impl Source {
    fn kb(&self, figure: usize) -> Value {
        let bytes = self.granted.map(|(_, figures)| figures[figure]);
        bytes.map_or(Value::Null, |b| big(b / KB))
    }
}

fn time(nanos: i64) -> Value {
    unix_time(i128::from(nanos))
}

/// What is still waited.
fn waited(s: &Source) -> Value {
    match s.granted {
        Some(_) => Value::Null,
        None => {
            let nanos = time::wall().unix_nanos() as i64 - s.asked.since;
            big(u64::try_from(nanos / 1_000_000).unwrap_or(0))
        }
    }
}

columns! { Source;
    "session_id", T::SMALLINT, NULL, |s| small(s.asked.session.0);
    "request_id", T::INT, NULL, |_| int(0);
    "scheduler_id", T::INT, NULL, |s| int(i64::from(s.asked.session.0) % s.processors.max(1));
    // As many as there are, where several may run it.
    "dop", T::SMALLINT, NULL, |s| small(if s.asked.parallel { s.processors.max(1) } else { 1 });
    "request_time", T::DATETIME, NULL, |s| time(s.asked.since);
    "grant_time", T::DATETIME, NULL, |s| s.granted.map_or(Value::Null, |(at, _)| time(at));
    "requested_memory_kb", T::BIGINT, NULL, |s| big(s.asked.requested / KB);
    "granted_memory_kb", T::BIGINT, NULL, |s| s.kb(0);
    "required_memory_kb", T::BIGINT, NULL, |s| big(s.asked.required / KB);
    "used_memory_kb", T::BIGINT, NULL, |s| s.kb(1);
    "max_used_memory_kb", T::BIGINT, NULL, |s| s.kb(2);
    "query_cost", T::FLOAT, NULL, |s| Value::Float(s.asked.cost);
    "timeout_sec", T::INT, NULL, |s| int(s.asked.timeout.as_secs() as i64);
    "resource_semaphore_id", T::SMALLINT, NULL, |_| small(0);
    "queue_id", T::SMALLINT, NULL, |s| s.order.map_or(Value::Null, |_| small(0));
    "wait_order", T::INT, NULL, |s| s.order.map_or(Value::Null, |n| int(n as i64));
    "is_next_candidate", T::BIT, NULL, |s| s.order.map_or(Value::Null, |n| bit(n == 0));
    "wait_time_ms", T::BIGINT, NULL, waited;
    "plan_handle", T::varbinary(64), NULL, |s| {
        let kind = |p: &Arc<Program>| if p.stats.module().is_some() { 5 } else { 6 };
        let program = s.program.as_ref();
        program.map_or(Value::Null, |p| Value::Binary(handle_bytes(kind(p), p)))
    };
    "sql_handle", T::varbinary(64), NULL, |s| {
        s.program.as_ref().map_or(Value::Null, |p| text_handle(p))
    };
    "group_id", T::INT, NULL, |_| int(2);
    "pool_id", T::INT, NULL, |_| int(2);
    "is_small", T::BIT, NULL, |_| bit(false);
    "ideal_memory_kb", T::BIGINT, NULL, |s| big(s.asked.ideal / KB);
    // Nobody reserves threads.
    "reserved_worker_count", T::INT, NULL, |_| Value::Null;
    "used_worker_count", T::INT, NULL, |_| Value::Null;
    "max_used_worker_count", T::INT, NULL, |_| Value::Null;
    "reserved_node_bitmap", T::BIGINT, NULL, |_| Value::Null;
}

pub const MEMORY_GRANTS: View = View::new(
    "dm_exec_query_memory_grants",
    SERVER_STATE,
    COLUMNS,
    |cx, _| {
        let (waiting, granted) = cx.instance.grants.all();
        let sessions = cx.instance.sessions();
        let processors = super::os::processors();
        let source = |asked: Arc<Asked>, order: Option<usize>| {
            let who = sessions.iter().find(|a| a.spid == asked.session);
            let program = who.and_then(|a| a.stack().first().map(|(program, _)| program.clone()));
            Source {
                granted: asked.granted(),
                asked,
                order,
                program,
                processors,
            }
        };
        let granted = granted.into_iter().map(|a| source(a, None));
        let waiting = waiting.into_iter().enumerate();
        let waiting = waiting.map(|(n, a)| source(a, Some(n)));
        Ok(granted.chain(waiting).map(|s| row(&s)).collect())
    },
);

mod semaphores {
    use super::*;

    /// The workspace, in bytes, and who has some of it.
    pub struct Semaphore {
        pub limit: u64,
        pub lent: u64,
        pub used: u64,
        pub grantees: usize,
        pub waiters: usize,
        pub timeouts: u64,
    }

    columns! { Semaphore;
        "resource_semaphore_id", T::SMALLINT, NULL, |_| small(0);
        "target_memory_kb", T::BIGINT, NULL, |s| big(s.limit / KB);
        "max_target_memory_kb", T::BIGINT, NULL, |s| big(s.limit / KB);
        "total_memory_kb", T::BIGINT, NULL, |s| big(s.limit / KB);
        "available_memory_kb", T::BIGINT, NULL, |s| big(s.limit / KB - s.lent.min(s.limit) / KB);
        "granted_memory_kb", T::BIGINT, NULL, |s| big(s.lent.min(s.limit) / KB);
        "used_memory_kb", T::BIGINT, NULL, |s| big(s.used / KB);
        "grantee_count", T::INT, NULL, |s| int(s.grantees as i64);
        "waiter_count", T::INT, NULL, |s| int(s.waiters as i64);
        "timeout_error_count", T::BIGINT, NULL, |s| big(s.timeouts);
        // What finds no memory writes to files: nobody is forced to run with less than it asked for.
        "forced_grant_count", T::BIGINT, NULL, |_| big(0);
        "pool_id", T::INT, NULL, |_| int(2);
    }
}

/// One workspace for all.
pub const SEMAPHORES: View = View::new(
    "dm_exec_query_resource_semaphores",
    SERVER_STATE,
    semaphores::COLUMNS,
    |cx, _| {
        let workspace = &cx.instance.workspace;
        let (waiting, granted) = cx.instance.grants.all();
        let lent = workspace.used() as u64;
        // Of grants only a part is in use; what is lent without one is used.
        let idle = granted.iter().filter_map(|a| a.granted());
        let idle: u64 = idle
            .map(|(_, [all, used, _])| all.saturating_sub(used))
            .sum();
        Ok(vec![semaphores::row(&semaphores::Semaphore {
            limit: workspace.limit() as u64,
            lent,
            used: lent.saturating_sub(idle),
            grantees: granted.len(),
            waiters: waiting.len(),
            timeouts: cx.instance.grants.counts().0,
        })])
    },
);
