//! `sys.dm_exec_sessions`, `sys.dm_exec_requests` and `sys.dm_exec_connections`.
//!
//! Memory is not measured for each session: where its columns allow no NULL they are 0. Processor time is that of the
//! requests and their helpers (`duramen_program::work`). Reads are pages from the disk, writes pages made dirty; those of the statement
//! at hand are seen between its batches of rows. The server's own threads are listed to those with VIEW SERVER STATE,
//! recoveries of databases as DB STARTUP; what they read and write is not counted.

use std::cell::OnceCell;
use std::sync::Arc;

use duramen_base::SessionId;
use duramen_core::activity::{Activity, Glance};
use duramen_core::memory_grants::Asked;
use duramen_core::security::Who;
use duramen_observe::{BackgroundTask, WaitingTask, background_tasks};
use duramen_os::time::WallTime;
use duramen_program::column::*;
use duramen_program::login::LoginRequest;
use duramen_program::rights::Right;
use duramen_program::work::Times;
use duramen_storage::Recovering;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::query_stats::AtStatement;
use super::tasks::{address as task_address, scheduler_of};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1002, &SESSIONS),
    (-1018, &REQUESTS),
    (-1019, &CONNECTIONS),
];

pub struct Source {
    who: Arc<Activity>,
    now: Glance,
    /// The wait of the session's task, when it is in one.
    wait: Option<WaitingTask>,
    /// A thread of the server's own.
    background: bool,
    /// Of one that recovers a database.
    recovery: Option<Recovering>,
    /// Of a request.
    statement: Option<AtStatement>,
    granted_pages: i64,
    /// What the request and the session have taken, once somebody has asked.
    times: OnceCell<(Times, Times)>,
    /// The system's number of a thread of the server's own; 0: not known.
    thread: u32,
}

/// Recoveries have numbers from here on that none of the server's other threads has (*assumed*: which ones is nobody's
/// business).
const FIRST_RECOVERY: u16 = 20;

impl Source {
    /// The server's own threads, then the recoveries that are under way, for who may see them.
    fn of_the_server(cx: &Context) -> Vec<Source> {
        if !cx.who.server_may(Right::ViewServerState) {
            return Vec::new();
        }
        let Ok(master) = cx.instance.databases.master() else {
            return Vec::new();
        };
        let Ok(snapshot) = master.catalog.snapshot() else {
            return Vec::new();
        };
        let Some(sa) = snapshot.security.login("sa") else {
            return Vec::new();
        };
        let who = Who::of(sa, &snapshot.security, 0);
        let source = |spid: SessionId, since: WallTime, database: u16, command| {
            let owner = cx.instance.locks.owner(spid);
            let mut who = Activity::new(owner, &LoginRequest::default(), &who, 0);
            who.login_time = since.unix_nanos() as i64;
            let who = Arc::new(who);
            let mut now = who.glance();
            (now.running, now.command, now.database) = (true, command, database);
            now.started = who.login_time;
            Source {
                who,
                now,
                wait: None,
                background: true,
                recovery: None,
                statement: None,
                times: OnceCell::new(),
                granted_pages: 0,
                thread: 0,
            }
        };
        let tasks = background_tasks();
        let taken: Vec<SessionId> = tasks.iter().map(|t| t.session).collect();
        let mut all: Vec<Source> = Vec::new();
        for task in tasks {
            let database = task.db.map_or(0, |d| d.0);
            let mut made = source(task.session, task.since, database, task.duty.command());
            made.wait = background_wait(&task);
            made.thread = task.thread;
            all.push(made);
        }
        let free = (FIRST_RECOVERY..).map(SessionId);
        let free = free.filter(|n| !taken.contains(n));
        for (spid, recovery) in free.zip(cx.instance.databases.engine.recoveries()) {
            let mut made = source(spid, recovery.started, recovery.db.0, "DB STARTUP");
            made.recovery = Some(recovery);
            all.push(made);
        }
        all
    }

