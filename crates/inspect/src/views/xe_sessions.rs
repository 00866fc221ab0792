//! `sys.dm_xe_sessions` and what belongs to it: event sessions that run.

use std::sync::Arc;

use duramen_events::xe::definition::{EventDef, Retention};
use duramen_events::xe::objects::{self, ActionId};
use duramen_events::xe::running::{BUFFERS, Running, Tally, TargetData};
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1076, &SESSIONS),
    (-1077, &TARGETS),
    (-1078, &EVENTS),
    (-1079, &ACTIONS),
    (-1080, &COLUMNS),
];

/// A session has no address; its id stands for it.
fn address(id: i32) -> Value {
    Value::Binary(i64::from(id).to_be_bytes().to_vec())
}

fn guid_of(package: &str) -> Value {
    let found = objects::package(package);
    Value::Guid(found.unwrap_or(&objects::PACKAGES[0]).guid)
}

mod sessions {
    use super::*;

    columns! { (Arc<Running>, Tally);
        "address", T::varbinary(8), NOT_NULL, |s| address(s.0.id);
        "name", T::nvarchar(256), NOT_NULL, |s| text(&s.0.definition.name);
        "pending_buffers", T::INT, NOT_NULL, |s| int(s.1.pending.div_ceil(s.0.buffer_bytes()) as i64);
        "total_regular_buffers", T::INT, NOT_NULL, |_| int(BUFFERS as i64);
        "regular_buffer_size", T::BIGINT, NOT_NULL, |s| big(s.0.buffer_bytes() as u64);
        "total_large_buffers", T::INT, NOT_NULL, |_| int(0);
        "large_buffer_size", T::BIGINT, NOT_NULL, |_| big(0);
        "total_buffer_size", T::BIGINT, NOT_NULL, |s| Value::BigInt(s.0.definition.options.max_memory_kb << 10);
        "buffer_policy_flags", T::INT, NOT_NULL, |s| match s.0.definition.options.retention {
            Retention::OneEvent => int(0),
            Retention::OneBuffer => int(1),
            // *Assumed*, as its name below.
            Retention::Nothing => int(2),
        };
        "buffer_policy_desc", T::nvarchar(256), NOT_NULL, |s| match s.0.definition.options.retention {
            Retention::OneEvent => text("drop_event"),
            Retention::OneBuffer => text("drop_buffer"),
            Retention::Nothing => text("block"),
        };
        "flags", T::INT, NOT_NULL, |_| int(1);
        "flag_desc", T::nvarchar(256), NOT_NULL, |_| text("flush_on_close");
        "dropped_event_count", T::INT, NOT_NULL, |s| int(s.1.dropped as i64);
        "dropped_buffer_count", T::INT, NOT_NULL, |s| int(s.1.dropped_buffers as i64);
        // Milliseconds (*assumed*), of all who waited.
        "blocked_event_fire_time", T::INT, NOT_NULL, |s| int(s.1.blocked.as_millis() as i64);
        "create_time", T::DATETIME, NOT_NULL, |s| unix_time(s.0.created.unix_nanos());
        "largest_event_dropped_size", T::INT, NOT_NULL, |s| int(s.1.largest_dropped as i64);
        "session_source", T::nvarchar(256), NOT_NULL, |_| text("server");
        "total_bytes_generated", T::BIGINT, NOT_NULL, |s| big(s.1.bytes);
    }
}

pub const SESSIONS: View = View::new(
    "dm_xe_sessions",
    SERVER_STATE,
    sessions::COLUMNS,
    |cx, _| {
        let row = |r: Arc<Running>| {
            let tally = r.tally();
            sessions::row(&(r, tally))
        };
        Ok(cx.instance.xe.running().into_iter().map(row).collect())
    },
);

mod targets {
    use super::*;

    columns! { (i32, TargetData);
        "event_session_address", T::varbinary(8), NOT_NULL, |s| address(s.0);
        "target_name", T::nvarchar(256), NOT_NULL, |s| text(s.1.kind.name());
        "target_package_guid", T::GUID, NOT_NULL, |_| guid_of("package0");
        "execution_count", T::BIGINT, NOT_NULL, |s| big(s.1.executions);
        "execution_duration_ms", T::BIGINT, NOT_NULL, |s| big(s.1.millis);
        "target_data", T::NVARCHAR_MAX, NULL, |s| text(&s.1.data);
        "bytes_written", T::BIGINT, NOT_NULL, |s| big(s.1.bytes);
    }
}

