//! `fn_dblog(start, end)`: the records of the active log of the current database, one row each.
//!
//! A column is filled where the record itself (or the catalog, for names) gives the value, and NULL otherwise. The
//! rows are made one by one as they are asked for: a log has more records than a result should hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_access::open_db::OpenDb;
use duramen_base::{AllocUnitId, Lsn, PageId, RowsetId, SqlError, SqlResult, XdesId, messages};
use duramen_catalog::TableDef;
use duramen_program::column::*;
use duramen_storage::RowsetDef;
use duramen_txn::ABORT_RESERVE;
use duramen_types::{ConvertCtx, DateTime, SqlType as T, Value, convert};
use duramen_wal::record::{Lop, PageFields, RecordView};

use super::{RowStream, View};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5002, &VIEW),
];

/// A record with what was read out of it.
pub struct Source<'a> {
    lsn: Lsn,
    bytes: &'a [u8],
    view: RecordView<'a>,
    page: Option<PageFields>,
    names: &'a Names,
    database: u16,
}

/// What allocation units belong to.
pub(super) type Names = BTreeMap<AllocUnitId, (String, RowsetId)>;

const LSN_TEXT: T = T::nvarchar(23);
const XACT: T = T::nvarchar(14);
const TIME: T = T::nvarchar(24);
const BYTES: T = T::varbinary(8000);

