//! DBCC TRACEON, TRACEOFF and TRACESTATUS: for the session or, with -1 among the arguments, for the server.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_core::trace_flags::is_known;
use duramen_events::instance::Instance;
use duramen_types::{SqlType, Value};

use super::Statement;
use super::{Arg, Call, Columns, Report, not_supported};
use duramen_program::rights::Needs;
use duramen_program::rights::needs::FACTS;

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "TRACEOFF",
        needs: Needs::Sysadmin,
        args: (0, 64),
        options: &[],
        run: off,
    },
    Statement {
        name: "TRACEON",
        needs: Needs::Sysadmin,
        args: (0, 64),
        options: &[],
        run: on,
    },
    Statement {
        name: "TRACESTATUS",
        needs: FACTS,
        args: (0, 64),
        options: &[],
        run: status,
    },
];

const STATUS: Columns = &[
    ("TraceFlag", SqlType::SMALLINT, true),
    ("Status", SqlType::SMALLINT, true),
    ("Global", SqlType::SMALLINT, true),
    ("Session", SqlType::SMALLINT, true),
];

/// `-T` at the start: the flags are on for the server. One that it does not know is refused, as DBCC TRACEON does.
pub fn trace_on(instance: &Instance, flags: &[i64]) -> SqlResult<()> {
    if let Some(flag) = flags.iter().find(|f| !is_known(**f)) {
        return Err(not_supported(&format!("trace flag {flag}")));
    }
    instance.trace.set(flags, true);
    for flag in flags {
        let line = format!("Trace flag {flag} was set on at the start of the server.");
        instance.error_log.server(&line);
    }
    Ok(())
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
    call.instance.log_of(call.session, &format!(
        "DBCC {verb} {}, server process ID (SPID) {}. This is an informational message only; no user action is required.",
        shown.join(", "),
        call.session.spid.0
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
