//! DBCC CHECKDB, CHECKTABLE, CHECKALLOC, CHECKCATALOG and CHECKFILEGROUP: what the room `check` finds in a copy of the
//! database as it was when the statement began, in the order and the words of SQL Server.
//!
//! Findings that belong to no table come first, then table by table; each group that has any ends with its summary, and
//! NO_INFOMSGS leaves only those. A CHECKDB that finds nothing notes in the boot page when it began.

mod allocation;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_admin::suspect_pages;
use duramen_base::{DbId, ObjectId, SqlError, SqlResult, messages};
use duramen_check::{Checked, Finding, Request, Snapshot, check_database, set_last_good_check};
use duramen_core::activity::Check;
use duramen_query::Row;
use duramen_txn::{LockDuration, LockMode, Resource};
use duramen_types::{SqlType, Value};

use super::Statement;
use super::{Arg, Call, Columns, Report, incorrect};
use duramen_program::rights::needs::{ALTERS_OBJECT, OWNER, OWNER_OF_ARGUMENT};

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "CHECKALLOC",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 2),
        options: &["ALL_ERRORMSGS", "ESTIMATEONLY", "TABLERESULTS", "TABLOCK"],
        run: allocation,
    },
    Statement {
        name: "CHECKCATALOG",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 1),
        options: &[],
        run: catalog,
    },
    Statement {
        name: "CHECKDB",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 2),
        options: OPTIONS,
        run: database,
    },
    Statement {
        name: "CHECKFILEGROUP",
        needs: OWNER,
        args: (0, 2),
        options: OPTIONS,
        run: filegroup,
    },
    Statement {
        name: "CHECKTABLE",
        needs: ALTERS_OBJECT,
        args: (1, 2),
        options: OPTIONS,
        run: table,
    },
];

/// Besides NO_INFOMSGS.
pub const OPTIONS: &[&str] = &[
    "ALL_ERRORMSGS",
    "DATA_PURITY",
    "ESTIMATEONLY",
    "EXTENDED_LOGICAL_CHECKS",
    "MAXDOP",
    "PHYSICAL_ONLY",
    "TABLERESULTS",
    "TABLOCK",
];

const TABLE_RESULTS: Columns = &[
    ("Error", SqlType::INT, true),
    ("Level", SqlType::INT, true),
    ("State", SqlType::INT, true),
    ("MessageText", SqlType::varchar(7000), true),
    ("RepairLevel", SqlType::varchar(7000), true),
    ("Status", SqlType::INT, true),
    ("DbId", SqlType::INT, true),
    ("DbFragId", SqlType::INT, true),
    ("ObjectId", SqlType::INT, true),
    ("IndexId", SqlType::INT, true),
    ("PartitionId", SqlType::BIGINT, true),
    ("AllocUnitId", SqlType::BIGINT, true),
    ("RidDbId", SqlType::INT, true),
    ("RidPruId", SqlType::INT, true),
    ("File", SqlType::INT, true),
    ("Page", SqlType::INT, true),
    ("Slot", SqlType::INT, true),
    ("RefDbId", SqlType::INT, true),
    ("RefPruId", SqlType::INT, true),
    ("RefFile", SqlType::INT, true),
    ("RefPage", SqlType::INT, true),
    ("RefSlot", SqlType::INT, true),
    ("Allocation", SqlType::INT, true),
];

/// Which of the statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Database,
    Table,
    Allocation,
    Catalog,
    Filegroup,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Database => "CHECKDB",
            Kind::Table => "CHECKTABLE",
            Kind::Allocation => "CHECKALLOC",
            Kind::Catalog => "CHECKCATALOG",
            Kind::Filegroup => "CHECKFILEGROUP",
        }
    }
}

/// CHECKDB[(database | id | 0 [, NOINDEX])]
pub fn database(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let request = Request {
        indexes: !no_index(call)?,
        ..Request::default()
    };
    run(call, Kind::Database, &db, request)
}

/// CHECKALLOC[(database | id | 0 [, NOINDEX])]
pub fn allocation(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    no_index(call)?;
    let request = Request {
        contents: false,
        catalog: false,
        ..Request::default()
    };
    run(call, Kind::Allocation, &db, request)
}

/// CHECKCATALOG[(database | id | 0)]
pub fn catalog(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let request = Request {
        allocation: false,
        contents: false,
        ..Request::default()
    };
    run(call, Kind::Catalog, &db, request)
}