pub const TARGETS: View = View::new(
    "dm_xe_session_targets",
    SERVER_STATE,
    targets::COLUMNS,
    |cx, _| {
        let xe = &cx.instance.xe;
        let of = |r: Arc<Running>| -> Vec<Row> {
            // Whoever looks at a target sees what has happened before.
            xe.feed(&r);
            let row = |t: TargetData| targets::row(&(r.id, t));
            r.target_data().into_iter().map(row).collect()
        };
        Ok(xe.running().into_iter().flat_map(of).collect())
    },
);

mod events {
    use super::*;

    columns! { (i32, EventDef);
        "event_session_address", T::varbinary(8), NOT_NULL, |s| address(s.0);
        "event_name", T::nvarchar(256), NOT_NULL, |s| text(s.1.id.name());
        "event_package_guid", T::GUID, NOT_NULL, |s| guid_of(s.1.id.package());
        "event_predicate", T::nvarchar(2048), NULL, |s| {
            text_or_null(Some(s.1.predicate_text.as_str()).filter(|p| !p.is_empty()))
        };
    }
}

pub const EVENTS: View = View::new(
    "dm_xe_session_events",
    SERVER_STATE,
    events::COLUMNS,
    |cx, _| {
        let of = |r: Arc<Running>| -> Vec<Row> {
            let row = |e: &EventDef| events::row(&(r.id, e.clone()));
            r.definition.events.iter().map(row).collect()
        };
        Ok(cx.instance.xe.running().into_iter().flat_map(of).collect())
    },
);

mod actions {
    use super::*;

    columns! { (i32, &'static str, ActionId);
        "event_session_address", T::varbinary(8), NOT_NULL, |s| address(s.0);
        "action_name", T::nvarchar(256), NOT_NULL, |s| text(s.2.name());
        "action_package_guid", T::GUID, NOT_NULL, |s| guid_of(s.2.package());
        "event_name", T::nvarchar(256), NOT_NULL, |s| text(s.1);
        "event_package_guid", T::GUID, NOT_NULL, |s| {
            let event = objects::event(None, s.1);
            guid_of(event.map_or("sqlserver", |e| e.package()))
        };
    }
}

pub const ACTIONS: View = View::new(
    "dm_xe_session_event_actions",
    SERVER_STATE,
    actions::COLUMNS,
    |cx, _| {
        let of = |r: Arc<Running>| -> Vec<Row> {
            let all = r.definition.events.iter();
            let all = all.flat_map(|e| e.actions.iter().map(move |a| (e.id.name(), *a)));
            all.map(|(event, a)| actions::row(&(r.id, event, a)))
                .collect()
        };
        Ok(cx.instance.xe.running().into_iter().flat_map(of).collect())
    },
);

mod columns_of_objects {
    use super::*;

    pub struct Setting {
        pub session: i32,
        pub column: &'static str,
        pub id: i32,
        pub value: String,
        pub kind: &'static str,
        pub object: &'static str,
        pub package: &'static str,
    }

    columns! { Setting;
        "event_session_address", T::varbinary(8), NOT_NULL, |s| address(s.session);
        "column_name", T::nvarchar(256), NOT_NULL, |s| text(s.column);
        "column_id", T::INT, NOT_NULL, |s| int(s.id);
        "column_value", T::nvarchar(3072), NULL, |s| text(&s.value);
        "object_type", T::nvarchar(60), NOT_NULL, |s| text(s.kind);
        "object_name", T::nvarchar(256), NOT_NULL, |s| text(s.object);
        "object_package_guid", T::GUID, NOT_NULL, |s| guid_of(s.package);
    }
}

pub const COLUMNS: View = View::new(
    "dm_xe_session_object_columns",
    SERVER_STATE,
    columns_of_objects::COLUMNS,
    |cx, _| {
        let of = |r: Arc<Running>| settings_of(&r);
        Ok(cx.instance.xe.running().into_iter().flat_map(of).collect())
    },
);

fn settings_of(r: &Running) -> Vec<Row> {
    use columns_of_objects::{Setting, row};
    let mut out = Vec::new();
    for e in &r.definition.events {
        for (id, c) in (0..).zip(objects::customizable(e.id)) {
            out.push(row(&Setting {
                session: r.id,
                column: c.name,
                id,
                value: if e.wants(c.field) { "true" } else { "false" }.to_owned(),
                kind: "event",
                object: e.id.name(),
                package: e.id.package(),
            }));
        }
    }
    for t in &r.definition.targets {
        for (id, p) in (0..).zip(t.kind.parameters()) {
            out.push(row(&Setting {
                session: r.id,
                column: p.name,
                id,
                value: match p.ty.starts_with("unicode") {
                    true => t.text(p.name),
                    false => t.number(p.name).to_string(),
                },
                kind: "target",
                object: t.kind.name(),
                package: "package0",
            }));
        }
    }
    out
}