    fn status(&self) -> &'static str {
        match (self.now.running, &self.wait) {
            _ if self.background => "background",
            (false, _) => "sleeping",
            _ if self.now.rolling_back => "rollback",
            (true, Some(_)) => "suspended",
            (true, None) => "running",
        }
    }

    /// Milliseconds since the batch began.
    fn elapsed(&self) -> i64 {
        let now = duramen_os::time::wall().unix_nanos() as i64;
        ((now - self.now.started) / 1_000_000).max(0)
    }

    fn times(&self) -> &(Times, Times) {
        self.times.get_or_init(|| {
            if !self.background {
                return self.who.times();
            }
            let known = Some(self.thread).filter(|thread| *thread != 0);
            let cpu = known.and_then(duramen_os::time::cpu_of_thread);
            let cpu = cpu.map_or(0, |cpu| cpu.as_nanos() as u64);
            let times = Times {
                cpu,
                elapsed: self.elapsed().unsigned_abs() * 1_000_000,
                scheduled: cpu,
            };
            (times, times)
        })
    }

    fn of_statement(&self, value: fn(&AtStatement) -> &Value) -> Value {
        let statement = self.statement.as_ref();
        statement.map_or(Value::Null, |a| value(a).clone())
    }

    fn on(&self, option: impl Fn(&duramen_program::options::Options) -> bool) -> Value {
        bit(option(&self.now.options))
    }
}

fn date_format(s: &Source) -> Value {
    text(&format!("{:?}", s.now.options.date_order).to_lowercase())
}

/// Milliseconds of nanoseconds; more than the column holds is the most that it holds.
fn ms(nanos: u64) -> Value {
    Value::Int(i32::try_from(nanos / 1_000_000).unwrap_or(i32::MAX))
}

fn time(nanos: i64) -> Value {
    unix_time(i128::from(nanos))
}

fn name(s: &str) -> Value {
    text_or_null(Some(s).filter(|s| !s.is_empty()))
}

/// `sys.endpoints`: the dedicated administrator connection, TSQL Default TCP.
const ADMIN_ENDPOINT: i64 = 1;
const TCP_ENDPOINT: i64 = 4;

fn endpoint(s: &Source) -> i64 {
    match (s.who.is_of_a_client(), s.who.login.admin) {
        (false, _) => 0,
        (true, true) => ADMIN_ENDPOINT,
        (true, false) => TCP_ENDPOINT,
    }
}

fn sources(cx: &Context) -> Vec<Source> {
    let waits = duramen_observe::waiting_tasks();
    let grants = cx.instance.grants.all().1;
    let source = |who: Arc<Activity>| Source {
        now: who.glance(),
        wait: task_wait(&waits, who.spid, 0),
        background: false,
        recovery: None,
        statement: None,
        times: OnceCell::new(),
        thread: 0,
        granted_pages: granted_pages(&grants, who.spid),
        who,
    };
    visible_sessions(cx).map(source).collect()
}

/// Pages of memory that a session's statement was granted.
fn granted_pages(grants: &[Arc<Asked>], session: SessionId) -> i64 {
    let own = grants.iter().find(|a| a.session == session);
    let granted = own.and_then(|a| a.granted());
    granted.map_or(0, |(_, [bytes, ..])| (bytes / 8192) as i64)
}

/// Without VIEW SERVER STATE everybody sees the sessions of the own login.
pub(super) fn visible_sessions(cx: &Context) -> impl Iterator<Item = Arc<Activity>> {
    let all = cx.who.server_may(Right::ViewServerState);
    let own = cx.who.login;
    let sessions = cx.instance.sessions().into_iter();
    sessions.filter(move |a| all || a.principal == own)
}

/// The sessions that run something, as far as the caller may see them.
pub(super) fn running_sessions(cx: &Context) -> Vec<SessionId> {
    let all = sources(cx).into_iter();
    let running = all.filter(|s| s.now.running);
    let running = running.chain(Source::of_the_server(cx));
    running.map(|s| s.who.spid).collect()
}

/// What a thread of the server's own waits for.
pub(super) fn background_wait(task: &BackgroundTask) -> Option<WaitingTask> {
    let (wait_type, waited) = task.wait?;
    Some(WaitingTask {
        session: task.session,
        exec_context: 0,
        wait_type,
        waited,
        resource: String::new(),
        blocking_session: None,
    })
}