/// CHECKFILEGROUP[(filegroup | id | 0 [, NOINDEX])], of the current database.
pub fn filegroup(call: &Call<'_>) -> SqlResult<Report> {
    let db = current(call)?;
    let groups = db.db.filegroups();
    let wanted = match call.args.first() {
        None | Some(Arg::Null | Arg::Number(0)) => Some(1),
        Some(Arg::Number(n)) => groups.iter().find(|g| i64::from(g.id) == *n).map(|g| g.id),
        Some(Arg::Text(name)) => {
            let mut groups = groups.iter();
            let same = |g: &&duramen_storage::FilegroupInfo| g.name.eq_ignore_ascii_case(name);
            groups.find(same).map(|g| g.id)
        }
        Some(Arg::Binary(_)) => None,
    };
    let Some(group) = wanted else {
        let name = match call.args.first() {
            Some(Arg::Text(name)) => name.clone(),
            Some(Arg::Number(n)) => n.to_string(),
            _ => String::new(),
        };
        return Err(SqlError::new(&messages::DBCC_FILEGROUP_INVALID, &[&name]));
    };
    let request = Request {
        indexes: !no_index(call)?,
        catalog: false,
        filegroup: Some(group as i16),
        ..Request::default()
    };
    run(call, Kind::Filegroup, &db, request)
}

/// CHECKTABLE(table | id [, NOINDEX | index id]), of the current database or the name's.
pub fn table(call: &Call<'_>) -> SqlResult<Report> {
    let missing = |what: &dyn Display| SqlError::new(&messages::DBCC_OBJECT_NOT_FOUND, &[what]);
    let (db, table) = match call.args.first() {
        Some(Arg::Text(name)) => {
            let found = call.stored_table(name)?;
            found.ok_or_else(|| missing(name))?
        }
        Some(Arg::Number(id)) => {
            let db = current(call)?;
            let found = i32::try_from(*id).ok();
            let snapshot = db.catalog.snapshot()?;
            let table = found.and_then(|id| snapshot.table(ObjectId(id)).cloned());
            let table = table.ok_or_else(|| SqlError::new(&messages::DBCC_NO_SUCH_TABLE, &[id]))?;
            (db, table)
        }
        _ => return Err(incorrect()),
    };
    let mut index = None;
    let mut indexes = true;
    if let Some(Arg::Number(n)) = call.args.get(1) {
        let known = table.indexes.iter().any(|i| i64::from(i.id) == *n);
        let heap = *n == 0 && table.is_heap();
        if !known && !heap {
            return Err(SqlError::new(
                &messages::DBCC_NO_SUCH_INDEX,
                &[n, &table.name],
            ));
        }
        index = Some(*n as i32);
    } else {
        indexes = !no_index(call)?;
    }
    let request = Request {
        objects: vec![table.id],
        index,
        indexes,
        catalog: false,
        ..Request::default()
    };
    run(call, Kind::Table, &db, request)
}

fn current(call: &Call<'_>) -> SqlResult<Arc<OpenDb>> {
    let name = &call.session.database;
    let found = call.session.instance.databases.find(name);
    found.ok_or_else(|| super::no_database(name))
}

/// Whether the second argument is NOINDEX. Repairs are refused by their names ([`super::check_text`]).
fn no_index(call: &Call<'_>) -> SqlResult<bool> {
    match call.args.get(1) {
        None | Some(Arg::Null) => Ok(false),
        Some(Arg::Text(word)) => match word.to_ascii_uppercase().as_str() {
            "NOINDEX" => Ok(true),
            _ => Err(incorrect()),
        },
        Some(Arg::Number(_) | Arg::Binary(_)) => Err(incorrect()),
    }
}

/// S locks on the tables of a check WITH TABLOCK, as long as it lasts.
struct Locked<'a> {
    call: &'a Call<'a>,
    held: Vec<Resource>,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let session = self.call.session;
        for resource in &self.held {
            let locks = &session.instance.locks;
            locks.unlock_session(&session.owner, resource, session.transaction.is_some());
        }
    }
}

impl<'a> Locked<'a> {
    fn new(call: &'a Call<'a>, db: &OpenDb, only: &[ObjectId]) -> SqlResult<Locked<'a>> {
        let mut locked = Locked {
            call,
            held: Vec::new(),
        };
        let session = call.session;
        for id in db.catalog.snapshot()?.tables.keys() {
            if !only.is_empty() && !only.contains(id) {
                continue;
            }
            let resource = Resource::Object(db.db.id, *id);
            let locks = &session.instance.locks;
            let duration = LockDuration::Session;
            locks
                .lock(&session.owner, &resource, LockMode::S, duration, None)
                .map_err(|e| {
                    duramen_txn::errors::lock_error(e, session.spid)
                        .unwrap_or_else(duramen_query::cancelled)
                })?;
            locked.held.push(resource);
        }
        Ok(locked)
    }
}

