//! ALTER DATABASE ... SET: which settings there are and how each is written.
//!
//! A name that is not in [`SETTINGS`], or a word that is not among a setting's values, is a syntax error near it
//! (<https://learn.microsoft.com/sql/t-sql/statements/alter-database-transact-sql-set-options>); state 6 as with other words
//! that are looked up after the grammar has taken them (*assumed* for settings).

use duramen_base::{SqlResult, messages};

use super::Parser;
use crate::ast::*;

/// How the value of a setting is written.
#[derive(Clone, Copy)]
enum Shape {
    /// `ON` or `OFF`, no `=`.
    Switch,
    /// One of these words, no `=`.
    Words(&'static [&'static str]),
    /// `=` and one of these words.
    Equals(&'static [&'static str]),
    /// `= 60 SECONDS` or `MINUTES`.
    Time,
    /// `=` and a number.
    Number,
    /// Nothing follows.
    Bare,
    /// A grammar of its own, of which only the form that is a list of options is read: the rest is refused by name.
    Own,
    /// The same, whose value follows without `=`.
    OwnBare,
    /// `ON` or `OFF`, with or without `=`.
    OwnSwitch,
}

/// In order of their names.
const SETTINGS: &[(&str, Shape)] = &[
    ("ACCELERATED_DATABASE_RECOVERY", Shape::Own),
    ("ALLOW_SNAPSHOT_ISOLATION", Shape::Switch),
    ("ANSI_NULLS", Shape::Switch),
    ("ANSI_NULL_DEFAULT", Shape::Switch),
    ("ANSI_PADDING", Shape::Switch),
    ("ANSI_WARNINGS", Shape::Switch),
    ("ARITHABORT", Shape::Switch),
    ("AUTOMATIC_TUNING", Shape::Own),
    ("AUTO_CLOSE", Shape::Switch),
    ("AUTO_CREATE_STATISTICS", Shape::Switch),
    ("AUTO_SHRINK", Shape::Switch),
    ("AUTO_UPDATE_STATISTICS", Shape::Switch),
    ("AUTO_UPDATE_STATISTICS_ASYNC", Shape::Switch),
    ("CHANGE_TRACKING", Shape::Own),
    ("COMPATIBILITY_LEVEL", Shape::Number),
    ("CONCAT_NULL_YIELDS_NULL", Shape::Switch),
    ("CONTAINMENT", Shape::Equals(&["NONE", "PARTIAL"])),
    ("CURSOR_CLOSE_ON_COMMIT", Shape::Switch),
    ("CURSOR_DEFAULT", Shape::Words(&["LOCAL", "GLOBAL"])),
    ("DATA_RETENTION", Shape::Switch),
    ("DATE_CORRELATION_OPTIMIZATION", Shape::Switch),
    ("DB_CHAINING", Shape::Switch),
    ("DEFAULT_FULLTEXT_LANGUAGE", Shape::Own),
    ("DEFAULT_LANGUAGE", Shape::Own),
    (
        "DELAYED_DURABILITY",
        Shape::Equals(&["DISABLED", "ALLOWED", "FORCED"]),
    ),
    ("DISABLE_BROKER", Shape::Bare),
    ("EMERGENCY", Shape::Bare),
    ("ENABLE_BROKER", Shape::Bare),
    (
        "ENCRYPTION",
        Shape::Words(&["ON", "OFF", "SUSPEND", "RESUME"]),
    ),
    ("ERROR_BROKER_CONVERSATIONS", Shape::Bare),
    ("FILESTREAM", Shape::Own),
    ("HADR", Shape::OwnBare),
    ("HONOR_BROKER_PRIORITY", Shape::Switch),
    ("LEDGER", Shape::Own),
    ("MEMORY_OPTIMIZED_ELEVATE_TO_SNAPSHOT", Shape::OwnSwitch),
    ("MIXED_PAGE_ALLOCATION", Shape::Switch),
    ("MULTI_USER", Shape::Bare),
    ("NESTED_TRIGGERS", Shape::Own),
    ("NEW_BROKER", Shape::Bare),
    ("NUMERIC_ROUNDABORT", Shape::Switch),
    ("OFFLINE", Shape::Bare),
    ("ONLINE", Shape::Bare),
    (
        "PAGE_VERIFY",
        Shape::Words(&["CHECKSUM", "TORN_PAGE_DETECTION", "NONE"]),
    ),
    ("PARAMETERIZATION", Shape::Words(&["SIMPLE", "FORCED"])),
    ("PARTNER", Shape::OwnBare),
    ("PERSISTENT_LOG_BUFFER", Shape::Own),
    ("QUERY_STORE", Shape::Own),
    ("QUOTED_IDENTIFIER", Shape::Switch),
    ("READ_COMMITTED_SNAPSHOT", Shape::Switch),
    ("READ_ONLY", Shape::Bare),
    ("READ_WRITE", Shape::Bare),
    ("RECOVERY", Shape::Words(&["FULL", "BULK_LOGGED", "SIMPLE"])),
    ("RECURSIVE_TRIGGERS", Shape::Switch),
    ("REMOTE_DATA_ARCHIVE", Shape::Own),
    ("RESTRICTED_USER", Shape::Bare),
    ("SINGLE_USER", Shape::Bare),
    ("SUPPLEMENTAL_LOGGING", Shape::Switch),
    ("SUSPEND_FOR_SNAPSHOT_BACKUP", Shape::Equals(&["ON", "OFF"])),
    ("TARGET_RECOVERY_TIME", Shape::Time),
    ("TEMPORAL_HISTORY_RETENTION", Shape::Switch),
    ("TORN_PAGE_DETECTION", Shape::Switch),
    ("TRANSFORM_NOISE_WORDS", Shape::Own),
    ("TRUSTWORTHY", Shape::Switch),
    ("TWO_DIGIT_YEAR_CUTOFF", Shape::Own),
    ("VARDECIMAL_STORAGE_FORMAT", Shape::Switch),
    ("WITNESS", Shape::OwnBare),
];

