//! `sys.dm_io_pending_io_requests`: reads and writes of databases' files that last right now.
//!
//! Addresses of the server's memory are nobody's business: they are 0 or NULL.

use duramen_observe::PendingIo;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1104, &VIEW),
];

pub struct Source {
    io: PendingIo,
    path: Option<String>,
}

const ADDRESS: T = T::varbinary(8);

fn nowhere() -> Value {
    Value::Binary(vec![0; 8])
}

columns! { Source;
    "io_completion_request_address", ADDRESS, NOT_NULL, |_| nowhere();
    "io_type", T::nvarchar(7), NOT_NULL, |_| text("disk");
    "io_pending_ms_ticks", T::BIGINT, NOT_NULL, |s| big(s.io.waited.as_millis() as u64);
    // The operating system has not said that it is over.
    "io_pending", T::INT, NOT_NULL, |_| int(1);
    "io_completion_routine_address", ADDRESS, NULL, |_| Value::Null;
    "io_user_data_address", ADDRESS, NULL, |_| Value::Null;
    "scheduler_address", ADDRESS, NOT_NULL, |_| nowhere();
    "io_handle", ADDRESS, NULL, |s| Value::Binary(s.io.handle.to_be_bytes().to_vec());
    "io_offset", T::BIGINT, NOT_NULL, |s| big(s.io.offset);
    "io_handle_path", T::nvarchar(256), NULL, |s| text_or_null(s.path.as_deref());
}

pub const VIEW: View = View::new(
    "dm_io_pending_io_requests",
    SERVER_STATE,
    COLUMNS,
    |cx, _| {
        let mut rows = Vec::new();
        for d in cx.instance.databases.all() {
            let entry = d.entry.read();
            for io in d.db.file_io().iter().flat_map(|io| io.pending()) {
                let file = entry.files.iter().find(|f| f.file_id == io.file.0);
                rows.push(row(&Source {
                    path: file.map(|f| f.path.clone()),
                    io,
                }));
            }
        }
        Ok(rows)
    },
);
