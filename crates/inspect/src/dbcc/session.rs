//! DBCC USEROPTIONS and INPUTBUFFER: what a session has set, and what it has asked for last.

use duramen_access::database_options::option;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::rights::Right;
use duramen_query::Row;
use duramen_txn::IsolationLevel;
use duramen_types::{SqlType, Value};

use super::Statement;
use super::{Arg, Call, Columns, Report};
use duramen_program::rights::needs::{OWN, OWN_SESSIONS};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "INPUTBUFFER",
        needs: OWN_SESSIONS,
        args: (1, 2),
        options: &[],
        run: input_buffer,
    },
    Statement {
        name: "USEROPTIONS",
        needs: OWN,
        args: (0, 0),
        options: &[],
        run: user_options,
    },
];

const USER_OPTIONS: Columns = &[
    ("Set Option", SqlType::nvarchar(128), true),
    ("Value", SqlType::nvarchar(46), true),
];

/// USEROPTIONS: options with a value, those that are ON, and the isolation level. Where `nocount` and its like stand
/// among the others is *assumed*.
/// <https://learn.microsoft.com/sql/t-sql/database-console-commands/dbcc-useroptions-transact-sql>
pub fn user_options(call: &Call<'_>) -> SqlResult<Report> {
    let o = &call.session.options;
    let mut rows: Vec<Row> = Vec::new();
    let mut say = |name: &str, value: &str| {
        rows.push(vec![Value::nvarchar(name), Value::nvarchar(value)]);
    };
    say("textsize", &o.textsize.to_string());
    say("language", o.language.data().name);
    say("dateformat", &format!("{:?}", o.date_order).to_lowercase());
    say("datefirst", &o.datefirst.to_string());
    if o.rowcount != 0 {
        say("rowcount", &o.rowcount.to_string());
    }
    say("lock_timeout", &o.lock_timeout.to_string());
    for (name, on) in [
        ("statistics io", o.statistics_io),
        ("statistics time", o.statistics_time),
        ("nocount", o.nocount),
        ("quoted_identifier", o.quoted_identifier),
        ("arithabort", o.arithabort),
        ("arithignore", o.arithignore),
        ("numeric_roundabort", o.numeric_roundabort),
        ("xact_abort", o.xact_abort),
        ("implicit_transactions", o.implicit_transactions),
        ("cursor_close_on_commit", o.cursor_close_on_commit),
        ("ansi_null_dflt_on", o.ansi_null_dflt_on),
        ("ansi_warnings", o.ansi_warnings),
        ("ansi_padding", o.ansi_padding),
        ("ansi_nulls", o.ansi_nulls),
        ("concat_null_yields_null", o.concat_null_yields_null),
    ] {
        if on {
            say(name, "SET");
        }
    }
    let db = call.session.instance.databases.find(&call.session.database);
    let versions =
        db.is_some_and(|d| d.entry.read().options & option::READ_COMMITTED_SNAPSHOT != 0);
    say(
        "isolation level",
        match (o.isolation, versions) {
            (IsolationLevel::ReadUncommitted, _) => "read uncommitted",
            (IsolationLevel::ReadCommitted, false) => "read committed",
            (IsolationLevel::ReadCommitted, true) => "read committed snapshot",
            (IsolationLevel::RepeatableRead, _) => "repeatable read",
            (IsolationLevel::Serializable, _) => "serializable",
            (IsolationLevel::Snapshot, _) => "snapshot",
        },
    );
    Ok(Report {
        table: Some((USER_OPTIONS, rows)),
        ..Report::default()
    })
}

const INPUT_BUFFER: Columns = &[
    ("EventType", SqlType::nvarchar(30), true),
    ("Parameters", SqlType::SMALLINT, true),
    ("EventInfo", SqlType::nvarchar(4000), true),
];

/// INPUTBUFFER ( session_id [, request_id] ). Everybody may see the own session's, a holder of VIEW SERVER STATE all.
pub fn input_buffer(call: &Call<'_>) -> SqlResult<Report> {
    let Some(Arg::Number(spid)) = call.args.first() else {
        return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&1]).with_state(9));
    };
    match call.args.get(1) {
        None | Some(Arg::Null | Arg::Number(0)) => {}
        _ => return Err(SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&2]).with_state(9)),
    }
    let session = call.session;
    let found = session.instance.sessions().into_iter();
    let found = found
        .filter(|a| i64::from(a.spid.0) == *spid)
        .find(|a| a.principal == session.who.login || session.server_may(Right::ViewServerState));
    let Some(activity) = found else {
        return Err(SqlError::new(&messages::DBCC_INVALID_SPID, &[spid]).with_state(2));
    };
    let (event, info) = match (activity.call(), activity.text()) {
        (Some(name), _) => ("RPC Event", Some(name)),
        (None, Some(text)) => ("Language Event", Some(text)),
        (None, None) => ("No Event", None),
    };
    let info = info.map_or(Value::Null, |text| {
        Value::nvarchar(&text.chars().take(4000).collect::<String>())
    });
    Ok(Report {
        table: Some((
            INPUT_BUFFER,
            vec![vec![Value::nvarchar(event), Value::SmallInt(0), info]],
        )),
        ..Report::default()
    })
}
