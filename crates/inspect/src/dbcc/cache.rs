//! DBCC DROPCLEANBUFFERS, FREEPROCCACHE, FREESYSTEMCACHE and FLUSHPROCINDB: memory is given up, so that the next run of a query
//! reads from the disk, or compiles. PROCCACHE: how much the cache of plans has.
//!
//! There is one cache of plans; what SQL Server keeps in "Object Plans" are its entries that are modules, and "SQL Plans"
//! the others. Plans belong to no resource pool: naming one that exists means them all. Whoever runs a plan keeps it to the end.
//! <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-freeproccache-transact-sql>

use std::collections::BTreeSet;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{SqlType, Value};

use super::{Arg, Call, Columns, Report, Statement, not_supported};
use crate::views::query_stats::{Origin, program_of};
use duramen_program::rights::Needs;
use duramen_program::rights::needs::{CHANGES_STATE, OWNER};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "DROPCLEANBUFFERS",
        needs: CHANGES_STATE,
        args: (0, 0),
        options: &[],
        run: drop_clean_buffers,
    },
    Statement {
        name: "FLUSHPROCINDB",
        needs: Needs::Sysadmin,
        args: (1, 1),
        options: &[],
        run: flush_database,
    },
    Statement {
        name: "FREEPROCCACHE",
        needs: CHANGES_STATE,
        args: (0, 1),
        options: &[],
        run: free_procedures,
    },
    Statement {
        name: "FREESYSTEMCACHE",
        needs: CHANGES_STATE,
        args: (1, 2),
        options: &["MARK_IN_USE_FOR_REMOVAL"],
        run: free_system,
    },
    Statement {
        name: "PROCCACHE",
        needs: OWNER,
        args: (0, 0),
        options: &[],
        run: procedures,
    },
];

/// DROPCLEANBUFFERS: clean pages of all databases leave the buffer pool; after a CHECKPOINT that is all of them.
pub fn drop_clean_buffers(call: &Call<'_>) -> SqlResult<Report> {
    call.session.instance.databases.engine.drop_clean_pages();
    Ok(Report::default())
}

/// FREEPROCCACHE [ ( plan_handle | sql_handle | pool ) ]
pub fn free_procedures(call: &Call<'_>) -> SqlResult<Report> {
    let plans = &call.session.instance.plans;
    match call.args.first() {
        None => {
            plans.clear();
            log_flush(call, &["Object Plans", "SQL Plans"]);
        }
        Some(Arg::Binary(bytes)) => {
            let id = program_of(&Value::Binary(bytes.clone())).ok_or_else(wrong)?;
            plans.forget(|_, program| program.stats.id == id);
        }
        Some(Arg::Text(pool)) if is_pool(pool) => {
            plans.clear();
            log_flush(call, &["Object Plans", "SQL Plans"]);
        }
        _ => return Err(wrong()),
    }
    Ok(Report::default())
}

/// FREESYSTEMCACHE ( 'ALL' | cache [, pool] ) [ WITH MARK_IN_USE_FOR_REMOVAL ]. An entry in use goes when it is no longer
/// used, with the option or without.
pub fn free_system(call: &Call<'_>) -> SqlResult<Report> {
    let Some(Arg::Text(cache)) = call.args.first() else {
        return Err(wrong());
    };
    if let Some(pool) = call.args.get(1) {
        let known = matches!(pool, Arg::Text(p) if is_pool(p));
        if !known {
            return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&2]).with_state(9));
        }
    }
    let instance = call.instance;
    let modules = |key: &str| Origin::of(instance, key).procedure.is_some();
    match cache.trim().to_ascii_lowercase().as_str() {
        "all" => {
            instance.plans.clear();
            log_flush(call, &["Object Plans", "SQL Plans"]);
        }
        "object plans" => {
            instance.plans.forget(|key, _| modules(key));
            log_flush(call, &["Object Plans"]);
        }
        "sql plans" => {
            instance.plans.forget(|key, _| !modules(key));
            log_flush(call, &["SQL Plans"]);
        }
        _ => return Err(not_supported(&format!("DBCC FREESYSTEMCACHE('{cache}')"))),
    }
    Ok(Report::default())
}

/// FLUSHPROCINDB ( database ): the plans of one database. Not documented by the reference.
pub fn flush_database(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let (instance, id) = (call.instance, Some(db.db.id.0));
    let of_it = |key: &str| Origin::of(instance, key).database == id;
    instance.plans.forget(|key, _| of_it(key));
    Ok(Report::default())
}

const PROCEDURES: Columns = &[
    ("num proc buffs", SqlType::INT, true),
    ("num proc buffs used", SqlType::INT, true),
    ("num proc buffs active", SqlType::INT, true),
    ("proc cache size", SqlType::INT, true),
    ("proc cache used", SqlType::INT, true),
    ("proc cache active", SqlType::INT, true),
];

/// PROCCACHE: pages of the cache of plans and those of entries that somebody runs now; entries likewise. Used and active are
/// the same, as the documentation has it.
/// <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-proccache-transact-sql>
fn procedures(call: &Call<'_>) -> SqlResult<Report> {
    const PAGE: u64 = duramen_base::PAGE_BYTES as u64;
    let sessions = call.session.instance.sessions();
    let running: BTreeSet<u64> = sessions
        .iter()
        .flat_map(|a| a.programs())
        .map(|p| p.stats.id)
        .collect();
    let all = call.session.instance.plans.all();
    let pages = |in_use: bool| -> u64 {
        let counted = all
            .iter()
            .filter(|c| !in_use || running.contains(&c.program.stats.id));
        counted.map(|c| c.bytes.div_ceil(PAGE)).sum()
    };
    let entries = |in_use: bool| {
        let counted = all
            .iter()
            .filter(|c| !in_use || running.contains(&c.program.stats.id));
        counted.count() as u64
    };
    let row = [
        pages(false),
        pages(true),
        pages(true),
        entries(false),
        entries(true),
        entries(true),
    ];
    Ok(Report {
        table: Some((PROCEDURES, vec![row.map(number).to_vec()])),
        ..Report::default()
    })
}

fn number(n: u64) -> Value {
    Value::Int(i32::try_from(n).unwrap_or(i32::MAX))
}

/// A resource pool that `sys.resource_governor_resource_pools` has.
fn is_pool(name: &str) -> bool {
    ["default", "internal"].contains(&name.trim().to_ascii_lowercase().as_str())
}

fn wrong() -> SqlError {
    SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&1]).with_state(9)
}

/// The error log says when somebody has emptied caches.
fn log_flush(call: &Call<'_>, caches: &[&str]) {
    for cache in caches {
        call.instance.log_of(call.session, &format!(
            "SQL Server has encountered 1 occurrence(s) of cachestore flush for the '{cache}' cachestore (part of plan cache) due \
             to 'DBCC FREEPROCCACHE' or 'DBCC FREESYSTEMCACHE' operations."
        ));
    }
}
