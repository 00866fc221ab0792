//! The message catalogue: number, severity and text of every message the engine sends, declared once.
//!
//! Texts and numbers are SQL Server's (they are interface). Places are printf-like: `%d`, `%ls`, `%.*ls`, `%I64d`...
//! Three lists, each sorted by number; an entry is one line, so that rooms can add to it without conflicts.

macro_rules! messages {
    ($($name:ident = $number:literal, $severity:literal, $text:literal;)*) => {
        $(pub const $name: Message = Message { number: $number, severity: $severity, text: $text };)*
        pub(super) const LIST: &[&Message] = &[$(&$name),*];
    };
}

mod data;
mod format;
mod language;
mod message;
mod server;

pub use data::*;
pub use format::format_message;
pub use language::*;
pub use message::{Message, by_number};
pub use server::*;

/// Every message, in the order of their numbers (a test checks it).
pub const ALL: &[&Message] = &{
    let lists = [language::LIST, data::LIST, server::LIST];
    let mut all = [language::LIST[0]; language::LIST.len() + data::LIST.len() + server::LIST.len()];
    let (mut list, mut at, mut next) = (0, 0, 0);
    while list < lists.len() {
        if at == lists[list].len() {
            (list, at) = (list + 1, 0);
            continue;
        }
        all[next] = lists[list][at];
        (at, next) = (at + 1, next + 1);
    }
    all
};

#[cfg(test)]
mod tests;
