//! Texts that hold a password are shown to nobody: not in events and traces, nor in the plan cache, input buffers and
//! deadlock graphs, nor quoted by the messages of errors that are heard of there.
//!
//! SQL Server shows such a text as `--*CREATE LOGIN----...`; how long the line is, and what exactly is looked for, is
//! *assumed*. What is looked for here are the words around a password wherever they stand, in strings too, since a string
//! may be executed: `PASSWORD =` or `SECRET =` with a statement that takes one, and the procedures and functions that get
//! passwords as arguments. Texts stay as they are until they are shown: who runs a batch pays nothing.

use std::borrow::Cow;

use duramen_base::SqlError;

use crate::program::Program;

/// Procedures and functions whose arguments are passwords.
const CALLS: &[&str] = &[
    "sp_addlogin",
    "sp_password",
    "sp_addlinkedsrvlogin",
    "sp_addapprole",
    "sp_approlepassword",
    "sp_setapprole",
    "pwdencrypt",
    "pwdcompare",
    "encryptbypassphrase",
    "decryptbypassphrase",
];
/// What stands before `= 'secret'`.
const OPTIONS: &[&str] = &["password", "secret"];
/// The statements that have such an option begin with one of these, and say one of those.
const VERBS: &[&str] = &["create", "alter", "add", "open", "backup", "restore"];
const NOUNS: &[&str] = &[
    "login",
    "user",
    "role",
    "key",
    "certificate",
    "credential",
    "database",
    "log",
];

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'@' || b == b'#' || b == b'$' || b >= 0x80
}

/// The places behind each occurrence of a word; `whole`: nothing of a word before it.
fn behind<'t>(text: &'t [u8], word: &'t str, whole: bool) -> impl Iterator<Item = usize> + 't {
    let word = word.as_bytes();
    let found = move |at: &usize| {
        let fits = text[*at..*at + word.len()].eq_ignore_ascii_case(word);
        fits && (!whole || *at == 0 || !is_word(text[*at - 1]))
    };
    let last = (text.len() + 1).saturating_sub(word.len());
    (0..last).filter(found).map(move |at| at + word.len())
}

fn says(text: &[u8], word: &str) -> bool {
    behind(text, word, true).any(|at| text.get(at).is_none_or(|b| !is_word(*b)))
}

/// Whether blanks and comments, and then `=`, stand at a place.
fn equals_at(text: &[u8], mut at: usize) -> bool {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match rest {
            [b'=', ..] => return true,
            [b, ..] if b.is_ascii_whitespace() || *b == b']' || *b == b'"' => at += 1,
            [b'-', b'-', rest @ ..] => match rest.iter().position(|b| *b == b'\n') {
                Some(end) => at += end + 3,
                None => return false,
            },
            [b'/', b'*', rest @ ..] => match rest.windows(2).position(|w| w == b"*/") {
                Some(end) => at += end + 4,
                None => return false,
            },
            _ => return false,
        }
    }
}

/// Whether any of the words stands in a text at all: most have none, and one look at each byte tells.
fn may_hold(text: &[u8]) -> bool {
    let begins = |at: usize| {
        let mut words = CALLS.iter().chain(OPTIONS);
        words.any(|w| {
            let part = text.get(at..at + w.len());
            part.is_some_and(|p| p.eq_ignore_ascii_case(w.as_bytes()))
        })
    };
    let last = text.len().saturating_sub(1);
    (0..last).any(|at| {
        let pair = [text[at] | 0x20, text[at + 1] | 0x20];
        matches!(&pair, b"pa" | b"pw" | b"se" | b"en" | b"de" | [b's', b'p']) && begins(at)
    })
}

/// What a text is about that holds a secret.
fn secret(text: &str) -> Option<&'static str> {
    let bytes = text.as_bytes();
    if !may_hold(bytes) {
        return None;
    }
    if let Some(call) = CALLS.iter().find(|c| says(bytes, c)) {
        return Some(call);
    }
    let mut options = OPTIONS.iter();
    // OLD_PASSWORD and MEDIAPASSWORD end in it.
    let given = |o: &&&str| behind(bytes, o, false).any(|at| equals_at(bytes, at));
    let option = options.find(given)?;
    let verb = VERBS.iter().any(|v| says(bytes, v));
    let noun = NOUNS.iter().find(|n| says(bytes, n));
    noun.filter(|_| verb).map(|n| match *n {
        "login" => "login",
        _ => *option,
    })
}

/// A text as anybody may see it.
pub fn shown(text: &str) -> Cow<'_, str> {
    match secret(text) {
        Some(what) => Cow::Owned(masked(what, text)),
        None => Cow::Borrowed(text),
    }
}

/// An error of a text that could not be compiled, which may quote it.
pub fn guarded(text: &str, error: SqlError) -> SqlError {
    match secret(text) {
        Some(_) => error.quoting_secret(),
        None => error,
    }
}

/// A line as long as the text, so that places in it stay.
fn masked(what: &str, text: &str) -> String {
    let mut line = format!("--*{what}");
    let rest = text.len().saturating_sub(line.len());
    line.extend(std::iter::repeat_n('-', rest));
    line
}

impl Program {
    /// Its text, as anybody may see it.
    pub fn shown_text(&self) -> Cow<'_, str> {
        match self.secret() {
            Some(what) => Cow::Owned(masked(what, &self.text)),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// A part of its text: masked when the whole holds a secret, which may stand in another statement.
    pub fn shown_part(&self, (from, to): (usize, usize)) -> Cow<'_, str> {
        let part = self.text.get(from..to).unwrap_or_default();
        match self.secret() {
            Some(what) => Cow::Owned(masked(what, part)),
            None => Cow::Borrowed(part),
        }
    }

    /// An error of one of its statements, which may quote it.
    pub fn guarded(&self, error: SqlError) -> SqlError {
        match self.secret() {
            Some(_) => error.quoting_secret(),
            None => error,
        }
    }

    fn secret(&self) -> Option<&'static str> {
        *self.secret.get_or_init(|| secret(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_a_password_is_masked() {
        for text in [
            "CREATE LOGIN bob WITH PASSWORD = 'x'",
            "alter login bob with password='x' old_password='y'",
            "ALTER LOGIN bob WITH PASSWORD /* why */ -- not\n = N'x'",
            "EXEC sp_addlogin 'bob', 'x'",
            "exec [master].[dbo].[sp_password] NULL, 'x', 'bob'",
            "DECLARE @s nvarchar(99) = N'ALTER LOGIN bob WITH PASSWORD = ''x'''; EXEC (@s)",
            "SELECT PWDCOMPARE('x', password_hash) FROM sys.sql_logins",
            "CREATE CREDENTIAL c WITH IDENTITY = 'i', SECRET = 'x'",
            "BACKUP DATABASE d TO DISK = 'f' WITH MEDIAPASSWORD = 'x'",
        ] {
            let shown = shown(text);
            assert!(shown.starts_with("--*") && !shown.contains('\''), "{shown}");
            assert_eq!(shown.len(), text.len());
        }
        for text in [
            "SELECT password FROM t WHERE password = 'x'",
            "SELECT 1",
            "CREATE LOGIN bob FROM WINDOWS",
            "UPDATE users SET password = @p",
        ] {
            assert_eq!(shown(text), text);
        }
    }
}
