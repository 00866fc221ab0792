//! `sys.dm_db_stats_properties(object_id, stats_id)` and `sys.dm_db_stats_histogram(object_id, stats_id)`: what is known of the
//! first column of statistics, as DBCC SHOW_STATISTICS shows it.
//!
//! Statistics that no plan has asked for since the start are not made yet: their properties are NULL, as SQL Server's of an
//! empty table are, and they have no steps. NULL itself is the first step of a histogram.

use duramen_access::statistics::Made;
use duramen_base::SqlResult;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::tables;
use super::stats::sources;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5026, &PROPERTIES),
    (-5027, &HISTOGRAM),
];

/// Statistics of the current database, by the arguments.
struct Found {
    object: i32,
    id: i32,
    /// Of their first column: its type.
    ty: T,
    made: Option<Made>,
    /// Since then.
    changes: u64,
}

/// Nothing for what is not there, and for NULL.
fn find(cx: &Context, args: &[Value]) -> SqlResult<Option<Found>> {
    let number = |i: usize| args.get(i).and_then(Value::as_i64);
    let (Some(object), Some(id)) = (number(0), number(1)) else {
        return Ok(None);
    };
    for table in tables(cx, true)? {
        if i64::from(table.id.0) != object {
            continue;
        }
        let wanted = sources(&table, cx).find(|s| i64::from(s.id()) == id);
        let Some(first) = wanted.and_then(|s| s.columns().first().copied()) else {
            return Ok(None);
        };
        let Some(column) = table.columns.iter().position(|c| c.id == first) else {
            return Ok(None);
        };
        let db = cx.instance.databases.find(&cx.database);
        let made = db.as_ref().and_then(|d| d.statistics.known(&table, column));
        let since = db.as_ref().zip(made.as_ref());
        return Ok(Some(Found {
            object: table.id.0,
            id: id as i32,
            ty: table.columns[column].ty,
            changes: since.map_or(0, |(d, m)| d.statistics.changes_since(&table, column, m)),
            made,
        }));
    }
    Ok(None)
}

pub use properties::PROPERTIES;

mod properties {
    use super::*;

    fn whole(s: &Found, of: fn(&Made) -> f64) -> Value {
        let made = s.made.as_ref();
        made.map_or(Value::Null, |m| Value::BigInt(of(m).round() as i64))
    }

    columns! { Found;
        "object_id", T::INT, NOT_NULL, |s| int(s.object);
        "stats_id", T::INT, NOT_NULL, |s| int(s.id);
        "last_updated", T::datetime2(7), NULL, |s| match &s.made {
            Some(m) => unix_time2(m.at.unix_nanos()),
            None => Value::Null,
        };
        "rows", T::BIGINT, NULL, |s| whole(s, |m| m.statistics.rows);
        "rows_sampled", T::BIGINT, NULL, |s| whole(s, |m| m.statistics.sampled);
        "steps", T::INT, NULL, |s| match &s.made {
            Some(m) => int(m.statistics.steps.len() as i64 + i64::from(m.statistics.nulls > 0.0)),
            None => Value::Null,
        };
        "unfiltered_rows", T::BIGINT, NULL, |s| whole(s, |m| m.statistics.rows);
        "modification_counter", T::BIGINT, NULL, |s| s.made.as_ref().map_or(Value::Null, |_| big(s.changes));
        // No sample's size is kept for the next time.
        "persisted_sample_percent", T::FLOAT, NULL, |s| match &s.made {
            Some(_) => Value::Float(0.0),
            None => Value::Null,
        };
    }

    pub const PROPERTIES: View = View::new(
        "dm_db_stats_properties",
        READS_OBJECT,
        COLUMNS,
        |cx, args| Ok(find(cx, args)?.iter().map(row).collect()),
    );
}

pub use histogram::HISTOGRAM;

mod histogram {
    use super::*;

    pub struct Step {
        object: i32,
        id: i32,
        number: i32,
        high: Value,
        range: f64,
        equal: f64,
        kinds: f64,
    }

    fn real(f: f64) -> Value {
        Value::Real(f as f32)
    }

    columns! { Step;
        "object_id", T::INT, NOT_NULL, |s| int(s.object);
        "stats_id", T::INT, NOT_NULL, |s| int(s.id);
        "step_number", T::INT, NOT_NULL, |s| int(s.number);
        "range_high_key", T::VARIANT, NULL, |s| s.high.clone();
        "range_rows", T::REAL, NULL, |s| real(s.range);
        "equal_rows", T::REAL, NULL, |s| real(s.equal);
        "distinct_range_rows", T::BIGINT, NULL, |s| Value::BigInt(s.kinds.round() as i64);
        "average_range_rows", T::REAL, NULL, |s| real(match s.kinds >= 1.0 {
            true => s.range / s.kinds,
            false => 1.0,
        });
    }

    fn steps(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
        let Some(found) = find(cx, args)? else {
            return Ok(Vec::new());
        };
        let Some(made) = &found.made else {
            return Ok(Vec::new());
        };
        let s = &made.statistics;
        let nulls = (s.nulls > 0.0).then_some((Value::Null, 0.0, s.nulls, 0.0));
        let values = s.steps.iter().map(|step| {
            let high = Value::Variant(Box::new((found.ty, step.high.clone())));
            let kinds = step.distinct_range_rows;
            (high, step.range_rows, step.equal_rows, kinds)
        });
        let all = (1..).zip(nulls.into_iter().chain(values));
        let shown = all.map(|(number, (high, range, equal, kinds))| {
            row(&Step {
                object: found.object,
                id: found.id,
                number,
                high,
                range,
                equal,
                kinds,
            })
        });
        Ok(shown.collect())
    }

    pub const HISTOGRAM: View = View::new("dm_db_stats_histogram", READS_OBJECT, COLUMNS, steps);
}
