//! `sys.dm_db_log_space_usage`: how full the log of the current database is.

use duramen_base::Lsn;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};
use duramen_wal::LogSpace;

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1014, &VIEW),
];

pub struct Source {
    database: u16,
    space: LogSpace,
    /// `None` without a chain of log backups.
    since_backup: Option<u64>,
}

impl Source {
    /// What is set aside for rollbacks counts as used.
    fn used(&self) -> u64 {
        (self.space.used + self.space.reserved).min(self.space.total)
    }
}

columns! { Source;
    "database_id", T::SMALLINT, NOT_NULL, |s| small(s.database);
    "total_log_size_in_bytes", T::BIGINT, NOT_NULL, |s| big(s.space.total);
    "used_log_space_in_bytes", T::BIGINT, NOT_NULL, |s| big(s.used());
    "used_log_space_in_percent", T::REAL, NOT_NULL, |s| {
        Value::Real((s.used() as f64 * 100.0 / s.space.total.max(1) as f64) as f32)
    };
    "log_space_in_bytes_since_last_backup", T::BIGINT, NULL, |s| {
        s.since_backup.map_or(Value::Null, big)
    };
}

pub const VIEW: View = View::new("dm_db_log_space_usage", DATABASE_STATE, COLUMNS, |cx, _| {
    let db = cx.instance.databases.find(&cx.database);
    let source = db.and_then(|d| {
        Some(Source {
            database: d.db.id.0,
            space: d.db.log()?.space(),
            since_backup: match d.db.log_backup_lsn() {
                Lsn::NULL => None,
                lsn => Some(d.db.log()?.bytes_since(lsn)),
            },
        })
    });
    Ok(source.iter().map(row).collect())
});
