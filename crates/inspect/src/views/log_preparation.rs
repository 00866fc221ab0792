//! `sys.dm_db_log_preparation`: what the log profile `native` has prepared ahead of need. Duramen's own; a row for each log
//! file of each open database, counted since the database was opened.

use duramen_base::DbId;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};
use duramen_wal::{LogPreparation, LogProfile};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1070, &VIEW),
];

pub struct Source {
    database: DbId,
    profile: LogProfile,
    file: LogPreparation,
}

fn big_or_null(n: Option<u64>) -> Value {
    n.map_or(Value::Null, big)
}

columns! { Source;
    "database_id", T::INT, NOT_NULL, |s| int(s.database.0);
    "file_id", T::INT, NOT_NULL, |s| int(s.file.file_id.0);
    "log_profile", DESC, NOT_NULL, |s| text(s.profile.name());
    "is_prepared_in_background", T::BIT, NOT_NULL, |s| bit(s.file.prepares);
    "is_growing_now", T::BIT, NOT_NULL, |s| bit(s.file.running);
    "prepared_bytes", T::BIGINT, NOT_NULL, |s| big(s.file.ready);
    "target_bytes", T::BIGINT, NOT_NULL, |s| big(s.file.target);
    "next_growth_bytes", T::BIGINT, NULL, |s| big_or_null(s.file.next);
    "max_size_bytes", T::BIGINT, NULL, |s| big_or_null(s.file.max_size);
    "disk_free_bytes", T::BIGINT, NULL, |s| big_or_null(s.file.disk_free);
    "rate_limit_bytes_per_second", T::BIGINT, NULL, |s| {
        if s.file.prepares { big(s.file.rate) } else { Value::Null }
    };
    "background_growths", T::BIGINT, NOT_NULL, |s| big(s.file.growths);
    "background_bytes_written", T::BIGINT, NOT_NULL, |s| big(s.file.bytes);
    "background_duration_ms", T::BIGINT, NOT_NULL, |s| big(s.file.spent.as_millis() as u64);
    "growth_waits", T::BIGINT, NOT_NULL, |s| big(s.file.waits);
    "growth_wait_time_ms", T::BIGINT, NOT_NULL, |s| big(s.file.waited.as_millis() as u64);
    "longest_growth_wait_ms", T::BIGINT, NOT_NULL, |s| big(s.file.longest.as_millis() as u64);
    "last_error", T::nvarchar(400), NULL, |s| text_or_null(s.file.failure.as_ref().map(|f| f.0.as_str()));
    "last_error_time", T::DATETIME, NULL, |s| {
        s.file.failure.as_ref().map_or(Value::Null, |f| unix_time(f.1.unix_nanos()))
    };
}

pub const VIEW: View = View::new("dm_db_log_preparation", DATABASE_STATE, COLUMNS, |cx, _| {
    let mut rows = Vec::new();
    for d in cx.instance.databases.all().iter() {
        let Some(log) = d.db.log() else { continue };
        let profile = log.profile();
        rows.extend(log.preparation().into_iter().map(|file| {
            row(&Source {
                database: d.db.id,
                profile,
                file,
            })
        }));
    }
    Ok(rows)
});
