//! `sys.dm_exec_query_stats`, `dm_exec_procedure_stats`, `dm_exec_trigger_stats`, `dm_exec_function_stats`, `dm_exec_cached_plans`, and the functions that make texts of their
//! handles: `dm_exec_sql_text`, `dm_exec_query_plan`, `dm_exec_text_query_plan`.
//!
//! Handles hold the number of a program, behind the byte that SQL Server's begin with (2 a text's, 5 a procedure's plan, 6
//! another plan). The document of a plan that is nested deeper than xml may be is NULL; `dm_exec_text_query_plan` has it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use duramen_base::{DbId, ObjectId, SqlResult};
use duramen_catalog::ObjectKind;
use duramen_events::instance::Instance;
use duramen_program::column::*;
use duramen_program::plan_cache::Cached;
use duramen_program::plan_xml;
use duramen_program::planned::{self, Planned};
use duramen_program::program::Program;
use duramen_program::program::handle::handle_bytes;
use duramen_program::program::handle::sql_handle;
use duramen_program::program::shown::offset;
use duramen_program::rights::Right;
use duramen_program::statement_stats::{Measure, StatementStats};
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1100, &QUERY_STATS),
    (-1101, &CACHED_PLANS),
    (-1102, &PROCEDURE_STATS),
    (-1105, &TRIGGER_STATS),
    (-1106, &FUNCTION_STATS),
    (-5010, &SQL_TEXT),
    (-5011, &PLAN),
    (-5012, &PLAN_TEXT),
];

const HANDLE: T = T::varbinary(64);
const TEXT: T = T::NVARCHAR_MAX;

fn time(nanos: i64) -> Value {
    unix_time(i128::from(nanos))
}

/// What a key of the plan cache says: the id of the database, a procedure's object id.
pub struct Origin {
    pub database: Option<u16>,
    pub procedure: Option<i32>,
    /// The procedure's, when it was compiled.
    version: String,
    prepared: bool,
}

impl Origin {
    pub fn of(instance: &Instance, key: &str) -> Origin {
        let key = key.rsplit_once('\u{2}').map_or(key, |(_, rest)| rest);
        let parts: Vec<&str> = key.splitn(4, '\u{1}').collect();
        let databases = &instance.databases;
        match parts.as_slice() {
            [db, object, version, "true" | "false"] => Origin {
                database: db.parse().ok(),
                procedure: object.parse().ok(),
                version: (*version).to_owned(),
                prepared: false,
            },
            [name, _, declarations, _] => Origin {
                database: databases.find(name).map(|d| d.db.id.0),
                procedure: None,
                version: String::new(),
                prepared: !declarations.is_empty(),
            },
            _ => Origin {
                database: None,
                procedure: None,
                version: String::new(),
                prepared: false,
            },
        }
    }

    /// `objtype`. A function's is a procedure's, too.
    fn kind(&self, cx: &Context) -> &'static str {
        match (self.procedure, self.prepared) {
            (Some(_), _) if self.module(cx) == Some(ObjectKind::TRIGGER) => "Trigger",
            (Some(_), _) => "Proc",
            (None, true) => "Prepared",
            (None, false) => "Adhoc",
        }
    }

    /// What the module is that the program was made of; `None` when it is gone or was changed since.
    fn module(&self, cx: &Context) -> Option<ObjectKind> {
        let id = self.procedure?;
        if id < 0 {
            // Those of the system are procedures.
            return Some(ObjectKind::PROCEDURE);
        }
        let db = cx.instance.databases.get(DbId(self.database?))?;
        let snapshot = db.catalog.snapshot().ok()?;
        let module = snapshot.module(ObjectId(id))?;
        (module.version.to_string() == self.version).then_some(module.kind)
    }
}

fn handle(first: u8, program: &Program) -> Value {
    Value::Binary(handle_bytes(first, program))
}

fn plan_handle(origin: &Origin, program: &Program) -> Value {
    handle(if origin.procedure.is_some() { 5 } else { 6 }, program)
}

