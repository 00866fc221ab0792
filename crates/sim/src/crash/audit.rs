//! What is looked at after a recovery.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{SessionId, SqlError};
use duramen_catalog::ObjectKind;
use duramen_events::instance::Instance;
use duramen_os::Disk;
use duramen_os::sim::SimDisk;
use duramen_session::Session;
use duramen_storage::{LockHint, ScanSpec};
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::Value;

use super::actor::{read_row, read_run};
use super::image;
use super::model::{DATABASES, DBS, IDS, Ledger, Part};
use super::wire::execute;

/// Compares everything with what may be, and makes what is there the beginning of what comes.
pub fn after_recovery(instance: &Arc<Instance>, ledger: &mut Ledger) -> Result<(), String> {
    let mut session = image::login(instance)?;
    let sessions = ledger.sessions();
    let mut found: Vec<[Part; DBS]> = (0..sessions).map(|_| Default::default()).collect();
    for (n, db) in DATABASES.iter().enumerate() {
        for (s, part) in database(instance, &mut session, db, sessions)?
            .into_iter()
            .enumerate()
        {
            found[s][n] = part;
        }
    }
    for (s, parts) in found.into_iter().enumerate() {
        ledger.settle(s, parts)?;
    }
    drop(session);
    for db in DATABASES {
        let open = instance.databases.find(db);
        let open = open.ok_or_else(|| format!("database {db} is not there"))?;
        structures(&open).map_err(|e| format!("database {db}: {e}"))?;
    }
    Ok(())
}

fn query(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, String> {
    let reply = execute(session, sql);
    match reply.errors.first() {
        Some(e) => Err(format!("after recovery: {sql}: {e}")),
        None => Ok(reply.rows),
    }
}

/// The rows of every session in one database.
pub(super) fn database(
    instance: &Arc<Instance>,
    session: &mut Session,
    db: &str,
    sessions: usize,
) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = (0..sessions).map(|_| Part::default()).collect();
    let whole = |row: &[Value]| -> Option<Vec<i64>> { row.iter().map(Value::as_i64).collect() };
    let bad = |table: &str, row: &[Value]| format!("{db}.{table} has the row {row:?}");
    let owner = |id: i64| usize::try_from(id / i64::from(IDS) - 1).ok();
    for row in query(session, &format!("SELECT sess, n FROM {db}.dbo.seq"))? {
        let v = whole(&row).ok_or_else(|| bad("seq", &row))?;
        if let Some(p) = parts.get_mut(v[0] as usize - 1) {
            p.seq = v[1];
        }
    }
    for table in ["t", "h"] {
        let sql = format!("SELECT id, pad, n, f FROM {db}.dbo.{table}");
        for row in query(session, &sql)? {
            let (id, read) = read_row(&row).ok_or_else(|| bad(table, &row))?;
            let part = owner(id.into()).and_then(|s| parts.get_mut(s));
            let part = part.ok_or_else(|| bad(table, &row))?;
            let rows = if table == "t" {
                &mut part.t
            } else {
                &mut part.h
            };
            if rows.insert(id, read).is_some() {
                return Err(format!("{db}.{table} has id {id} twice"));
            }
        }
    }
    for row in query(session, &format!("SELECT id, body FROM {db}.dbo.l"))? {
        let id = row[0].as_i64().ok_or_else(|| bad("l", &row))?;
        let run = read_run(&row[1]).ok_or_else(|| format!("{db}.l {id} is not one letter"))?;
        let part = owner(id).and_then(|s| parts.get_mut(s));
        part.ok_or_else(|| bad("l", &row))?.l.insert(id as i32, run);
    }
    accounts(session, db, &mut parts)?;
    own_tables(instance, session, db, &mut parts)?;
    Ok(parts)
}

/// Each account's history has no gap and adds up.
fn accounts(session: &mut Session, db: &str, parts: &mut [Part]) -> Result<(), String> {
    let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let sql = format!("SELECT acct, ver, delta, sess, txn FROM {db}.dbo.hist ORDER BY acct, ver");
    for row in query(session, &sql)? {
        let v: Option<Vec<i64>> = row.iter().map(Value::as_i64).collect();
        let v = v.ok_or_else(|| format!("{db}.hist has the row {row:?}"))?;
        let sum = sums.entry(v[0]).or_default();
        if v[1] != sum.0 + 1 {
            return Err(format!(
                "{db}: the history of account {} goes from version {} to {}",
                v[0], sum.0, v[1]
            ));
        }
        *sum = (v[1], sum.1 + v[2]);
        if let Some(p) = parts.get_mut(v[3] as usize - 1) {
            p.hist.entry(v[4]).or_default().insert(v[0] as i32, v[2]);
        }
    }
    for row in query(session, &format!("SELECT id, ver, bal FROM {db}.dbo.acct"))? {
        let v: Vec<i64> = row.iter().filter_map(Value::as_i64).collect();
        let sum = sums.get(&v[0]).copied().unwrap_or_default();
        if (v[1], v[2]) != sum {
            return Err(format!(
                "{db}: account {} is at version {} with {}, its history at {} with {}",
                v[0], v[1], v[2], sum.0, sum.1
            ));
        }
    }
    Ok(())
}

