//! DBCC PAGE(database, file, page [, option]): a page as it stands in memory, see `check::inspect`.
//!
//! Not documented, and used by everybody who looks at how rows are stored:
//! <https://learn.microsoft.com/archive/blogs/sqlserverstorageengine/how-to-use-dbcc-page>. Without trace flag 3604 the
//! text does not go to the client (in SQL Server it goes to the error log; here nowhere); WITH TABLERESULTS gives rows
//! either way. DBCC DBINFO(database) shows the boot page in the same way.

use std::sync::Arc;

use duramen_base::{AllocUnitId, PageId, SqlError, SqlResult, messages};
use duramen_catalog::shape::IndexSource;
use duramen_catalog::{Snapshot, TableDef};
use duramen_check::inspect::{Detail, Dump, Owner, Shape, inspect_boot, inspect_page};
use duramen_core::trace_flags::OUTPUT_TO_CLIENT;
use duramen_storage::RowsetDef;
use duramen_types::{SqlType, Value};

use super::Statement;
use super::{Arg, Call, Columns, Report};
use duramen_program::rights::Needs;

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "DBINFO",
        needs: Needs::Sysadmin,
        args: (0, 1),
        options: &["TABLERESULTS"],
        run: database_info,
    },
    Statement {
        name: "PAGE",
        needs: Needs::Sysadmin,
        args: (3, 4),
        options: &["TABLERESULTS"],
        run: page,
    },
];

const TABLE: Columns = &[
    ("ParentObject", SqlType::varchar(255), true),
    ("Object", SqlType::varchar(255), true),
    ("Field", SqlType::varchar(255), true),
    ("VALUE", SqlType::varchar(8000), true),
];

/// PAGE.
pub fn page(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let number = |i: usize| match call.args.get(i) {
        Some(Arg::Number(n)) => Ok(*n),
        _ => Err(wrong_parameter(i)),
    };
    let file = u16::try_from(number(1)?).map_err(|_| wrong_parameter(1))?;
    let page = u32::try_from(number(2)?).map_err(|_| wrong_parameter(2))?;
    let option = match call.args.get(3) {
        None => 0,
        Some(_) => number(3)?,
    };
    let detail = Detail::of(option).ok_or_else(|| wrong_parameter(3))?;
    let snapshot = db.catalog.snapshot()?;
    let owner = |unit| owner(&snapshot, unit);
    let found = inspect_page(&db.db, PageId::new(file, page), detail, owner)?;
    // *Assumed*: which number says that there is no such page is not documented.
    let dump =
        found.ok_or_else(|| wrong_parameter(if file_is_there(&db, file) { 2 } else { 1 }))?;
    Ok(shown(call, dump))
}

/// DBINFO[(database | id | 0)]
pub fn database_info(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    Ok(shown(call, inspect_boot(&db.db)))
}

/// A dump as rows, or as text, or not at all.
fn shown(call: &Call<'_>, dump: Dump) -> Report {
    let mut report = Report::default();
    let to_client = call.session.has_trace_flag(OUTPUT_TO_CLIENT);
    if call.option("TABLERESULTS") {
        let row = |r: [String; 4]| r.iter().map(|t| Value::varchar(t)).collect();
        report.table = Some((TABLE, dump.rows().into_iter().map(row).collect()));
    } else if to_client {
        report.printed = dump.text();
    } else {
        return report;
    }
    report.named = dump.index;
    report
}

fn file_is_there(db: &duramen_access::open_db::OpenDb, file: u16) -> bool {
    let log = db.db.log().map(|l| l.file_paths()).unwrap_or_default();
    db.db.files().iter().any(|f| f.spec.file_id == file) || log.iter().any(|(id, _)| id.0 == file)
}

fn wrong_parameter(i: usize) -> SqlError {
    SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&(i + 1)]).with_state(9)
}

/// The table and index that an allocation unit belongs to.
pub(crate) fn owner(snapshot: &Snapshot, unit: AllocUnitId) -> Option<Owner> {
    let base = duramen_catalog::system_tables::system_tables();
    let base = base.filter_map(|t| snapshot.table(t.object()));
    for table in snapshot.tables.values().chain(base) {
        let found = table.all_rowsets().find_map(|r| of_rowset(table, r, unit));
        if let Some(owner) = found {
            return Some(owner);
        }
    }
    None
}

fn of_rowset(table: &TableDef, rowset: &Arc<RowsetDef>, unit: AllocUnitId) -> Option<Owner> {
    let rows = rowset.au == unit;
    if !rows && rowset.lob_au != Some(unit) {
        return None;
    }
    Some(Owner {
        object: table.id.0,
        index: i32::from(rowset.index_id),
        partition: rowset.rowset.0,
        shape: rows.then(|| Shape {
            layout: (*rowset.layout).clone(),
            names: column_names(table, rowset),
            def: Some(rowset.clone()),
        }),
    })
}

/// Names of a rowset's columns. The uniquifier and the row locator have SQL Server's.
fn column_names(table: &TableDef, rowset: &Arc<RowsetDef>) -> Vec<String> {
    let named = |i: usize| match table.columns.get(i) {
        Some(c) => c.name.clone(),
        None => "UNIQUIFIER".to_owned(),
    };
    let index = table
        .indexes
        .iter()
        .find(|i| !i.clustered && i.id == rowset.index_id);
    match index {
        None => (0..rowset.layout.columns.len()).map(named).collect(),
        Some(index) => index
            .sources
            .iter()
            .map(|s| match s {
                IndexSource::Column(i) => named(*i),
                IndexSource::Rid => "HEAP RID".to_owned(),
                IndexSource::Uniquifier => "UNIQUIFIER".to_owned(),
            })
            .collect(),
    }
}
