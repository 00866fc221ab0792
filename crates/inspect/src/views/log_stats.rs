//! `sys.dm_db_log_stats(database_id)`: a database's log in one row.

use duramen_access::open_db::OpenDb;
use duramen_base::Lsn;
use duramen_program::column::*;
use duramen_types::{DateTime, SqlType as T, Value};
use duramen_wal::{LogSpace, VlfInfo};

use super::{View, database_argument};

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5003, &VIEW),
];

pub struct Source {
    database: u16,
    model: &'static str,
    /// Where the next log backup begins; NULL without a chain.
    backed_up: Lsn,
    backup_time: Option<(i32, u32)>,
    since_backup: u64,
    vlfs: Vec<VlfInfo>,
    space: LogSpace,
    reason: &'static str,
    /// Oldest record that recovery or a rollback needs.
    recovery: Lsn,
    checkpoint: Lsn,
    end: Lsn,
    since_recovery: u64,
    since_checkpoint: u64,
}

impl Source {
    fn of(db: &OpenDb) -> Option<Source> {
        let log = db.db.log()?;
        let checkpoint = db.db.boot().checkpoint_lsn;
        let backed_up = db.db.log_backup_lsn();
        let oldest = db.db.transactions.table.oldest_lsn();
        let recovery = oldest
            .filter(|l| !l.is_null())
            .map_or(checkpoint, |l| l.min(checkpoint));
        Some(Source {
            database: db.db.id.0,
            model: duramen_admin::backup::model_name(db.entry.read().options),
            backed_up,
            backup_time: db.db.log_backed_up(),
            since_backup: log.bytes_since(backed_up),
            vlfs: log.vlfs(),
            space: log.space(),
            reason: log.reuse_reason(),
            recovery,
            checkpoint,
            end: log.last_lsn(),
            since_recovery: log.bytes_since(recovery),
            since_checkpoint: log.bytes_since(checkpoint),
        })
    }

    fn active(&self) -> impl Iterator<Item = &VlfInfo> {
        self.vlfs.iter().filter(|v| v.status == 2)
    }

    fn current(&self) -> Option<&VlfInfo> {
        self.active().max_by_key(|v| v.seq)
    }
}

const LSN_TEXT: T = T::nvarchar(24);

columns! { Source;
    "database_id", T::INT, NOT_NULL, |s| int(s.database);
    "recovery_model", DESC, NULL, |s| text(s.model);
    "log_min_lsn", LSN_TEXT, NULL, |s| lsn_text(s.recovery);
    "log_end_lsn", LSN_TEXT, NULL, |s| lsn_text(s.end);
    "current_vlf_sequence_number", T::BIGINT, NULL, |s| {
        s.current().map_or(Value::Null, |v| big(u64::from(v.seq)))
    };
    "current_vlf_size_mb", T::FLOAT, NULL, |s| s.current().map_or(Value::Null, |v| mb(v.size));
    "total_vlf_count", T::BIGINT, NULL, |s| big(s.vlfs.len() as u64);
    "total_log_size_mb", T::FLOAT, NULL, |s| mb(s.space.total);
    "active_vlf_count", T::BIGINT, NULL, |s| big(s.active().count() as u64);
    "active_log_size_mb", T::FLOAT, NULL, |s| mb(s.space.used);
    "log_truncation_holdup_reason", DESC, NULL, |s| text(s.reason);
    "log_backup_time", T::DATETIME, NULL, |s| match s.backup_time {
        Some((days, ticks)) => Value::DateTime(DateTime { days, ticks }),
        None => Value::Null,
    };
    "log_backup_lsn", LSN_TEXT, NULL, |s| match s.backed_up.is_null() {
        true => Value::Null,
        false => lsn_text(s.backed_up),
    };
    "log_since_last_log_backup_mb", T::FLOAT, NULL, |s| match s.backed_up.is_null() {
        true => Value::Null,
        false => mb(s.since_backup),
    };
    "log_checkpoint_lsn", LSN_TEXT, NULL, |s| lsn_text(s.checkpoint);
    "log_since_last_checkpoint_mb", T::FLOAT, NULL, |s| mb(s.since_checkpoint);
    "log_recovery_lsn", LSN_TEXT, NULL, |s| lsn_text(s.recovery);
    "log_recovery_size_mb", T::FLOAT, NULL, |s| mb(s.since_recovery);
    "recovery_vlf_count", T::BIGINT, NULL, |s| {
        big(s.active().filter(|v| v.seq >= s.recovery.vlf).count() as u64)
    };
}

pub const VIEW: View = View::new("dm_db_log_stats", STATE_OF_ARGUMENT, COLUMNS, |cx, args| {
    let found = database_argument(cx, args);
    let source = found.as_ref().and_then(|d| Source::of(d));
    Ok(source.iter().map(row).collect())
});
