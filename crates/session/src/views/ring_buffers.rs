//! `sys.dm_os_ring_buffers`: of SQL Server's many buffers the one of the scheduler monitor, see `health`.

use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;
use crate::health::Record;

columns! { Record;
    "ring_buffer_address", T::varbinary(8), NOT_NULL, |_| Value::Binary(vec![0, 0, 0, 0, 0, 0, 0, 1]);
    "ring_buffer_type", DESC, NOT_NULL, |_| text("RING_BUFFER_SCHEDULER_MONITOR");
    "timestamp", T::BIGINT, NOT_NULL, |r| big(r.ticks);
    "record", T::nvarchar(3072), NULL, |r| text(&r.xml());
}

pub const VIEW: View = View::new("dm_os_ring_buffers", SERVER_STATE, COLUMNS, |cx, _| {
    Ok(cx.instance.xe.health.records().iter().map(row).collect())
});
