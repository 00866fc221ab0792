//! `sys.traces`, `fn_trace_gettable`, `fn_trace_getinfo` and what the classes and columns of traces are called.

use duramen_base::{SqlError, messages};
use duramen_events::trace::{FILE_MB, FILES, Field, TraceRow, TraceState, read};
use duramen_program::column::*;
use duramen_program::event_classes;
use duramen_program::event_classes::Kind;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1095, &TRACES),
    (-1096, &EVENTS),
    (-1097, &CATEGORIES),
    (-1098, &FIELDS),
    (-1099, &SUBCLASSES),
    (-5008, &TABLE),
    (-5009, &INFO),
];

columns! { TraceState;
    "id", T::INT, NOT_NULL, |_| int(1);
    "status", T::INT, NOT_NULL, |_| int(1);
    "path", T::nvarchar(260), NULL, |t| text(&t.path);
    "max_size", T::BIGINT, NULL, |_| big(FILE_MB);
    "stop_time", T::DATETIME, NULL, |_| Value::Null;
    "max_files", T::INT, NULL, |_| int(FILES as i64);
    "is_rowset", T::BIT, NULL, |_| bit(false);
    "is_rollover", T::BIT, NULL, |_| bit(true);
    "is_shutdown", T::BIT, NULL, |_| bit(false);
    "is_default", T::BIT, NULL, |_| bit(true);
    "buffer_count", T::INT, NULL, |_| int(2);
    "buffer_size", T::INT, NULL, |_| int(1024);
    "file_position", T::BIGINT, NULL, |t| big(t.position);
    "reader_spid", T::INT, NULL, |_| Value::Null;
    "start_time", T::DATETIME, NULL, |t| unix_time(t.started.unix_nanos());
    "last_event_time", T::DATETIME, NULL, |t| {
        t.last.map_or(Value::Null, |n| unix_time(i128::from(n)))
    };
    "event_count", T::BIGINT, NOT_NULL, |t| big(t.count);
    "dropped_event_count", T::INT, NOT_NULL, |t| int(t.dropped as i64);
}

pub const TRACES: View = View::new("traces", TRACE, COLUMNS, |cx, _| {
    let running = cx.instance.default_trace();
    Ok(running.map(|t| row(&t.state())).into_iter().collect())
});

const fn type_of(kind: Kind) -> T {
    match kind {
        Kind::Int => T::INT,
        Kind::BigInt => T::BIGINT,
        Kind::Time => T::DATETIME,
        Kind::Text => T::nvarchar(256),
        Kind::LongText => T::NVARCHAR_MAX,
        Kind::Bytes => T::VARBINARY_MAX,
        Kind::Guid => T::GUID,
    }
}

const TABLE_COLUMNS: [(&str, T, bool); event_classes::COLUMNS.len()] = {
    let mut out = [("", T::INT, NULL); event_classes::COLUMNS.len()];
    let mut i = 0;
    while i < out.len() {
        let (_, name, kind) = event_classes::COLUMNS[i];
        out[i] = (name, type_of(kind), NULL);
        i += 1;
    }
    out
};

/// `fn_trace_gettable(filename, number_files)`: DEFAULT and -1 mean all files that follow.
pub const TABLE: View = View::new("fn_trace_gettable", TRACE, &TABLE_COLUMNS, |cx, args| {
    let path = args.first().and_then(Value::as_text).unwrap_or_default();
    let files = match args.get(1).and_then(Value::as_i64) {
        None | Some(-1) => None,
        Some(n) => Some(usize::try_from(n).unwrap_or(1).max(1)),
    };
    cx.instance.flush_trace();
    let rows = read(&cx.instance.xe.folders, &path, files);
    let rows = rows.ok_or_else(|| SqlError::new(&messages::TRACE_FILE_MISSING, &[&path]))?;
    Ok(rows.iter().map(table_row).collect())
});

fn table_row(trace: &TraceRow) -> Row {
    let value = |(column, _, kind): &(event_classes::Column, &str, Kind)| match (
        trace.field(column.number()),
        kind,
    ) {
        (Some(Field::Int(n)), Kind::Int) => int(*n),
        (Some(Field::Int(n)), Kind::BigInt) => Value::BigInt(*n),
        (Some(Field::Time(n)), Kind::Time) => unix_time(i128::from(*n)),
        (Some(Field::Text(t)), Kind::Text | Kind::LongText) => text(t),
        (Some(Field::Bytes(b)), Kind::Bytes) => Value::Binary(b.clone()),
        _ => Value::Null,
    };
    event_classes::COLUMNS.iter().map(value).collect()
}

