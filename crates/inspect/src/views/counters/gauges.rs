//! Counters that nobody counts: what they say is looked up when somebody asks.
//! <https://learn.microsoft.com/sql/relational-databases/performance-monitor/sql-server-memory-manager-object>
//!
//! Grants are those of statements that are expected to keep many rows (`memory_grants`). The buffer cache hit ratio is that of all lookups since the start, a page that was read ahead being
//! missed once (SQL Server's is of the last few thousand).

use std::collections::BTreeSet;

use duramen_base::DbId;
use duramen_observe::{Counter, CounterKind, CounterValue, counter, waiting_tasks};
use duramen_os::memory::Clerk;
use duramen_os::time;

use crate::context::Context;

const KB: u64 = 1024;

/// A counter and its instance.
pub(super) type Gauge = (CounterValue, &'static str);

fn raw(object: &'static str, name: &'static str, value: u64) -> Gauge {
    of_kind(object, name, CounterKind::Raw, value)
}

fn of_kind(object: &'static str, name: &'static str, kind: CounterKind, value: u64) -> Gauge {
    let value = CounterValue {
        object,
        name,
        kind,
        value: i64::try_from(value).unwrap_or(i64::MAX),
    };
    (value, "")
}

pub(super) fn all(cx: &Context) -> Vec<Gauge> {
    let mut gauges = buffers(cx);
    gauges.extend(memory(cx));
    gauges.extend(plans(cx));
    gauges.extend(transactions(cx));
    gauges.push(blocked());
    gauges.push(temporary_tables(cx));
    gauges.extend(parameterizations());
    gauges.push(cursors());
    gauges
}

fn buffers(cx: &Context) -> Vec<Gauge> {
    let pool = cx.instance.databases.engine.pool_stats();
    let lookups = counted(Counter::PageLookups);
    let hits = lookups.saturating_sub(counted(Counter::PageReads));
    let (manager, ratio) = ("Buffer Manager", "Buffer cache hit ratio");
    let base = "Buffer cache hit ratio base";
    let mut all = vec![
        of_kind(manager, ratio, CounterKind::Fraction, hits),
        of_kind(manager, base, CounterKind::Base, lookups),
    ];
    // There is one node.
    let node = "Buffer Node";
    all.extend([
        (raw(node, "Database pages", pool.used).0, "000"),
        (
            raw(node, "Page life expectancy", pool.life_expectancy).0,
            "000",
        ),
    ]);
    all
}

fn counted(what: Counter) -> u64 {
    u64::try_from(counter(what)).unwrap_or(0)
}

/// Total is what the clerks of `sys.dm_os_memory_clerks` have.
fn memory(cx: &Context) -> Vec<Gauge> {
    let instance = &cx.instance;
    let pool = instance.databases.engine.pool_stats();
    let workspace = instance.workspace.used() as u64 / KB;
    let plans = instance.plans.bytes() / KB;
    let most = instance.workspace.limit() as u64 / KB;
    let committed = crate::views::memory::committed(instance) / KB;
    let target = crate::views::memory::target(instance) / KB;
    let stolen = committed.saturating_sub(pool.committed * 8);
    let locks = instance.locks.memory_bytes() / KB;
    let of = |clerk| instance.databases.engine.memory.of(clerk) / KB;
    let free = pool.committed.saturating_sub(pool.used) * 8;
    let kb = |name, value| raw("Memory Manager", name, value);
    let (waiting, granted) = instance.grants.all();
    vec![
        kb("Connection Memory (KB)", of(Clerk::Connections)),
        kb("Database Cache Memory (KB)", pool.used * 8),
        kb("Free Memory (KB)", free),
        kb("Granted Workspace Memory (KB)", workspace),
        kb("Lock Memory (KB)", locks),
        kb("Maximum Workspace Memory (KB)", most),
        kb("Memory Grants Outstanding", granted.len() as u64),
        kb("Memory Grants Pending", waiting.len() as u64),
        kb("Optimizer Memory (KB)", of(Clerk::Compile)),
        kb("SQL Cache Memory (KB)", plans),
        kb("Stolen Server Memory (KB)", stolen),
        kb("Target Server Memory (KB)", target),
        kb("Total Server Memory (KB)", committed),
    ]
}

/// Plans of modules count as the others: there is one cache.
fn plans(cx: &Context) -> Vec<Gauge> {
    let plans = &cx.instance.plans;
    let (pages, count) = (plans.bytes() / 8192, plans.all().len() as u64);
    let object = "Plan Cache";
    ["_Total", "SQL Plans"]
        .into_iter()
        .flat_map(|instance| {
            [
                (raw(object, "Cache Pages", pages).0, instance),
                (raw(object, "Cache Object Counts", count).0, instance),
            ]
        })
        .collect()
}

fn transactions(cx: &Context) -> Vec<Gauge> {
    let instance = &cx.instance;
    let open: Vec<_> = instance
        .sessions()
        .into_iter()
        .filter_map(|a| a.open_transaction())
        .collect();
    let now = time::wall().unix_nanos();
    let seconds = open
        .iter()
        .map(|t| ((now - t.started.unix_nanos()) / 1_000_000_000).max(0));
    let longest = u64::try_from(seconds.max().unwrap_or(0)).unwrap_or(0);
    let versions: u64 = instance
        .databases
        .engine
        .versions
        .usage()
        .values()
        .copied()
        .sum();
    let tempdb = instance.databases.get(DbId::TEMPDB);
    let free: u64 = tempdb.map_or(0, |d| {
        d.db.files()
            .iter()
            .map(|f| u64::from(f.free_extents) * 64)
            .sum()
    });
    let gauge = |name, value| raw("Transactions", name, value);
    vec![
        gauge("Free Space in tempdb (KB)", free),
        gauge("Longest Transaction Running Time", longest),
        gauge("Transactions", open.len() as u64),
        gauge("Version Store Size (KB)", versions.div_ceil(KB)),
    ]
}

/// No text is given parameters by the server, which does not try either.
fn parameterizations() -> [Gauge; 4] {
    [
        "Auto-Param Attempts/sec",
        "Failed Auto-Params/sec",
        "Safe Auto-Params/sec",
        "Unsafe Auto-Params/sec",
    ]
    .map(|name| of_kind("SQL Statistics", name, CounterKind::Bulk, 0))
}

/// A batch that asks for a cursor is refused whole, so none is ever asked for.
fn cursors() -> Gauge {
    let name = "Cursor Requests/sec";
    let gauge = of_kind("Cursor Manager by Type", name, CounterKind::Bulk, 0);
    (gauge.0, "_Total")
}

/// Table variables are in their sessions' memory, where nobody counts them.
fn temporary_tables(cx: &Context) -> Gauge {
    let tempdb = cx.instance.databases.get(DbId::TEMPDB);
    let snapshot = tempdb.and_then(|d| d.catalog.snapshot().ok());
    let count = snapshot.map_or(0, |s| {
        s.tables
            .values()
            .filter(|t| t.name.starts_with('#'))
            .count()
    });
    raw("General Statistics", "Active Temp Tables", count as u64)
}

fn blocked() -> Gauge {
    let waiting = waiting_tasks().into_iter();
    let blocked: BTreeSet<_> = waiting
        .filter(|w| w.blocking_session.is_some())
        .map(|w| w.session)
        .collect();
    raw(
        "General Statistics",
        "Processes blocked",
        blocked.len() as u64,
    )
}
