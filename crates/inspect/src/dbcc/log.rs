//! DBCC LOGINFO, LOG and OPENTRAN: what the log of a database looks like, and who holds it.

use duramen_access::open_db::OpenDb;
use duramen_base::{Lsn, SqlError, SqlResult, messages};
use duramen_program::column::lsn_number;
use duramen_types::{ConvertCtx, DateTime, SqlType, Value, convert};
use duramen_wal::VlfInfo;
use duramen_wal::record::RecordView;

use super::Statement;
use super::{Arg, Call, Columns, Report};
use crate::views::dblog;
use duramen_program::rights::needs::OWNER_OF_ARGUMENT;

pub(super) const STATEMENTS: &[Statement] = &[
    Statement {
        name: "LOG",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 2),
        // Its rows are a result set either way.
        options: &["TABLERESULTS"],
        run: records,
    },
    Statement {
        name: "LOGINFO",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 1),
        // Its rows are a result set either way.
        options: &["TABLERESULTS"],
        run: info,
    },
    Statement {
        name: "OPENTRAN",
        needs: OWNER_OF_ARGUMENT,
        args: (0, 1),
        options: &["TABLERESULTS"],
        run: open_transaction,
    },
];

const LOGINFO: Columns = &[
    ("RecoveryUnitId", SqlType::INT, true),
    ("FileId", SqlType::INT, true),
    ("FileSize", SqlType::BIGINT, true),
    ("StartOffset", SqlType::BIGINT, true),
    ("FSeqNo", SqlType::INT, true),
    ("Status", SqlType::INT, true),
    ("Parity", SqlType::TINYINT, true),
    ("CreateLSN", SqlType::numeric(25, 0), true),
];

/// LOGINFO: a row a VLF.
pub fn info(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let row = |v: VlfInfo| {
        vec![
            Value::Int(0),
            Value::Int(i32::from(v.file_id.0)),
            Value::BigInt(v.size as i64),
            Value::BigInt(v.offset as i64),
            Value::Int(v.seq as i32),
            Value::Int(i32::from(v.status)),
            Value::TinyInt(v.parity),
            lsn_number(v.create_lsn),
        ]
    };
    let vlfs = db.db.log().map(|l| l.vlfs()).unwrap_or_default();
    Ok(Report {
        table: Some((LOGINFO, vlfs.into_iter().map(row).collect())),
        ..Report::default()
    })
}

/// What DBCC LOG tells at level 0, and at level 1 besides (*assumed*: the statement is not documented; tools read the
/// first columns by name).
const BRIEF: [&str; 5] = [
    "Current LSN",
    "Operation",
    "Context",
    "Transaction ID",
    "LogBlockGeneration",
];
const FLAGS: [&str; 6] = [
    "Tag Bits",
    "Log Record Fixed Length",
    "Log Record Length",
    "Previous LSN",
    "Flag Bits",
    "Description",
];
/// At level 2 besides.
const PLACES: [&str; 5] = [
    "AllocUnitId",
    "AllocUnitName",
    "Page ID",
    "Slot ID",
    "Previous Page LSN",
];

/// LOG(database, level): the records of the active log. Level 0, the default, is brief; 1 and 2 tell more; 3 is all but the
/// record's bytes, 4 and -1 all.
pub fn records(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let level = match call.args.get(1) {
        None | Some(Arg::Null) => 0,
        Some(Arg::Number(n)) => *n,
        Some(Arg::Text(_) | Arg::Binary(_)) => return Err(super::incorrect()),
    };
    let is_shown = |name: &str| match level {
        ..=-2 | 5.. => false,
        -1 | 4 => true,
        3 => name != "Log Record",
        _ => {
            BRIEF.contains(&name)
                || level >= 1 && FLAGS.contains(&name)
                || level == 2 && PLACES.contains(&name)
        }
    };
    let all = dblog::COLUMNS.iter().enumerate();
    let (places, columns): (Vec<usize>, Vec<_>) = all.filter(|(_, c)| is_shown(c.0)).unzip();
    if columns.is_empty() {
        return Err(super::incorrect());
    }
    let rows = dblog::records(&db, None, None)?.map(move |row| {
        let mut row = row?;
        let value = |i: &usize| std::mem::replace(&mut row[*i], Value::Null);
        Ok(places.iter().map(value).collect())
    });
    Ok(Report {
        long: Some((columns, Box::new(rows))),
        ..Report::default()
    })
}