/// The number in a handle.
pub fn program_of(handle: &Value) -> Option<u64> {
    let Value::Binary(bytes) = handle else {
        return None;
    };
    let id = bytes.get(4..12)?.try_into().ok()?;
    matches!(bytes.first(), Some(2 | 3 | 5 | 6)).then(|| u64::from_be_bytes(id))
}

fn hash(n: u64) -> Value {
    Value::Binary(n.to_be_bytes().to_vec())
}

/// `query_hash` of a step.
fn text_hash(program: &Program, at: usize) -> Value {
    let span = program.steps.get(at).map_or((0, 0), |s| s.span);
    hash(planned::query_hash(
        program.text.get(span.0..span.1).unwrap_or(""),
    ))
}

/// The schema version that what a program binds depends on.
fn version_of(cx: &Context, origin: Option<&Origin>, program: &Program) -> u64 {
    /// The database id of tempdb.
    const TEMPDB: u16 = 2;
    let in_tempdb = origin.and_then(|o| o.database) == Some(TEMPDB);
    cx.instance.schema_version(program.temporary || in_tempdb)
}

/// `query_plan_hash` of a step; `key`: of the program, when it is in the cache. It is found out once for a plan.
fn plan_hash(cx: &Context, key: Option<&str>, program: &Program, at: usize) -> Option<u64> {
    let origin = key.map(|k| Origin::of(&cx.instance, k));
    let version = version_of(cx, origin.as_ref(), program);
    let stats = program.stats.step(program.steps.len(), at)?;
    if let Some(known) = stats.plan()
        && (known.version == version || program.is_private())
    {
        return Some(known.hash).filter(|h| *h != 0);
    }
    let bound = cx.instance.plans.bound(key?)?;
    let (of, bound) = bound.get(at)?.as_ref()?;
    if *of != version {
        return None;
    }
    let names = program.variable_names();
    let planned = planned::of_bound(bound, &names, cx.instance.parallelism()).ok()?;
    Some(stats.know_plan(version, planned, false)).filter(|h| *h != 0)
}

/// What `sys.dm_exec_requests` says of the statement that a request is at.
pub(super) struct AtStatement {
    pub sql_handle: Value,
    pub plan_handle: Value,
    pub start: Value,
    pub end: Value,
    pub query_hash: Value,
    pub plan_hash: Value,
}

impl AtStatement {
    pub fn of(cx: &Context, program: &Program, at: Option<usize>) -> AtStatement {
        let cached = cx.instance.plans.program(program.stats.id);
        let key = cached.as_ref().map(|(c, _)| c.key.as_str());
        let is_procedure = key.is_some_and(|k| Origin::of(&cx.instance, k).procedure.is_some());
        let span = at.and_then(|at| program.steps.get(at)).map(|s| s.span);
        let place = |at: usize| int(offset(&program.text, at));
        AtStatement {
            sql_handle: text_handle(program),
            plan_handle: handle(if is_procedure { 5 } else { 6 }, program),
            start: span.map_or(Value::Null, |s| place(s.0)),
            end: span.map_or(Value::Null, |s| place(s.1)),
            query_hash: at.map_or(Value::Null, |at| text_hash(program, at)),
            plan_hash: at
                .and_then(|at| plan_hash(cx, key, program, at))
                .map_or(Value::Null, hash),
        }
    }
}

/// A step with its plan, as the missing indexes of that are told.
pub fn statement_of(
    program: &Program,
    at: usize,
    planned: &Planned,
) -> duramen_program::missing_indexes::Statement {
    let span = program.steps.get(at).map_or((0, 0), |s| s.span);
    let text = program.text.get(span.0..span.1).unwrap_or("");
    duramen_program::missing_indexes::Statement {
        query_hash: planned::query_hash(text),
        plan_hash: duramen_planner::showplan::plan_hash(&planned.0),
        sql_handle: sql_handle(program),
        start: offset(&program.text, span.0),
        end: offset(&program.text, span.1),
    }
}

pub use statements::QUERY_STATS;

mod statements {
    use super::*;

