//! `sys.dm_os_performance_counters`: the counters that rooms count, those that follow from sizes, and those of the disk.
//!
//! Names are padded with blanks, as `nchar(128)` is; names in `.../sec` hold totals, of which scripts take differences.

mod gauges;

use std::collections::BTreeMap;

use duramen_base::DbId;
use duramen_observe::{CounterKind, CounterValue, DbCounter, FileIoSnapshot, LOGICAL_DISK};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1015, &VIEW),
];

pub struct Source {
    counter: CounterValue,
    instance: String,
}

/// Padded to 128 characters. Monitors read all counters many times a second: a formatter would cost more than all else.
fn padded(s: &str) -> Value {
    const WIDTH: usize = 128;
    let mut units = Vec::with_capacity(WIDTH);
    units.extend(s.encode_utf16());
    units.resize(units.len().max(WIDTH), u16::from(b' '));
    Value::NVarChar(units)
}

const NAME: T = T::nchar(128);

columns! { Source;
    "object_name", NAME, NOT_NULL, |s| padded(&object_name(s.counter.object));
    "counter_name", NAME, NOT_NULL, |s| padded(s.counter.name);
    "instance_name", NAME, NULL, |s| padded(&s.instance);
    "cntr_value", T::BIGINT, NOT_NULL, |s| Value::BigInt(s.counter.value);
    "cntr_type", T::INT, NOT_NULL, |s| int(s.counter.kind.cntr_type());
}

fn object_name(object: &str) -> String {
    match object {
        LOGICAL_DISK => object.to_owned(),
        _ => format!("SQLServer:{object}"),
    }
}

/// What the files of each drive, and all files, have been read and written. SQL Server leaves these to Windows.
fn disks(cx: &Context) -> Vec<Source> {
    let mut drives: BTreeMap<String, Vec<FileIoSnapshot>> = BTreeMap::new();
    let mut queues: BTreeMap<String, i64> = BTreeMap::new();
    for d in cx.instance.databases.all() {
        let entry = d.entry.read();
        for (io, pending) in (d.db.file_io().iter()).map(|io| (io.snapshot(), io.pending().len())) {
            if let Some(f) = entry.files.iter().find(|f| f.file_id == io.file.0) {
                for drive in [drive(&f.path), "_Total".to_owned()] {
                    *queues.entry(drive.clone()).or_default() += pending as i64;
                    drives.entry(drive).or_default().push(io);
                }
            }
        }
    }
    let counted = |(instance, files): (String, Vec<FileIoSnapshot>)| {
        let source = |counter| Source {
            counter,
            instance: instance.clone(),
        };
        duramen_observe::disk_counters(&files)
            .map(source)
            .collect::<Vec<_>>()
    };
    // Requests that the system has not answered yet.
    let queue = queues.into_iter().map(|(instance, value)| Source {
        counter: CounterValue {
            object: LOGICAL_DISK,
            name: "Current Disk Queue Length",
            kind: CounterKind::Raw,
            value,
        },
        instance,
    });
    drives.into_iter().flat_map(counted).chain(queue).collect()
}

/// `D:` of `D:\\data\\a.mdf`; a path without a letter is on the system's drive.
fn drive(path: &str) -> String {
    match path.as_bytes() {
        [letter, b':', ..] => format!("{}:", char::from(letter.to_ascii_uppercase())),
        _ => "C:".to_owned(),
    }
}

/// Sizes of a database's files.
fn sizes(cx: &Context, db: DbId) -> Vec<CounterValue> {
    let Some(d) = cx.instance.databases.get(db) else {
        return Vec::new();
    };
    let raw = |name, value: u64| CounterValue {
        object: "Databases",
        name,
        kind: CounterKind::Raw,
        value: value as i64,
    };
    let pages: u64 = d.db.files().iter().map(|f| u64::from(f.size)).sum();
    let mut all = vec![raw("Data File(s) Size (KB)", pages * 8)];
    if let Some(space) = d.db.log().map(|l| l.space()) {
        let used = (space.used + space.reserved).min(space.total);
        all.push(raw("Log File(s) Size (KB)", space.total / 1024));
        all.push(raw("Log File(s) Used Size (KB)", used / 1024));
        all.push(raw("Percent Log Used", used * 100 / space.total.max(1)));
    }
    all
}

