//! CREATE, UPDATE and DROP STATISTICS.
//!
//! Statistics of several columns are declared with all of them; what is known of values is known of the first.
//!
//! | option | meaning |
//! |---|---|
//! | FULLSCAN, SAMPLE n PERCENT, SAMPLE n ROWS | how much of the table is read now; the 128 MB that are looked at once are the most |
//! | RESAMPLE | as usual |
//! | NORECOMPUTE | of CREATE only: kept, changes of the table do not make them old |
//! | ALL, COLUMNS, INDEX | of UPDATE only: which statistics |
//! | MAXDOP | nothing is read in parallel |

use std::sync::Arc;

use duramen_access::statistics::{self, Extent};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{IndexDef, TableDef};
use duramen_tsql::ast::{self, NamedOption, OptionValue, SizeUnit};
use duramen_txn::LockMode;

use super::drops::cannot_drop;
use super::indexes::one_more;
use super::{Ddl, refuse};

/// As many as a table may have.
const MOST_STATISTICS: usize = 30_000;

/// As many columns as statistics may have.
const MOST_COLUMNS: usize = 64;

/// `FULLSCAN`, `SAMPLE ...`: how much is read; `None` for another option.
fn extent(o: &NamedOption, what: &str) -> SqlResult<Option<Extent>> {
    let extent = match (o.name.as_str(), &o.value) {
        ("FULLSCAN", None) => Extent::Percent(100),
        ("RESAMPLE", None) => Extent::Usual,
        ("SAMPLE", Some(OptionValue::Int(n))) => match u64::try_from(*n) {
            Ok(n) => Extent::Rows(n),
            Err(_) => return Err(refuse(&format!("{what} WITH SAMPLE {n}"), o.line)),
        },
        ("SAMPLE", Some(OptionValue::Size(s))) if s.unit == SizeUnit::Percent && s.value <= 100 => {
            Extent::Percent(s.value)
        }
        ("MAXDOP", Some(_)) => Extent::Usual,
        _ => return Ok(None),
    };
    Ok(Some(extent))
}

/// What CREATE STATISTICS says: how much is read, and whether it is never read again by itself.
pub fn creation_options(options: &[NamedOption]) -> SqlResult<(Extent, bool)> {
    const WHAT: &str = "CREATE STATISTICS";
    let (mut amount, mut no_recompute) = (Extent::Usual, false);
    for o in options {
        match extent(o, WHAT)? {
            Some(Extent::Usual) => {}
            Some(other) => amount = other,
            None if o.name == "NORECOMPUTE" && o.value.is_none() => no_recompute = true,
            None => return Err(not_an_option(o, WHAT)),
        }
    }
    Ok((amount, no_recompute))
}

/// What UPDATE STATISTICS looks at anew.
pub struct Anew {
    amount: Extent,
    of_indexes: bool,
    of_columns: bool,
}

pub fn update_options(options: &[NamedOption]) -> SqlResult<Anew> {
    const WHAT: &str = "UPDATE STATISTICS";
    let mut anew = Anew {
        amount: Extent::Usual,
        of_indexes: true,
        of_columns: true,
    };
    for o in options {
        match (extent(o, WHAT)?, o.name.as_str(), &o.value) {
            (Some(Extent::Usual), ..) | (None, "ALL", None) => {}
            (Some(other), ..) => anew.amount = other,
            (None, "COLUMNS", None) => anew.of_indexes = false,
            (None, "INDEX", None) => anew.of_columns = false,
            _ => return Err(not_an_option(o, WHAT)),
        }
    }
    Ok(anew)
}

fn not_an_option(o: &NamedOption, what: &str) -> SqlError {
    refuse(&format!("{what} WITH {}", o.name), o.line)
}