    pub struct Source<'a> {
        program: &'a Program,
        origin: &'a Origin,
        stats: &'a StatementStats,
        at: usize,
        span: (usize, usize),
        plan: Option<u64>,
    }

    fn worker(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.worker.values(1000)[i])
    }
    fn elapsed(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.elapsed.values(1000)[i])
    }
    fn logical(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.logical_reads.values(1)[i])
    }
    fn physical(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.physical_reads.values(1)[i])
    }
    fn writes(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.logical_writes.values(1)[i])
    }
    fn rows(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.rows.values(1)[i])
    }
    fn kb(m: &Measure, i: usize) -> Value {
        big(m.values(1024)[i])
    }
    fn degree(s: &Source<'_>, i: usize) -> Value {
        big(s.stats.degree.values(1)[i])
    }

    columns! { Source<'_>;
        "sql_handle", HANDLE, NOT_NULL, |s| text_handle(s.program);
        "statement_start_offset", T::INT, NOT_NULL, |s| int(offset(&s.program.text, s.span.0));
        "statement_end_offset", T::INT, NOT_NULL, |s| int(offset(&s.program.text, s.span.1));
        "plan_generation_num", T::BIGINT, NOT_NULL, |_| big(1);
        "plan_handle", HANDLE, NOT_NULL, |s| plan_handle(s.origin, s.program);
        "creation_time", T::DATETIME, NOT_NULL, |s| time(s.program.stats.created);
        "last_execution_time", T::DATETIME, NOT_NULL, |s| time(s.stats.last_at.load(Relaxed));
        "execution_count", T::BIGINT, NOT_NULL, |s| big(s.stats.executions.load(Relaxed));
        "total_worker_time", T::BIGINT, NOT_NULL, |s| worker(s, 0);
        "last_worker_time", T::BIGINT, NOT_NULL, |s| worker(s, 1);
        "min_worker_time", T::BIGINT, NOT_NULL, |s| worker(s, 2);
        "max_worker_time", T::BIGINT, NOT_NULL, |s| worker(s, 3);
        "total_physical_reads", T::BIGINT, NOT_NULL, |s| physical(s, 0);
        "last_physical_reads", T::BIGINT, NOT_NULL, |s| physical(s, 1);
        "min_physical_reads", T::BIGINT, NOT_NULL, |s| physical(s, 2);
        "max_physical_reads", T::BIGINT, NOT_NULL, |s| physical(s, 3);
        "total_logical_writes", T::BIGINT, NOT_NULL, |s| writes(s, 0);
        "last_logical_writes", T::BIGINT, NOT_NULL, |s| writes(s, 1);
        "min_logical_writes", T::BIGINT, NOT_NULL, |s| writes(s, 2);
        "max_logical_writes", T::BIGINT, NOT_NULL, |s| writes(s, 3);
        "total_logical_reads", T::BIGINT, NOT_NULL, |s| logical(s, 0);
        "last_logical_reads", T::BIGINT, NOT_NULL, |s| logical(s, 1);
        "min_logical_reads", T::BIGINT, NOT_NULL, |s| logical(s, 2);
        "max_logical_reads", T::BIGINT, NOT_NULL, |s| logical(s, 3);
        // There is no common language runtime.
        "total_clr_time", T::BIGINT, NOT_NULL, |_| big(0);
        "last_clr_time", T::BIGINT, NOT_NULL, |_| big(0);
        "min_clr_time", T::BIGINT, NOT_NULL, |_| big(0);
        "max_clr_time", T::BIGINT, NOT_NULL, |_| big(0);
        "total_elapsed_time", T::BIGINT, NOT_NULL, |s| elapsed(s, 0);
        "last_elapsed_time", T::BIGINT, NOT_NULL, |s| elapsed(s, 1);
        "min_elapsed_time", T::BIGINT, NOT_NULL, |s| elapsed(s, 2);
        "max_elapsed_time", T::BIGINT, NOT_NULL, |s| elapsed(s, 3);
        "query_hash", T::binary(8), NULL, |s| text_hash(s.program, s.at);
        // NULL where the plan is gone with the schema that it was made for.
        "query_plan_hash", T::binary(8), NULL, |s| s.plan.map_or(Value::Null, hash);
        "total_rows", T::BIGINT, NULL, |s| rows(s, 0);
        "last_rows", T::BIGINT, NULL, |s| rows(s, 1);
        "min_rows", T::BIGINT, NULL, |s| rows(s, 2);
        "max_rows", T::BIGINT, NULL, |s| rows(s, 3);
        "statement_sql_handle", HANDLE, NULL, |_| Value::Null;
        "statement_context_id", T::BIGINT, NULL, |_| Value::Null;
        "total_dop", T::BIGINT, NULL, |s| degree(s, 0);
        "last_dop", T::BIGINT, NULL, |s| degree(s, 1);
        "min_dop", T::BIGINT, NULL, |s| degree(s, 2);
        "max_dop", T::BIGINT, NULL, |s| degree(s, 3);
        "total_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.grant, 0);
        "last_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.grant, 1);
        "min_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.grant, 2);
        "max_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.grant, 3);
        "total_used_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.used_grant, 0);
        "last_used_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.used_grant, 1);
        "min_used_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.used_grant, 2);
        "max_used_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.used_grant, 3);
        "total_ideal_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.ideal_grant, 0);
        "last_ideal_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.ideal_grant, 1);
        "min_ideal_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.ideal_grant, 2);
        "max_ideal_grant_kb", T::BIGINT, NULL, |s| kb(&s.stats.ideal_grant, 3);
        // Nobody reserves threads.
        "total_reserved_threads", T::BIGINT, NULL, |_| Value::Null;
        "last_reserved_threads", T::BIGINT, NULL, |_| Value::Null;
        "min_reserved_threads", T::BIGINT, NULL, |_| Value::Null;
        "max_reserved_threads", T::BIGINT, NULL, |_| Value::Null;
        "total_used_threads", T::BIGINT, NULL, |_| Value::Null;
        "last_used_threads", T::BIGINT, NULL, |_| Value::Null;
        "min_used_threads", T::BIGINT, NULL, |_| Value::Null;
        "max_used_threads", T::BIGINT, NULL, |_| Value::Null;
        "total_spills", T::BIGINT, NULL, |s| big(s.stats.spills.values(1)[0]);
        "last_spills", T::BIGINT, NULL, |s| big(s.stats.spills.values(1)[1]);
        "min_spills", T::BIGINT, NULL, |s| big(s.stats.spills.values(1)[2]);
        "max_spills", T::BIGINT, NULL, |s| big(s.stats.spills.values(1)[3]);
    }

    pub const QUERY_STATS: View =
        View::new("dm_exec_query_stats", SERVER_STATE, COLUMNS, |cx, _| {
            let mut out = Vec::new();
            for cached in allowed(cx)? {
                let origin = Origin::of(&cx.instance, &cached.key);
                for (at, stats) in cached.program.stats.statements() {
                    let span = cached.program.steps.get(at).map_or((0, 0), |s| s.span);
                    out.push(row(&Source {
                        program: &cached.program,
                        origin: &origin,
                        stats,
                        at,
                        span,
                        plan: plan_hash(cx, Some(&cached.key), &cached.program, at),
                    }));
                }
            }
            Ok(out)
        });
}

