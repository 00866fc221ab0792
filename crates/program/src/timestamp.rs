//! Points in time as texts for whoever reads events.

use duramen_os::time::WallTime;
use duramen_types::temporal::ymd_hms;

/// `2025-08-04T14:57:03.862Z`
pub fn timestamp(at: WallTime) -> String {
    let ((year, month, day), [hour, minute, second]) = ymd_hms(at.unix_seconds());
    let milli = at.subsec_nanos() / 1_000_000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}
