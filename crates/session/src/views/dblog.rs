//! `fn_dblog(start, end)`: the records of the active log of the current database.
//!
//! The columns here are those whose values the record itself gives; the others come with their sources.

use duramen_base::{Lsn, PageId, SqlError, messages};
use duramen_types::{SqlType, Value};
use duramen_wal::record::RecordView;

use super::View;

pub const VIEW: View = View {
    name: "fn_dblog",
    columns: &[
        ("Current LSN", SqlType::nvarchar(23), false),
        ("Operation", SqlType::nvarchar(31), false),
        ("Context", SqlType::nvarchar(31), false),
        ("Transaction ID", SqlType::nvarchar(14), false),
        ("Log Record Fixed Length", SqlType::SMALLINT, false),
        ("Log Record Length", SqlType::SMALLINT, false),
        ("Previous LSN", SqlType::nvarchar(23), false),
        ("Flag Bits", SqlType::binary(2), false),
        ("Page ID", SqlType::nvarchar(14), true),
        ("Slot ID", SqlType::INT, true),
        ("Num Elements", SqlType::SMALLINT, true),
        ("RowLog Contents 0", SqlType::varbinary(8000), true),
        ("RowLog Contents 1", SqlType::varbinary(8000), true),
        ("Log Record", SqlType::varbinary(8000), false),
    ],
    rows: |cx, args| {
        let Some(log) = cx
            .instance
            .databases
            .find(&cx.database)
            .and_then(|d| d.db.log().cloned())
        else {
            return Ok(Vec::new());
        };
        let bound = |i: usize| -> Result<Option<Lsn>, SqlError> {
            match args.get(i).and_then(Value::as_text) {
                None => Ok(None),
                Some(text) => Lsn::parse(&text)
                    .map(Some)
                    .ok_or_else(|| SqlError::new(&messages::LOG_SCAN_PARAMETERS, &[])),
            }
        };
        let oldest = log
            .vlfs()
            .iter()
            .filter(|v| v.status == 2)
            .map(|v| v.seq)
            .min()
            .unwrap_or(0);
        let start = bound(0)?.unwrap_or(Lsn::new(oldest, 16, 1));
        let end = bound(1)?.unwrap_or(Lsn::MAX);
        let mut rows = Vec::new();
        for record in log.read(start) {
            let record = record.map_err(|e| e.to_sql(&cx.database))?;
            if record.lsn > end {
                break;
            }
            if let Some(view) = RecordView::parse(&record.bytes) {
                rows.push(row(record.lsn, &record.bytes, &view));
            }
        }
        Ok(rows)
    },
};

fn row(lsn: Lsn, bytes: &[u8], view: &RecordView<'_>) -> Vec<Value> {
    let page = view.page();
    let element = |i: usize| {
        view.element(i)
            .map_or(Value::Null, |e| Value::Binary(e.to_vec()))
    };
    let cut = |b: &[u8]| Value::Binary(b[..b.len().min(8000)].to_vec());
    vec![
        Value::nvarchar(&lsn.to_string()),
        Value::nvarchar(&view.op().to_string()),
        Value::nvarchar(&view.context().to_string()),
        Value::nvarchar(&view.xdes().to_string()),
        Value::SmallInt(view.fixed_length() as i16),
        Value::SmallInt(bytes.len().min(i16::MAX as usize) as i16),
        Value::nvarchar(&view.prev_lsn().to_string()),
        Value::Binary(view.flags().to_be_bytes().to_vec()),
        page.as_ref().map_or(Value::Null, |p| page_text(p.page)),
        page.as_ref()
            .map_or(Value::Null, |p| Value::Int(i32::from(p.slot))),
        Value::SmallInt(view.element_count() as i16),
        element(0),
        element(1),
        cut(bytes),
    ]
}

/// `0001:00000379`
fn page_text(page: PageId) -> Value {
    Value::nvarchar(&format!("{:04x}:{:08x}", page.file, page.page))
}