/// What is in the cache, for who may see the state of the server.
pub(super) fn allowed(cx: &Context) -> SqlResult<Vec<Cached>> {
    match cx.who.server_may(Right::ViewServerState) {
        true => Ok(cx.instance.plans.all()),
        false => Ok(Vec::new()),
    }
}

pub use procedures::{FUNCTION_STATS, PROCEDURE_STATS, TRIGGER_STATS};

mod procedures {
    use super::*;

    pub struct Source {
        program: Arc<Program>,
        database: u16,
        object: i32,
        kind: ObjectKind,
    }

    fn micros(
        s: &Source,
        of: fn(&StatementStats) -> &duramen_program::statement_stats::Measure,
        i: usize,
    ) -> Value {
        big(of(&s.program.stats.whole).values(1000)[i])
    }
    fn pages(
        s: &Source,
        of: fn(&StatementStats) -> &duramen_program::statement_stats::Measure,
        i: usize,
    ) -> Value {
        big(of(&s.program.stats.whole).values(1)[i])
    }

    columns! { Source;
        "database_id", T::INT, NOT_NULL, |s| int(s.database);
        "object_id", T::INT, NOT_NULL, |s| int(s.object);
        "type", T::char(2), NOT_NULL, |s| Value::varchar(s.kind.as_str());
        "type_desc", DESC, NULL, |s| text(super::super::objects::kind_desc(s.kind));
        "sql_handle", HANDLE, NOT_NULL, |s| text_handle(&s.program);
        "plan_handle", HANDLE, NOT_NULL, |s| handle(5, &s.program);
        "cached_time", T::DATETIME, NULL, |s| time(s.program.stats.created);
        "last_execution_time", T::DATETIME, NULL, |s| time(s.program.stats.whole.last_at.load(Relaxed));
        "execution_count", T::BIGINT, NOT_NULL, |s| big(s.program.stats.whole.executions.load(Relaxed));
        "total_worker_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.worker, 0);
        "last_worker_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.worker, 1);
        "min_worker_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.worker, 2);
        "max_worker_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.worker, 3);
        "total_physical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.physical_reads, 0);
        "last_physical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.physical_reads, 1);
        "min_physical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.physical_reads, 2);
        "max_physical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.physical_reads, 3);
        "total_logical_writes", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_writes, 0);
        "last_logical_writes", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_writes, 1);
        "min_logical_writes", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_writes, 2);
        "max_logical_writes", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_writes, 3);
        "total_logical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_reads, 0);
        "last_logical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_reads, 1);
        "min_logical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_reads, 2);
        "max_logical_reads", T::BIGINT, NOT_NULL, |s| pages(s, |m| &m.logical_reads, 3);
        "total_elapsed_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.elapsed, 0);
        "last_elapsed_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.elapsed, 1);
        "min_elapsed_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.elapsed, 2);
        "max_elapsed_time", T::BIGINT, NOT_NULL, |s| micros(s, |m| &m.elapsed, 3);
        "total_spills", T::BIGINT, NULL, |s| pages(s, |m| &m.spills, 0);
        "last_spills", T::BIGINT, NULL, |s| pages(s, |m| &m.spills, 1);
        "min_spills", T::BIGINT, NULL, |s| pages(s, |m| &m.spills, 2);
        "max_spills", T::BIGINT, NULL, |s| pages(s, |m| &m.spills, 3);
    }

    fn sources(cx: &Context, kind: ObjectKind) -> SqlResult<impl Iterator<Item = Source>> {
        let source = move |cached: Cached| {
            let origin = Origin::of(&cx.instance, &cached.key);
            let (database, object) = origin.database.zip(origin.procedure)?;
            // One that was bound, or runs for the first time, has no figures.
            let called = cached.program.stats.whole.executions.load(Relaxed) > 0;
            (called && origin.module(cx) == Some(kind)).then_some(Source {
                program: cached.program,
                database,
                object,
                kind,
            })
        };
        Ok(allowed(cx)?.into_iter().filter_map(source))
    }

    pub const PROCEDURE_STATS: View =
        View::new("dm_exec_procedure_stats", SERVER_STATE, COLUMNS, |cx, _| {
            Ok(sources(cx, ObjectKind::PROCEDURE)?
                .map(|s| row(&s))
                .collect())
        });

    pub const TRIGGER_STATS: View =
        View::new("dm_exec_trigger_stats", SERVER_STATE, COLUMNS, |cx, _| {
            Ok(sources(cx, ObjectKind::TRIGGER)?.map(|s| row(&s)).collect())
        });

    /// Of a function it is not told what it spilled.
    const SPILLS: usize = 4;

    /// Scalar functions.
    pub const FUNCTION_STATS: View = View::new(
        "dm_exec_function_stats",
        SERVER_STATE,
        COLUMNS.split_at(COLUMNS.len() - SPILLS).0,
        |cx, _| {
            let short = |s| {
                let mut row = row(&s);
                row.truncate(COLUMNS.len() - SPILLS);
                row
            };
            let sources = sources(cx, ObjectKind::SCALAR_FUNCTION)?;
            Ok(sources.map(short).collect())
        },
    );
}

