//! `sys.database_recovery_status`: what restores go by, one row per open database.

use duramen_base::Lsn;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1069, &VIEW),
];

pub struct Source {
    database: u16,
    guid: [u8; 16],
    family: [u8; 16],
    log_backup: Lsn,
}

columns! { Source;
    "database_id", T::INT, NULL, |s| int(s.database);
    "database_guid", T::GUID, NULL, |s| Value::Guid(s.guid);
    "family_guid", T::GUID, NULL, |s| Value::Guid(s.family);
    // NULL: the database waits for its first full backup, or for none at all.
    "last_log_backup_lsn", LSN, NULL, |s| match s.log_backup.is_null() {
        true => Value::Null,
        false => lsn_number(s.log_backup),
    };
    // Recovery forks are not told apart.
    "recovery_fork_guid", T::GUID, NULL, |s| Value::Guid(s.family);
    "first_recovery_fork_guid", T::GUID, NULL, |_| Value::Null;
    "fork_point_lsn", LSN, NULL, |_| Value::Null;
}

pub const VIEW: View = View::new("database_recovery_status", VISIBLE, COLUMNS, |cx, _| {
    let all = cx.instance.databases.all();
    let source = |d: &std::sync::Arc<duramen_access::open_db::OpenDb>| Source {
        database: d.db.id.0,
        guid: d.db.boot().own.map_or([0; 16], |o| o.database_guid),
        family: d.db.family(),
        log_backup: d.db.log_backup_lsn(),
    };
    Ok(all.iter().map(source).map(|s| row(&s)).collect())
});
