//! `sys.dm_tran_version_store_space_usage`: what row versions take, by database; `sys.dm_tran_version_store`: the versions;
//! `sys.dm_tran_active_snapshot_database_transactions`, `sys.dm_tran_transactions_snapshot` and `sys.dm_tran_current_snapshot`:
//! who may read and make them.
//!
//! The store lies in memory, not in tempdb: pages are units of 8 KB of it. Sequence numbers of transactions are those of
//! writers of versions; who only reads has none, and commits are numbered apart from them.

use std::sync::Arc;

use duramen_base::DbId;
use duramen_core::activity::Activity;
use duramen_program::column::*;
use duramen_txn::versions::{RowVersion, Snapshot};
use duramen_txn::{IsolationLevel, Transaction};
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1017, &VIEW),
    (-1118, &VERSIONS),
    (-1119, &ACTIVE),
    (-1120, &CURRENT),
    (-1123, &SNAPSHOTS),
];

pub struct Usage {
    db: DbId,
    bytes: u64,
}

columns! { Usage;
    "database_id", T::INT, NOT_NULL, |u| int(u.db.0);
    "reserved_page_count", T::BIGINT, NULL, |u| big(u.bytes.div_ceil(8192));
    "reserved_space_kb", T::BIGINT, NULL, |u| big(u.bytes.div_ceil(1024));
}

pub const VIEW: View = View::new(
    "dm_tran_version_store_space_usage",
    SERVER_STATE,
    COLUMNS,
    |cx, _| {
        let held = cx.instance.databases.engine.versions.usage();
        let all = cx.instance.databases.all();
        Ok(all
            .iter()
            .map(|d| Usage {
                db: d.db.id,
                bytes: held.get(&d.db.id).copied().unwrap_or(0),
            })
            .map(|u| row(&u))
            .collect())
    },
);

pub use rows::VERSIONS;

mod rows {
    use super::*;

    /// The first part of an image holds so many bytes.
    const PART: usize = 8000;

    /// The bytes of the row; values outside it are no part of it.
    fn parts(v: &RowVersion) -> (&[u8], Option<&[u8]>) {
        let row = &v.image.row;
        match row.len() > PART {
            true => (&row[..PART], Some(&row[PART..])),
            false => (row, None),
        }
    }

    /// Where the columns of fixed length end, which no row of the table is shorter than.
    fn fixed(v: &RowVersion) -> Value {
        let end = v
            .image
            .row
            .get(2..4)
            .map(|b| u16::from_le_bytes([b[0], b[1]]));
        end.map_or(Value::Null, |n| Value::SmallInt(n as i16))
    }

    fn length(bytes: &[u8]) -> Value {
        Value::SmallInt(bytes.len() as i16)
    }

    columns! { RowVersion;
        "transaction_sequence_num", T::BIGINT, NULL, |v| big(v.writer);
        "version_sequence_num", T::BIGINT, NULL, |v| big(v.sequence);
        "database_id", T::SMALLINT, NULL, |v| small(v.db.0);
        "rowset_id", T::BIGINT, NULL, |v| Value::BigInt(v.rowset.0);
        "status", T::TINYINT, NULL, |v| Value::TinyInt(u8::from(parts(v).1.is_some()));
        "min_length_in_bytes", T::SMALLINT, NULL, fixed;
        "record_length_first_part_in_bytes", T::SMALLINT, NULL, |v| length(parts(v).0);
        "record_image_first_part", T::varbinary(8000), NULL, |v| Value::Binary(parts(v).0.to_vec());
        "record_length_second_part_in_bytes", T::SMALLINT, NULL, |v| length(parts(v).1.unwrap_or_default());
        "record_image_second_part", T::varbinary(8000), NULL, |v| {
            parts(v).1.map_or(Value::Null, |b| Value::Binary(b.to_vec()))
        };
    }

    pub const VERSIONS: View =
        View::new("dm_tran_version_store", SERVER_STATE, COLUMNS, |cx, _| {
            let versions = cx.instance.databases.engine.versions.rows();
            Ok(versions.iter().map(row).collect())
        });
}

