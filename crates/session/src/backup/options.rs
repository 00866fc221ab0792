//! WITH lists, by name.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_storage::backup::Transfer;

use super::refuse;

/// An option's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    Nothing,
    Int(i64),
    /// A string, or a word.
    Text(String),
}

/// The options of a statement, names in upper case.
#[derive(Clone, Debug, Default)]
pub struct Options(pub Vec<(String, Given)>);

/// What an option is to a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It has an effect, and no value.
    Switch,
    Text,
    Int,
    /// As above, or nothing.
    MaybeInt,
    /// So anyway.
    Default,
}

/// Options of BACKUP. What BACKUP LOG alone or BACKUP DATABASE alone has is checked where it is used.
pub const BACKUP_OPTIONS: &[(&str, Known)] = &[
    ("BUFFERCOUNT", Known::Int),
    ("CHECKSUM", Known::Switch),
    ("COMPRESSION", Known::Switch),
    // BACKUP LOG alone: the tail of the log of a database that cannot be opened.
    ("CONTINUE_AFTER_ERROR", Known::Switch),
    ("COPY_ONLY", Known::Switch),
    ("DESCRIPTION", Known::Text),
    ("DIFFERENTIAL", Known::Switch),
    ("FORMAT", Known::Switch),
    ("INIT", Known::Switch),
    ("MAXTRANSFERSIZE", Known::Int),
    ("MEDIADESCRIPTION", Known::Text),
    ("MEDIANAME", Known::Text),
    ("NAME", Known::Text),
    ("NOFORMAT", Known::Switch),
    ("NOINIT", Known::Switch),
    // BACKUP LOG alone.
    ("NORECOVERY", Known::Switch),
    ("NOREWIND", Known::Default),
    ("NOSKIP", Known::Default),
    ("NOUNLOAD", Known::Default),
    ("NO_CHECKSUM", Known::Switch),
    ("NO_COMPRESSION", Known::Switch),
    // BACKUP LOG alone: COPY_ONLY and CONTINUE_AFTER_ERROR.
    ("NO_TRUNCATE", Known::Switch),
    ("REWIND", Known::Default),
    // Sets have no expiry date that could be skipped.
    ("SKIP", Known::Default),
    ("STATS", Known::MaybeInt),
    ("STOP_ON_ERROR", Known::Default),
    ("UNLOAD", Known::Default),
];

/// Options of RESTORE.
pub const RESTORE_OPTIONS: &[(&str, Known)] = &[
    // Behind STOPATMARK and STOPBEFOREMARK.
    ("AFTER", Known::Text),
    ("BUFFERCOUNT", Known::Int),
    ("CHECKSUM", Known::Switch),
    ("FILE", Known::Int),
    ("MAXTRANSFERSIZE", Known::Int),
    ("NORECOVERY", Known::Switch),
    ("NOREWIND", Known::Default),
    ("NOUNLOAD", Known::Default),
    ("NO_CHECKSUM", Known::Default),
    ("RECOVERY", Known::Switch),
    ("REPLACE", Known::Switch),
    // RESTORE DATABASE of a full backup.
    ("RESTRICTED_USER", Known::Switch),
    ("REWIND", Known::Default),
    // The undo file.
    ("STANDBY", Known::Text),
    ("STATS", Known::MaybeInt),
    ("STOPAT", Known::Text),
    ("STOPATMARK", Known::Text),
    ("STOPBEFOREMARK", Known::Text),
    ("STOP_ON_ERROR", Known::Default),
    ("UNLOAD", Known::Default),
];

/// Options that exclude each other: 3031.
const CONFLICTS: &[(&str, &str)] = &[
    ("CHECKSUM", "NO_CHECKSUM"),
    ("COMPRESSION", "NO_COMPRESSION"),
    ("CONTINUE_AFTER_ERROR", "STOP_ON_ERROR"),
    ("COPY_ONLY", "DIFFERENTIAL"),
    ("FORMAT", "NOFORMAT"),
    ("FORMAT", "NOINIT"),
    ("INIT", "NOINIT"),
    ("NORECOVERY", "RECOVERY"),
    ("NORECOVERY", "STANDBY"),
    ("RECOVERY", "STANDBY"),
    ("STOPAT", "STOPATMARK"),
    ("STOPAT", "STOPBEFOREMARK"),
    ("STOPATMARK", "STOPBEFOREMARK"),
];

