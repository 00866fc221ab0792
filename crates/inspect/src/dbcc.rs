//! DBCC: the statements that look into the engine or act on it, each declared once, in the file that runs it.
//!
//! A statement is a name, the WITH options that it knows, and a function from its arguments to a [`Report`]: at most one
//! result set (or several), then messages. The session sends the report and closes with message 2528. Names that SQL Server has and
//! Duramen has not are in [`NAMES`]: they are refused by name, and any other name is error 2526.

mod cache;
mod check;
mod identity;
mod index;
mod log;
pub(crate) mod page;
mod session;
mod space;
mod statistics;
mod tempdb;
mod trace;

pub use trace::trace_on;

use std::fmt::Display;
use std::sync::Arc;

use duramen_access::cancel::CancelToken;
use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, SqlError, SqlResult, messages};
use duramen_catalog::TableDef;
use duramen_check::inspect::IndexRows;
use duramen_core::security::Given;
use duramen_core::session_core::SessionCore;
use duramen_events::instance::Instance;
use duramen_program::rights::{Need, Needs, Of, Right};
use duramen_program::sink::Columns;
use duramen_query::Row;
use duramen_query::host::RowStream;
use duramen_tsql::ast::{Dbcc, DbccArg, NamedOption};
use duramen_types::SqlType;

use crate::metadata;

/// A result set whose columns are known when it is made.
pub type Set = (Vec<(&'static str, SqlType, bool)>, Vec<Row>);

/// The same with rows that are made as they are asked for.
pub type LongSet = (Vec<(&'static str, SqlType, bool)>, RowStream);

/// An argument in parentheses, evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    Null,
    Number(i64),
    Text(String),
    Binary(Vec<u8>),
}

/// A DBCC statement on its way.
pub struct Call<'a> {
    pub instance: &'a Arc<Instance>,
    pub session: &'a SessionCore,
    pub args: Vec<Arg>,
    /// Upper case.
    pub options: Vec<String>,
    /// WITH MAXDOP = n
    pub maxdop: Option<i64>,
    /// An attention has come.
    pub cancel: &'a CancelToken,
}

/// What a statement has to say.
#[derive(Default)]
pub struct Report {
    /// Lines of text, before everything else; NO_INFOMSGS does not keep them back.
    pub printed: Vec<String>,
    /// Messages of any severity, in this order; NO_INFOMSGS does not keep them back.
    pub said: Vec<SqlError>,
    pub table: Option<(Columns, Vec<Row>)>,
    /// Result sets after it.
    pub sets: Vec<Set>,
    /// A result set after those, whose columns have the names of a table's.
    pub named: Option<IndexRows>,
    /// A result set of more rows than should be in memory at once, after those.
    pub long: Option<LongSet>,
    /// Of severity 10 or less. Kept back by NO_INFOMSGS.
    pub messages: Vec<SqlError>,
}

struct Statement {
    name: &'static str,
    needs: Needs,
    /// The least and the greatest number of arguments.
    args: (usize, usize),
    /// Besides NO_INFOMSGS.
    options: &'static [&'static str],
    run: fn(&Call<'_>) -> SqlResult<Report>,
}

/// Histograms hold values of rows: who may read the table, or define it.
const STATISTICS: Needs = Needs::AnyOf(&[
    Need {
        right: Right::Select,
        of: Of::ObjectInArgument(0),
    },
    Need {
        right: Right::Alter,
        of: Of::ObjectInArgument(0),
    },
]);

/// What each statement needs.
pub(crate) fn needs() -> impl Iterator<Item = (&'static str, Needs)> {
    let clears = ("SQLPERF (..., CLEAR)", space::CLEARS);
    let all = every().map(|s| (s.name, s.needs));
    all.chain([clears])
}

/// Every trace flag that is accepted, and what it does.
pub fn trace_flags() -> impl Iterator<Item = (i64, &'static str)> {
    duramen_core::trace_flags::known()
}

/// Name and options of every statement.
pub fn statements() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    every().map(|s| (s.name, s.options))
}

/// Every statement: each file below has its own.
const FILES: &[&[Statement]] = &[
    HERE,
    cache::STATEMENTS,
    check::STATEMENTS,
    identity::STATEMENTS,
    index::STATEMENTS,
    log::STATEMENTS,
    page::STATEMENTS,
    session::STATEMENTS,
    space::STATEMENTS,
    statistics::STATEMENTS,
    trace::STATEMENTS,
];

/// ERRORLOG is the instance's.
const HERE: &[Statement] = &[Statement {
    name: "ERRORLOG",
    needs: Needs::Sysadmin,
    args: (0, 0),
    options: &[],
    run: cycle_error_log,
}];

fn every() -> impl Iterator<Item = &'static Statement> {
    FILES.iter().copied().flatten()
}

fn find(name: &str) -> Option<&'static Statement> {
    every().find(|s| s.name == name)
}

/// Further statements of SQL Server: one that no file has is refused by its name.
const NAMES: &[&str] = &[
    "CHECKCONSTRAINTS",
    "CLEANTABLE",
    "CLONEDATABASE",
    "DBREINDEX",
    "EXTENTINFO",
    "FILEHEADER",
    "FLUSHAUTHCACHE",
    "FREESESSIONCACHE",
    "HELP",
    "INDEXDEFRAG",
    "MEMORYSTATUS",
    "OUTPUTBUFFER",
    "PROCCACHE",
    "SHOWCONTIG",
    "SHRINKDATABASE",
    "UPDATEUSAGE",
    "WRITEPAGE",
];