fn run(call: &Call<'_>, kind: Kind, db: &Arc<OpenDb>, mut request: Request) -> SqlResult<Report> {
    for other in ["DATA_PURITY", "EXTENDED_LOGICAL_CHECKS"] {
        if call.option("PHYSICAL_ONLY") && call.option(other) {
            let args: [&dyn Display; 2] = [&"PHYSICAL_ONLY", &other];
            return Err(SqlError::new(&messages::DBCC_OPTIONS_EXCLUDE, &args));
        }
    }
    if call.option("ESTIMATEONLY") {
        // Nothing of a check is kept in tempdb.
        let line = format!(
            "Estimated TEMPDB space (in KB) needed for {} on database {} = 0.",
            kind.name(),
            db.db.name
        );
        return Ok(Report {
            printed: vec![line],
            ..Report::default()
        });
    }
    request.rows = !call.option("PHYSICAL_ONLY");
    request.workers = match call.maxdop {
        Some(n @ 1..) => n as usize,
        _ => duramen_os::thread::available_parallelism(),
    };
    request.memory = Some(db.db.engine.memory.clone());
    if db.db.id == DbId::TEMPDB {
        return run_on_tempdb(call, kind, db, &request);
    }
    let session = call.session;
    // Nobody drops or closes it meanwhile.
    let started = duramen_os::time::now();
    let (checked, began) = session.sharing(db.db.id, || look(call, kind, db, &request))?;
    let found = checked.findings.iter().filter_map(|f| f.page).collect();
    let whole = kind == Kind::Database && request.rows;
    // The check has told what it has found, whether msdb can be written or not.
    let _ = suspect_pages::checked(call.instance, db, &found, whole);
    if kind == Kind::Database && checked.findings.is_empty() && request.rows && !db.is_read_only() {
        set_last_good_check(&db.db, (began.days, began.ticks))?;
    }
    log_check(call, kind, db, &checked, started.elapsed());
    Ok(report(call, kind, db, &checked, &[]))
}

/// See [`super::tempdb`]. It is no check of the whole: nothing is noted of it in the boot page.
fn run_on_tempdb(
    call: &Call<'_>,
    kind: Kind,
    db: &Arc<OpenDb>,
    request: &Request,
) -> SqlResult<Report> {
    let aborted = match kind {
        Kind::Allocation => Some(&messages::CHECKALLOC_OF_TEMPDB),
        Kind::Catalog => Some(&messages::CHECKCATALOG_OF_TEMPDB),
        Kind::Database | Kind::Table | Kind::Filegroup => None,
    };
    if let Some(message) = aborted {
        // That nothing was looked at is said WITH NO_INFOMSGS as well (*assumed*).
        let said = vec![(SqlError::new(message, &[]), None)];
        return Ok(to_report(call, db, said));
    }
    let started = duramen_os::time::now();
    let (checked, skipped) = super::tempdb::look(call, db, request)?;
    log_check(call, kind, db, &checked, started.elapsed());
    Ok(report(call, kind, db, &checked, &skipped))
}

/// 8957, in the error log.
fn log_check(
    call: &Call<'_>,
    kind: Kind,
    db: &OpenDb,
    checked: &Checked,
    took: std::time::Duration,
) {
    if !matches!(kind, Kind::Database | Kind::Table | Kind::Allocation) {
        return;
    }
    let (allocation, consistency) = counts(&checked.findings.iter().collect::<Vec<_>>());
    let mut about = String::new();
    if let (Kind::Table, Some(object)) = (kind, checked.objects.first()) {
        about = format!(".dbo.{}", object.name);
    }
    let options = match call.options.is_empty() {
        true => String::new(),
        false => format!(" WITH {}", call.options.join(", ").to_lowercase()),
    };
    let seconds = took.as_secs();
    let args: [&dyn Display; 13] = [
        &"",
        &kind.name(),
        &db.db.name,
        &about,
        &"",
        &options,
        &call.session.login.user,
        &(allocation + consistency),
        &0,
        &(seconds / 3600),
        &(seconds / 60 % 60),
        &(seconds % 60),
        &"",
    ];
    let text = SqlError::new(&messages::CHECK_LOGGED, &args).message;
    call.instance.log_of(call.session, text.trim_end());
}

