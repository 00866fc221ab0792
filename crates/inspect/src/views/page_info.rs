//! `sys.dm_db_page_info(database_id, file_id, page_id, mode)`: the header of a page, and what the maps of its file say of it.
//!
//! LIMITED, which NULL and DEFAULT mean, leaves the descriptions NULL; DETAILED has them. Names and order of the columns are
//! those of SQL Server 2022, which its documentation tells differently (`is_iam_pg`, `free_data_offset`...). States are in the
//! words of DBCC PAGE, and so are LSNs and bits (*assumed*). Nobody has published what the type flags stand for: their
//! description is NULL. An argument that names no database, data file or page is refused, NULL among them; which number says
//! so is *assumed*.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-db-page-info-transact-sql>

use duramen_base::{DbId, PageId, SqlError, SqlResult, messages};
use duramen_check::inspect::{MapState, Owner, PageInfo, has_data_file, page_info, pfs_text};
use duramen_format::alloc::pfs;
use duramen_format::page::{FLAG_CHECKSUM, FLAG_TORN_BITS, PageRef, page_type};
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::os::page_kind;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5029, &VIEW),
];

pub struct Source {
    database: u16,
    id: PageId,
    info: PageInfo,
    owner: Owner,
    detailed: bool,
}

const WORD: T = T::nvarchar(64);

impl Source {
    fn page(&self) -> PageRef<'_> {
        self.info.page()
    }

    fn described(&self, words: Option<&str>) -> Value {
        text_or_null(words.filter(|_| self.detailed))
    }

    fn pfs(&self, of: impl Fn(u8) -> Value) -> Value {
        self.info.maps.pfs.1.map_or(Value::Null, of)
    }

    /// Pages that belong to no table name the number that stands in their header.
    fn object(&self) -> i64 {
        match self.owner.object {
            0 => i64::from(self.page().alloc_unit().object_part()),
            id => i64::from(id),
        }
    }

    fn flags(&self) -> String {
        let flags = self.page().flags();
        let known = [
            (FLAG_TORN_BITS, "HAS_TORN_BITS"),
            (FLAG_CHECKSUM, "HAS_CHECKSUM"),
        ];
        let set = known.iter().filter(|(bit, _)| flags & bit != 0);
        set.map(|(_, name)| *name).collect::<Vec<_>>().join(" ")
    }
}

fn state(map: &MapState) -> Value {
    map.set.map_or(Value::Null, bit)
}

pub(super) fn percent(byte: u8) -> i64 {
    match byte & pfs::FULLNESS {
        0 => 0,
        1 => 50,
        2 => 80,
        3 => 95,
        _ => 100,
    }
}

