//! `sys.server_event_sessions` and what belongs to it: event sessions as they were created.

use duramen_events::xe::Entry;
use duramen_events::xe::definition::{EventDef, Retention, Setting, TargetDef};
use duramen_events::xe::objects::ActionId;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1071, &SESSIONS),
    (-1072, &EVENTS),
    (-1073, &ACTIONS),
    (-1074, &TARGETS),
    (-1075, &FIELDS),
];

/// All packages are in one module.
fn module() -> Value {
    text("duramen")
}

mod sessions {
    use super::*;

    columns! { Entry;
        "event_session_id", T::INT, NOT_NULL, |s| int(s.id);
        "name", T::SYSNAME, NOT_NULL, |s| text(&s.definition.name);
        "event_retention_mode", T::nchar(1), NULL, |s| match s.definition.options.retention {
            Retention::OneEvent => text("S"),
            Retention::OneBuffer => text("M"),
            Retention::Nothing => text("N"),
        };
        "event_retention_mode_desc", DESC, NULL, |s| text(s.definition.options.retention.word());
        "max_dispatch_latency", T::INT, NULL, |s| int(s.definition.options.dispatch_latency_seconds * 1000);
        "max_memory", T::INT, NULL, |s| int(s.definition.options.max_memory_kb);
        "max_event_size", T::INT, NULL, |s| int(s.definition.options.max_event_kb);
        "memory_partition_mode", T::nchar(1), NULL, |s| match s.definition.options.per_node {
            true => text("N"),
            false => text("G"),
        };
        "memory_partition_mode_desc", DESC, NULL, |s| match s.definition.options.per_node {
            true => text("PER_NODE"),
            false => text("NONE"),
        };
        "track_causality", T::BIT, NULL, |s| bit(s.definition.options.track_causality);
        "startup_state", T::BIT, NULL, |s| bit(s.definition.options.startup);
    }
}

pub const SESSIONS: View = View::new(
    "server_event_sessions",
    SERVER_STATE,
    sessions::COLUMNS,
    |cx, _| Ok(cx.instance.xe.entries().iter().map(sessions::row).collect()),
);

/// What a session has, each with its number: events first, then targets.
fn each<'e, T>(
    entries: &'e [Entry],
    list: impl Fn(&'e Entry) -> Vec<T>,
) -> impl Iterator<Item = (i32, i32, T)> {
    entries
        .iter()
        .flat_map(move |e| (1..).zip(list(e)).map(|(n, item)| (e.id, n, item)))
}

/// Targets are numbered behind the events.
fn targets(entry: &Entry) -> Vec<(i32, TargetDef)> {
    let first = entry.definition.events.len() as i32 + 1;
    (first..)
        .zip(entry.definition.targets.iter().cloned())
        .collect()
}

mod events {
    use super::*;

    columns! { (i32, i32, EventDef);
        "event_session_id", T::INT, NOT_NULL, |s| int(s.0);
        "event_id", T::INT, NOT_NULL, |s| int(s.1);
        "name", T::SYSNAME, NOT_NULL, |s| text(s.2.id.name());
        "package", T::SYSNAME, NOT_NULL, |s| text(s.2.id.package());
        "module", T::SYSNAME, NOT_NULL, |_| module();
        "predicate", T::nvarchar(3000), NULL, |s| {
            text_or_null(Some(s.2.predicate_text.as_str()).filter(|p| !p.is_empty()))
        };
    }
}

pub const EVENTS: View = View::new(
    "server_event_session_events",
    SERVER_STATE,
    events::COLUMNS,
    |cx, _| {
        let entries = cx.instance.xe.entries();
        let all = each(&entries, |e| e.definition.events.clone());
        Ok(all.map(|e| events::row(&e)).collect())
    },
);

mod actions {
    use super::*;

    columns! { (i32, i32, ActionId);
        "event_session_id", T::INT, NOT_NULL, |s| int(s.0);
        "event_id", T::INT, NOT_NULL, |s| int(s.1);
        "name", T::SYSNAME, NOT_NULL, |s| text(s.2.name());
        "package", T::SYSNAME, NOT_NULL, |s| text(s.2.package());
        "module", T::SYSNAME, NOT_NULL, |_| module();
    }
}

pub const ACTIONS: View = View::new(
    "server_event_session_actions",
    SERVER_STATE,
    actions::COLUMNS,
    |cx, _| {
        let entries = cx.instance.xe.entries();
        let all = each(&entries, |e| e.definition.events.clone());
        let row = |(session, event, def): (i32, i32, EventDef)| -> Vec<Row> {
            let row = |a: &ActionId| actions::row(&(session, event, *a));
            def.actions.iter().map(row).collect()
        };
        Ok(all.flat_map(row).collect())
    },
);

mod target {
    use super::*;

    columns! { (i32, i32, TargetDef);
        "event_session_id", T::INT, NOT_NULL, |s| int(s.0);
        "target_id", T::INT, NOT_NULL, |s| int(s.1);
        "name", T::SYSNAME, NOT_NULL, |s| text(s.2.kind.name());
        "package", T::SYSNAME, NOT_NULL, |_| text("package0");
        "module", T::SYSNAME, NOT_NULL, |_| module();
    }
}

pub const TARGETS: View = View::new(
    "server_event_session_targets",
    SERVER_STATE,
    target::COLUMNS,
    |cx, _| {
        let entries = cx.instance.xe.entries();
        let of = |e: &Entry| -> Vec<Row> {
            let row = |(n, t): (i32, TargetDef)| target::row(&(e.id, n, t));
            targets(e).into_iter().map(row).collect()
        };
        Ok(entries.iter().flat_map(of).collect())
    },
);

mod fields {
    use super::*;

    pub struct Field {
        pub session: i32,
        pub object: i32,
        pub name: &'static str,
        pub value: Setting,
    }

    columns! { Field;
        "event_session_id", T::INT, NOT_NULL, |s| int(s.session);
        "object_id", T::INT, NOT_NULL, |s| int(s.object);
        "name", T::SYSNAME, NOT_NULL, |s| text(s.name);
        "value", T::VARIANT, NULL, |s| Value::Variant(Box::new(match &s.value {
            Setting::Number(n) => (T::BIGINT, Value::BigInt(*n)),
            Setting::Text(t) => (T::nvarchar(4000), text(t)),
        }));
    }
}

pub const FIELDS: View = View::new(
    "server_event_session_fields",
    SERVER_STATE,
    fields::COLUMNS,
    |cx, _| {
        Ok(cx
            .instance
            .xe
            .entries()
            .iter()
            .flat_map(fields_of)
            .collect())
    },
);

fn fields_of(e: &Entry) -> Vec<Row> {
    let mut out = Vec::new();
    let mut add = |object, name, value| {
        out.push(fields::row(&fields::Field {
            session: e.id,
            object,
            name,
            value,
        }));
    };
    for (n, def) in (1..).zip(&e.definition.events) {
        for (name, on) in &def.collect {
            add(n, *name, Setting::Number(i64::from(*on)));
        }
    }
    for (n, def) in targets(e) {
        for (name, value) in &def.settings {
            add(n, *name, value.clone());
        }
    }
    out
}