/// How many reads of the log found it in memory, of the counters that count both.
fn log_cache(counted: &[CounterValue]) -> [CounterValue; 2] {
    let of = |wanted: DbCounter| {
        let found = counted.iter().find(|c| c.name == wanted.name());
        found.map_or(0, |c| c.value)
    };
    let reads = of(DbCounter::LogPoolRequests);
    let hits = reads - of(DbCounter::LogPoolCacheMisses);
    let value = |name, kind, value| CounterValue {
        object: "Databases",
        name,
        kind,
        value,
    };
    [
        value("Log Cache Hit Ratio", CounterKind::Fraction, hits),
        value("Log Cache Hit Ratio Base", CounterKind::Base, reads),
    ]
}

pub const VIEW: View = View::new(
    "dm_os_performance_counters",
    SERVER_STATE,
    COLUMNS,
    |cx, _| {
        cx.instance.databases.engine.publish_counters();
        let (errors, counters): (Vec<_>, Vec<_>) = duramen_observe::counters()
            .into_iter()
            .partition(|c| c.object == ERRORS);
        let mut rows: Vec<Vec<Value>> = counters
            .into_iter()
            .map(|counter| (counter, instance(&counter)))
            .chain(by_kind(&errors))
            .chain(gauges::all(cx))
            .map(|(counter, instance)| {
                row(&Source {
                    counter,
                    instance: instance.to_owned(),
                })
            })
            .collect();
        let counted = duramen_observe::db_counters();
        let mut total: Vec<CounterValue> = Vec::new();
        for d in cx.instance.databases.all() {
            let mut all = sizes(cx, d.db.id);
            match counted.iter().find(|(id, _)| *id == d.db.id) {
                Some((_, values)) => all.extend(values),
                None => all.extend(
                    duramen_observe::DbCounter::ALL
                        .iter()
                        .map(|c| CounterValue {
                            object: c.object(),
                            name: c.name(),
                            kind: c.kind(),
                            value: 0,
                        }),
                ),
            }
            all.extend(log_cache(&all));
            for counter in all {
                match total.iter_mut().find(|t| t.name == counter.name) {
                    Some(t) => t.value += counter.value,
                    None => total.push(counter),
                }
                let instance = d.db.name.clone();
                rows.push(row(&Source { counter, instance }));
            }
        }
        // A percentage has no sum.
        total.retain(|t| t.name != "Percent Log Used");
        rows.extend(total.into_iter().map(|counter| {
            row(&Source {
                counter,
                instance: "_Total".to_owned(),
            })
        }));
        rows.extend(disks(cx).iter().map(row));
        Ok(rows)
    },
);

/// Counters of objects that have instances are totals here.
fn instance(c: &CounterValue) -> &'static str {
    match c.object {
        "Locks" => "_Total",
        _ => "",
    }
}

const ERRORS: &str = "SQL Errors";

/// Errors are one counter, whose instances are their kinds.
/// <https://learn.microsoft.com/sql/relational-databases/performance-monitor/sql-server-sql-errors-object>
fn by_kind(errors: &[CounterValue]) -> Vec<(CounterValue, &'static str)> {
    let of = |value, instance| {
        let counter = CounterValue {
            object: ERRORS,
            name: "Errors/sec",
            kind: CounterKind::Bulk,
            value,
        };
        (counter, instance)
    };
    let mut rows = vec![of(errors.iter().map(|c| c.value).sum(), "_Total")];
    rows.extend(errors.iter().map(|c| of(c.value, c.name)));
    rows
}
