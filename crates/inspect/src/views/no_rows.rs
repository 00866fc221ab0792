//! Functions that tell of what is not here: they have SQL Server's columns and no rows. And one that tells in older words what
//! `sys.dm_io_virtual_file_stats` does.

use duramen_base::SqlResult;
use duramen_program::column::{NOT_NULL, NULL};
use duramen_program::rights::needs::{DATABASE_STATE, FACTS, SERVER_STATE};
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::{View, io_stats};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5013, &CURSORS),
    (-5014, &XML_HANDLES),
    (-5016, &INCREMENTAL),
    (-5017, &DISABLED),
    (-5018, &KEYWORDS),
    (-5019, &KEYWORDS_BY_DOCUMENT),
    (-5020, &NODES),
    (-5021, &DRIVES),
    (-5022, &FILE_STATS),
];

const NAME: T = T::nvarchar(128);
const DESC: T = T::nvarchar(60);
const HANDLE: T = T::varbinary(64);

fn none(_: &Context, _: &[Value]) -> SqlResult<Vec<Row>> {
    Ok(Vec::new())
}

/// Cursors are refused.
pub const CURSORS: View = View::new(
    "dm_exec_cursors",
    SERVER_STATE,
    &[
        ("session_id", T::INT, NOT_NULL),
        ("cursor_id", T::INT, NOT_NULL),
        ("name", T::nvarchar(256), NULL),
        ("properties", T::nvarchar(256), NOT_NULL),
        ("sql_handle", HANDLE, NOT_NULL),
        ("statement_start_offset", T::INT, NOT_NULL),
        ("statement_end_offset", T::INT, NOT_NULL),
        ("plan_generation_num", T::BIGINT, NOT_NULL),
        ("creation_time", T::DATETIME, NOT_NULL),
        ("is_open", T::BIT, NOT_NULL),
        ("is_async_population", T::BIT, NOT_NULL),
        ("is_close_on_commit", T::BIT, NOT_NULL),
        ("fetch_status", T::INT, NOT_NULL),
        ("fetch_buffer_size", T::INT, NOT_NULL),
        ("fetch_buffer_start", T::INT, NOT_NULL),
        ("ansi_position", T::BIGINT, NOT_NULL),
        ("worker_time", T::BIGINT, NOT_NULL),
        ("reads", T::BIGINT, NOT_NULL),
        ("writes", T::BIGINT, NOT_NULL),
        ("dormant_duration", T::BIGINT, NOT_NULL),
    ],
    none,
);

/// So is sp_xml_preparedocument.
pub const XML_HANDLES: View = View::new(
    "dm_exec_xml_handles",
    SERVER_STATE,
    &[
        ("session_id", T::INT, NOT_NULL),
        ("document_id", T::INT, NOT_NULL),
        ("namespace_document_id", T::INT, NULL),
        ("sql_handle", HANDLE, NULL),
        ("statement_start_offset", T::INT, NULL),
        ("statement_end_offset", T::INT, NULL),
        ("creation_time", T::DATETIME, NULL),
        ("original_document_size_bytes", T::BIGINT, NULL),
        ("original_namespace_document_size_bytes", T::BIGINT, NULL),
        ("num_openxml_calls", T::BIGINT, NULL),
        ("row_count", T::BIGINT, NULL),
        ("dormant_duration_ms", T::BIGINT, NULL),
    ],
    none,
);

/// Statistics are never incremental.
pub const INCREMENTAL: View = View::new(
    "dm_db_incremental_stats_properties",
    FACTS,
    &[
        ("object_id", T::INT, NOT_NULL),
        ("stats_id", T::INT, NOT_NULL),
        ("partition_number", T::INT, NOT_NULL),
        ("last_updated", T::datetime2(7), NULL),
        ("rows", T::BIGINT, NULL),
        ("rows_sampled", T::BIGINT, NULL),
        ("steps", T::INT, NULL),
        ("unfiltered_rows", T::BIGINT, NULL),
        ("modification_counter", T::BIGINT, NULL),
    ],
    none,
);

/// No compatibility level disables anything.
pub const DISABLED: View = View::new(
    "dm_db_objects_disabled_on_compatibility_level_change",
    DATABASE_STATE,
    &[
        ("class", T::INT, NULL),
        ("class_desc", DESC, NULL),
        ("major_id", T::INT, NULL),
        ("minor_id", T::INT, NULL),
        ("dependency", DESC, NULL),
    ],
    none,
);

/// There are no full-text indexes.
pub const KEYWORDS: View = View::new(
    "dm_fts_index_keywords",
    FACTS,
    &[
        ("keyword", T::varbinary(128), NULL),
        ("display_term", T::nvarchar(4000), NULL),
        ("column_id", T::INT, NULL),
        ("document_count", T::INT, NULL),
    ],
    none,
);

pub const KEYWORDS_BY_DOCUMENT: View = View::new(
    "dm_fts_index_keywords_by_document",
    FACTS,
    &[
        ("keyword", T::varbinary(128), NULL),
        ("display_term", T::nvarchar(4000), NULL),
        ("column_id", T::INT, NULL),
        ("document_id", T::BIGINT, NULL),
        ("occurrence_count", T::INT, NULL),
    ],
    none,
);

/// The server is not clustered.
pub const NODES: View = View::new(
    "fn_virtualservernodes",
    SERVER_STATE,
    &[
        ("NodeName", NAME, NULL),
        ("status", T::INT, NULL),
        ("status_description", T::nvarchar(20), NULL),
        ("is_current_owner", T::BIT, NULL),
    ],
    none,
);

pub const DRIVES: View = View::new(
    "fn_servershareddrives",
    SERVER_STATE,
    &[("DriveName", T::nchar(1), NULL)],
    none,
);

pub const FILE_STATS: View = View::new(
    "fn_virtualfilestats",
    SERVER_STATE,
    &[
        ("DbId", T::SMALLINT, NOT_NULL),
        ("FileId", T::SMALLINT, NOT_NULL),
        ("TimeStamp", T::BIGINT, NOT_NULL),
        ("NumberReads", T::BIGINT, NOT_NULL),
        ("BytesRead", T::BIGINT, NOT_NULL),
        ("IoStallReadMS", T::BIGINT, NOT_NULL),
        ("NumberWrites", T::BIGINT, NOT_NULL),
        ("BytesWritten", T::BIGINT, NOT_NULL),
        ("IoStallWriteMS", T::BIGINT, NOT_NULL),
        ("IoStallMS", T::BIGINT, NOT_NULL),
        ("BytesOnDisk", T::BIGINT, NOT_NULL),
        ("FileHandle", T::varbinary(8), NOT_NULL),
    ],
    |cx, args| {
        // Those about the resource governor are left out.
        const KEPT: [usize; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13];
        let rows = io_stats::rows(cx, args)?;
        let pick = |row: Row| KEPT.iter().filter_map(|i| row.get(*i).cloned()).collect();
        Ok(rows.into_iter().map(pick).collect())
    },
);
