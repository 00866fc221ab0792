//! `sys.dm_tran_version_store_space_usage`: what row versions take, by database.
//!
//! The store lies in memory, not in tempdb: pages are units of 8 KB of it.

use duramen_base::DbId;
use duramen_types::SqlType as T;

use super::View;
use super::column::*;

pub struct Usage {
    db: DbId,
    bytes: u64,
}

columns! { Usage;
    "database_id", T::INT, NOT_NULL, |u| int(u.db.0);
    "reserved_page_count", T::BIGINT, NULL, |u| big(u.bytes.div_ceil(8192));
    "reserved_space_kb", T::BIGINT, NULL, |u| big(u.bytes.div_ceil(1024));
}

pub const VIEW: View = View::new("dm_tran_version_store_space_usage", COLUMNS, |cx, _| {
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
});