columns! { Source;
    "database_id", T::INT, NOT_NULL, |s| int(s.database);
    "file_id", T::INT, NOT_NULL, |s| int(s.id.file);
    "page_id", T::INT, NOT_NULL, |s| int(s.id.page);
    "page_header_version", T::INT, NULL, |s| int(s.page().header_version());
    "page_type", T::INT, NULL, |s| int(s.page().page_type());
    "page_type_desc", WORD, NULL, |s| s.described(Some(page_kind(s.page().page_type())));
    "page_type_flag_bits", WORD, NULL, |s| text(&format!("{:#x}", s.page().type_flags()));
    "page_type_flag_bits_desc", WORD, NULL, |_| Value::Null;
    "page_flag_bits", WORD, NULL, |s| text(&format!("{:#x}", s.page().flags()));
    "page_flag_bits_desc", T::nvarchar(256), NULL, |s| s.described(Some(&s.flags()));
    "page_lsn", WORD, NULL, |s| text(&s.page().lsn().to_decimal_text());
    "page_level", T::INT, NULL, |s| int(s.page().level());
    "object_id", T::INT, NULL, |s| int(s.object());
    "index_id", T::INT, NULL, |s| int(s.owner.index);
    "partition_id", T::BIGINT, NULL, |s| Value::BigInt(s.owner.partition);
    "alloc_unit_id", T::BIGINT, NULL, |s| Value::BigInt(s.page().alloc_unit().0);
    "is_encrypted", T::BIT, NULL, |_| bit(false);
    "has_checksum", T::BIT, NULL, |s| bit(s.page().flags() & FLAG_CHECKSUM != 0);
    "checksum", T::INT, NULL, |s| Value::Int(s.page().torn_bits() as i32);
    "is_iam_page", T::BIT, NULL, |s| bit(s.page().page_type() == page_type::IAM);
    "is_mixed_extent", T::BIT, NULL, |s| s.pfs(|b| bit(b & pfs::MIXED != 0));
    "has_ghost_records", T::BIT, NULL, |s| bit(s.page().ghost_count() > 0);
    // Versions of rows are kept in memory and not in pages.
    "has_version_records", T::BIT, NULL, |_| bit(false);
    "has_persisted_version_records", T::BIT, NULL, |_| bit(false);
    "pfs_page_id", T::INT, NULL, |s| int(s.info.maps.pfs.0);
    "pfs_is_allocated", T::BIT, NULL, |s| s.pfs(|b| bit(b & pfs::ALLOCATED != 0));
    "pfs_alloc_percent", T::INT, NULL, |s| s.pfs(|b| int(percent(b)));
    "pfs_status", WORD, NULL, |s| s.pfs(|b| text(&format!("{b:#x}")));
    "pfs_status_desc", WORD, NULL, |s| s.pfs(|b| s.described(Some(&pfs_text(b))));
    "gam_page_id", T::INT, NULL, |s| int(s.info.maps.gam.page);
    "gam_status", T::BIT, NULL, |s| state(&s.info.maps.gam);
    "gam_status_desc", WORD, NULL, |s| s.described(s.info.maps.gam.word());
    "sgam_page_id", T::INT, NULL, |s| int(s.info.maps.sgam.page);
    "sgam_status", T::BIT, NULL, |s| state(&s.info.maps.sgam);
    "sgam_status_desc", WORD, NULL, |s| s.described(s.info.maps.sgam.word());
    "diff_map_page_id", T::INT, NULL, |s| int(s.info.maps.diff.page);
    "diff_status", T::BIT, NULL, |s| state(&s.info.maps.diff);
    "diff_status_desc", WORD, NULL, |s| s.described(s.info.maps.diff.word());
    "ml_map_page_id", T::INT, NULL, |s| int(s.info.maps.ml.page);
    "ml_status", T::BIT, NULL, |s| state(&s.info.maps.ml);
    "ml_status_desc", WORD, NULL, |s| s.described(s.info.maps.ml.word());
    "prev_page_file_id", T::SMALLINT, NULL, |s| small(s.page().prev_page().file);
    "prev_page_page_id", T::INT, NULL, |s| int(s.page().prev_page().page);
    "next_page_file_id", T::SMALLINT, NULL, |s| small(s.page().next_page().file);
    "next_page_page_id", T::INT, NULL, |s| int(s.page().next_page().page);
    "fixed_length", T::SMALLINT, NULL, |s| small(s.page().pminlen());
    "slot_count", T::SMALLINT, NULL, |s| small(s.page().slot_count());
    "ghost_rec_count", T::SMALLINT, NULL, |s| small(s.page().ghost_count());
    "free_bytes", T::SMALLINT, NULL, |s| small(s.page().free_bytes());
    "free_bytes_offset", T::INT, NULL, |s| int(s.page().free_data());
    "reserved_bytes", T::SMALLINT, NULL, |s| small(s.page().reserved_bytes());
    "reserved_bytes_by_xdes_id", T::SMALLINT, NULL, |s| small(s.page().xact_reserved());
    "xdes_id", WORD, NULL, |s| {
        let id = s.page().xdes().0;
        text(&format!("({}:{})", id >> 32, id & 0xffff_ffff))
    };
}

fn wrong(parameter: i32) -> SqlError {
    SqlError::new(&messages::FUNCTION_WRONG_PARAMETER, &[&parameter])
}

pub const VIEW: View = View::new("dm_db_page_info", STATE_OF_ARGUMENT, COLUMNS, rows);

fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    let number = |i: usize| args.get(i).and_then(Value::as_i64);
    let database = number(0).and_then(|n| u16::try_from(n).ok());
    let found = database.and_then(|id| cx.instance.databases.get(DbId(id)));
    let db = found.ok_or_else(|| wrong(1))?;
    let file = number(1).and_then(|n| u16::try_from(n).ok());
    let file = file.filter(|n| has_data_file(&db.db, *n));
    let file = file.ok_or_else(|| wrong(2))?;
    let page = number(2).and_then(|n| u32::try_from(n).ok());
    let id = PageId::new(file, page.ok_or_else(|| wrong(3))?);
    let mode = args.get(3).and_then(Value::as_text).unwrap_or_default();
    let detailed = match mode.to_ascii_uppercase().as_str() {
        "" | "DEFAULT" | "LIMITED" => false,
        "DETAILED" => true,
        _ => return Err(wrong(4)),
    };
    let info = page_info(&db.db, id).ok_or_else(|| wrong(3))?;
    let snapshot = db.catalog.snapshot()?;
    let owner = crate::dbcc::page::owner(&snapshot, info.page().alloc_unit());
    Ok(vec![row(&Source {
        database: db.db.id.0,
        id,
        info,
        owner: owner.unwrap_or_default(),
        detailed,
    })])
}