pub use plans::CACHED_PLANS;

mod plans {
    use super::*;

    pub struct Source {
        cached: Cached,
        origin: Origin,
        kind: &'static str,
        /// Runs that have ended, and those under way.
        uses: u64,
    }

    columns! { Source;
        "bucketid", T::INT, NOT_NULL, |_| int(0);
        "refcounts", T::INT, NOT_NULL, |s| int(Arc::strong_count(&s.cached.program) as i64 - 1);
        "usecounts", T::INT, NOT_NULL, |s| int(s.uses as i64);
        "size_in_bytes", T::INT, NOT_NULL, |s| int(s.cached.bytes as i64);
        "memory_object_address", T::varbinary(8), NOT_NULL, |s| {
            Value::Binary(s.cached.program.stats.id.to_be_bytes().to_vec())
        };
        "cacheobjtype", T::nvarchar(50), NOT_NULL, |_| text("Compiled Plan");
        "objtype", T::nvarchar(20), NOT_NULL, |s| text(s.kind);
        "plan_handle", HANDLE, NOT_NULL, |s| plan_handle(&s.origin, &s.cached.program);
        "pool_id", T::INT, NOT_NULL, |_| int(2);
        "parent_plan_handle", HANDLE, NULL, |_| Value::Null;
    }

    pub const CACHED_PLANS: View =
        View::new("dm_exec_cached_plans", SERVER_STATE, COLUMNS, |cx, _| {
            let mut running: BTreeMap<u64, u64> = BTreeMap::new();
            for (program, _) in cx.instance.sessions().iter().flat_map(|a| a.stack()) {
                *running.entry(program.stats.id).or_default() += 1;
            }
            let source = |cached: Cached| {
                let origin = Origin::of(&cx.instance, &cached.key);
                let stats = &cached.program.stats;
                let under_way = running.get(&stats.id).copied().unwrap_or(0);
                row(&Source {
                    uses: stats.whole.executions.load(Relaxed) + under_way,
                    kind: origin.kind(cx),
                    origin,
                    cached,
                })
            };
            Ok(allowed(cx)?.into_iter().map(source).collect())
        });
}