/// What checks would mend.
const REPAIRS: &[&str] = &["REPAIR_ALLOW_DATA_LOSS", "REPAIR_FAST", "REPAIR_REBUILD"];

/// 40517 for a statement, or an option of one, that is known and not supported.
pub fn check_text(stmt: &Dbcc) -> SqlResult<()> {
    let name = stmt.name.as_str();
    let Some(known) = find(name) else {
        return match NAMES.contains(&name) {
            true => Err(not_supported(&format!("DBCC {name}"))),
            false => Ok(()),
        };
    };
    if let Some(DbccArg::Word(word)) = stmt.args.get(1)
        && let Some(repair) = REPAIRS.iter().find(|r| r.eq_ignore_ascii_case(word))
    {
        return Err(not_supported(&format!("DBCC {name}(..., {repair})")));
    }
    let unknown =
        |o: &&NamedOption| o.name != "NO_INFOMSGS" && !known.options.contains(&o.name.as_str());
    match stmt.options.iter().find(unknown) {
        Some(o) => Err(not_supported(&format!("DBCC {name} WITH {}", o.name))),
        None => Ok(()),
    }
}

/// Runs the statement of that name (upper case).
pub fn run(name: &str, call: &Call<'_>) -> SqlResult<Report> {
    let Some(statement) = find(name) else {
        return Err(if NAMES.contains(&name) {
            not_supported(&format!("DBCC {name}"))
        } else {
            incorrect()
        });
    };
    if !(statement.args.0..=statement.args.1).contains(&call.args.len()) {
        return Err(incorrect());
    }
    let known = |o: &String| o == "NO_INFOMSGS" || statement.options.contains(&o.as_str());
    if let Some(option) = call.options.iter().find(|o| !known(o)) {
        return Err(not_supported(&format!("DBCC {name} WITH {option}")));
    }
    call.session
        .settled(|| call.permitted(statement.name, &statement.needs))?;
    (statement.run)(call)
}

impl Call<'_> {
    /// 2571, or 7983 of what checks a whole database, unless the caller may run it with these arguments.
    fn permitted(&self, name: &str, needs: &Needs) -> SqlResult<()> {
        let given = |arg: &Arg| match arg {
            Arg::Null | Arg::Binary(_) => Given::Nothing,
            Arg::Number(n) => Given::Id(*n),
            Arg::Text(text) => Given::Name(text.clone()),
        };
        let given: Vec<Given> = self.args.iter().map(given).collect();
        let who = &self.session.who.name;
        let checks = ["CHECKALLOC", "CHECKCATALOG", "CHECKDB", "CHECKFILEGROUP"];
        self.session
            .caller()
            .require(needs, &given, |first| match first {
                Some((_, database)) if checks.contains(&name) => {
                    let args: [&dyn Display; 3] = [who, &name.to_lowercase(), &database];
                    SqlError::new(&messages::CHECK_PERMISSION_DENIED, &args).with_state(36)
                }
                _ => denied(who, name),
            })
    }

    fn option(&self, name: &str) -> bool {
        self.options.iter().any(|o| o == name)
    }

    /// The table of this name, when it is known whether there is one.
    fn stored_table(&self, name: &str) -> SqlResult<Option<(Arc<OpenDb>, Arc<TableDef>)>> {
        let session = self.session;
        session.settled(|| metadata::stored_table(session, name))
    }

    /// The database that the first argument names, by name or id; without one, or for 0, the current database.
    fn database(&self) -> SqlResult<Arc<OpenDb>> {
        let databases = &self.session.instance.databases;
        let (found, error) = match self.args.first() {
            None | Some(Arg::Null | Arg::Number(0)) => {
                let name = &self.session.database;
                (databases.find(name), no_database(name))
            }
            Some(Arg::Text(name)) => (databases.find(name), no_database(name)),
            Some(Arg::Number(id)) => (
                u16::try_from(*id)
                    .ok()
                    .and_then(|id| databases.get(DbId(id))),
                SqlError::new(&messages::DBCC_DATABASE_ID_NOT_FOUND, &[id]).with_state(10),
            ),
            Some(Arg::Binary(_)) => return Err(incorrect()),
        };
        found.ok_or_else(|| match self.args.first() {
            Some(Arg::Text(name)) => databases
                .find_unavailable(name)
                .map_or(error, |u| u.refusal()),
            _ => error,
        })
    }
}

/// ERRORLOG: a new error log begins.
fn cycle_error_log(call: &Call<'_>) -> SqlResult<Report> {
    call.instance.cycle_error_log(call.session)?;
    Ok(Report::default())
}

/// 2571
fn denied(who: &str, name: &str) -> SqlError {
    let args: [&dyn Display; 2] = [&who, &name];
    SqlError::new(&messages::DBCC_PERMISSION_DENIED, &args)
}

fn no_database(name: &str) -> SqlError {
    SqlError::new(&messages::DBCC_DATABASE_NOT_FOUND, &[&name]).with_state(5)
}

fn incorrect() -> SqlError {
    SqlError::new(&messages::DBCC_INCORRECT_STATEMENT, &[]).with_state(3)
}

fn not_supported(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_one_each_and_sorted() {
        let here: BTreeSet<&str> = every().map(|s| s.name).collect();
        assert_eq!(here.len(), every().count());
        assert!(NAMES.is_sorted());
    }
}
