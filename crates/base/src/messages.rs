//! The message catalogue: number, severity and text of every message the engine sends, declared once.
//!
//! Texts and numbers are SQL Server's (they are interface). Places are printf-like: `%d`, `%ls`, `%.*ls`, `%I64d`...

use std::fmt;

/// One message of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub number: i32,
    pub severity: u8,
    pub text: &'static str,
}

macro_rules! messages {
    ($($name:ident = $number:literal, $severity:literal, $text:literal;)*) => {
        $(pub const $name: Message = Message { number: $number, severity: $severity, text: $text };)*
        /// Every message, by number.
        pub const ALL: &[&Message] = &[$(&$name),*];
    };
}

messages! {
    SYNTAX_NEAR = 102, 15, "Incorrect syntax near '%.*ls'.";
    LOG_FULL = 9002, 17, "The transaction log for database '%.*ls' is full due to '%ls'.";
    LOG_UNAVAILABLE = 9001, 21, "The log for database '%.*ls' is not available. Check the operating system error log for related error messages. Resolve any errors and restart the database.";
    NOT_SUPPORTED = 40517, 16, "Keyword or statement option '%.*ls' is not supported in this version of Duramen.";
}

/// Fills the places of `text` in order; `%%` is a percent sign; a place without an argument stays as it is.
pub fn format_message(text: &str, args: &[&dyn fmt::Display]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut args = args.iter();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at..];
        if spec.starts_with("%%") {
            out.push('%');
            rest = &spec[2..];
            continue;
        }
        let end = spec[1..]
            .find(|c: char| {
                matches!(c, 'd' | 's' | 'u' | 'x' | 'X' | 'i')
                    || (c == 'P' && spec.contains("%S_PGID"))
            })
            .map_or(spec.len(), |i| i + 2);
        let end = if spec.starts_with("%S_") {
            1 + spec[1..]
                .find(|c: char| !(c.is_ascii_uppercase() || c == '_'))
                .unwrap_or(spec.len() - 1)
        } else {
            end
        };
        match args.next() {
            Some(arg) => out.push_str(&arg.to_string()),
            None => out.push_str(&spec[..end]),
        }
        rest = &spec[end..];
    }
    out.push_str(rest);
    out
}
