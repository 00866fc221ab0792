//! `sys.dm_os_tasks`: a task is a request that runs, or a thread that helps it (`exec_context_id` from 1). Addresses are those of
//! `sys.dm_os_waiting_tasks`; worker and task are the same here.

use duramen_observe::WaitingTask;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::exec::{background_wait, running_sessions, task_wait};
use super::os::processors;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1107, &TASKS),
];

pub struct Task {
    session: u16,
    context: u32,
    wait: Option<WaitingTask>,
    /// How often a session's own thread has waited in its request; nobody counts those of helpers and of the server's threads.
    switches: Option<u64>,
}

pub(super) fn address(session: u16, context: u32) -> Value {
    let packed = u64::from(session) << 32 | u64::from(context);
    Value::Binary(packed.to_be_bytes().to_vec())
}

/// Threads are the system's to place: *assumed* one after the other from the session's.
pub(super) fn scheduler_of(session: u16, context: u32) -> i64 {
    (i64::from(session) + i64::from(context)) % processors().max(1)
}

columns! { Task;
    "task_address", T::varbinary(8), NOT_NULL, |t| address(t.session, t.context);
    "task_state", T::nvarchar(60), NULL, |t| text(if t.wait.is_some() { "SUSPENDED" } else { "RUNNING" });
    "context_switches_count", T::INT, NULL, |t| {
        t.switches.map_or(Value::Null, |n| Value::Int(i32::try_from(n).unwrap_or(i32::MAX)))
    };
    "pending_io_count", T::INT, NULL, |_| int(0);
    "pending_io_byte_count", T::BIGINT, NULL, |_| big(0);
    "pending_io_byte_average", T::INT, NULL, |_| int(0);
    "scheduler_id", T::INT, NULL, |t| int(scheduler_of(t.session, t.context));
    "session_id", T::SMALLINT, NULL, |t| small(t.session);
    "exec_context_id", T::INT, NULL, |t| int(t.context);
    "request_id", T::INT, NULL, |_| int(0);
    "worker_address", T::varbinary(8), NULL, |t| address(t.session, t.context);
    "host_address", T::varbinary(8), NOT_NULL, |_| Value::Binary(vec![0; 8]);
    "parent_task_address", T::varbinary(8), NULL, |t| match t.context {
        0 => Value::Null,
        _ => address(t.session, 0),
    };
}

pub const TASKS: View = View::new("dm_os_tasks", SERVER_STATE, COLUMNS, |cx, _| {
    let mut waits = duramen_observe::waiting_tasks();
    waits.extend(
        duramen_observe::background_tasks()
            .iter()
            .filter_map(background_wait),
    );
    let helpers = duramen_observe::helpers();
    let sessions = cx.instance.sessions();
    let mut tasks = Vec::new();
    for session in running_sessions(cx) {
        let of = sessions.iter().find(|a| a.spid == session);
        let helping = helpers.iter().filter(|(of, _)| *of == session);
        for context in std::iter::once(0).chain(helping.map(|(_, n)| *n)) {
            tasks.push(Task {
                session: session.0,
                context,
                wait: task_wait(&waits, session, context),
                switches: of.filter(|_| context == 0).map(|a| a.request_switches()),
            });
        }
    }
    Ok(tasks.iter().map(row).collect())
});
