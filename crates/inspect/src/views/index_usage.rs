//! `sys.dm_db_index_usage_stats`: what statements have used heaps and indexes for since their database was opened.
//!
//! An index that no statement has used has no row. What the server does for itself (statistics, checks, recovery) is not
//! counted: the columns of system uses are 0.

use std::sync::Arc;

use duramen_access::usage::{Usage, Use};
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1103, &VIEW),
];

pub struct Source {
    database: u16,
    object: i32,
    index: i32,
    usage: Arc<Usage>,
}

impl Source {
    fn count(&self, how: Use) -> Value {
        big(self.usage.count(how))
    }

    fn last(&self, how: Use) -> Value {
        match self.usage.last(how) {
            0 => Value::Null,
            at => unix_time(i128::from(at)),
        }
    }
}

columns! { Source;
    "database_id", T::SMALLINT, NOT_NULL, |s| small(s.database);
    "object_id", T::INT, NOT_NULL, |s| int(s.object);
    "index_id", T::INT, NOT_NULL, |s| int(s.index);
    "user_seeks", T::BIGINT, NOT_NULL, |s| s.count(Use::Seek);
    "user_scans", T::BIGINT, NOT_NULL, |s| s.count(Use::Scan);
    "user_lookups", T::BIGINT, NOT_NULL, |s| s.count(Use::Lookup);
    "user_updates", T::BIGINT, NOT_NULL, |s| s.count(Use::Update);
    "last_user_seek", T::DATETIME, NULL, |s| s.last(Use::Seek);
    "last_user_scan", T::DATETIME, NULL, |s| s.last(Use::Scan);
    "last_user_lookup", T::DATETIME, NULL, |s| s.last(Use::Lookup);
    "last_user_update", T::DATETIME, NULL, |s| s.last(Use::Update);
    "system_seeks", T::BIGINT, NOT_NULL, |_| big(0);
    "system_scans", T::BIGINT, NOT_NULL, |_| big(0);
    "system_lookups", T::BIGINT, NOT_NULL, |_| big(0);
    "system_updates", T::BIGINT, NOT_NULL, |_| big(0);
    "last_system_seek", T::DATETIME, NULL, |_| Value::Null;
    "last_system_scan", T::DATETIME, NULL, |_| Value::Null;
    "last_system_lookup", T::DATETIME, NULL, |_| Value::Null;
    "last_system_update", T::DATETIME, NULL, |_| Value::Null;
}

pub const VIEW: View = View::new("dm_db_index_usage_stats", SERVER_STATE, COLUMNS, |cx, _| {
    let mut found: Vec<Row> = Vec::new();
    for d in cx.instance.databases.all() {
        for table in d.catalog.snapshot()?.tables.values() {
            let heap = table.is_heap().then_some(None);
            let indexes = table.indexes.iter().map(Some);
            for index in heap.into_iter().chain(indexes) {
                let Some(usage) = d.usage.find(table, index) else {
                    continue;
                };
                found.push(row(&Source {
                    database: d.db.id.0,
                    object: table.id.0,
                    index: index.map_or(0, |i| i32::from(i.id)),
                    usage,
                }));
            }
        }
    }
    Ok(found)
});