pub use texts::{PLAN, PLAN_TEXT, SQL_TEXT};

mod texts {
    use super::*;

    pub struct Source {
        origin: Option<Origin>,
        text: String,
        plan: Option<String>,
    }

    fn find(cx: &Context, args: &[Value]) -> SqlResult<Option<Source>> {
        let Some(id) = args.first().and_then(program_of) else {
            return Ok(None);
        };
        let cached = allowed(cx)?;
        if let Some(found) = cached.into_iter().find(|c| c.program.stats.id == id) {
            return Ok(Some(Source {
                origin: Some(Origin::of(&cx.instance, &found.key)),
                text: found.program.shown_text().into_owned(),
                plan: None,
            }));
        }
        // What runs now, and could not be kept.
        let running = cx.instance.sessions().into_iter();
        let found = running
            .flat_map(|s| s.programs())
            .find(|p| p.stats.id == id);
        Ok(found.map(|p| Source {
            origin: None,
            text: p.shown_text().into_owned(),
            plan: None,
        }))
    }

    /// The same with the plan; of what runs now and could not be kept there is one only where its plans never are.
    fn find_plan(cx: &Context, args: &[Value]) -> SqlResult<Option<Source>> {
        let Some(mut source) = find(cx, args)? else {
            return Ok(None);
        };
        let Some(id) = args.first().and_then(program_of) else {
            return Ok(Some(source));
        };
        let (program, bound) = match cx.instance.plans.program(id) {
            Some((cached, bound)) => (cached.program, bound),
            None => {
                let running = cx.instance.sessions().into_iter();
                let mut running = running.flat_map(|s| s.programs());
                match running.find(|p| p.stats.id == id && p.is_private()) {
                    Some(program) => (program, Default::default()),
                    None => return Ok(Some(source)),
                }
            }
        };
        let only = match statement_of(&program, args) {
            Err(()) => return Ok(Some(source)),
            Ok(only) => only,
        };
        let version = version_of(cx, source.origin.as_ref(), &program);
        let allowed = cx.instance.parallelism();
        let names = program.variable_names();
        let mut plan = |at: usize| {
            if program.is_private() {
                // As it was bound last: what it was bound for is its session's.
                let known = program.stats.plan(at).and_then(|k| k.planned);
                return Ok(known.map_or(Planned::default(), |p| (*p).clone()));
            }
            let bound = bound.get(at).and_then(Option::as_ref);
            // What the schema has left behind is bound again before it runs.
            let bound = bound.filter(|(of, _)| *of == version);
            bound.map_or(Ok(Planned::default()), |(_, b)| {
                planned::of_bound(b, &names, allowed)
            })
        };
        source.plan = plan_xml::of_program(&program, only, true, &mut plan)?;
        Ok(Some(source))
    }