/// The writers that had begun and not ended when a snapshot was taken, in order.
fn active_at(cx: &Context, snapshot: &Snapshot) -> Vec<u64> {
    let open = cx.instance.sessions().into_iter();
    let open = open.filter_map(|a| a.open_transaction()?.writer());
    let mut all: Vec<u64> = open
        .map(|w| w.xsn())
        .filter(|w| *w <= snapshot.last_writer())
        .chain(snapshot.ended_since())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub use transactions::ACTIVE;

mod transactions {
    use super::*;

    /// A transaction that makes versions, or sees by a snapshot.
    pub struct Source {
        who: Arc<Activity>,
        tx: Arc<Transaction>,
        first: Option<u64>,
    }

    impl Source {
        fn is_snapshot(&self) -> bool {
            self.tx.isolation() == IsolationLevel::Snapshot
        }
    }

    fn number(n: Option<u64>) -> Value {
        n.map_or(Value::Null, big)
    }

    columns! { Source;
        "transaction_id", T::BIGINT, NULL, |s| big(s.tx.id);
        "transaction_sequence_num", T::BIGINT, NULL, |s| number(s.tx.writer().map(|w| w.xsn()));
        "commit_sequence_num", T::BIGINT, NULL, |_| Value::Null;
        "is_snapshot", T::INT, NULL, |s| int(u8::from(s.is_snapshot()));
        "session_id", T::INT, NULL, |s| int(s.who.spid.0);
        "first_snapshot_sequence_num", T::BIGINT, NULL, |s| number(s.first);
        // Nobody counts how far readers go back.
        "max_version_chain_traversed", T::INT, NULL, |_| Value::Null;
        "average_version_chain_traversed", T::REAL, NULL, |_| Value::Null;
        "elapsed_time_seconds", T::BIGINT, NULL, |s| {
            let nanos = duramen_os::time::wall().unix_nanos() - s.tx.started.unix_nanos();
            big(u64::try_from(nanos / 1_000_000_000).unwrap_or(0))
        };
    }

    pub const ACTIVE: View = View::new(
        "dm_tran_active_snapshot_database_transactions",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let sources = cx.instance.sessions().into_iter().filter_map(|who| {
                let tx = who.open_transaction()?;
                let view = tx.view();
                if view.is_none() && tx.writer().is_none() {
                    return None;
                }
                let first = view.and_then(|v| active_at(cx, v.snapshot()).first().copied());
                Some(Source { who, tx, first })
            });
            Ok(sources.map(|s| row(&s)).collect())
        },
    );
}

pub use snapshots::SNAPSHOTS;

mod snapshots {
    use super::*;

    /// A transaction that sees by a snapshot, and one that was active when it was taken.
    pub struct Source {
        of: Option<u64>,
        active: u64,
    }

    columns! { Source;
        "transaction_sequence_num", T::BIGINT, NULL, |s| s.of.map_or(Value::Null, big);
        // A transaction has one snapshot: of READ COMMITTED each statement has its own, which is not listed.
        "snapshot_id", T::INT, NULL, |_| int(0);
        "snapshot_sequence_num", T::BIGINT, NULL, |s| big(s.active);
    }

    pub const SNAPSHOTS: View = View::new(
        "dm_tran_transactions_snapshot",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let mut rows = Vec::new();
            for who in cx.instance.sessions() {
                let Some(tx) = who.open_transaction() else {
                    continue;
                };
                if tx.isolation() != IsolationLevel::Snapshot {
                    continue;
                }
                let Some(view) = tx.view() else { continue };
                let of = tx.writer().map(|w| w.xsn());
                let active = active_at(cx, view.snapshot());
                rows.extend(active.into_iter().map(|active| row(&Source { of, active })));
            }
            Ok(rows)
        },
    );
}

pub use current::CURRENT;

mod current {
    use super::*;

    columns! { u64;
        "transaction_sequence_num", T::BIGINT, NULL, |n| big(*n);
    }

    pub const CURRENT: View = View::new(
        "dm_tran_current_snapshot",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let own = cx.execution.as_ref().and_then(|e| e.transaction.view());
            let active = own.map_or_else(Vec::new, |v| active_at(cx, v.snapshot()));
            Ok(active.iter().map(row).collect())
        },
    );
}
