//! `sys.messages`: the message catalogue, in the one language that it has.

use duramen_base::messages::{ALL, Message};
use duramen_program::column::*;
use duramen_types::SqlType as T;

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1056, &VIEW),
];

/// The LCID of us_english.
const ENGLISH: i64 = 1033;

columns! { Message;
    "message_id", T::INT, NOT_NULL, |m| int(m.number);
    "language_id", T::SMALLINT, NOT_NULL, |_| small(ENGLISH);
    "severity", T::TINYINT, NULL, |m| tiny(m.severity);
    // What goes to the server log is decided by severity.
    "is_event_logged", T::BIT, NOT_NULL, |m| bit(m.severity >= 19);
    "text", T::nvarchar(2048), NOT_NULL, |m| text(m.text);
}

pub const VIEW: View = View::new("messages", FACTS, COLUMNS, |_, _| {
    Ok(ALL.iter().map(|m| row(m)).collect())
});