/// What a session's own task waits for, or one that helps it.
pub(super) fn task_wait(waits: &[WaitingTask], of: SessionId, task: u32) -> Option<WaitingTask> {
    let own = |w: &&WaitingTask| w.session == of && w.exec_context == task;
    waits.iter().find(own).cloned()
}

/// Threads that help; NULL when there is none.
fn helpers_of(of: SessionId) -> Value {
    let helpers = duramen_observe::helpers();
    match helpers.iter().filter(|(session, _)| *session == of).count() {
        0 => Value::Null,
        n => int(n as i64),
    }
}

const NAME: T = T::nvarchar(128);
const NO_SID: T = T::varbinary(85);

columns! { Source;
    "session_id", T::SMALLINT, NOT_NULL, |s| small(s.who.spid.0);
    "login_time", T::DATETIME, NOT_NULL, |s| time(s.who.login_time);
    "host_name", NAME, NULL, |s| name(&s.who.login.host);
    "program_name", NAME, NULL, |s| name(&s.who.login.app);
    "host_process_id", T::INT, NULL, |a| match a.who.login.client_pid {
        0 => Value::Null,
        n => int(i64::from(n)),
    };
    "client_version", T::INT, NULL, |s| if s.background { Value::Null } else { int(7) };
    "client_interface_name", T::nvarchar(32), NULL, |s| {
        name(&s.who.login.library.chars().take(32).collect::<String>())
    };
    "security_id", NO_SID, NOT_NULL, |s| Value::Binary(s.who.sid.to_vec());
    "login_name", NAME, NOT_NULL, |s| text(&s.who.login.user);
    "nt_domain", NAME, NULL, |_| Value::Null;
    "nt_user_name", NAME, NULL, |_| Value::Null;
    "status", T::nvarchar(30), NOT_NULL, |s| {
        // *Assumed* of the server's own: their requests are in the background.
        text(if s.now.running && !s.background { "running" } else { "sleeping" })
    };
    "context_info", T::varbinary(128), NULL, |s| {
        s.who.context_info().map_or(Value::Null, Value::Binary)
    };
    "cpu_time", T::INT, NOT_NULL, |s| ms(s.times().1.cpu);
    "memory_usage", T::INT, NOT_NULL, |s| match s.background {
        true => int(0),
        false => int((s.who.memory_bytes() / 8192) as i64),
    };
    "total_scheduled_time", T::INT, NOT_NULL, |s| ms(s.times().1.scheduled);
    "total_elapsed_time", T::INT, NOT_NULL, |s| ms(s.times().1.elapsed);
    "endpoint_id", T::INT, NOT_NULL, |s| int(endpoint(s));
    "last_request_start_time", T::DATETIME, NOT_NULL, |s| time(s.now.started);
    "last_request_end_time", T::DATETIME, NULL, |s| match s.now.ended {
        0 => Value::Null,
        at => time(at),
    };
    "reads", T::BIGINT, NOT_NULL, |s| big(s.now.session.reads);
    "writes", T::BIGINT, NOT_NULL, |s| big(s.now.session.writes);
    "logical_reads", T::BIGINT, NOT_NULL, |s| big(s.now.session.logical_reads);
    "is_user_process", T::BIT, NOT_NULL, |s| bit(s.who.is_of_a_client());
    "text_size", T::INT, NOT_NULL, |s| int(s.now.options.textsize);
    "language", NAME, NULL, |s| text(s.now.options.language.data().name);
    "date_format", T::nvarchar(3), NULL, date_format;
    "date_first", T::SMALLINT, NOT_NULL, |s| small(s.now.options.datefirst);
    "quoted_identifier", T::BIT, NOT_NULL, |s| s.on(|o| o.quoted_identifier);
    "arithabort", T::BIT, NOT_NULL, |s| s.on(|o| o.arithabort);
    "ansi_null_dflt_on", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_null_dflt_on);
    "ansi_defaults", T::BIT, NOT_NULL, |_| bit(false);
    "ansi_warnings", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_warnings);
    "ansi_padding", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_padding);
    "ansi_nulls", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_nulls);
    "concat_null_yields_null", T::BIT, NOT_NULL, |s| s.on(|o| o.concat_null_yields_null);
    "transaction_isolation_level", T::SMALLINT, NOT_NULL, |s| small(s.now.options.isolation as u8);
    "lock_timeout", T::INT, NOT_NULL, |s| int(s.now.options.lock_timeout);
    "deadlock_priority", T::INT, NOT_NULL, |s| int(s.now.options.deadlock_priority);
    "row_count", T::BIGINT, NOT_NULL, |s| big(s.now.rows);
    "prev_error", T::INT, NOT_NULL, |s| int(s.who.last_error());
    "original_security_id", NO_SID, NOT_NULL, |s| Value::Binary(s.who.sid.to_vec());
    "original_login_name", NAME, NOT_NULL, |s| text(&s.who.login.user);
    "last_successful_logon", T::DATETIME, NULL, |_| Value::Null;
    "last_unsuccessful_logon", T::DATETIME, NULL, |_| Value::Null;
    "unsuccessful_logons", T::BIGINT, NULL, |_| Value::Null;
    "group_id", T::INT, NOT_NULL, |s| int(if s.who.is_of_a_client() { 2 } else { 1 });
    "database_id", T::SMALLINT, NOT_NULL, |s| small(s.now.database);
    "authenticating_database_id", T::INT, NULL, |_| int(1);
    "open_transaction_count", T::INT, NOT_NULL, |s| int(s.now.open_transactions);
    "page_server_reads", T::BIGINT, NOT_NULL, |_| big(0);
    "contained_availability_group_id", T::GUID, NULL, |_| Value::Null;
}

