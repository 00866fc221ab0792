//! `sys.dm_exec_query_statistics_xml(session_id)` and `sys.dm_exec_query_profiles`: plans of statements that run, with what
//! their operators have done so far. It is counted for who has set STATISTICS XML or PROFILE, and for everybody while an event
//! session listens to `query_post_execution_showplan`; of others the plan is NULL, and there are no profiles.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-query-statistics-xml-transact-sql>
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-query-profiles-transact-sql>

use std::sync::Arc;

use duramen_core::activity::Activity;
use duramen_planner::showplan::PlanLine;
use duramen_program::column::*;
use duramen_program::program::Program;
use duramen_program::program::handle::{handle_bytes, sql_handle};
use duramen_query::Row;
use duramen_query::profile::Counts;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1121, &PROFILES),
    (-5035, &STATISTICS_XML),
];

fn plan_handle(program: &Program) -> Value {
    let first = if program.stats.module().is_some() {
        5
    } else {
        6
    };
    Value::Binary(handle_bytes(first, program))
}

pub use document::STATISTICS_XML;

mod document {
    use super::*;

    pub struct Source {
        who: Arc<Activity>,
        program: Arc<Program>,
        plan: Option<String>,
    }

    columns! { Source;
        "session_id", T::SMALLINT, NOT_NULL, |s| small(s.who.spid.0);
        "request_id", T::INT, NOT_NULL, |_| int(0);
        "sql_handle", T::varbinary(64), NULL, |s| Value::Binary(sql_handle(&s.program));
        "plan_handle", T::varbinary(64), NULL, |s| plan_handle(&s.program);
        "query_plan", T::XML, NULL, |s| {
            let plan = s.plan.as_deref();
            let kept = plan.and_then(|p| duramen_types::xml::normalized(p, false).ok());
            text_or_null(kept.as_deref())
        };
    }

    pub const STATISTICS_XML: View = View::new(
        "dm_exec_query_statistics_xml",
        SERVER_STATE,
        COLUMNS,
        |cx, args| {
            let wanted = args.first().and_then(Value::as_i64);
            let sessions = cx.instance.sessions().into_iter();
            let mut rows: Vec<Row> = Vec::new();
            for who in sessions.filter(|a| wanted == Some(i64::from(a.spid.0))) {
                if !who.glance().running {
                    continue;
                }
                let live = who.live_plan();
                let program = match &live {
                    Some(live) => Some(live.program.clone()),
                    None => who.statement().map(|(program, _)| program),
                };
                let Some(program) = program else { continue };
                let plan = live.map(|l| l.document()).transpose()?.flatten();
                rows.push(row(&Source { who, program, plan }));
            }
            Ok(rows)
        },
    );
}

pub use operators::PROFILES;

mod operators {
    use super::*;

    /// An operator in one thread.
    pub struct Source {
        who: Arc<Activity>,
        program: Arc<Program>,
        line: Arc<PlanLine>,
        thread: u32,
        counts: Counts,
    }

    const COUNT: T = T::BIGINT;

    columns! { Source;
        "session_id", T::SMALLINT, NULL, |s| small(s.who.spid.0);
        "request_id", T::INT, NULL, |_| int(0);
        "sql_handle", T::varbinary(64), NULL, |s| Value::Binary(sql_handle(&s.program));
        "plan_handle", T::varbinary(64), NULL, |s| plan_handle(&s.program);
        "physical_operator_name", T::nvarchar(256), NULL, |s| text(s.line.physical);
        "node_id", T::INT, NULL, |s| int(s.line.node as i64);
        "thread_id", T::INT, NULL, |s| int(s.thread);
        // As `sys.dm_os_tasks` has it.
        "task_address", T::varbinary(8), NULL, |s| {
            let packed = u64::from(s.who.spid.0) << 32 | u64::from(s.thread);
            Value::Binary(packed.to_be_bytes().to_vec())
        };
        "row_count", COUNT, NULL, |s| big(s.counts.rows);
        // Starts are counted, not what they keep of the one before.
        "rewind_count", COUNT, NULL, |_| Value::Null;
        "rebind_count", COUNT, NULL, |_| Value::Null;
        "end_of_scan_count", COUNT, NULL, |s| big(s.counts.ends);
        "estimate_row_count", COUNT, NULL, |s| big(s.line.rows.round() as u64);
        "first_active_time", COUNT, NULL, |_| Value::Null;
        "last_active_time", COUNT, NULL, |_| Value::Null;
        "open_time", COUNT, NULL, |_| Value::Null;
        "first_row_time", COUNT, NULL, |_| Value::Null;
        "last_row_time", COUNT, NULL, |_| Value::Null;
        "close_time", COUNT, NULL, |_| Value::Null;
        "elapsed_time_ms", COUNT, NULL, |s| big(s.counts.elapsed.as_millis() as u64);
        "cpu_time_ms", COUNT, NULL, |s| big(s.counts.cpu.as_millis() as u64);
        "database_id", T::SMALLINT, NULL, |s| small(s.who.database());
        // Reads are counted for statements, not for operators.
        "object_id", T::INT, NULL, |_| Value::Null;
        "index_id", T::INT, NULL, |_| Value::Null;
        "scan_count", COUNT, NULL, |_| Value::Null;
        "logical_read_count", COUNT, NULL, |_| Value::Null;
        "physical_read_count", COUNT, NULL, |_| Value::Null;
        "read_ahead_count", COUNT, NULL, |_| Value::Null;
        "write_page_count", COUNT, NULL, |_| Value::Null;
        "lob_logical_read_count", COUNT, NULL, |_| Value::Null;
        "lob_physical_read_count", COUNT, NULL, |_| Value::Null;
        "lob_read_ahead_count", COUNT, NULL, |_| Value::Null;
        "segment_read_count", T::INT, NULL, |_| Value::Null;
        "segment_skip_count", T::INT, NULL, |_| Value::Null;
        "actual_read_row_count", COUNT, NULL, |_| Value::Null;
        "estimated_read_row_count", COUNT, NULL, |_| Value::Null;
    }

    pub const PROFILES: View =
        View::new("dm_exec_query_profiles", SERVER_STATE, COLUMNS, |cx, _| {
            let mut rows: Vec<Row> = Vec::new();
            for who in cx.instance.sessions() {
                let Some(live) = who.live_plan() else {
                    continue;
                };
                for line in live.lines() {
                    let line = Arc::new(line);
                    // An operator that has not begun is its own thread's.
                    let none = || vec![(0, Counts::default())];
                    let actual = line.actual.as_ref().map_or_else(none, |a| a.0.clone());
                    rows.extend(actual.into_iter().map(|(thread, counts)| {
                        row(&Source {
                            who: who.clone(),
                            program: live.program.clone(),
                            line: line.clone(),
                            thread,
                            counts,
                        })
                    }));
                }
            }
            Ok(rows)
        });
}
