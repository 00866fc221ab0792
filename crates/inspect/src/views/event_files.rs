//! `sys.fn_xe_file_target_read_file(path, mdpath, initial_file_name, initial_offset)`: the events in event files.
//!
//! Sessions that run are fed first, so that what has happened before the call is there. SQL Server shows what has been
//! dispatched.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_events::xe::file::{self, Stored};
use duramen_events::xe::objects;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5006, &VIEW),
];

pub struct Source {
    event: Stored,
    package: [u8; 16],
}

columns! { Source;
    "module_guid", T::GUID, NOT_NULL, |_| Value::Guid(objects::MODULE);
    "package_guid", T::GUID, NOT_NULL, |s| Value::Guid(s.package);
    "object_name", T::nvarchar(256), NOT_NULL, |s| text(&s.event.name);
    "event_data", T::NVARCHAR_MAX, NOT_NULL, |s| text(&s.event.xml);
    "file_name", T::nvarchar(260), NOT_NULL, |s| text(&s.event.file);
    "file_offset", T::BIGINT, NOT_NULL, |s| big(s.event.offset);
    "timestamp_utc", T::datetime2(7), NOT_NULL, |s| utc(s.event.at);
}

fn utc(nanos: i64) -> Value {
    unix_time2(i128::from(nanos))
}

pub const VIEW: View = View::new("fn_xe_file_target_read_file", SERVER_STATE, COLUMNS, rows);

fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    let argument = |i: usize| args.get(i).and_then(Value::as_text);
    let from = args.get(3).and_then(Value::as_i64);
    // The metadata file belongs to SQL Server 2008; ours describe themselves.
    let Some(path) = argument(0) else {
        return Err(SqlError::new(&messages::EVENT_FILE_INVALID, &[&""]));
    };
    let initial = argument(2);
    if initial.is_some() != from.is_some() {
        return Err(SqlError::new(&messages::EVENT_FILE_PAIR, &[]));
    }
    let xe = &cx.instance.xe;
    xe.feed_files();
    let (shown, dir, names) = file::matching(&xe.folders, &path);
    if names.is_empty() {
        let (_, _, pattern) = xe.folders.split(&path);
        let expected = xe.running().iter().any(|r| r.may_write(&dir, &pattern));
        return match expected {
            true => Ok(Vec::new()),
            false => Err(SqlError::new(&messages::EVENT_FILE_INVALID, &[&path])),
        };
    }
    let initial = initial.map(|p| xe.folders.split(&p).2);
    let mut out = Vec::new();
    for name in names
        .iter()
        .filter(|n| initial.as_ref().is_none_or(|i| *n >= i))
    {
        let mut events = file::stored(&xe.folders, &shown, &dir, name)?;
        if let (Some(from), true) = (from, initial.as_ref() == Some(name)) {
            let known = events.iter().any(|e| i64::try_from(e.offset) == Ok(from));
            if !known {
                let args: [&dyn std::fmt::Display; 2] = [&from, name];
                return Err(SqlError::new(&messages::EVENT_FILE_OFFSET, &args));
            }
            events.retain(|e| i64::try_from(e.offset).is_ok_and(|o| o > from));
        }
        out.extend(events.into_iter().map(|event| {
            let id = objects::event(None, &event.name);
            let package = id.and_then(|id| objects::package(id.package()));
            let package = package.map_or(objects::PACKAGES[0].guid, |p| p.guid);
            row(&Source { event, package })
        }));
    }
    Ok(out)
}