pub const SESSIONS: View = View::new("dm_exec_sessions", OWN_SESSIONS, COLUMNS, |cx, _| {
    let mut all = Source::of_the_server(cx);
    all.extend(sources(cx));
    Ok(all.iter().map(row).collect())
});

pub use requests::REQUESTS;

mod requests {
    use super::*;

    columns! { Source;
        "session_id", T::SMALLINT, NOT_NULL, |s| small(s.who.spid.0);
        "request_id", T::INT, NOT_NULL, |_| int(0);
        "start_time", T::DATETIME, NOT_NULL, |s| time(s.now.started);
        "status", T::nvarchar(30), NOT_NULL, |s| text(s.status());
        "command", T::nvarchar(32), NOT_NULL, |s| text(s.now.command);
        // Of the module that the batch is in, as the other columns of the statement.
        "sql_handle", T::varbinary(64), NULL, |s| s.of_statement(|a| &a.sql_handle);
        "statement_start_offset", T::INT, NULL, |s| s.of_statement(|a| &a.start);
        "statement_end_offset", T::INT, NULL, |s| s.of_statement(|a| &a.end);
        "plan_handle", T::varbinary(64), NULL, |s| s.of_statement(|a| &a.plan_handle);
        "database_id", T::SMALLINT, NOT_NULL, |s| small(s.now.database);
        "user_id", T::INT, NOT_NULL, |_| int(1);
        "connection_id", T::GUID, NULL, |s| match s.who.is_of_a_client() {
            true => Value::Guid(s.who.connection),
            false => Value::Null,
        };
        "blocking_session_id", T::SMALLINT, NULL, |s| {
            small(s.wait.as_ref().and_then(|w| w.blocking_session).unwrap_or(0))
        };
        "wait_type", DESC, NULL, |s| text_or_null(s.wait.as_ref().map(|w| w.wait_type.name()));
        "wait_time", T::INT, NOT_NULL, |s| {
            int(s.wait.as_ref().map_or(0, |w| w.waited.as_millis() as i64))
        };
        "last_wait_type", DESC, NOT_NULL, |s| {
            text(s.wait.as_ref().map_or("MISCELLANEOUS", |w| w.wait_type.name()))
        };
        "wait_resource", T::nvarchar(256), NOT_NULL, |s| {
            text(s.wait.as_ref().map_or("", |w| w.resource.as_str()))
        };
        "open_transaction_count", T::INT, NOT_NULL, |s| int(s.now.open_transactions);
        "open_resultset_count", T::INT, NOT_NULL, |_| int(1);
        "transaction_id", T::BIGINT, NOT_NULL, |s| big(s.now.transaction_id);
        "context_info", T::varbinary(128), NULL, |s| {
        s.who.context_info().map_or(Value::Null, Value::Binary)
    };
        "percent_complete", T::REAL, NOT_NULL, |s| {
            Value::Real(s.recovery.as_ref().map_or(s.now.percent, |r| r.percent))
        };
        "estimated_completion_time", T::BIGINT, NOT_NULL, |s| {
            big(s.recovery.as_ref().map_or(s.now.remaining, |r| r.remaining.as_millis() as u64))
        };
        "cpu_time", T::INT, NOT_NULL, |s| ms(s.times().0.cpu);
        "total_elapsed_time", T::INT, NOT_NULL, |s| int(s.elapsed());
        "scheduler_id", T::INT, NULL, |s| int(scheduler_of(s.who.spid.0, 0));
        "task_address", T::varbinary(8), NULL, |s| task_address(s.who.spid.0, 0);
        "reads", T::BIGINT, NOT_NULL, |s| big(s.now.request.reads);
        "writes", T::BIGINT, NOT_NULL, |s| big(s.now.request.writes);
        "logical_reads", T::BIGINT, NOT_NULL, |s| big(s.now.request.logical_reads);
        "text_size", T::INT, NOT_NULL, |s| int(s.now.options.textsize);
        "language", NAME, NULL, |s| text(s.now.options.language.data().name);
        "date_format", T::nvarchar(3), NULL, date_format;
        "date_first", T::SMALLINT, NOT_NULL, |s| small(s.now.options.datefirst);
        "quoted_identifier", T::BIT, NOT_NULL, |s| s.on(|o| o.quoted_identifier);
        "arithabort", T::BIT, NOT_NULL, |s| s.on(|o| o.arithabort);
        "ansi_null_dflt_on", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_null_dflt_on);
        "ansi_defaults", T::BIT, NOT_NULL, |_| bit(false);
        "ansi_warnings", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_warnings);
        "ansi_padding", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_padding);
        "ansi_nulls", T::BIT, NOT_NULL, |s| s.on(|o| o.ansi_nulls);
        "concat_null_yields_null", T::BIT, NOT_NULL, |s| s.on(|o| o.concat_null_yields_null);
        "transaction_isolation_level", T::SMALLINT, NOT_NULL, |s| small(s.now.options.isolation as u8);
        "lock_timeout", T::INT, NOT_NULL, |s| int(s.now.options.lock_timeout);
        "deadlock_priority", T::INT, NOT_NULL, |s| int(s.now.options.deadlock_priority);
        "row_count", T::BIGINT, NOT_NULL, |s| big(s.now.rows);
        "prev_error", T::INT, NOT_NULL, |s| int(s.who.last_error());
        "nest_level", T::INT, NOT_NULL, |s| int(s.who.nesting() as i64);
        "granted_query_memory", T::INT, NOT_NULL, |s| int(s.granted_pages);
        "executing_managed_code", T::BIT, NOT_NULL, |_| bit(false);
        "group_id", T::INT, NOT_NULL, |s| int(if s.who.is_of_a_client() { 2 } else { 1 });
        "query_hash", T::binary(8), NULL, |s| s.of_statement(|a| &a.query_hash);
        "query_plan_hash", T::binary(8), NULL, |s| s.of_statement(|a| &a.plan_hash);
        "statement_sql_handle", T::varbinary(64), NULL, |_| Value::Null;
        "statement_context_id", T::BIGINT, NULL, |_| Value::Null;
        "dop", T::INT, NOT_NULL, |s| int(duramen_observe::degree(s.who.spid));
        "parallel_worker_count", T::INT, NULL, |s| helpers_of(s.who.spid);
        "external_script_request_id", T::GUID, NULL, |_| Value::Null;
        "is_resumable", T::BIT, NOT_NULL, |_| bit(false);
        "page_resource", T::binary(8), NULL, |s| {
            s.wait.as_ref().map_or(Value::Null, |w| super::super::page_resource::of_wait(&w.resource))
        };
        "page_server_reads", T::BIGINT, NOT_NULL, |_| big(0);
        "dist_statement_id", T::GUID, NULL, |_| Value::Null;
    }

    pub const REQUESTS: View = View::new("dm_exec_requests", OWN_SESSIONS, COLUMNS, |cx, _| {
        let running = |s: &Source| s.now.running;
        let mut requests: Vec<Source> = sources(cx).into_iter().filter(running).collect();
        for request in &mut requests {
            let (program, at) = match request.who.statement() {
                Some(found) => found,
                None => continue,
            };
            request.statement = Some(AtStatement::of(cx, &program, at));
        }
        let mut rows: Vec<_> = requests.iter().map(row).collect();
        rows.extend(Source::of_the_server(cx).iter().map(row));
        Ok(rows)
    });
}