impl Parser<'_> {
    pub(super) fn database_settings(&mut self) -> SqlResult<AlterDatabaseAction> {
        let options = self.list(Self::database_setting)?;
        let mut termination = None;
        if self.eat_word("WITH") {
            termination = Some(self.termination()?);
        }
        Ok(AlterDatabaseAction::Set {
            options,
            termination,
        })
    }

    fn database_setting(&mut self) -> SqlResult<NamedOption> {
        let found = SETTINGS.iter().find(|(name, _)| self.is_word(name));
        let Some((name, shape)) = found else {
            return Err(self.unexpected().with_state(6));
        };
        let line = self.line();
        let option = |value| NamedOption {
            name: (*name).to_owned(),
            value,
            line,
        };
        let words = match shape {
            // `QUERY_STORE = ON (...)`
            Shape::Own if self.is_op_at(1, '=') && self.is_op_at(3, '(') => {
                return Err(self.not_supported(&format!("ALTER DATABASE SET {name} = ... (...)")));
            }
            Shape::Own if *name == "QUERY_STORE" && !self.is_op_at(1, '=') => {
                return Err(self.not_supported("ALTER DATABASE SET QUERY_STORE"));
            }
            Shape::Own => return self.named_option(),
            Shape::OwnBare => {
                let mut own = self.named_option()?;
                if own.value.is_none() {
                    own.value = Some(self.option_value()?);
                }
                return Ok(own);
            }
            Shape::OwnSwitch => {
                let mut own = self.named_option()?;
                if own.value.is_none() {
                    own.value = Some(self.option_value()?);
                }
                return match own.value.as_ref().and_then(OptionValue::as_on_off) {
                    Some(_) => Ok(own),
                    None => Err(self.unexpected()),
                };
            }
            Shape::Bare => {
                self.advance();
                return Ok(option(None));
            }
            Shape::Time => return self.time_setting().map(|seconds| option(Some(seconds))),
            Shape::Number => {
                self.advance();
                self.expect_op('=')?;
                let value = self.option_value()?;
                return match value {
                    OptionValue::Int(_) => Ok(option(Some(value))),
                    _ => Err(self.unexpected()),
                };
            }
            Shape::Switch => &["ON", "OFF"],
            Shape::Words(words) | Shape::Equals(words) => *words,
        };
        self.advance();
        if matches!(shape, Shape::Equals(_)) {
            self.expect_op('=')?;
        }
        if !self.is_any(words) {
            return Err(match self.at_end() || self.is_op('=') {
                true => self.unexpected(),
                false => self.unexpected().with_state(6),
            });
        }
        let value = OptionValue::Word(self.text(0).to_owned());
        self.advance();
        self.statistics_detail(name)?;
        Ok(option(Some(value)))
    }

    /// `TARGET_RECOVERY_TIME = 60 SECONDS`, in seconds.
    fn time_setting(&mut self) -> SqlResult<OptionValue> {
        self.advance();
        self.expect_op('=')?;
        let n = self.integer()?;
        let unit = match () {
            () if self.is_word("SECONDS") => 1,
            () if self.is_word("MINUTES") => 60,
            () => return Err(self.unexpected()),
        };
        let seconds = i32::try_from(n).ok().and_then(|n| n.checked_mul(unit));
        let error = || self.error(&messages::INTEGER_OUT_OF_RANGE);
        let seconds = seconds.ok_or_else(error)?;
        self.advance();
        Ok(OptionValue::Int(i64::from(seconds)))
    }

    /// `AUTO_CREATE_STATISTICS ON (INCREMENTAL = OFF)`: what is so anyway.
    fn statistics_detail(&mut self, option: &str) -> SqlResult<()> {
        if option != "AUTO_CREATE_STATISTICS" || !self.eat_op('(') {
            return Ok(());
        }
        let detail = self.named_option()?;
        let off = detail.value.as_ref().and_then(OptionValue::as_on_off) == Some(false);
        if detail.name != "INCREMENTAL" || !off {
            return Err(self.not_supported(&format!("AUTO_CREATE_STATISTICS ({})", detail.name)));
        }
        self.expect_op(')')
    }

    fn termination(&mut self) -> SqlResult<Termination> {
        if self.eat_word("NO_WAIT") {
            return Ok(Termination::NoWait);
        }
        self.expect_word("ROLLBACK")?;
        if self.eat_word("IMMEDIATE") {
            return Ok(Termination::RollbackImmediate);
        }
        self.expect_word("AFTER")?;
        let seconds = self.integer_u32()?;
        self.eat_word("SECONDS");
        Ok(Termination::RollbackAfter(seconds))
    }

    /// CREATE DATABASE ... WITH: the same form for all; `DB_CHAINING ON` and `TRUSTWORTHY ON` without `=`.
    pub(super) fn setting_of_new_database(&mut self) -> SqlResult<NamedOption> {
        let bare = self.is_any(&["DB_CHAINING", "TRUSTWORTHY"]);
        let mut option = self.named_option()?;
        if bare && option.value.is_none() {
            option.value = Some(self.option_value()?);
        }
        Ok(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_in_order() {
        assert!(SETTINGS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