impl<'a> Source<'a> {
    fn of(lsn: Lsn, bytes: &'a [u8], names: &'a Names, database: u16) -> Option<Source<'a>> {
        let view = RecordView::parse(bytes)?;
        let page = view.page().filter(|_| is_page_operation(view.op()));
        Some(Source {
            lsn,
            bytes,
            view,
            page,
            names,
            database,
        })
    }

    fn is(&self, op: Lop) -> bool {
        self.view.op() == op
    }

    /// A value of the page fields.
    fn paged(&self, value: impl FnOnce(&PageFields) -> Value) -> Value {
        self.page.as_ref().map_or(Value::Null, value)
    }

    /// The same for records whose fixed part names row and allocation unit.
    fn in_row(&self, value: impl FnOnce(&PageFields) -> Value) -> Value {
        match &self.page {
            Some(p) if self.view.fixed_length() >= 62 => value(p),
            _ => Value::Null,
        }
    }

    fn owner(&self) -> Option<&(String, RowsetId)> {
        self.names.get(&self.page.as_ref()?.alloc_unit)
    }

    /// What rolling this record back will need, set aside when it was appended.
    fn reserve(&self) -> u32 {
        match &self.page {
            _ if self.is(Lop::BEGIN_XACT) => ABORT_RESERVE,
            Some(_) if self.view.xdes().0 != 0 && !self.view.is_compensation() => {
                self.bytes.len() as u32
            }
            _ => 0,
        }
    }

    /// A part of the row that a page record changes.
    fn contents(&self, i: usize) -> Value {
        self.paged(|_| self.view.element(i).map_or(Value::Null, bytes))
    }

    /// A value of LOP_BULK_EXT_ALLOCATION, made of the first pages of the extents that it is about.
    fn bulk(&self, value: impl FnOnce(&Source<'a>, &BTreeSet<PageId>) -> Value) -> Value {
        if !self.is(Lop::BULK_EXT_ALLOCATION) {
            return Value::Null;
        }
        let pages = self.view.element(0).unwrap_or_default().chunks_exact(6);
        let extent = |p: PageId| PageId::new(p.file, p.page / 8 * 8);
        let extents = pages.filter_map(PageId::from_bytes).map(extent);
        value(self, &extents.collect())
    }

    fn begin(&self, value: impl FnOnce(&RecordView<'a>) -> Value) -> Value {
        self.when(Lop::BEGIN_XACT, value)
    }

    fn when(&self, op: Lop, value: impl FnOnce(&RecordView<'a>) -> Value) -> Value {
        if self.is(op) {
            value(&self.view)
        } else {
            Value::Null
        }
    }

    fn time(&self, ops: &[Lop]) -> Value {
        let wanted = ops.contains(&self.view.op());
        let time = self.view.datetime().filter(|_| wanted);
        time.map_or(Value::Null, |t| text(&time_text(t)))
    }

    fn fixed_u16(&self, at: usize) -> Option<u16> {
        let b = self.view.fixed().get(at..at + 2)?;
        Some(u16::from_le_bytes([b[0], b[1]]))
    }

    fn fixed_page(&self, at: usize) -> Value {
        let page = self.view.fixed().get(at..).and_then(PageId::from_bytes);
        page.map_or(Value::Null, page_text)
    }

    fn number(&self, op: Lop, at: usize) -> Value {
        self.when(op, |_| self.fixed_u16(at).map_or(Value::Null, small))
    }

    fn format_byte(&self, at: usize) -> Value {
        self.when(Lop::FORMAT_PAGE, |v| {
            v.fixed().get(at).map_or(Value::Null, |b| small(*b))
        })
    }

    /// The locks that the change took, from the record's lock element: object, kind, then rowset and key hash, or RID.
    fn locks(&self) -> Option<String> {
        let page = self.page.as_ref()?;
        let change = [Lop::INSERT_ROWS, Lop::DELETE_ROWS].contains(&self.view.op());
        let b = self
            .view
            .elements()
            .last()
            .filter(|e| change && e.len() == 26)?;
        let db = self.database;
        let object = i32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let row = match b[4] {
            7 => {
                let rowset = i64::from_le_bytes(b[8..16].try_into().ok()?);
                let mut hash = [0; 8];
                hash[..6].copy_from_slice(&b[16..22]);
                let hash = u64::from_le_bytes(hash);
                format!("KEY: {db}:{rowset} ({hash:012x})")
            }
            9 => {
                let at = PageId::from_bytes(&b[8..14])?;
                let slot = u16::from_le_bytes([b[14], b[15]]);
                format!("RID: {db}:{}:{}:{slot}", at.file, at.page)
            }
            _ => return None,
        };
        let hobt = self.owner().map_or(0, |(_, rowset)| rowset.0);
        let at = page.page;
        Some(format!(
            "HoBt {hobt}:ACQUIRE_LOCK_IX OBJECT: {db}:{object}:0 ;ACQUIRE_LOCK_IX PAGE: {db}:{}:{} ;ACQUIRE_LOCK_X {row}",
            at.file, at.page
        ))
    }

    /// `name;0xSID` of a transaction's beginning.
    fn description(&self) -> String {
        if !self.is(Lop::BEGIN_XACT) {
            return String::new();
        }
        let hex = |b: &u8| format!("{b:02x}");
        let sid: String = self
            .view
            .element(1)
            .unwrap_or_default()
            .iter()
            .map(hex)
            .collect();
        format!("{};0x{sid}", utf16(self.view.element(0)))
    }
}

/// Operations whose fixed part has the page fields.
fn is_page_operation(op: Lop) -> bool {
    op.is_of_page()
}

/// A record's bytes as a value, cut to what the column holds.
fn bytes(b: &[u8]) -> Value {
    Value::Binary(b[..b.len().min(8000)].to_vec())
}

fn utf16(element: Option<&[u8]>) -> String {
    let units: Vec<u16> = element
        .unwrap_or_default()
        .chunks_exact(2)
        .map(|b| u16::from_le_bytes([b[0], b[1]]))
        .collect();
    String::from_utf16_lossy(&units)
}

/// `0001:00000379`
fn page_text(page: PageId) -> Value {
    text(&format!("{:04x}:{:08x}", page.file, page.page))
}

fn extent_list(extents: &BTreeSet<PageId>) -> String {
    let each = extents
        .iter()
        .map(|e| format!("{:04x}:{:08x}", e.file, e.page));
    each.collect::<Vec<_>>().join(", ")
}

fn xdes_text(xdes: XdesId) -> Value {
    text(&xdes.to_string())
}

/// `2026/11/21 16:20:28:123` of a datetime as records hold it: ticks, days.
fn time_text(b: [u8; 8]) -> String {
    let number = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let value = Value::DateTime(DateTime {
        days: number(&b[4..]) as i32,
        ticks: number(&b[..4]),
    });
    let to = T::varchar(30);
    let style = convert::convert(&value, &T::DATETIME, &to, Some(121), &ConvertCtx::default());
    let text = style.ok().and_then(|v| v.as_text()).unwrap_or_default();
    text.replace('-', "/").replace('.', ":")
}

/// Element `i` of the record, as text.
fn name(v: &RecordView<'_>, i: usize) -> Value {
    text(&utf16(v.element(i)))
}

columns! { Source<'_>;
    "Current LSN", LSN_TEXT, NOT_NULL, |r| text(&r.lsn.to_string());
    "Operation", T::nvarchar(31), NOT_NULL, |r| text(&r.view.op().to_string());
    "Context", T::nvarchar(31), NOT_NULL, |r| text(&r.view.context().to_string());
    "Transaction ID", XACT, NOT_NULL, |r| xdes_text(r.view.xdes());
    "LogBlockGeneration", T::BIGINT, NOT_NULL, |_| big(0);
    "Tag Bits", T::binary(2), NOT_NULL, |_| Value::Binary(vec![0, 0]);
    "Log Record Fixed Length", T::SMALLINT, NOT_NULL, |r| small(r.view.fixed_length() as i64);
    "Log Record Length", T::SMALLINT, NOT_NULL, |r| small(r.bytes.len() as i64);
    "Previous LSN", LSN_TEXT, NOT_NULL, |r| text(&r.view.prev_lsn().to_string());
    "Flag Bits", T::binary(2), NOT_NULL, |r| Value::Binary(r.view.flags().to_be_bytes().to_vec());
    "Log Reserve", T::INT, NOT_NULL, |r| int(r.reserve());
    "AllocUnitId", T::BIGINT, NULL, |r| r.paged(|p| Value::BigInt(p.alloc_unit.0));
    "AllocUnitName", T::nvarchar(387), NULL, |r| {
        r.paged(|_| text(r.owner().map_or("Unknown Alloc Unit", |(name, _)| name)))
    };
    "Page ID", XACT, NULL, |r| r.paged(|p| page_text(p.page));
    "Slot ID", T::INT, NULL, |r| r.paged(|p| int(p.slot));
    "Previous Page LSN", LSN_TEXT, NULL, |r| r.paged(|p| text(&p.prev_page_lsn.to_string()));
    "PartitionId", T::BIGINT, NULL, |r| r.owner().map_or(Value::Null, |(_, id)| Value::BigInt(id.0));
    "RowFlags", T::SMALLINT, NULL, |r| r.in_row(|p| small(p.row_flags));
    "Num Elements", T::SMALLINT, NULL, |r| small(r.view.element_count() as i64);
    "Offset in Row", T::SMALLINT, NULL, |r| r.in_row(|p| small(p.offset_in_row));
    "Modify Size", T::SMALLINT, NULL, |r| r.in_row(|p| small(p.modify_size));
    "Checkpoint Begin", TIME, NULL, |r| r.time(&[Lop::BEGIN_CKPT]);
    "CHKPT Begin DB Version", T::SMALLINT, NULL, |r| {
        r.view.checkpoint_begin().map_or(Value::Null, |(version, _)| small(version))
    };
    "Max XDESID", XACT, NULL, |r| r.view.checkpoint_begin().map_or(Value::Null, |(_, x)| xdes_text(x));
    "Num Transactions", T::SMALLINT, NULL, |r| {
        r.when(Lop::XACT_CKPT, |v| small(v.active_xacts().len() as i64))
    };
    "Checkpoint End", TIME, NULL, |r| r.time(&[Lop::END_CKPT]);
    "CHKPT End DB Version", T::SMALLINT, NULL, |r| r.number(Lop::END_CKPT, 32);
    "Minimum LSN", LSN_TEXT, NULL, |r| {
        r.view.checkpoint_end().map_or(Value::Null, |(lsn, _)| text(&lsn.to_string()))
    };
    "Dirty Pages", T::INT, NULL, |r| r.view.checkpoint_end().map_or(Value::Null, |(_, n)| int(n));
    "Oldest Replicated Begin LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Next Replicated End LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Last Distributed Backup End LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Last Distributed End LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Repl Min Hold LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Server UID", T::INT, NULL, |_| Value::Null;
    "SPID", T::INT, NULL, |r| r.view.spid().map_or(Value::Null, int);
    "Beginlog Status", T::binary(4), NULL, |_| Value::Null;
    "Xact Type", T::INT, NULL, |_| Value::Null;
    "Begin Time", TIME, NULL, |r| r.time(&[Lop::BEGIN_XACT]);
    "Transaction Name", T::nvarchar(33), NULL, |r| r.begin(|v| name(v, 0));
    "Transaction SID", T::varbinary(85), NULL, |r| r.begin(|v| v.element(1).map_or(Value::Null, bytes));
    "Parent Transaction ID", XACT, NULL, |_| Value::Null;
    "Oldest Active Transaction ID", XACT, NULL, |_| Value::Null;
    "Xact ID", T::BIGINT, NULL, |_| Value::Null;
    "Xact Node ID", T::INT, NULL, |_| Value::Null;
    "Xact Node Local ID", T::INT, NULL, |_| Value::Null;
    "End AGE", T::BIGINT, NULL, |_| Value::Null;
    "End Time", TIME, NULL, |r| r.time(&[Lop::COMMIT_XACT, Lop::ABORT_XACT]);
    "Transaction Begin", LSN_TEXT, NULL, |r| {
        r.view.begin_lsn().map_or(Value::Null, |l| text(&l.to_string()))
    };
    "Replicated Records", T::BIGINT, NULL, |_| Value::Null;
    "Oldest Active LSN", LSN_TEXT, NULL, |_| Value::Null;
    "Server Name", T::nvarchar(129), NULL, |_| Value::Null;
    "Database Name", T::nvarchar(129), NULL, |_| Value::Null;
    "Mark Name", T::nvarchar(33), NULL, |r| r.view.mark().map_or(Value::Null, |m| text(&m.0));
    "Repl Partition ID", T::INT, NULL, |_| Value::Null;
    "Repl Epoch", T::INT, NULL, |_| Value::Null;
    "Repl CSN", T::BIGINT, NULL, |_| Value::Null;
    "Repl Flags", T::INT, NULL, |_| Value::Null;
    "Repl Msg", BYTES, NULL, |_| Value::Null;
    "Repl Source Commit Time", TIME, NULL, |_| Value::Null;
    "Master XDESID", XACT, NULL, |_| Value::Null;
    "Master DBID", T::INT, NULL, |_| Value::Null;
    "Preplog Begin LSN", LSN_TEXT, NULL, |r| {
        let begin = r.view.fixed().get(32..).and_then(Lsn::from_bytes);
        r.when(Lop::PREP_XACT, |_| begin.map_or(Value::Null, |l| text(&l.to_string())))
    };
    "Prepare Time", TIME, NULL, |_| Value::Null;
    "Virtual Clock", T::BIGINT, NULL, |_| Value::Null;
    "Previous Savepoint", LSN_TEXT, NULL, |_| Value::Null;
    "Savepoint Name", T::nvarchar(33), NULL, |r| r.when(Lop::MARK_SAVEPOINT, |v| name(v, 0));
    "Rowbits First Bit", T::SMALLINT, NULL, |r| r.view.bits().map_or(Value::Null, |b| small(b.0));
    "Rowbits Bit Count", T::SMALLINT, NULL, |r| r.view.bits().map_or(Value::Null, |b| small(b.1));
    "Rowbits Bit Value", T::binary(1), NULL, |r| {
        r.view.bits().map_or(Value::Null, |b| Value::Binary(vec![u8::from(b.2)]))
    };
    "Number of Locks", T::SMALLINT, NULL, |r| r.locks().map_or(Value::Null, |_| small(3));
    "Lock Information", T::nvarchar(256), NULL, |r| r.locks().map_or(Value::Null, |l| text(&l));
    "LSN before writes", LSN_TEXT, NULL, |_| Value::Null;
    "Pages Written", T::SMALLINT, NULL, |_| Value::Null;
    "Command Type", T::INT, NULL, |_| Value::Null;
    "Publication ID", T::INT, NULL, |_| Value::Null;
    "Article ID", T::INT, NULL, |_| Value::Null;
    "Partial Status", T::INT, NULL, |_| Value::Null;
    "Command", T::nvarchar(26), NULL, |_| Value::Null;
    "Byte Offset", T::SMALLINT, NULL, |r| r.view.free_space().map_or(Value::Null, |f| small(f.0));
    "New Value", T::binary(1), NULL, |r| {
        r.view.free_space().map_or(Value::Null, |f| Value::Binary(vec![f.1]))
    };
    "Old Value", T::binary(1), NULL, |r| {
        r.view.free_space().map_or(Value::Null, |f| Value::Binary(vec![f.2]))
    };
    "New Split Page", XACT, NULL, |r| r.when(Lop::DELETE_SPLIT, |_| r.fixed_page(50));
    "Rows Deleted", T::SMALLINT, NULL, |r| r.number(Lop::DELETE_SPLIT, 48);
    "Bytes Freed", T::SMALLINT, NULL, |_| Value::Null;
    "CI Table Id", T::INT, NULL, |_| Value::Null;
    "CI Index Id", T::SMALLINT, NULL, |_| Value::Null;
    "NewAllocUnitId", T::BIGINT, NULL, |_| Value::Null;
    "FileGroup ID", T::SMALLINT, NULL, |_| Value::Null;
    "Meta Status", T::binary(4), NULL, |_| Value::Null;
    "File Status", T::binary(4), NULL, |_| Value::Null;
    "File ID", T::SMALLINT, NULL, |_| Value::Null;
    "Physical Name", T::nvarchar(261), NULL, |_| Value::Null;
    "Logical Name", T::nvarchar(129), NULL, |_| Value::Null;
    "Format LSN", LSN_TEXT, NULL, |_| Value::Null;
    "RowsetId", T::BIGINT, NULL, |_| Value::Null;
    "TextPtr", T::binary(16), NULL, |_| Value::Null;
    "Column Offset", T::INT, NULL, |_| Value::Null;
    "Flags", T::INT, NULL, |_| Value::Null;
    "Text Size", T::BIGINT, NULL, |_| Value::Null;
    "Offset", T::BIGINT, NULL, |_| Value::Null;
    "Old Size", T::BIGINT, NULL, |_| Value::Null;
    "New Size", T::BIGINT, NULL, |_| Value::Null;
    "Description", T::nvarchar(256), NOT_NULL, |r| text(&r.description());
    "Bulk allocated extent count", T::INT, NULL, |r| r.bulk(|_, extents| Value::Int(extents.len() as i32));
    "Bulk RowsetId", T::BIGINT, NULL, |r| r.bulk(|r, _| r.owner().map_or(Value::Null, |o| Value::BigInt(o.1.0)));
    "Bulk AllocUnitId", T::BIGINT, NULL, |r| r.bulk(|r, _| r.paged(|p| Value::BigInt(p.alloc_unit.0)));
    "Bulk allocation first IAM Page ID", XACT, NULL, |_| Value::Null;
    "Bulk allocated extent ids", T::nvarchar(961), NULL, |r| r.bulk(|_, extents| text(&extent_list(extents)));
    "VLFs added", T::nvarchar(688), NULL, |_| Value::Null;
    "InvalidateCache Id", T::INT, NULL, |_| Value::Null;
    "InvalidateCache keys", T::nvarchar(256), NULL, |_| Value::Null;
    // The missing letter is SQL Server's.
    "CopyVerionInfo Source Page Id", XACT, NULL, |_| Value::Null;
    "CopyVerionInfo Source Page LSN", LSN_TEXT, NULL, |_| Value::Null;
    "CopyVerionInfo Source Slot Id", T::INT, NULL, |_| Value::Null;
    "CopyVerionInfo Source Slot Count", T::INT, NULL, |_| Value::Null;
    "RowLog Contents 0", BYTES, NULL, |r| r.contents(0);
    "RowLog Contents 1", BYTES, NULL, |r| r.contents(1);
    "RowLog Contents 2", BYTES, NULL, |r| r.contents(2);
    "RowLog Contents 3", BYTES, NULL, |r| r.contents(3);
    "RowLog Contents 4", BYTES, NULL, |r| r.contents(4);
    "RowLog Contents 5", BYTES, NULL, |r| r.contents(5);
    "Compression Log Type", T::SMALLINT, NULL, |_| Value::Null;
    "Compression Info", BYTES, NULL, |_| Value::Null;
    "PageFormat PageType", T::SMALLINT, NULL, |r| r.format_byte(62);
    "PageFormat PageFlags", T::SMALLINT, NULL, |_| Value::Null;
    "PageFormat PageLevel", T::SMALLINT, NULL, |r| r.format_byte(63);
    "PageFormat PageStat", T::SMALLINT, NULL, |_| Value::Null;
    "PageFormat FormatOption", T::SMALLINT, NULL, |_| Value::Null;
    "Log Record", BYTES, NOT_NULL, |r| bytes(r.bytes);
}

pub const VIEW: View = View::streamed("fn_dblog", OWNER, COLUMNS, stream);

fn stream(cx: &Context, args: &[Value]) -> SqlResult<RowStream> {
    let Some(db) = cx.instance.databases.find(&cx.database) else {
        return Ok(Box::new(std::iter::empty()));
    };
    records(&db, bound(args, 0)?, bound(args, 1)?)
}

/// A record as [`COLUMNS`] has it; `None` when the bytes are no record.
pub fn shown(lsn: Lsn, bytes: &[u8], names: &Names, database: u16) -> Option<Vec<Value>> {
    Source::of(lsn, bytes, names, database).map(|s| row(&s))
}

/// An argument of `fn_dblog` and `fn_dump_dblog` that is an LSN: NULL is none.
pub(super) fn bound(args: &[Value], i: usize) -> SqlResult<Option<Lsn>> {
    match args.get(i).and_then(Value::as_text) {
        None => Ok(None),
        Some(text) => Lsn::parse(&text)
            .map(Some)
            .ok_or_else(|| SqlError::new(&messages::LOG_SCAN_PARAMETERS, &[])),
    }
}

/// The records of the active log from `start` to `end`, one by one, as [`COLUMNS`] has them.
pub fn records(db: &Arc<OpenDb>, start: Option<Lsn>, end: Option<Lsn>) -> SqlResult<RowStream> {
    let Some(log) = db.db.log().cloned() else {
        return Ok(Box::new(std::iter::empty()));
    };
    let start = start.unwrap_or_else(|| log.active_from());
    let end = end.unwrap_or(Lsn::MAX);
    let names = names(db)?;
    let database = db.db.name.clone();
    let id = db.db.id.0;
    let rows = log
        .read(start)
        .take_while(move |r| r.as_ref().map_or(true, |r| r.lsn <= end))
        .filter_map(move |r| match r {
            Err(e) => Some(Err(e.to_sql(&database))),
            Ok(r) => shown(r.lsn, &r.bytes, &names, id).map(Ok),
        });
    Ok(Box::new(rows))
}

/// `schema.table.index` of every allocation unit, `schema.table` of heaps.
pub(super) fn names(db: &OpenDb) -> SqlResult<Names> {
    let snapshot = db.catalog.snapshot()?;
    let mut names = Names::new();
    let base = duramen_catalog::system_tables::system_tables();
    let base: Vec<Arc<TableDef>> = base
        .filter_map(|t| snapshot.table(t.object()).cloned())
        .collect();
    for table in snapshot.tables.values().chain(&base) {
        let full = format!("{}.{}", table.schema_name, table.name);
        let mut add = |rowset: &RowsetDef, name: &str| {
            for au in std::iter::once(rowset.au).chain(rowset.lob_au) {
                names.insert(au, (name.to_owned(), rowset.rowset));
            }
        };
        if table.is_heap() {
            table.data_rowsets().iter().for_each(|r| add(r, &full));
        }
        for index in &table.indexes {
            let name = format!("{full}.{}", index.name);
            index.rowsets().iter().for_each(|r| add(r, &name));
        }
    }
    Ok(names)
}
