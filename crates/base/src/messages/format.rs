//! Putting arguments into the places of a message's text.
//!
//! Width and radix of a place are not applied: the caller passes what is to be seen (`format_args!("{:08x}", n)`).

use std::fmt;

/// Fills the places of `text` in order; `%%` is a percent sign; a place without an argument stays as it is.
pub fn format_message(text: &str, args: &[&dyn fmt::Display]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut args = args.iter();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let spec = &rest[at..];
        if let Some(after) = spec.strip_prefix("%%") {
            out.push('%');
            rest = after;
            continue;
        }
        let end = spec[1..]
            .find(['d', 's', 'u', 'x', 'X', 'i', 'f', 'c', 'p'])
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
