//! An entry of the error log and its form in the file: `2026-11-22 12:00:00.12 spid51      text`, in UTC.
//!
//! Lines that do not begin with a time belong to the entry before them. So that a message cannot pass for an entry of its
//! own, a line within a text that looks like one is set in by a tabulator.

use duramen_os::time::WallTime;
use duramen_types::temporal::{DAYS_TO_1970, days_from_ymd, ymd_hms};

/// Bytes of the time and the blank behind it.
const TIME: usize = 23;
/// Bytes of the source and the blank behind it, unless the source is longer.
const SOURCE: usize = 12;

/// What the server wrote down at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub at: WallTime,
    /// `Server`, `spid51`, `Logon`, `Backup`.
    pub source: String,
    pub text: String,
}

impl Entry {
    pub fn new(source: &str, text: &str) -> Entry {
        Entry {
            at: duramen_os::time::wall(),
            source: source.to_owned(),
            text: text.to_owned(),
        }
    }

    /// As it stands in the file, without the end of its last line.
    pub fn line(&self) -> String {
        let mut text = String::with_capacity(self.text.len());
        for (i, part) in self.text.lines().enumerate() {
            match i {
                0 => {}
                _ if moment(part.as_bytes()).is_some() => text.push_str("\n\t"),
                _ => text.push('\n'),
            }
            text.push_str(part);
        }
        format!("{} {:<11} {text}", stamp(self.at), self.source)
    }

    /// The entry that a line begins; `None` for a line that goes on with the one before.
    pub fn parse(line: &str) -> Option<Entry> {
        let at = moment(line.as_bytes())?;
        let rest = line.get(TIME..)?;
        let end = rest.find(' ').unwrap_or(rest.len());
        let text = rest.get(SOURCE.max(end + 1)..).unwrap_or("");
        Some(Entry {
            at,
            source: rest[..end].to_owned(),
            text: text.to_owned(),
        })
    }
}

fn stamp(at: WallTime) -> String {
    let ((year, month, day), [hour, minute, second]) = ymd_hms(at.unix_seconds());
    let hundredth = at.subsec_nanos() / 10_000_000;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{hundredth:02}")
}

/// The time that a line begins with.
fn moment(line: &[u8]) -> Option<WallTime> {
    const FORM: &[u8; TIME] = b"0000-00-00 00:00:00.00 ";
    let head = line.get(..TIME)?;
    let mut numbers = [0i128; 7];
    let mut at = 0;
    for (c, form) in head.iter().zip(FORM) {
        match form {
            b'0' if c.is_ascii_digit() => numbers[at] = numbers[at] * 10 + i128::from(c - b'0'),
            b'0' => return None,
            _ if c == form => at += 1,
            _ => return None,
        }
    }
    let [year, month, day, hour, minute, second, hundredth] = numbers;
    let days = days_from_ymd(year as i32, month as u32, day as u32)?;
    let days = i128::from(days - DAYS_TO_1970);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    Some(WallTime(seconds * 1_000_000_000 + hundredth * 10_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let entry = Entry {
            at: WallTime(1_795_348_800_120_000_000),
            source: "spid51".to_owned(),
            text: "Error: 9002, Severity: 17, State: 2.".to_owned(),
        };
        let line = entry.line();
        assert_eq!(
            line,
            "2026-11-22 12:00:00.12 spid51      Error: 9002, Severity: 17, State: 2."
        );
        assert_eq!(Entry::parse(&line), Some(entry));
        let empty = Entry::parse("2026-11-22 12:00:00.12 Server").map(|e| (e.source, e.text));
        assert_eq!(empty, Some(("Server".to_owned(), String::new())));
    }

    #[test]
    fn a_text_cannot_pass_for_an_entry() {
        let forged = "2026-11-22 12:00:00.12 Server      all is well";
        let line = Entry::new("spid51", &format!("one\ntwo\n{forged}")).line();
        let begun = line.lines().filter(|l| Entry::parse(l).is_some());
        assert_eq!(begun.count(), 1, "{line}");
        for not_one in ["", "2026-11-22", "2026-13-40 12:00:00.12 x", "text"] {
            assert_eq!(Entry::parse(not_one), None, "{not_one}");
        }
    }
}
