//! `sys.dm_exec_input_buffer(session_id, request_id)`: what a session was asked last.
//!
//! `event_info` of a call is the name as the client wrote it (SQL Server's has all three parts and `;1`: *assumed* to
//! matter to nobody). NULL, or 0, for the request means the one at hand. Without VIEW SERVER STATE everybody sees the own
//! session alone.

use duramen_program::column::*;
use duramen_program::rights::Right;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5028, &VIEW),
];

pub struct Source {
    is_call: bool,
    text: String,
}

columns! { Source;
    "event_type", T::nvarchar(256), NULL, |s| match s.is_call {
        true => text("RPC Event"),
        false => text("Language Event"),
    };
    "parameters", T::SMALLINT, NULL, |_| small(0);
    "event_info", T::NVARCHAR_MAX, NULL, |s| text(&s.text);
}

pub const VIEW: View = View::new("dm_exec_input_buffer", OWN_SESSIONS, COLUMNS, |cx, args| {
    let number = |i: usize| args.get(i).and_then(Value::as_i64);
    let all = cx.who.server_may(Right::ViewServerState);
    let wanted = number(0).filter(|_| number(1).unwrap_or(0) == 0);
    let sessions = cx.instance.sessions().into_iter();
    let found = sessions.filter(|a| wanted == Some(i64::from(a.spid.0)));
    let rows = found
        .filter(|a| all || a.principal == cx.who.login)
        .filter_map(|a| {
            let call = a.call();
            let source = Source {
                is_call: call.is_some(),
                text: call.or_else(|| a.text())?,
            };
            Some(row(&source))
        });
    Ok(rows.collect::<Vec<Row>>())
});