mod info {
    use super::*;

    columns! { (i64, (T, Value));
        "traceid", T::INT, NOT_NULL, |_| int(1);
        "property", T::INT, NOT_NULL, |p| int(p.0);
        "value", T::VARIANT, NULL, |p| match &p.1.1 {
            Value::Null => Value::Null,
            v => Value::Variant(Box::new((p.1.0, v.clone()))),
        };
    }
}

/// `fn_trace_getinfo(trace_id)`: options, file, size in MB, time to stop, status.
pub const INFO: View = View::new("fn_trace_getinfo", TRACE, info::COLUMNS, |cx, args| {
    let asked = args.first().and_then(Value::as_i64).unwrap_or(0);
    let running = cx
        .instance
        .default_trace()
        .filter(|_| asked == 0 || asked == 1);
    let Some(trace) = running else {
        return Ok(Vec::new());
    };
    let state = trace.state();
    let properties = [
        (T::INT, int(2)),
        (T::nvarchar(260), text(&state.path)),
        (T::BIGINT, big(FILE_MB)),
        (T::DATETIME, Value::Null),
        (T::INT, int(1)),
    ];
    Ok((1..).zip(properties).map(|p| info::row(&p)).collect())
});

mod events {
    use super::*;

    columns! { (u16, i16, &'static str);
        "trace_event_id", T::SMALLINT, NOT_NULL, |e| small(e.0);
        "category_id", T::SMALLINT, NOT_NULL, |e| small(e.1);
        "name", T::nvarchar(128), NULL, |e| text(e.2);
    }
}

pub const EVENTS: View = View::new("trace_events", FACTS, events::COLUMNS, |_, _| {
    Ok(event_classes::CLASSES.iter().map(events::row).collect())
});

mod categories {
    use super::*;

    columns! { (i16, &'static str);
        "category_id", T::SMALLINT, NOT_NULL, |c| small(c.0);
        "name", T::nvarchar(128), NOT_NULL, |c| text(c.1);
        // 0 normal, 1 connection, 2 error.
        "type", T::TINYINT, NOT_NULL, |c| tiny(if c.0 == 3 { 2 } else { 0 });
    }
}

pub const CATEGORIES: View = View::new("trace_categories", FACTS, categories::COLUMNS, |_, _| {
    Ok(event_classes::CATEGORIES
        .iter()
        .map(categories::row)
        .collect())
});

mod fields {
    use super::*;

    fn shown(kind: Kind) -> (&'static str, i32) {
        match kind {
            Kind::Int => ("int", 4),
            Kind::BigInt => ("bigint", 8),
            Kind::Time => ("datetime", 8),
            Kind::Text => ("nvarchar", 512),
            Kind::LongText => ("text", 1_073_741_824),
            Kind::Bytes => ("image", 1_073_741_824),
            Kind::Guid => ("uniqueidentifier", 16),
        }
    }

    columns! { (event_classes::Column, &'static str, Kind);
        "trace_column_id", T::SMALLINT, NOT_NULL, |c| small(c.0.number());
        "name", T::nvarchar(128), NULL, |c| text(c.1);
        "type_name", T::nvarchar(128), NULL, |c| text(shown(c.2).0);
        "max_size", T::INT, NULL, |c| int(shown(c.2).1);
        "is_filterable", T::BIT, NOT_NULL, |c| bit(c.2 != Kind::Bytes);
        "is_repeatable", T::BIT, NOT_NULL, |_| bit(false);
        "is_repeated_base", T::BIT, NOT_NULL, |_| bit(false);
    }
}

pub const FIELDS: View = View::new("trace_columns", FACTS, fields::COLUMNS, |_, _| {
    Ok(event_classes::COLUMNS.iter().map(fields::row).collect())
});

mod subclasses {
    use super::*;

    columns! { (u16, i16, &'static str);
        "trace_event_id", T::SMALLINT, NOT_NULL, |s| small(s.0);
        "trace_column_id", T::SMALLINT, NOT_NULL, |_| small(21);
        "subclass_name", T::nvarchar(128), NULL, |s| text(s.2);
        "subclass_value", T::SMALLINT, NULL, |s| small(s.1);
    }
}

pub const SUBCLASSES: View = View::new(
    "trace_subclass_values",
    FACTS,
    subclasses::COLUMNS,
    |_, _| {
        Ok(event_classes::SUBCLASSES
            .iter()
            .map(subclasses::row)
            .collect())
    },
);
