//! DBCC IND: the pages of a table. Not documented by the reference; its columns are those that it is known by, and the
//! function `sys.dm_db_database_page_allocations` tells the same.

use duramen_base::{PageId, SqlError, SqlResult, messages};
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::Statement;
use super::{Arg, Call, Columns, Report, incorrect};
use crate::views::rowsets::{self, Found, units};
use duramen_program::rights::Needs;

pub(super) const STATEMENTS: &[Statement] = &[Statement {
    name: "IND",
    needs: Needs::Sysadmin,
    args: (3, 4),
    options: &["TABLERESULTS"],
    run: pages,
}];

const IND: Columns = &[
    ("PageFID", T::TINYINT, true),
    ("PagePID", T::INT, true),
    ("IAMFID", T::TINYINT, true),
    ("IAMPID", T::INT, true),
    ("ObjectID", T::INT, true),
    ("IndexID", T::INT, true),
    ("PartitionNumber", T::INT, true),
    ("PartitionID", T::BIGINT, true),
    ("iam_chain_type", T::varchar(20), true),
    ("PageType", T::TINYINT, true),
    ("IndexLevel", T::TINYINT, true),
    ("NextPageFID", T::TINYINT, true),
    ("NextPagePID", T::INT, true),
    ("PrevPageFID", T::TINYINT, true),
    ("PrevPagePID", T::INT, true),
];

/// IND ( database | 0, table, index_id | -1 | -2 [, partition_number] ): -1 means all indexes, -2 their IAM pages alone.
pub fn pages(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let wrong = |n: usize| SqlError::new(&messages::DBCC_WRONG_PARAMETER, &[&n]).with_state(9);
    let object = match &call.args[1] {
        Arg::Number(id) => *id,
        Arg::Text(name) => {
            let between = if name.contains('.') { "." } else { ".." };
            let quoted = db.db.name.replace(']', "]]");
            let whole = format!("[{quoted}]{between}{name}");
            let found = call.stored_table(&whole)?;
            let missing = || SqlError::new(&messages::DBCC_OBJECT_NOT_FOUND, &[name]);
            i64::from(found.ok_or_else(missing)?.1.id.0)
        }
        _ => return Err(wrong(2)),
    };
    if !db
        .catalog
        .snapshot()?
        .tables
        .values()
        .any(|t| i64::from(t.id.0) == object)
    {
        return Err(SqlError::new(&messages::DBCC_NO_SUCH_TABLE, &[&object]));
    }
    let Arg::Number(index) = call.args[2] else {
        return Err(wrong(3));
    };
    if index < -2 {
        return Err(incorrect());
    }
    let partition = match call.args.get(3) {
        None | Some(Arg::Null) => 0,
        Some(Arg::Number(n)) => *n,
        _ => return Err(wrong(4)),
    };
    let asked = [i64::from(db.db.id.0), object, index.max(-1), partition].map(Value::BigInt);
    let mut rows = Vec::new();
    rowsets::each_of(call.instance, &asked, |found| {
        of_rowset(found, index == -2, &mut rows)
    })?;
    Ok(Report {
        table: Some((IND, rows)),
        ..Report::default()
    })
}

fn of_rowset(found: &Found<'_>, maps_alone: bool, rows: &mut Vec<Row>) -> SqlResult<()> {
    let db = &found.db.db;
    let file = |p: PageId| Value::TinyInt(p.file as u8);
    let number = |p: PageId| Value::Int(p.page as i32);
    for (unit, kind) in units(found.def) {
        let kind = match kind {
            1 => "In-row data",
            2 => "LOB data",
            _ => "Row-overflow data",
        };
        for page in db.allocated_pages(unit)? {
            if !page.in_use() || maps_alone && page.iam.is_some() {
                continue;
            }
            let head = db.page_head(page.page)?;
            // An IAM page is on no level.
            let level = page.iam.map_or(Value::Null, |_| Value::TinyInt(head.level));
            rows.push(vec![
                file(page.page),
                number(page.page),
                page.iam.map_or(Value::Null, file),
                page.iam.map_or(Value::Null, number),
                Value::Int(found.table.id.0),
                Value::Int(found.index_id()),
                Value::Int(found.partition),
                Value::BigInt(found.def.rowset.0),
                Value::varchar(kind),
                Value::TinyInt(head.kind),
                level,
                file(head.next),
                number(head.next),
                file(head.previous),
                number(head.previous),
            ]);
        }
    }
    Ok(())
}
