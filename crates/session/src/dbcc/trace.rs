//! DBCC TRACEON, TRACEOFF and TRACESTATUS, and the trace flags that mean something here.
//!
//! A flag is on for a session or, with -1 among the arguments, for the server. SQL Server takes any number in silence;
//! here a flag is in [`FLAGS`], because it does something or because what it asks for is what happens anyway, or it is
//! refused by name. <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-traceon-trace-flags-transact-sql>

use std::collections::BTreeSet;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::sync::Mutex;
use duramen_types::{SqlType, Value};

use super::{Arg, Call, Columns, Report, not_supported};
use crate::instance::Instance;
use crate::session::Session;

/// What DBCC PAGE and its like print goes to the client.
pub const OUTPUT_TO_CLIENT: i64 = 3604;

/// The graph of a deadlock is told in the error log.
pub const DEADLOCK_LIST: i64 = 1222;

/// Backups that succeed are not told in the error log.
pub const NO_BACKUP_LINES: i64 = 3226;

/// New space of files that is filled is told, in the error log with [`OUTPUT_TO_LOG`].
pub const ZEROING: i64 = 3004;
/// What trace flags print goes to the error log.
pub const OUTPUT_TO_LOG: i64 = 3605;

/// Every flag that is accepted.
const FLAGS: &[(i64, &str)] = &[
    (
        610,
        "minimal logging of inserts into indexes: decided by the database's recovery model, as since 2016",
    ),
    (
        1117,
        "all files of a filegroup grow together: a property of the filegroup since 2016; the flag has no effect",
    ),
    (
        1118,
        "no mixed extents: the way of all databases since 2016",
    ),
    (
        DEADLOCK_LIST,
        "the processes and resources of a deadlock, and its victim, in the error log",
    ),
    (
        ZEROING,
        "the beginning and the end of filling new space of files is told, with 3605 in the error log",
    ),
    (
        NO_BACKUP_LINES,
        "no line in the error log for a backup that succeeded",
    ),
    (OUTPUT_TO_CLIENT, "what DBCC prints goes to the client"),
    (
        OUTPUT_TO_LOG,
        "what 3004 tells goes to the error log, and DBCC's output nowhere else",
    ),
];

/// Every flag that is accepted, and what it does.
pub(super) fn all() -> impl Iterator<Item = (i64, &'static str)> {
    FLAGS.iter().copied()
}

const STATUS: Columns = &[
    ("TraceFlag", SqlType::SMALLINT, true),
    ("Status", SqlType::SMALLINT, true),
    ("Global", SqlType::SMALLINT, true),
    ("Session", SqlType::SMALLINT, true),
];

/// The flags that are on for a session, or for the server.
#[derive(Debug, Default)]
pub(crate) struct TraceFlags(Mutex<BTreeSet<i64>>);

impl TraceFlags {
    fn set(&self, flags: &[i64], on: bool) {
        let mut set = self.0.lock();
        for flag in flags {
            match on {
                true => set.insert(*flag),
                false => set.remove(flag),
            };
        }
    }

    pub fn has(&self, flag: i64) -> bool {
        self.0.lock().contains(&flag)
    }

    fn all(&self) -> BTreeSet<i64> {
        self.0.lock().clone()
    }
}

/// Whether a flag is one that the server knows.
pub(crate) fn is_known(flag: i64) -> bool {
    FLAGS.iter().any(|(known, _)| *known == flag)
}

impl Instance {
    /// `-T` at the start: the flags are on for the server. One that it does not know is refused, as DBCC TRACEON does.
    pub fn trace_on(&self, flags: &[i64]) -> SqlResult<()> {
        if let Some(flag) = flags.iter().find(|f| !is_known(**f)) {
            return Err(not_supported(&format!("trace flag {flag}")));
        }
        self.trace.set(flags, true);
        for flag in flags {
            let told = format!("Trace flag {flag} was set on at the start of the server.");
            self.error_log.server(&told);
        }
        Ok(())
    }
}

impl Session {
    /// Whether a trace flag is on for this session or for the server.
    pub(crate) fn has_trace_flag(&self, flag: i64) -> bool {
        self.activity.trace.has(flag) || self.instance.trace.has(flag)
    }
}

/// The flags among the arguments, and whether -1 is.
fn flags(call: &Call<'_>) -> SqlResult<(Vec<i64>, bool)> {
    let mut found = Vec::new();
    let mut global = false;
    for (i, arg) in call.args.iter().enumerate() {
        match arg {
            Arg::Number(-1) => global = true,
            Arg::Number(n) if *n > 0 => found.push(*n),
            _ => {
                let error = SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&(i + 1)]);
                return Err(error.with_state(9));
            }
        }
    }
    Ok((found, global))
}

fn switch(call: &Call<'_>, on: bool) -> SqlResult<Report> {
    let (flags, global) = flags(call)?;
    if flags.is_empty() {
        return Err(SqlError::new(&messages::DBCC_PARAMETER_COUNT, &[]));
    }
    let unknown = |flag: &&i64| !is_known(**flag);
    // Nobody has an unknown flag on: switching it off does what it says.
    if let Some(flag) = flags.iter().find(unknown).filter(|_| on) {
        return Err(not_supported(&format!("trace flag {flag}")));
    }
    match global {
        true => call.session.instance.trace.set(&flags, on),
        false => call.session.activity.trace.set(&flags, on),
    }
    let verb = if on { "TRACEON" } else { "TRACEOFF" };
    let shown: Vec<String> = flags.iter().map(i64::to_string).collect();
    call.session.tell_log(&format!(
        "DBCC {verb} {}, server process ID (SPID) {}. This is an informational message only; no user action is required.",
        shown.join(", "),
        call.session.spid()
    ));
    Ok(Report::default())
}

/// TRACEON(flag, ... [, -1]).
pub fn on(call: &Call<'_>) -> SqlResult<Report> {
    switch(call, true)
}

/// TRACEOFF(flag, ... [, -1]).
pub fn off(call: &Call<'_>) -> SqlResult<Report> {
    switch(call, false)
}

/// TRACESTATUS([flag, ...] [, -1]): the flags that are named, on or off; without any, those that are on for the session
/// or, with -1, for the server.
pub fn status(call: &Call<'_>) -> SqlResult<Report> {
    let (named, global_only) = flags(call)?;
    let global = call.session.instance.trace.all();
    let session = call.session.activity.trace.all();
    let shown: Vec<i64> = match (named.is_empty(), global_only) {
        (false, _) => named,
        (true, true) => global.iter().copied().collect(),
        (true, false) => global.union(&session).copied().collect(),
    };
    let row = |flag: i64| {
        let (g, s) = (global.contains(&flag), session.contains(&flag));
        let bit = |on: bool| Value::SmallInt(i16::from(on));
        // The column is a smallint; a larger number names no flag.
        let number = i16::try_from(flag).unwrap_or(i16::MAX);
        vec![Value::SmallInt(number), bit(g || s), bit(g), bit(s)]
    };
    Ok(Report {
        table: Some((STATUS, shown.into_iter().map(row).collect())),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_says_what_it_is() {
        assert!(FLAGS.is_sorted_by_key(|(n, _)| *n));
        assert!(FLAGS.iter().all(|(_, what)| what.len() > 10));
    }
}
