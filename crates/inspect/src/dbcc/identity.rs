//! DBCC CHECKIDENT: what the identity of a table stands at, and setting it.

use std::fmt::Display;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_access::stored;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::TableDef;
use duramen_core::session_core::SessionCore;
use duramen_define::Ddl;
use duramen_storage::{LockHint, ScanSpec};
use duramen_txn::{LockMode, Transaction, TxnKind};

use super::Statement;
use super::{Arg, Call, Report, incorrect};
use crate::metadata;
use duramen_program::rights::needs::ALTERS_OBJECT;

pub(super) const STATEMENTS: &[Statement] = &[Statement {
    name: "CHECKIDENT",
    needs: ALTERS_OBJECT,
    args: (1, 3),
    options: &[],
    run: check,
}];

/// CHECKIDENT(table [, NORESEED | RESEED [, value]]). Without NORESEED and a value, an identity that is behind the
/// greatest value of its column is brought up to it. After RESEED with a value the next row gets the value after it, or
/// the value itself in a table that has given none out.
pub fn check(call: &Call<'_>) -> SqlResult<Report> {
    let Some(Arg::Text(name)) = call.args.first() else {
        return Err(incorrect());
    };
    let word = match call.args.get(1) {
        None => None,
        Some(Arg::Text(w)) => Some(w.to_ascii_uppercase()),
        Some(_) => return Err(incorrect()),
    };
    let value = match call.args.get(2) {
        None => None,
        Some(Arg::Number(n)) => Some(*n),
        Some(_) => return Err(incorrect()),
    };
    let reseed = match (word.as_deref(), value) {
        (None, None) | (Some("RESEED"), _) => true,
        (Some("NORESEED"), None) => false,
        _ => return Err(incorrect()),
    };
    let session = call.session;
    // Whoever held the table's lock may have changed it: then it is looked for again.
    session.settled(|| attempt(session, name, reseed, value))
}

fn attempt(
    session: &SessionCore,
    name: &str,
    reseed: bool,
    value: Option<i64>,
) -> SqlResult<Report> {
    let found = metadata::stored_table(session, name)?;
    let (db, table) =
        found.ok_or_else(|| SqlError::new(&messages::DBCC_OBJECT_NOT_FOUND, &[&name]))?;
    let Some(column) = table.identity_column() else {
        return Err(SqlError::new(&messages::NO_IDENTITY_COLUMN, &[&table.name]));
    };
    if reseed {
        db.check_writable()?;
    }
    let open = session.transaction.clone();
    let tx = open
        .clone()
        .unwrap_or_else(|| session.new_transaction(TxnKind::Autocommit, "DBCC CHECKIDENT"));
    let held = stored::hold(&db, &tx, session.activity.database());
    let result = held.and_then(|()| work(&db, &tx, (&table, column), reseed, value));
    match (open.is_some(), &result) {
        (true, _) => {}
        (false, Ok(_)) => session.finish(&tx, None)?,
        (false, Err(_)) => session.instance.rollback(&tx, None)?,
    }
    result
}

fn work(
    db: &Arc<OpenDb>,
    tx: &Transaction,
    (table, column): (&TableDef, usize),
    reseed: bool,
    value: Option<i64>,
) -> SqlResult<Report> {
    let ddl = Ddl::bare(db, tx);
    ddl.lock(
        table,
        if reseed {
            LockMode::SchM
        } else {
            LockMode::SchS
        },
    )?;
    let current = db.catalog.peek_identity(table)?;
    let shown = |n: Option<i64>| n.map_or_else(|| "NULL".to_owned(), |n| n.to_string());
    let increment = table.columns[column].identity.map_or(1, |i| i.increment);
    let mut args: [&dyn Display; 2] = [&"", &""];
    let now = shown(current);
    args[0] = &now;
    if let Some(n) = value {
        let last = match current {
            Some(_) => n,
            None => n.saturating_sub(increment),
        };
        db.catalog.set_identity(tx, table, Some(last))?;
        return Ok(said(&args));
    }
    let most = greatest(db, tx, table, column, increment)?;
    let behind = |most: i64| match current {
        None => true,
        Some(c) if increment < 0 => c > most,
        Some(c) => c < most,
    };
    if let Some(most) = most.filter(|m| reseed && behind(*m)) {
        db.catalog.set_identity(tx, table, Some(most))?;
    }
    let column = format!(", current column value '{}'", shown(most));
    args[1] = &column;
    Ok(said(&args))
}

fn said(args: &[&dyn Display; 2]) -> Report {
    Report {
        messages: vec![SqlError::new(&messages::IDENTITY_CHECKED, args)],
        ..Report::default()
    }
}

/// The value of the column that is furthest in the direction of the identity.
fn greatest(
    db: &OpenDb,
    tx: &Transaction,
    table: &TableDef,
    column: usize,
    increment: i64,
) -> SqlResult<Option<i64>> {
    let mut most: Option<i64> = None;
    for part in table.data_rowsets() {
        let rowset = db.db.rowset(part);
        let mut cursor = rowset.scan(tx, ScanSpec::all(LockHint::None))?;
        while let Some((_, row)) = cursor.next(tx)? {
            let n = row.get(column).and_then(|v| v.as_whole());
            most = match (most, n) {
                (Some(m), Some(n)) if increment < 0 => Some(m.min(n)),
                (Some(m), Some(n)) => Some(m.max(n)),
                (m, n) => m.or(n),
            };
        }
    }
    Ok(most)
}