impl Ddl<'_> {
    /// The table whose statistics are meant; 1088 when there is none.
    fn measured(&self, name: &ast::ObjectName) -> SqlResult<Arc<TableDef>> {
        let snapshot = self.db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let table = schema.and_then(|s| snapshot.find_table(s.id, name.name()));
        table.cloned().ok_or_else(|| {
            let error = SqlError::new(&messages::OBJECT_NOT_FOUND, &[&name.display()]);
            error.at_line(name.line as i32)
        })
    }

    pub fn create_statistics(
        &self,
        name: &ast::ObjectName,
        stmt: &ast::CreateStatistics,
    ) -> SqlResult<()> {
        let line = name.line;
        let at_line = |e: SqlError| e.at_line(line as i32);
        let table = self.locked(LockMode::SchM, || self.measured(name))?;
        let there = table.statistics.len();
        one_more(("statistics", &stmt.name), there, MOST_STATISTICS).map_err(at_line)?;
        let (amount, no_recompute) = creation_options(&stmt.options)?;
        if stmt.columns.len() > MOST_COLUMNS {
            return Err(refuse("statistics of more than 64 columns", line));
        }
        let mut columns: Vec<usize> = Vec::new();
        for column in &stmt.columns {
            let at = table.column(column).ok_or_else(|| {
                at_line(SqlError::new(
                    &messages::INDEX_COLUMN_DOES_NOT_EXIST,
                    &[column],
                ))
            })?;
            if columns.contains(&at) {
                let args: [&dyn std::fmt::Display; 2] = [&"statistics", column];
                return Err(at_line(SqlError::new(
                    &messages::DUPLICATE_KEY_COLUMN,
                    &args,
                )));
            }
            if !statistics::has_histogram(&table, at) {
                let ty = &table.columns[at].ty;
                return Err(refuse(
                    &format!("statistics of a column of type {ty}"),
                    line,
                ));
            }
            if !table.columns[at].is_stored() {
                let what = "statistics of a computed column that is not PERSISTED";
                return Err(refuse(what, line));
            }
            columns.push(at);
        }
        let ids = columns.iter().map(|c| table.columns[*c].id).collect();
        let catalog = &self.db.catalog;
        let made = catalog.create_statistics(self.tx, &table, &stmt.name, ids, no_recompute);
        let made = made.map_err(at_line)?;
        self.db
            .statistics
            .make(self.db, &made, &columns[..1], amount)
    }

    /// Looks at the table anew: at what is named, or at all columns that statistics begin with.
    pub fn update_statistics(
        &self,
        name: &ast::ObjectName,
        names: &[String],
        options: &[NamedOption],
    ) -> SqlResult<()> {
        let table = self.locked(LockMode::SchS, || self.measured(name))?;
        let anew = update_options(options)?;
        let leads = |i: &IndexDef| i.keys.first().map(|k| k.column);
        let mut columns: Vec<usize> = Vec::new();
        for wanted in names {
            let index = table.index(wanted).and_then(leads);
            let own = table.statistics(wanted).and_then(|s| table.leading(s));
            let automatic = statistics::automatic(&table, wanted);
            let automatic = automatic.filter(|c| self.db.statistics.known(&table, *c).is_some());
            columns.push(index.or(own).or(automatic).ok_or_else(|| {
                let error = SqlError::new(&messages::STATISTICS_NOT_FOUND, &[wanted]);
                error.at_line(name.line as i32)
            })?);
        }
        if names.is_empty() {
            if anew.of_indexes {
                columns.extend(table.indexes.iter().filter_map(leads));
            }
            if anew.of_columns {
                columns.extend(table.statistics.iter().filter_map(|s| table.leading(s)));
                let known = |c: &usize| self.db.statistics.known(&table, *c).is_some();
                columns.extend((0..table.columns.len()).filter(known));
            }
        }
        columns.sort_unstable();
        columns.dedup();
        self.db
            .statistics
            .make(self.db, &table, &columns, anew.amount)
    }

    /// DROP STATISTICS of one name: `[schema.]table.statistics`.
    pub fn drop_statistics(&self, name: &str, of: &ast::ObjectName) -> SqlResult<()> {
        let line = of.line as i32;
        let full = match of.parts.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", of.display()),
        };
        let missing = || cannot_drop("statistics", &full).at_line(line);
        let table = self.locked(LockMode::SchM, || {
            let table = self.measured(of).map_err(|_| missing())?;
            if table.index(name).is_some() {
                let args: [&dyn std::fmt::Display; 2] = [&"DROP", &full];
                return Err(SqlError::new(&messages::NOT_STATISTICS, &args).at_line(line));
            }
            match table.statistics(name) {
                Some(_) => Ok(table),
                None => Err(missing()),
            }
        })?;
        self.db.catalog.drop_statistics(self.tx, &table, name)?;
        Ok(())
    }
}