/// The oldest transaction that has written and not ended, from its BEGIN_XACT.
struct Oldest {
    spid: u16,
    name: String,
    lsn: Lsn,
    started: String,
    sid: String,
}

fn oldest(db: &OpenDb) -> Option<Oldest> {
    let log = db.db.log()?;
    let mut active = db.db.transactions.table.active();
    active.sort_by_key(|t| t.begin_lsn);
    active.into_iter().find_map(|t| {
        let bytes = log.read_one(t.begin_lsn).ok()?;
        let view = RecordView::parse(&bytes)?;
        // Until its BEGIN_XACT is appended a transaction is listed with the record before.
        let spid = view.spid().filter(|_| view.xdes() == t.xdes)?;
        let utf16: Vec<u16> = view
            .element(0)
            .unwrap_or_default()
            .chunks_exact(2)
            .map(|b| u16::from_le_bytes([b[0], b[1]]))
            .collect();
        let hex = |b: &u8| format!("{b:02x}");
        let sid: String = view
            .element(1)
            .unwrap_or_default()
            .iter()
            .map(hex)
            .collect();
        Some(Oldest {
            spid,
            name: String::from_utf16_lossy(&utf16),
            lsn: t.begin_lsn,
            started: view.datetime().map(long_time).unwrap_or_default(),
            sid: format!("0x{sid}"),
        })
    })
}

/// `Jun  1 2004  3:30:07:197PM`, style 109.
fn long_time(bytes: [u8; 8]) -> String {
    let number = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let value = Value::DateTime(DateTime {
        days: number(&bytes[4..]) as i32,
        ticks: number(&bytes[..4]),
    });
    let to = SqlType::varchar(30);
    convert::convert(
        &value,
        &SqlType::DATETIME,
        &to,
        Some(109),
        &ConvertCtx::default(),
    )
    .ok()
    .and_then(|v| v.as_text())
    .unwrap_or_default()
}

/// The columns have no names (*assumed*: scripts insert them into a table of two columns by position).
const OPENTRAN: Columns = &[
    ("", SqlType::varchar(25), true),
    ("", SqlType::varchar(192), true),
];

/// OPENTRAN: the oldest active transaction as messages, or as rows WITH TABLERESULTS.
pub fn open_transaction(call: &Call<'_>) -> SqlResult<Report> {
    let db = call.database()?;
    let found = oldest(&db);
    let lsn = found.as_ref().map(|o| o.lsn.to_decimal_text());
    let lsn = lsn.as_deref().unwrap_or_default();
    if call.option("TABLERESULTS") {
        let pair = |k: &str, v: &str| vec![Value::varchar(k), Value::varchar(v)];
        let rows = found.map_or_else(Vec::new, |o| {
            vec![
                pair("OLDACT_SPID", &o.spid.to_string()),
                pair("OLDACT_UID", "-1"),
                pair("OLDACT_NAME", &o.name),
                pair("OLDACT_LSN", lsn),
                pair("OLDACT_STARTTIME", &o.started),
                pair("OLDACT_SID", &o.sid),
            ]
        });
        return Ok(Report {
            table: Some((OPENTRAN, rows)),
            ..Report::default()
        });
    }
    let messages = match found {
        None => vec![SqlError::new(&messages::NO_OPEN_TRANSACTIONS, &[]).with_state(2)],
        Some(o) => vec![
            SqlError::new(&messages::OPENTRAN_DATABASE, &[&db.db.name]),
            SqlError::new(&messages::OPENTRAN_OLDEST, &[&"\n"]),
            SqlError::new(&messages::OPENTRAN_SPID, &[&"    ", &o.spid]),
            SqlError::new(&messages::OPENTRAN_UID, &[&"    ", &-1]),
            SqlError::new(&messages::OPENTRAN_NAME, &[&"    ", &o.name]),
            SqlError::new(&messages::OPENTRAN_LSN, &[&"    ", &lsn]),
            SqlError::new(&messages::OPENTRAN_START, &[&"    ", &o.started]),
            SqlError::new(&messages::OPENTRAN_SID, &[&"    ", &o.sid]),
        ],
    };
    Ok(Report {
        messages,
        ..Report::default()
    })
}