/// Checks a copy of the database as it is now.
fn look(
    call: &Call<'_>,
    kind: Kind,
    db: &OpenDb,
    request: &Request,
) -> SqlResult<(Checked, duramen_types::DateTime)> {
    let _locked = match call.option("TABLOCK") {
        true => Some(Locked::new(call, db, &request.objects)?),
        false => None,
    };
    let activity = &call.session.activity;
    let part = match kind {
        Kind::Allocation => Check::Allocation,
        Kind::Catalog => Check::Catalog,
        _ => Check::Tables,
    };
    activity.checking(part, 0.0);
    let go_on = || match call.cancel.is_set() {
        true => Err(duramen_query::cancelled()),
        false => Ok(()),
    };
    let began = duramen_catalog::now();
    let snapshot = Snapshot::take(&db.db)?;
    go_on()?;
    snapshot.recover()?;
    go_on()?;
    let paths = snapshot.data_paths();
    let checked = check_database(&*snapshot.disk(), &paths, request, &mut |percent| {
        activity.checking(part, percent);
        go_on()
    })?;
    snapshot.still_good()?;
    Ok((checked, began))
}

/// A finding as the message that it is.
fn message(finding: &Finding) -> SqlError {
    SqlError {
        number: finding.number as i32,
        severity: finding.severity,
        state: finding.state,
        ..SqlError::print(finding.text.clone())
    }
}

/// What the statement says, with what each message is about.
struct Said<'a> {
    quiet: bool,
    list: Vec<(SqlError, Option<&'a Finding>)>,
}

impl<'a> Said<'a> {
    fn inform(&mut self, m: &messages::Message, args: &[&dyn Display]) {
        if !self.quiet {
            self.list.push((SqlError::new(m, args), None));
        }
    }

    /// Information that has no number.
    fn line(&mut self, text: String) {
        if !self.quiet {
            self.list.push((SqlError::print(text), None));
        }
    }

    fn conclude(&mut self, m: &messages::Message, args: &[&dyn Display]) {
        self.list.push((SqlError::new(m, args), None));
    }

