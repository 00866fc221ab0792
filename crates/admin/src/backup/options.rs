//! WITH lists: their values, checked.
//!
//! A number out of its range is 3250, as SQL Server says it of STATS; a block size that is no power of two 3253; sizes of
//! transfers and numbers of buffers 3217 (*assumed* for all but STATS and BLOCKSIZE).

use std::fmt::Display;

use duramen_backup::{TapeTime, Transfer};
use duramen_base::{SqlError, SqlResult, messages};
use duramen_types::{ConvertCtx, DateTime, SqlType, Value, convert};

use super::known::{CONFLICTS, Entry, Known};
use super::refuse;

/// Characters of NAME and MEDIANAME, and of DESCRIPTION and MEDIADESCRIPTION.
const NAME_CHARS: usize = 128;
const TEXT_CHARS: usize = 255;
/// The most that RETAINDAYS is (*assumed*, as in SQL Server's tools).
const MOST_DAYS: i64 = 99_999;
/// Smallest and largest BLOCKSIZE, and the unit of MAXTRANSFERSIZE.
const BLOCK_BYTES: std::ops::RangeInclusive<i64> = 512..=65_536;
const EXTENT: i64 = 65_536;

/// An option's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Nothing,
    Int(i64),
    /// A string, or a word.
    Text(String),
    /// `(ALGORITHM = MS_XPRESS)`: names in upper case.
    List(Vec<(String, String)>),
}

/// The options of a statement, names in upper case.
#[derive(Clone, Debug, Default)]
pub struct Options(pub Vec<(String, Given)>);

/// 3250
fn out_of_range(n: i64, name: &str) -> SqlError {
    let args: [&dyn Display; 2] = [&n, &name];
    SqlError::new(&messages::BACKUP_VALUE_OUT_OF_RANGE, &args)
}