fn own_tables(
    instance: &Arc<Instance>,
    session: &mut Session,
    db: &str,
    parts: &mut [Part],
) -> Result<(), String> {
    let open = instance.databases.find(db);
    let open = open.ok_or_else(|| format!("database {db} is not there"))?;
    let snapshot = open
        .catalog
        .snapshot()
        .map_err(|e| format!("the catalog of {db}: {e}"))?;
    for (s, part) in parts.iter_mut().enumerate() {
        let name = format!("own{}", s + 1);
        let Some(table) = snapshot.find_table(duramen_catalog::SCHEMA_DBO, &name) else {
            continue;
        };
        let mut rows = BTreeMap::new();
        for row in query(session, &format!("SELECT id, pad FROM {db}.dbo.{name}"))? {
            let id = row[0].as_i64().unwrap_or(-1) as i32;
            let Some((b'o', length)) = read_run(&row[1]) else {
                // An empty text has no letter.
                rows.insert(id, 0);
                continue;
            };
            rows.insert(id, length);
        }
        part.own = Some((rows, !table.indexes.is_empty()));
    }
    Ok(())
}

/// Every index has exactly the entries of its table's rows, and every tree is one.
pub(super) fn structures(open: &OpenDb) -> Result<(), String> {
    let owner = open.db.engine.locks.owner(SessionId(0));
    let level = IsolationLevel::ReadCommitted;
    let tx = Transaction::new(&owner, TxnKind::Autocommit, "audit", level);
    let result = all_indexes(open, &tx);
    open.db.engine.locks.release_all(&owner);
    result
}

fn all_indexes(open: &OpenDb, tx: &Transaction) -> Result<(), String> {
    let text = |e: SqlError| e.to_string();
    let snapshot = open.catalog.snapshot().map_err(text)?;
    for table in snapshot.tables.values() {
        if table.kind != ObjectKind::TABLE {
            continue;
        }
        let name = &table.name;
        let data = open.db.rowset(&table.data);
        if !table.is_heap() {
            data.check_tree()
                .map_err(|e| format!("the tree of {name}: {e}"))?;
        }
        let mut rows = Vec::new();
        let all = || ScanSpec::all(LockHint::None);
        let mut cursor = data.scan(tx, all()).map_err(text)?;
        while let Some(found) = cursor.next(tx).map_err(text)? {
            rows.push(found);
        }
        // A disabled index has no entries.
        for index in table.maintained() {
            let rowset = open.db.rowset(&index.rowset);
            let which = format!("index {} of {name}", index.name);
            rowset.check_tree().map_err(|e| format!("{which}: {e}"))?;
            let mut expected: Vec<String> = rows
                .iter()
                .map(|(at, row)| format!("{:?}", index.entry(row, at)))
                .collect();
            let mut entries = Vec::new();
            let mut cursor = rowset.scan(tx, all()).map_err(text)?;
            while let Some((_, entry)) = cursor.next(tx).map_err(text)? {
                entries.push(format!("{entry:?}"));
            }
            expected.sort();
            entries.sort();
            if expected != entries {
                let missing = expected.iter().find(|e| !entries.contains(e));
                let odd = entries.iter().find(|e| !expected.contains(e));
                return Err(format!(
                    "{which} has {} entries for {} rows; missing {missing:?}, without a row {odd:?}",
                    entries.len(),
                    rows.len()
                ));
            }
        }
    }
    Ok(())
}

/// The offline check of the files of a stopped instance.
pub fn files(disk: &SimDisk, everything: bool) -> Result<(), String> {
    let reports = if everything {
        duramen_check::check_directory(disk, "/data".as_ref()).map_err(|e| e.to_string())?
    } else {
        let paths: Vec<PathBuf> = DATABASES
            .iter()
            .flat_map(|db| [format!("/data/{db}.ldf"), format!("/data/{db}.mdf")])
            .map(PathBuf::from)
            .filter(|p| disk.exists(p))
            .collect();
        duramen_check::check_files(disk, &paths)
    };
    for report in reports {
        if let Some(f) = report.findings.first() {
            return Err(format!(
                "the offline check of {}: {} {}",
                report.path.display(),
                f.number,
                f.text
            ));
        }
    }
    Ok(())
}