pub use connections::CONNECTIONS;

mod connections {
    use super::*;

    /// 0: there is none.
    fn number_or_null(n: u32) -> Value {
        if n == 0 { Value::Null } else { int(n) }
    }

    /// The most that the column holds is the most that it tells.
    fn packets(n: u64) -> Value {
        Value::Int(i32::try_from(n).unwrap_or(i32::MAX))
    }

    const ADDRESS: T = T::varchar(48);
    const WORD: T = T::nvarchar(40);

    columns! { Source;
        "session_id", T::INT, NULL, |s| int(s.who.spid.0);
        "most_recent_session_id", T::INT, NULL, |s| int(s.who.spid.0);
        "connect_time", T::DATETIME, NOT_NULL, |s| time(s.who.login_time);
        "net_transport", WORD, NOT_NULL, |_| text("TCP");
        "protocol_type", WORD, NULL, |_| text("TSQL");
        // TDS 7.4
        "protocol_version", T::INT, NULL, |_| int(0x7400_0004);
        "endpoint_id", T::INT, NULL, |s| int(endpoint(s));
        "encrypt_option", WORD, NOT_NULL, |s| text(if s.who.login.encrypted { "TRUE" } else { "FALSE" });
        "auth_scheme", WORD, NOT_NULL, |_| text("SQL");
        "node_affinity", T::SMALLINT, NOT_NULL, |_| small(0);
        "num_reads", T::INT, NULL, |s| packets(s.who.login.traffic.packets().0);
        "num_writes", T::INT, NULL, |s| packets(s.who.login.traffic.packets().1);
        "last_read", T::DATETIME, NULL, |s| time(s.now.started);
        "last_write", T::DATETIME, NULL, |s| match s.now.ended {
            0 => Value::Null,
            at => time(at),
        };
        "net_packet_size", T::INT, NULL, |s| number_or_null(s.who.login.packet_bytes);
        "client_net_address", ADDRESS, NULL, |s| match s.who.login.client_address.as_str() {
            "" => Value::Null,
            address => Value::varchar(address),
        };
        "client_tcp_port", T::INT, NULL, |s| number_or_null(u32::from(s.who.login.client_port));
        "local_net_address", ADDRESS, NULL, |s| {
            let local = s.who.login.local;
            local.map_or(Value::Null, |a| Value::varchar(&a.ip().to_string()))
        };
        "local_tcp_port", T::INT, NULL, |s| s.who.login.local.map_or(Value::Null, |a| int(a.port()));
        "connection_id", T::GUID, NOT_NULL, |s| Value::Guid(s.who.connection);
        "parent_connection_id", T::GUID, NULL, |_| Value::Null;
        "most_recent_sql_handle", T::varbinary(64), NULL, |s| {
            s.who.program().map_or(Value::Null, |p| super::super::query_stats::text_handle(&p))
        };
    }

    pub const CONNECTIONS: View =
        View::new("dm_exec_connections", SERVER_STATE, COLUMNS, |cx, _| {
            let clients = |s: &Source| s.who.is_of_a_client();
            Ok(sources(cx)
                .into_iter()
                .filter(clients)
                .map(|s| row(&s))
                .collect())
        });
}
