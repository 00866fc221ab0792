//! DBCC SHOW_STATISTICS: what is known of a column's values, as three result sets.
//!
//! Statistics are of single columns: those of an index are of its first key column, and its density vector has that one
//! row.

use duramen_access::statistics::{self, Made};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::TableDef;
use duramen_types::{SqlType as T, Value};

use super::{Arg, Call, Report, Set, incorrect, not_supported};
use super::{STATISTICS, Statement};

pub(super) const STATEMENTS: &[Statement] = &[Statement {
    name: "SHOW_STATISTICS",
    needs: STATISTICS,
    args: (2, 2),
    options: &["DENSITY_VECTOR", "HISTOGRAM", "STATS_STREAM", "STAT_HEADER"],
    run: show,
}];

/// The column that a name means, and the name of its statistics: an index, statistics that were created or made
/// automatically, or the column.
fn target(table: &TableDef, name: &str) -> Option<(usize, String)> {
    if let Some(index) = table.index(name) {
        return Some((index.keys.first()?.column, index.name.clone()));
    }
    if let Some(own) = table.statistics(name) {
        return Some((table.leading(own)?, own.name.clone()));
    }
    let column = statistics::automatic(table, name).or(table.column(name))?;
    Some((column, statistics::automatic_name(table, column)))
}

/// SHOW_STATISTICS(table, target) [WITH STAT_HEADER, DENSITY_VECTOR, HISTOGRAM].
pub fn show(call: &Call<'_>) -> SqlResult<Report> {
    let [Arg::Text(table_name), Arg::Text(name)] = &call.args[..] else {
        return Err(incorrect());
    };
    if call.option("STATS_STREAM") {
        return Err(not_supported("DBCC SHOW_STATISTICS WITH STATS_STREAM"));
    }
    let found = call.stored_table(table_name)?;
    let (db, table) =
        found.ok_or_else(|| SqlError::new(&messages::DBCC_OBJECT_NOT_FOUND, &[table_name]))?;
    let missing = || SqlError::new(&messages::STATISTICS_NOT_FOUND, &[name]);
    let (column, shown) = target(&table, name).ok_or_else(missing)?;
    let made = db.statistics.of(&db, &table, column);
    let parts = ["STAT_HEADER", "DENSITY_VECTOR", "HISTOGRAM"];
    let all = !parts.iter().any(|p| call.option(p));
    let mut sets = Vec::new();
    if all || call.option(parts[0]) {
        sets.push(header(&shown, made.as_ref()));
    }
    if all || call.option(parts[1]) {
        sets.push(density(&table.columns[column].name, made.as_ref()));
    }
    if all || call.option(parts[2]) {
        sets.push(histogram(table.columns[column].ty, made.as_ref()));
    }
    Ok(Report {
        sets,
        ..Report::default()
    })
}

fn real(f: f64) -> Value {
    Value::Real(f as f32)
}

fn whole(f: f64) -> Value {
    Value::BigInt(f.round() as i64)
}

fn header(name: &str, made: Option<&Made>) -> Set {
    let columns = vec![
        ("Name", T::nvarchar(128), true),
        ("Updated", T::nvarchar(20), true),
        ("Rows", T::BIGINT, true),
        ("Rows Sampled", T::BIGINT, true),
        ("Steps", T::SMALLINT, true),
        ("Density", T::REAL, true),
        ("Average key length", T::REAL, true),
        ("String Index", T::nvarchar(3), true),
        ("Filter Expression", T::nvarchar(4000), true),
        ("Unfiltered Rows", T::BIGINT, true),
        ("Persisted Sample Percent", T::FLOAT, true),
    ];
    let mut row = vec![Value::Null; columns.len()];
    row[0] = Value::nvarchar(name);
    if let Some(made) = made {
        let s = &made.statistics;
        let at = Value::DateTime(duramen_catalog::date_time(made.at.unix_nanos()));
        row[1] = Value::nvarchar(&duramen_types::to_display(&at, &T::DATETIME));
        row[2] = whole(s.rows);
        row[3] = whole(s.sampled);
        row[4] = Value::SmallInt(s.steps.len() as i16);
        // Of the values that end no step.
        let kinds: f64 = s.steps.iter().map(|s| s.distinct_range_rows).sum();
        row[5] = real(if kinds > 0.0 { 1.0 / kinds } else { 0.0 });
        row[6] = real(s.average_length);
        row[7] = Value::nvarchar("NO");
        row[9] = whole(s.rows);
        row[10] = Value::Float(0.0);
    }
    (columns, vec![row])
}

fn density(column: &str, made: Option<&Made>) -> Set {
    let columns = vec![
        ("All density", T::REAL, true),
        ("Average Length", T::REAL, true),
        ("Columns", T::nvarchar(4000), true),
    ];
    let row = |made: &Made| {
        vec![
            real(made.statistics.density()),
            real(made.statistics.average_length),
            Value::nvarchar(column),
        ]
    };
    (columns, made.into_iter().map(row).collect())
}

fn histogram(ty: T, made: Option<&Made>) -> Set {
    let columns = vec![
        ("RANGE_HI_KEY", ty, true),
        ("RANGE_ROWS", T::REAL, true),
        ("EQ_ROWS", T::REAL, true),
        ("DISTINCT_RANGE_ROWS", T::BIGINT, true),
        ("AVG_RANGE_ROWS", T::REAL, true),
    ];
    let steps = made.into_iter().flat_map(|m| &m.statistics.steps);
    let rows = steps.map(|s| {
        let average = match s.distinct_range_rows >= 1.0 {
            true => s.range_rows / s.distinct_range_rows,
            false => 1.0,
        };
        vec![
            s.high.clone(),
            real(s.range_rows),
            real(s.equal_rows),
            whole(s.distinct_range_rows),
            real(average),
        ]
    });
    // NULL comes first, as in an index.
    let nulls = made.map(|m| m.statistics.nulls).filter(|n| *n > 0.0);
    let nulls = nulls.map(|n| {
        let (range, equal) = (real(0.0), real(n));
        vec![Value::Null, range, equal, whole(0.0), real(1.0)]
    });
    (columns, nulls.into_iter().chain(rows).collect())
}
