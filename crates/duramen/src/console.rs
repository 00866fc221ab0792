//! Standard output of a server: the lines of its error log as they are written, and what is for the terminal only.

use std::io::Write;

/// A line on standard output. Whoever read it may have gone: the server lives on.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