impl Options {
    fn find(&self, name: &str) -> Option<&Given> {
        self.0.iter().find(|o| o.0 == name).map(|o| &o.1)
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn text(&self, name: &str) -> String {
        match self.find(name) {
            Some(Given::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.find(name) {
            Some(Given::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// MAXTRANSFERSIZE and BUFFERCOUNT. The first is rounded up to whole extents, as in SQL Server
    /// (<https://learn.microsoft.com/archive/blogs/psssql/how-it-works-how-does-sql-server-backup-and-restore-select-transfer-sizes>),
    /// but less than one is no size. 3217 for what is no size up to 4 MB, or no number of buffers.
    pub fn transfer(&self) -> SqlResult<Transfer> {
        let within = |name: &str, (least, most): (i64, i64), default: usize| match self.int(name) {
            None => Ok(default),
            Some(n) if (least..=most).contains(&n) => Ok(n as usize),
            Some(_) => {
                let args: [&dyn Display; 1] = [&name];
                Err(SqlError::new(&messages::BACKUP_PARAMETER_INVALID, &args))
            }
        };
        let default = Transfer::default();
        let most = i64::from(i32::MAX);
        let bytes = within("MAXTRANSFERSIZE", (EXTENT, 4 << 20), default.bytes)?;
        Ok(Transfer {
            bytes: bytes.next_multiple_of(EXTENT as usize),
            buffers: within("BUFFERCOUNT", (1, most), default.buffers)?,
        })
    }

    /// BLOCKSIZE in bytes; 0 without it.
    fn block_size(&self) -> SqlResult<u32> {
        match self.int("BLOCKSIZE") {
            None => Ok(0),
            Some(n) if !BLOCK_BYTES.contains(&n) => Err(out_of_range(n, "BLOCKSIZE")),
            Some(n) if n.count_ones() != 1 => {
                Err(SqlError::new(&messages::BLOCK_SIZE_POWER_OF_TWO, &[]))
            }
            Some(n) => Ok(n as u32),
        }
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_size().unwrap_or(0)
    }

    /// When the set may be overwritten: RETAINDAYS, which counts more than EXPIREDATE, or the days of the server's
    /// 'media retention'. `now` in seconds since 1970. 241 for a text that is no date.
    pub fn expires(&self, now: i64, retention_days: i64) -> SqlResult<TapeTime> {
        let days = |n: i64| TapeTime::of_unix(now + n * 86_400);
        if let Some(n) = self.int("RETAINDAYS") {
            return Ok(days(n));
        }
        if !self.has("EXPIREDATE") {
            return Ok(match retention_days {
                0 => TapeTime::default(),
                n => days(n),
            });
        }
        let at = moment(&self.text("EXPIREDATE"))?;
        let seconds = i64::from(at.days) - DAYS_TO_1970;
        Ok(TapeTime::of_unix(
            seconds * 86_400 + i64::from(at.ticks / 300),
        ))
    }

    /// What is restored goes on waiting for more.
    pub fn stays_restoring(&self) -> bool {
        self.has("NORECOVERY") || self.has("STANDBY")
    }

    /// STATS: after how many percent something is told; `None` without it.
    pub fn stats(&self) -> Option<u32> {
        match self.find("STATS")? {
            Given::Int(n) => Some(n.clamp(&1, &100).unsigned_abs() as u32),
            _ => Some(10),
        }
    }

    /// 155 for what nobody knows, 40517 for what is known elsewhere, 3032 for what `on` does not have, 3031 for what
    /// contradicts itself; then values: 103, 3250, 3253, 3217.
    pub fn check(&self, statement: &str, known: &[Entry], on: u8) -> SqlResult<()> {
        for (name, value) in &self.0 {
            let Some(entry) = known.iter().find(|k| k.0 == name) else {
                let kind = statement.split(' ').next().unwrap_or_default();
                let args: [&dyn Display; 2] = [name, &kind];
                return Err(SqlError::new(&messages::UNRECOGNIZED_OPTION, &args));
            };
            if entry.2 & on == 0 {
                let shown = name.to_lowercase();
                return Err(SqlError::new(
                    &messages::BACKUP_OPTION_NOT_SUPPORTED,
                    &[&shown],
                ));
            }
            let fits = match (entry.1, value) {
                (Known::Switch | Known::NoEffect | Known::MaybeInt, Given::Nothing)
                | (Known::Int | Known::MaybeInt, Given::Int(_))
                | (Known::Text, Given::Text(_)) => true,
                (Known::Gone, _) => {
                    let shown = name.to_lowercase();
                    return Err(SqlError::new(
                        &messages::BACKUP_OPTION_NOT_SUPPORTED,
                        &[&shown],
                    ));
                }
                (Known::Encryption, _) => {
                    return Err(SqlError::new(&messages::BACKUP_ENCRYPTION_MISSING, &[]));
                }
                (Known::Compression, Given::Nothing) => true,
                (Known::Compression, Given::List(list)) => {
                    let ours = [("ALGORITHM".to_owned(), "MS_XPRESS".to_owned())];
                    if **list != ours {
                        let algorithm = list.first().map_or("", |o| o.1.as_str());
                        let what =
                            format!("{statement} WITH COMPRESSION (ALGORITHM = {algorithm})");
                        return Err(refuse(&what));
                    }
                    true
                }
                _ => false,
            };
            if !fits {
                return Err(refuse(&format!("{statement} WITH {name}")));
            }
        }
        for (a, b) in CONFLICTS {
            if self.has(a) && self.has(b) {
                return Err(SqlError::new(&messages::BACKUP_OPTIONS_CONFLICT, &[a, b]));
            }
        }
        self.check_values()
    }

    fn check_values(&self) -> SqlResult<()> {
        let lengths = [
            ("NAME", NAME_CHARS),
            ("MEDIANAME", NAME_CHARS),
            ("DESCRIPTION", TEXT_CHARS),
            ("MEDIADESCRIPTION", TEXT_CHARS),
        ];
        for (option, most) in lengths {
            let text = self.text(option);
            if text.encode_utf16().count() > most {
                let start: String = text.chars().take(most).collect();
                let args: [&dyn Display; 3] = [&"character string", &start, &most];
                return Err(SqlError::new(&messages::NAME_TOO_LONG, &args));
            }
        }
        for (option, least, most) in [("STATS", 1, 100), ("RETAINDAYS", 0, MOST_DAYS)] {
            if let Some(n) = self.int(option).filter(|n| !(least..=most).contains(n)) {
                return Err(out_of_range(n, option));
            }
        }
        self.block_size()?;
        self.transfer()?;
        Ok(())
    }
}

/// From 1900, from which `datetime` counts, to 1970.
const DAYS_TO_1970: i64 = 25_567;

/// The moment that a text says. 241 for one that is none.
pub(super) fn moment(text: &str) -> SqlResult<DateTime> {
    let from = SqlType::nvarchar(4000);
    let context = ConvertCtx::default();
    let value = Value::nvarchar(text);
    match convert::convert(&value, &from, &SqlType::DATETIME, None, &context)? {
        Value::DateTime(t) => Ok(t),
        _ => Ok(DateTime { days: 0, ticks: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::{BACKUP, BACKUP_OPTIONS, RESTORE_OPTIONS};
    use super::*;

    fn options(list: &[(&str, Given)]) -> Options {
        let own = |(n, g): &(&str, Given)| ((*n).to_owned(), g.clone());
        Options(list.iter().map(own).collect())
    }

    fn text(t: &str) -> Given {
        Given::Text(t.to_owned())
    }

    #[test]
    fn options_are_known_or_refused() {
        assert!(BACKUP_OPTIONS.is_sorted_by_key(|o| o.0));
        assert!(RESTORE_OPTIONS.is_sorted_by_key(|o| o.0));
        let number = |o: Options| {
            o.check("BACKUP DATABASE", BACKUP_OPTIONS, BACKUP)
                .map_err(|e| e.number)
        };
        let good = options(&[("STATS", Given::Nothing), ("NAME", text("x"))]);
        assert_eq!(good.stats(), Some(10));
        assert_eq!(number(good), Ok(()));
        let one = |name: &str, given| number(options(&[(name, given)]));
        assert_eq!(one("NAME", Given::Int(1)), Err(40517));
        assert_eq!(one("CREDENTIAL", text("c")), Err(40517));
        assert_eq!(one("ENCRYPTION", Given::Nothing), Err(3099));
        assert_eq!(one("PASSWORD", text("p")), Err(3032));
        assert_eq!(one("TRUNCATE_ONLY", Given::Nothing), Err(155));
        assert_eq!(one("STATS", Given::Int(200)), Err(3250));
        assert_eq!(one("STATS", Given::Int(0)), Err(3250));
        assert_eq!(one("BLOCKSIZE", Given::Int(1000)), Err(3253));
        assert_eq!(one("BLOCKSIZE", Given::Int(131_072)), Err(3250));
        assert_eq!(one("NAME", text(&"x".repeat(129))), Err(103));
        assert_eq!(one("NAME", text(&"x".repeat(128))), Ok(()));
        let both = options(&[("INIT", Given::Nothing), ("NOINIT", Given::Nothing)]);
        assert_eq!(number(both), Err(3031));
        assert_eq!(options(&[("STATS", Given::Int(5))]).stats(), Some(5));
        let algorithm = |a: &str| Given::List(vec![("ALGORITHM".to_owned(), a.to_owned())]);
        assert_eq!(one("COMPRESSION", algorithm("MS_XPRESS")), Ok(()));
        assert_eq!(one("COMPRESSION", algorithm("QAT_DEFLATE")), Err(40517));
    }

    #[test]
    fn sizes_of_transfers() {
        let transfer = |name: &str, n| {
            let t = options(&[(name, Given::Int(n))]).transfer();
            t.map(|t| (t.bytes, t.buffers)).map_err(|e| e.number)
        };
        let default = Transfer::default();
        assert_eq!(
            transfer("MAXTRANSFERSIZE", 100_000),
            Ok((131_072, default.buffers))
        );
        assert_eq!(transfer("BUFFERCOUNT", 3), Ok((default.bytes, 3)));
        assert_eq!(transfer("MAXTRANSFERSIZE", (4 << 20) + 1), Err(3217));
        assert_eq!(transfer("MAXTRANSFERSIZE", 1000), Err(3217));
        assert_eq!(transfer("BUFFERCOUNT", 0), Err(3217));
    }

    #[test]
    fn when_a_set_expires() {
        let at = |list: &[(&str, Given)], retention| {
            let expires = options(list).expires(86_400 * 365, retention);
            expires.map(TapeTime::parts).map_err(|e| e.number)
        };
        assert_eq!(at(&[], 0), Ok((0, 0, 0, 0, 0, 0)));
        assert_eq!(at(&[], 2), Ok((1971, 1, 3, 0, 0, 0)));
        let date = ("EXPIREDATE", text("2030-02-03 04:05:06"));
        assert_eq!(
            at(std::slice::from_ref(&date), 2),
            Ok((2030, 2, 3, 4, 5, 6))
        );
        let days = ("RETAINDAYS", Given::Int(1));
        assert_eq!(at(&[date, days], 0), Ok((1971, 1, 2, 0, 0, 0)));
        assert_eq!(at(&[("EXPIREDATE", text("soon"))], 0), Err(241));
    }
}
