//! `sys.dm_db_file_space_usage` of the current database. Versions of rows are in memory, what operators spill is beside
//! tempdb: neither takes pages of a file. Tables of the system count as objects of users, as in SQL Server.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-file-space-usage-transact-sql>

use duramen_program::column::*;
use duramen_storage::FileSpace;
use duramen_types::SqlType as T;

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1013, &VIEW),
];

pub struct Source {
    database: u16,
    space: FileSpace,
}

columns! { Source;
    "database_id", T::INT, NULL, |s| int(s.database);
    "file_id", T::SMALLINT, NULL, |s| small(s.space.file_id);
    "filegroup_id", T::SMALLINT, NULL, |s| small(s.space.filegroup);
    "total_page_count", T::BIGINT, NULL, |s| big(s.space.pages);
    "allocated_extent_page_count", T::BIGINT, NULL, |s| big(s.space.allocated());
    "unallocated_extent_page_count", T::BIGINT, NULL, |s| big(s.space.unallocated);
    "version_store_reserved_page_count", T::BIGINT, NULL, |_| big(0);
    "user_object_reserved_page_count", T::BIGINT, NULL, |s| big(s.space.uniform);
    "internal_object_reserved_page_count", T::BIGINT, NULL, |_| big(0);
    "mixed_extent_page_count", T::BIGINT, NULL, |s| big(s.space.mixed());
    "modified_extent_page_count", T::BIGINT, NULL, |s| big(s.space.modified);
}

pub const VIEW: View = View::new(
    "dm_db_file_space_usage",
    DATABASE_STATE,
    COLUMNS,
    |cx, _| {
        let Some(db) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let database = db.db.id.0;
        let spaces = db.db.file_space()?.into_iter();
        Ok(spaces
            .map(|space| row(&Source { database, space }))
            .collect())
    },
);
