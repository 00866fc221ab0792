//! `sys.dm_io_virtual_file_stats(database_id, file_id)`: what has been read from and written to each file since it was
//! opened.

use duramen_base::SqlResult;
use duramen_catalog::FileKind;
use duramen_observe::FileIoSnapshot;
use duramen_program::column::*;
use duramen_query::Row;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5004, &VIEW),
];

pub struct Source {
    database_id: u16,
    io: FileIoSnapshot,
    sample_ms: u64,
    size: u64,
}

columns! { Source;
    "database_id", T::SMALLINT, NOT_NULL, |s| small(s.database_id);
    "file_id", T::SMALLINT, NOT_NULL, |s| small(s.io.file.0);
    "sample_ms", T::BIGINT, NOT_NULL, |s| big(s.sample_ms);
    "num_of_reads", T::BIGINT, NOT_NULL, |s| big(s.io.reads);
    "num_of_bytes_read", T::BIGINT, NOT_NULL, |s| big(s.io.bytes_read);
    "io_stall_read_ms", T::BIGINT, NOT_NULL, |s| big(s.io.read_stall_ms);
    // There is no resource governor that could queue a read or write.
    "io_stall_queued_read_ms", T::BIGINT, NOT_NULL, |_| big(0);
    "num_of_writes", T::BIGINT, NOT_NULL, |s| big(s.io.writes);
    "num_of_bytes_written", T::BIGINT, NOT_NULL, |s| big(s.io.bytes_written);
    "io_stall_write_ms", T::BIGINT, NOT_NULL, |s| big(s.io.write_stall_ms);
    "io_stall_queued_write_ms", T::BIGINT, NOT_NULL, |_| big(0);
    "io_stall", T::BIGINT, NOT_NULL, |s| big(s.io.read_stall_ms + s.io.write_stall_ms);
    "size_on_disk_bytes", T::BIGINT, NOT_NULL, |s| big(s.size);
    "file_handle", T::varbinary(8), NOT_NULL, |s| Value::Binary(s.io.handle.to_be_bytes().to_vec());
}

pub const VIEW: View = View::new("dm_io_virtual_file_stats", SERVER_STATE, COLUMNS, rows);

pub(super) fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<Row>> {
    let wanted = |i: usize| args.get(i).and_then(Value::as_i64);
    let sample_ms = duramen_os::time::now().nanos() / 1_000_000;
    let mut rows = Vec::new();
    for d in cx.instance.databases.all() {
        let data = d.db.files();
        let stats: Vec<_> = d.db.file_io().iter().map(|io| io.snapshot()).collect();
        let logs = d.db.log().map(|l| l.file_sizes()).unwrap_or_default();
        for f in &d.entry.read().files {
            let pick = wanted(0).is_none_or(|id| id == i64::from(d.db.id.0))
                && wanted(1).is_none_or(|id| id == i64::from(f.file_id));
            let io = stats.iter().find(|s| s.file.0 == f.file_id);
            let (true, Some(io)) = (pick, io) else {
                continue;
            };
            let size = match f.kind {
                FileKind::Log => logs.iter().find(|(id, _)| id.0 == f.file_id).map(|l| l.1),
                FileKind::Data => data
                    .iter()
                    .find(|i| i.spec.file_id == f.file_id)
                    .map(|i| u64::from(i.size) * 8192),
            };
            rows.push(row(&Source {
                database_id: d.db.id.0,
                io: *io,
                sample_ms,
                size: size.unwrap_or(0),
            }));
        }
    }
    Ok(rows)
}