impl Options {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|o| o.0 == name)
    }

    pub fn text(&self, name: &str) -> String {
        match self.0.iter().find(|o| o.0 == name) {
            Some((_, Given::Text(text))) => text.clone(),
            _ => String::new(),
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.0.iter().find(|o| o.0 == name) {
            Some((_, Given::Int(n))) => Some(*n),
            _ => None,
        }
    }

    /// MAXTRANSFERSIZE and BUFFERCOUNT. The first is rounded up to whole extents, as in SQL Server
    /// (<https://learn.microsoft.com/archive/blogs/psssql/how-it-works-how-does-sql-server-backup-and-restore-select-transfer-sizes>).
    /// 3217 for what is no size up to 4 MB, or no number of buffers (*assumed*: which error SQL Server has for it).
    pub fn transfer(&self) -> SqlResult<Transfer> {
        let within = |name: &str, most: i64, default: usize| match self.int(name) {
            None => Ok(default),
            Some(n) if (1..=most).contains(&n) => Ok(n as usize),
            Some(_) => {
                let args: [&dyn std::fmt::Display; 1] = [&name];
                Err(SqlError::new(&messages::BACKUP_PARAMETER_INVALID, &args))
            }
        };
        let default = Transfer::default();
        let most = i64::from(i32::MAX);
        Ok(Transfer {
            bytes: within("MAXTRANSFERSIZE", 4 << 20, default.bytes)?.next_multiple_of(64 << 10),
            buffers: within("BUFFERCOUNT", most, default.buffers)?,
        })
    }

    /// What is restored goes on waiting for more.
    pub fn stays_restoring(&self) -> bool {
        self.has("NORECOVERY") || self.has("STANDBY")
    }

    /// STATS: after how many percent something is told; `None` without it.
    pub fn stats(&self) -> Option<u32> {
        let given = self.0.iter().find(|o| o.0 == "STATS")?;
        match given.1 {
            Given::Int(n) => Some(n.clamp(1, 100) as u32),
            _ => Some(10),
        }
    }

    /// 40517 for what is not here, 3031 for what contradicts itself.
    pub fn check(&self, statement: &str, known: &[(&str, Known)]) -> SqlResult<()> {
        for (name, value) in &self.0 {
            let kind = known.iter().find(|k| k.0 == name).map(|k| k.1);
            let fits = matches!(
                (kind, value),
                (
                    Some(Known::Switch | Known::Default | Known::MaybeInt),
                    Given::Nothing
                ) | (Some(Known::Int | Known::MaybeInt), Given::Int(_))
                    | (Some(Known::Text), Given::Text(_))
            );
            if !fits {
                return Err(refuse(&format!("{statement} WITH {name}")));
            }
        }
        for (a, b) in CONFLICTS {
            if self.has(a) && self.has(b) {
                return Err(SqlError::new(&messages::BACKUP_OPTIONS_CONFLICT, &[a, b]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_or_refused() {
        assert!(BACKUP_OPTIONS.is_sorted_by_key(|o| o.0));
        assert!(RESTORE_OPTIONS.is_sorted_by_key(|o| o.0));
        let options = |list: &[(&str, Given)]| {
            Options(
                list.iter()
                    .map(|(n, g)| ((*n).to_owned(), g.clone()))
                    .collect(),
            )
        };
        let number = |o: Options| {
            o.check("BACKUP DATABASE", BACKUP_OPTIONS)
                .map_err(|e| e.number)
        };
        let text = |t: &str| Given::Text(t.to_owned());
        let good = options(&[("STATS", Given::Nothing), ("NAME", text("x"))]);
        assert_eq!(good.stats(), Some(10));
        assert_eq!(number(good), Ok(()));
        assert_eq!(number(options(&[("NAME", Given::Int(1))])), Err(40517));
        assert_eq!(
            number(options(&[("ENCRYPTION", Given::Nothing)])),
            Err(40517)
        );
        let both = options(&[("INIT", Given::Nothing), ("NOINIT", Given::Nothing)]);
        assert_eq!(number(both), Err(3031));
        assert_eq!(options(&[("STATS", Given::Int(5))]).stats(), Some(5));
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
        assert_eq!(transfer("BUFFERCOUNT", 0), Err(3217));
    }
}