    fn add_findings(&mut self, findings: &[&'a Finding]) {
        for f in findings {
            self.list.push((message(f), Some(f)));
        }
    }
}

/// Errors of allocation and of consistency. The second half of a finding in two messages is none by itself.
fn counts(findings: &[&Finding]) -> (usize, usize) {
    let errors = findings.iter().filter(|f| !matches!(f.number, 8955 | 8956));
    let allocation = errors.clone().filter(|f| f.is_allocation()).count();
    (allocation, errors.count() - allocation)
}

/// What the statement says of what was found. `skipped`: errors about tables that could not be looked at.
fn report(
    call: &Call<'_>,
    kind: Kind,
    db: &OpenDb,
    checked: &Checked,
    skipped: &[SqlError],
) -> Report {
    let name = &db.db.name;
    let mut said = Said {
        quiet: call.option("NO_INFOMSGS"),
        list: Vec::new(),
    };
    let mut by_object: BTreeMap<Option<i32>, Vec<&Finding>> = BTreeMap::new();
    for finding in &checked.findings {
        by_object.entry(finding.object).or_default().push(finding);
    }
    if matches!(kind, Kind::Database | Kind::Filegroup | Kind::Allocation) {
        said.inform(&messages::DBCC_RESULTS_FOR_DATABASE, &[name]);
    }
    if kind == Kind::Database && db.db.id == DbId::TEMPDB {
        said.inform(&messages::CHECK_WITHOUT_CATALOG, &[]);
    }
    said.list.extend(skipped.iter().map(|e| (e.clone(), None)));
    if let Some(of_nobody) = by_object.remove(&None) {
        said.add_findings(&of_nobody);
        let (allocation, consistency) = counts(&of_nobody);
        if kind != Kind::Catalog {
            let args: [&dyn Display; 3] = [&kind.name(), &allocation, &consistency];
            said.conclude(&messages::CHECK_FOUND_IN_NO_OBJECT, &args);
        }
    }
    let snapshot = db.catalog.snapshot().ok();
    let shown = |object: i32| {
        let table = snapshot
            .as_ref()
            .and_then(|s| s.table(ObjectId(object)).cloned());
        table.map_or_else(String::new, |t| match t.schema_name.as_str() {
            "dbo" => t.name.clone(),
            schema => format!("{schema}.{}", t.name),
        })
    };
    if matches!(kind, Kind::Database | Kind::Filegroup | Kind::Table) {
        for object in &checked.objects {
            let ObjectId(id) = object.id;
            let title = match shown(id) {
                title if title.is_empty() => object.name.clone(),
                title => title,
            };
            said.inform(&messages::DBCC_RESULTS_FOR_DATABASE, &[&title]);
            let found = by_object.remove(&Some(id)).unwrap_or_default();
            said.add_findings(&found);
            let args: [&dyn Display; 3] = [&object.rows, &object.pages, &title];
            said.inform(&messages::DBCC_ROWS_IN_PAGES, &args);
            summary(&mut said, kind, &title, id, &found);
        }
    }
    if kind == Kind::Allocation {
        allocation::report_tables(&mut said, checked, db.db.id, &shown);
    }
    for (object, found) in by_object {
        said.add_findings(&found);
        let id = object.unwrap_or(0);
        summary(&mut said, kind, &shown(id), id, &found);
    }
    let all: Vec<&Finding> = checked.findings.iter().collect();
    let (allocation, consistency) = counts(&all);
    if kind == Kind::Allocation {
        allocation::report_files(&mut said, checked);
    }
    if !matches!(kind, Kind::Table | Kind::Catalog) {
        let args: [&dyn Display; 4] = [&kind.name(), &allocation, &consistency, name];
        match all.is_empty() {
            true => said.inform(&messages::CHECK_SUMMARY, &args),
            false => said.conclude(&messages::CHECK_SUMMARY, &args),
        }
    }
    if !all.is_empty() && kind != Kind::Catalog {
        let level = level_of(all.iter().all(|f| f.is_rebuilt()));
        let what = match kind {
            Kind::Table => all[0].object.map_or_else(String::new, shown),
            _ => name.clone(),
        };
        let kind = kind.name();
        said.conclude(&messages::MINIMUM_REPAIR_LEVEL, &[&level, &kind, &what]);
    }
    to_report(call, db, said.list)
}

/// As messages, or WITH TABLERESULTS as rows.
fn to_report(call: &Call<'_>, db: &OpenDb, said: Vec<(SqlError, Option<&Finding>)>) -> Report {
    if call.option("TABLERESULTS") {
        let rows = said.iter().map(|(m, f)| result_row(db, m, *f));
        return Report {
            table: Some((TABLE_RESULTS, rows.collect())),
            ..Report::default()
        };
    }
    Report {
        said: said.into_iter().map(|(m, _)| m).collect(),
        ..Report::default()
    }
}

fn level_of(rebuilt: bool) -> &'static str {
    match rebuilt {
        true => "repair_rebuild",
        false => "repair_allow_data_loss",
    }
}

/// 8990
fn summary(said: &mut Said<'_>, kind: Kind, title: &str, id: i32, found: &[&Finding]) {
    if found.is_empty() {
        return;
    }
    let (allocation, consistency) = counts(found);
    let args: [&dyn Display; 5] = [&kind.name(), &allocation, &consistency, &title, &id];
    said.conclude(&messages::CHECK_SUMMARY_TABLE, &args);
}

/// A message WITH TABLERESULTS. What a message is not about is NULL.
fn result_row(db: &OpenDb, m: &SqlError, f: Option<&Finding>) -> Row {
    let int = |n: Option<i32>| n.map_or(Value::Null, Value::Int);
    let big = |n: Option<i64>| n.map_or(Value::Null, Value::BigInt);
    let unit = f.and_then(|f| f.unit);
    let page = f.and_then(|f| f.page);
    let level = f.map_or(Value::Null, |f| Value::varchar(level_of(f.is_rebuilt())));
    let mut row = vec![
        Value::Int(m.number),
        Value::Int(i32::from(m.severity)),
        Value::Int(i32::from(m.state)),
        Value::varchar(&m.message),
        level,
        Value::Int(0),
        Value::Int(i32::from(db.db.id.0)),
        Value::Null,
        int(f.and_then(|f| f.object)),
        int(unit.map(|u| u.0)),
        big(unit.map(|u| u.1)),
        big(unit.map(|u| u.2)),
        Value::Null,
        Value::Null,
        int(page.map(|p| i32::from(p.file))),
        int(page.map(|p| p.page as i32)),
    ];
    row.resize(TABLE_RESULTS.len() - 1, Value::Null);
    row.push(int(f.map(|f| i32::from(f.is_allocation()))));
    row
}
