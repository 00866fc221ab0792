//! `sys.dm_os_ring_buffers`: of SQL Server's many buffers those of the scheduler monitor (see `health`), of exceptions, and of
//! connections as far as logins were refused.

use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1113, &VIEW),
];

/// A record of one of the buffers.
pub struct Source {
    buffer: u8,
    kind: &'static str,
    ticks: u64,
    xml: String,
}

columns! { Source;
    "ring_buffer_address", T::varbinary(8), NOT_NULL, |s| Value::Binary(vec![0, 0, 0, 0, 0, 0, 0, s.buffer]);
    "ring_buffer_type", DESC, NOT_NULL, |s| text(s.kind);
    "timestamp", T::BIGINT, NOT_NULL, |s| big(s.ticks);
    "record", T::nvarchar(3072), NULL, |s| text(&s.xml);
}

pub const VIEW: View = View::new("dm_os_ring_buffers", SERVER_STATE, COLUMNS, |cx, _| {
    let minutes = cx.instance.xe.health.records();
    let minutes = minutes.iter().map(|r| Source {
        buffer: 1,
        kind: "RING_BUFFER_SCHEDULER_MONITOR",
        ticks: r.ticks,
        xml: r.xml(),
    });
    let exceptions = duramen_program::exceptions::records();
    let exceptions = exceptions.iter().map(|r| Source {
        buffer: 2,
        kind: "RING_BUFFER_EXCEPTION",
        ticks: r.ticks,
        xml: r.xml(),
    });
    let refusals = duramen_program::exceptions::refusals();
    let refusals = refusals.iter().map(|r| Source {
        buffer: 3,
        kind: "RING_BUFFER_CONNECTIVITY",
        ticks: r.ticks,
        xml: r.xml(),
    });
    let all = minutes.chain(exceptions).chain(refusals);
    Ok(all.map(|s| row(&s)).collect())
});