    /// The step that the second and third argument ask for, as places in the text; `None` for the whole batch.
    fn statement_of(program: &Program, args: &[Value]) -> Result<Option<usize>, ()> {
        let start = args.get(1).and_then(Value::as_i64).unwrap_or(0);
        let end = args.get(2).and_then(Value::as_i64).unwrap_or(-1);
        if start <= 0 && end < 0 {
            return Ok(None);
        }
        let mut steps = program.steps.iter();
        let found = steps.position(|s| {
            let from = offset(&program.text, s.span.0);
            let to = offset(&program.text, s.span.1);
            let is_one = !duramen_program::program::shown::kind_of(&s.op).is_empty();
            is_one && from == start && (end < 0 || to == end)
        });
        found.map(Some).ok_or(())
    }

    fn database(s: &Source) -> Value {
        let id = s.origin.as_ref().and_then(|o| o.database);
        id.map_or(Value::Null, small)
    }

    fn object(s: &Source) -> Value {
        let id = s.origin.as_ref().and_then(|o| o.procedure);
        id.map_or(Value::Null, int)
    }

    columns! { Source;
        "dbid", T::SMALLINT, NULL, |s| match s.origin.as_ref().and_then(|o| o.procedure) {
            // A batch's is NULL.
            Some(_) => database(s),
            None => Value::Null,
        };
        "objectid", T::INT, NULL, object;
        "number", T::SMALLINT, NULL, |_| Value::Null;
        "encrypted", T::BIT, NOT_NULL, |_| bit(false);
        "text", TEXT, NULL, |s| text(&s.text);
    }

    pub const SQL_TEXT: View = View::new("dm_exec_sql_text", SERVER_STATE, COLUMNS, |cx, args| {
        Ok(find(cx, args)?.iter().map(row).collect())
    });

    mod plan {
        use super::*;

        columns! { Source;
            "dbid", T::SMALLINT, NULL, database;
            "objectid", T::INT, NULL, object;
            "number", T::SMALLINT, NULL, |_| Value::Null;
            "encrypted", T::BIT, NOT_NULL, |_| bit(false);
            "query_plan", T::XML, NULL, |s| {
                let plan = s.plan.as_deref();
                let kept = plan.and_then(|p| duramen_types::xml::normalized(p, false).ok());
                text_or_null(kept.as_deref())
            };
        }
    }

    pub const PLAN: View = View::new(
        "dm_exec_query_plan",
        SERVER_STATE,
        plan::COLUMNS,
        |cx, args| Ok(find_plan(cx, args)?.iter().map(plan::row).collect()),
    );

    mod plan_text {
        use super::*;

        columns! { Source;
            "dbid", T::SMALLINT, NULL, database;
            "objectid", T::INT, NULL, object;
            "number", T::SMALLINT, NULL, |_| Value::Null;
            "encrypted", T::BIT, NOT_NULL, |_| bit(false);
            "query_plan", TEXT, NULL, |s| text_or_null(s.plan.as_deref());
        }
    }

    pub const PLAN_TEXT: View = View::new(
        "dm_exec_text_query_plan",
        SERVER_STATE,
        plan_text::COLUMNS,
        |cx, args| Ok(find_plan(cx, args)?.iter().map(plan_text::row).collect()),
    );
}

/// The handle of the text that a request runs: `sys.dm_exec_requests.sql_handle`.
pub(super) fn text_handle(program: &Program) -> Value {
    Value::Binary(sql_handle(program))
}
