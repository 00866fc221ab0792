//! `sys.dm_tran_database_transactions`, `sys.dm_tran_active_transactions` and `sys.dm_tran_session_transactions`: the
//! transactions that users have open.
//!
//! Transactions of single statements and of the system itself (page splits, allocation) are not listed, and what the
//! latter log is not counted in the transaction that caused them: the `_system` columns are 0.

use std::sync::Arc;

use duramen_base::Lsn;
use duramen_core::activity::Activity;
use duramen_program::column::*;
use duramen_txn::{DbPart, Transaction};
use duramen_types::{DateTime, SqlType as T, Value};
use duramen_wal::record::RecordView;

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1043, &ACTIVE),
    (-1044, &SESSIONS),
    (-1045, &DATABASES),
];

/// An open transaction and whose it is.
pub struct Source {
    who: Arc<Activity>,
    tx: Arc<Transaction>,
}

fn sources(cx: &Context) -> Vec<Source> {
    let open = |who: Arc<Activity>| {
        let tx = who.open_transaction()?;
        Some(Source { who, tx })
    };
    cx.instance
        .sessions()
        .into_iter()
        .filter_map(open)
        .collect()
}

columns! { Source;
    "transaction_id", T::BIGINT, NOT_NULL, |s| big(s.tx.id);
    "name", T::nvarchar(32), NOT_NULL, |s| text(&s.tx.name);
    "transaction_begin_time", T::DATETIME, NOT_NULL, |s| unix_time(s.tx.started.unix_nanos());
    // 1: it may write.
    "transaction_type", T::INT, NOT_NULL, |_| int(1);
    "transaction_uow", T::GUID, NULL, |_| Value::Null;
    // 2: active.
    "transaction_state", T::INT, NOT_NULL, |_| int(2);
    "transaction_status", T::INT, NOT_NULL, |_| int(0);
    "transaction_status2", T::INT, NOT_NULL, |_| int(0);
    "dtc_state", T::INT, NOT_NULL, |_| int(0);
    "dtc_status", T::INT, NOT_NULL, |_| int(0);
    "dtc_isolation_level", T::INT, NOT_NULL, |_| int(-1);
    "filestream_transaction_id", T::varbinary(128), NULL, |_| Value::Null;
}

pub const ACTIVE: View = View::new(
    "dm_tran_active_transactions",
    SERVER_STATE,
    COLUMNS,
    |cx, _| Ok(sources(cx).iter().map(row).collect()),
);

pub use sessions::SESSIONS;

mod sessions {
    use super::*;

    columns! { Source;
        "session_id", T::INT, NOT_NULL, |s| int(s.who.spid.0);
        "transaction_id", T::BIGINT, NOT_NULL, |s| big(s.tx.id);
        "transaction_descriptor", T::binary(8), NOT_NULL, |s| Value::Binary(s.tx.id.to_le_bytes().to_vec());
        "enlist_count", T::INT, NOT_NULL, |s| int(u8::from(s.who.glance().running));
        "is_user_transaction", T::BIT, NOT_NULL, |_| bit(true);
        "is_local", T::BIT, NOT_NULL, |_| bit(true);
        "is_enlisted", T::BIT, NOT_NULL, |_| bit(false);
        "is_bound", T::BIT, NOT_NULL, |_| bit(false);
        "open_transaction_count", T::INT, NOT_NULL, |s| int(s.tx.nesting());
    }

    pub const SESSIONS: View = View::new(
        "dm_tran_session_transactions",
        SERVER_STATE,
        COLUMNS,
        |cx, _| Ok(sources(cx).iter().map(row).collect()),
    );
}

pub use databases::DATABASES;

mod databases {
    use super::*;

    /// A transaction in one database; without a part it has logged nothing there.
    pub struct Part {
        tx: Arc<Transaction>,
        database: u16,
        part: Option<DbPart>,
        began: Value,
    }

    impl Part {
        fn of(&self, value: impl FnOnce(&DbPart) -> u64) -> Value {
            big(self.part.as_ref().map_or(0, value))
        }

        fn lsn(&self, value: impl FnOnce(&DbPart) -> Lsn) -> Value {
            self.part
                .as_ref()
                .map_or(Value::Null, |p| lsn_number(value(p)))
        }
    }

    columns! { Part;
        "transaction_id", T::BIGINT, NOT_NULL, |p| big(p.tx.id);
        "database_id", T::INT, NOT_NULL, |p| int(p.database);
        "database_transaction_begin_time", T::DATETIME, NULL, |p| p.began.clone();
        "database_transaction_type", T::INT, NOT_NULL, |_| int(1);
        // 3: no log record yet, 4: with log records.
        "database_transaction_state", T::INT, NOT_NULL, |p| int(if p.part.is_some() { 4 } else { 3 });
        "database_transaction_status", T::INT, NOT_NULL, |_| int(0);
        "database_transaction_status2", T::INT, NOT_NULL, |_| int(0);
        "database_transaction_log_record_count", T::BIGINT, NOT_NULL, |p| p.of(|d| d.records);
        "database_transaction_replicate_record_count", T::INT, NOT_NULL, |_| int(0);
        "database_transaction_log_bytes_used", T::BIGINT, NOT_NULL, |p| p.of(|d| d.bytes);
        "database_transaction_log_bytes_reserved", T::BIGINT, NOT_NULL, |p| p.of(|d| d.reserved);
        "database_transaction_log_bytes_used_system", T::INT, NOT_NULL, |_| int(0);
        "database_transaction_log_bytes_reserved_system", T::INT, NOT_NULL, |_| int(0);
        "database_transaction_begin_lsn", LSN, NULL, |p| p.lsn(|d| d.begin_lsn);
        "database_transaction_last_lsn", LSN, NULL, |p| p.lsn(|d| d.last_lsn);
        "database_transaction_most_recent_savepoint_lsn", LSN, NULL, |_| Value::Null;
        "database_transaction_commit_lsn", LSN, NULL, |_| Value::Null;
        "database_transaction_last_rollback_lsn", LSN, NULL, |_| Value::Null;
        "database_transaction_next_undo_lsn", LSN, NULL, |p| p.lsn(|d| d.last_lsn);
    }

    /// When the transaction's first record was written.
    fn began(cx: &Context, part: &DbPart) -> Value {
        let db = cx.instance.databases.get(part.db);
        let record = db
            .as_ref()
            .and_then(|d| d.db.log())
            .and_then(|log| log.read_one(part.begin_lsn).ok());
        let time = record
            .as_ref()
            .and_then(|bytes| RecordView::parse(bytes)?.datetime());
        time.map_or(Value::Null, |b| {
            let number = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            Value::DateTime(DateTime {
                days: number(&b[4..]) as i32,
                ticks: number(&b[..4]),
            })
        })
    }

    pub const DATABASES: View = View::new(
        "dm_tran_database_transactions",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let mut rows = Vec::new();
            for s in sources(cx) {
                let parts = s.tx.parts();
                if parts.is_empty() {
                    rows.push(row(&Part {
                        tx: s.tx.clone(),
                        database: s.who.database(),
                        part: None,
                        began: Value::Null,
                    }));
                }
                for part in parts {
                    rows.push(row(&Part {
                        tx: s.tx.clone(),
                        database: part.db.0,
                        began: began(cx, &part),
                        part: Some(part),
                    }));
                }
            }
            Ok(rows)
        },
    );
}
