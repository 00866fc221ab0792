//! SET options of a session and their numbers in `@@OPTIONS`.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_txn::IsolationLevel;
use duramen_types::{ConvertCtx, DateOrder, Language};

/// Whether statements are run, or their plans shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Showplan {
    Off,
    Text,
    All,
    Xml,
}

/// What the session has set itself, and no language changes any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explicit {
    pub datefirst: bool,
    pub dateformat: bool,
}

/// A connection's settings, as drivers find them after login.
#[derive(Clone, Debug)]
pub struct Options {
    pub nocount: bool,
    pub xact_abort: bool,
    pub implicit_transactions: bool,
    pub quoted_identifier: bool,
    pub ansi_nulls: bool,
    pub ansi_padding: bool,
    pub ansi_warnings: bool,
    pub ansi_null_dflt_on: bool,
    pub ansi_null_dflt_off: bool,
    pub arithabort: bool,
    pub arithignore: bool,
    pub concat_null_yields_null: bool,
    pub numeric_roundabort: bool,
    pub cursor_close_on_commit: bool,
    pub isolation: IsolationLevel,
    /// Milliseconds; -1 waits for ever.
    pub lock_timeout: i64,
    pub rowcount: u64,
    pub textsize: i32,
    pub datefirst: u8,
    pub explicit: Explicit,
    /// SET DATEFORMAT.
    pub date_order: DateOrder,
    pub language: Language,
    pub deadlock_priority: i8,
    pub statistics_io: bool,
    pub statistics_time: bool,
    /// The plans of statements that have run, with what their operators did: as XML, as rows.
    pub statistics_xml: bool,
    pub statistics_profile: bool,
    pub showplan: Showplan,
    /// Results are described, and nothing is run.
    pub fmtonly: bool,
    /// Nothing is run until SET NOEXEC OFF.
    pub noexec: bool,
    /// SET PARSEONLY, which counts when a batch is parsed.
    pub parse_only: bool,
    /// The compatibility level of the database at hand.
    pub level: u8,
    /// SET NUMERIC_ROUNDABORT has been said: the database's option counts no more.
    pub roundabort_said: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            nocount: false,
            xact_abort: false,
            implicit_transactions: false,
            quoted_identifier: true,
            ansi_nulls: true,
            ansi_padding: true,
            ansi_warnings: true,
            ansi_null_dflt_on: true,
            ansi_null_dflt_off: false,
            arithabort: true,
            arithignore: false,
            concat_null_yields_null: true,
            numeric_roundabort: false,
            cursor_close_on_commit: false,
            isolation: IsolationLevel::ReadCommitted,
            lock_timeout: -1,
            rowcount: 0,
            textsize: 2_147_483_647,
            datefirst: 7,
            date_order: DateOrder::Mdy,
            explicit: Explicit::default(),
            language: Language::US_ENGLISH,
            deadlock_priority: 0,
            statistics_io: false,
            statistics_time: false,
            statistics_xml: false,
            statistics_profile: false,
            showplan: Showplan::Off,
            fmtonly: false,
            noexec: false,
            parse_only: false,
            level: 160,
            roundabort_said: false,
        }
    }
}

impl Options {
    /// SET name ON|OFF. Options that would change answers in a way we do not follow are refused by name.
    pub fn set_switch(&mut self, name: &str, on: bool) -> SqlResult<()> {
        let refused = || {
            Err(SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&format!("SET {name} {}", word(on))],
            ))
        };
        match name {
            "NOCOUNT" => self.nocount = on,
            "FMTONLY" => self.fmtonly = on,
            "XACT_ABORT" => self.xact_abort = on,
            "IMPLICIT_TRANSACTIONS" => self.implicit_transactions = on,
            "QUOTED_IDENTIFIER" => self.quoted_identifier = on,
            "ARITHABORT" => self.arithabort = on,
            // There are no cursors that a commit would close or leave; pymssql says it at every login.
            "CURSOR_CLOSE_ON_COMMIT" => self.cursor_close_on_commit = on,
            "NOEXEC" => self.noexec = on,
            "PARSEONLY" => self.parse_only = on,
            // One of the two at most.
            "ANSI_NULL_DFLT_ON" => {
                self.ansi_null_dflt_on = on;
                self.ansi_null_dflt_off &= !on;
            }
            "ANSI_NULL_DFLT_OFF" => {
                self.ansi_null_dflt_off = on;
                self.ansi_null_dflt_on &= !on;
            }
            "ARITHIGNORE" => self.arithignore = on,
            "ANSI_NULLS" => self.ansi_nulls = on,
            "ANSI_WARNINGS" => self.ansi_warnings = on,
            "CONCAT_NULL_YIELDS_NULL" => self.concat_null_yields_null = on,
            "NUMERIC_ROUNDABORT" => {
                self.numeric_roundabort = on;
                self.roundabort_said = true;
            }
            // Looked at when columns are defined: what it makes of them is refused there.
            "ANSI_PADDING" => self.ansi_padding = on,
            "ANSI_DEFAULTS" => {
                self.ansi_nulls = on;
                self.ansi_null_dflt_on = on;
                self.ansi_null_dflt_off &= !on;
                self.ansi_padding = on;
                self.ansi_warnings = on;
                self.cursor_close_on_commit = on;
                self.implicit_transactions = on;
                self.quoted_identifier = on;
            }
            // What is off by default and must stay off.
            "FORCEPLAN" | "NO_BROWSETABLE" | "REMOTE_PROC_TRANSACTIONS" if !on => {}
            _ => return refused(),
        }
        Ok(())
    }

    /// Something is told after each statement.
    pub fn measured(&self) -> bool {
        self.statistics_io || self.statistics_time || self.profiled()
    }

    /// Operators are to count what they do.
    pub fn profiled(&self) -> bool {
        self.statistics_xml || self.statistics_profile
    }

    /// What conversions look at.
    pub fn convert_ctx(&self) -> ConvertCtx {
        ConvertCtx {
            date_order: self.date_order,
            language: self.language,
            lenient: !self.ansi_warnings && !self.arithabort,
            cuts_strings: !self.ansi_warnings,
            null_is_empty: !self.concat_null_yields_null,
            roundabort: self.numeric_roundabort,
            level: self.level,
        }
    }

    /// SET ROWCOUNT; 0 means every row.
    pub fn row_limit(&self) -> u64 {
        match self.rowcount {
            0 => u64::MAX,
            n => n,
        }
    }

    /// SET LANGUAGE: its DATEFORMAT and DATEFIRST come with it, unless the session has set its own. False for a name that is no language (2745).
    pub fn set_language(&mut self, name: &str) -> bool {
        let Some(language) = Language::from_name(name.trim_end()) else {
            return false;
        };
        self.language = language;
        if !self.explicit.dateformat {
            self.date_order = language.data().order;
        }
        if !self.explicit.datefirst {
            self.datefirst = language.data().datefirst;
        }
        true
    }

    /// The statements that bring them about, a line each, in the order of SQL Server's events of connections.
    pub fn as_statements(&self) -> String {
        let mut out = String::new();
        for (name, on) in [
            ("quoted_identifier", self.quoted_identifier),
            ("arithabort", self.arithabort),
            ("numeric_roundabort", self.numeric_roundabort),
            ("ansi_warnings", self.ansi_warnings),
            ("ansi_padding", self.ansi_padding),
            ("ansi_nulls", self.ansi_nulls),
            ("concat_null_yields_null", self.concat_null_yields_null),
            ("cursor_close_on_commit", self.cursor_close_on_commit),
            ("implicit_transactions", self.implicit_transactions),
        ] {
            out += &format!("set {name} {}\r\n", word(on).to_lowercase());
        }
        let language = self.language.data().name;
        let order = format!("{:?}", self.date_order).to_lowercase();
        let level = match self.isolation {
            IsolationLevel::ReadUncommitted => "read uncommitted",
            IsolationLevel::ReadCommitted => "read committed",
            IsolationLevel::RepeatableRead => "repeatable read",
            IsolationLevel::Serializable => "serializable",
            IsolationLevel::Snapshot => "snapshot",
        };
        out += &format!(
            "set language {language}\r\nset dateformat {order}\r\nset datefirst {}\r\nset transaction isolation level {level}\r\n",
            self.datefirst
        );
        out
    }

    /// `@@OPTIONS`.
    pub fn bits(&self) -> i32 {
        let bit = |on: bool, value: i32| if on { value } else { 0 };
        bit(self.implicit_transactions, 2)
            | bit(self.cursor_close_on_commit, 4)
            | bit(self.ansi_warnings, 8)
            | bit(self.ansi_padding, 16)
            | bit(self.ansi_nulls, 32)
            | bit(self.arithabort, 64)
            | bit(self.arithignore, 128)
            | bit(self.quoted_identifier, 256)
            | bit(self.nocount, 512)
            | bit(self.ansi_null_dflt_on, 1024)
            | bit(self.ansi_null_dflt_off, 2048)
            | bit(self.concat_null_yields_null, 4096)
            | bit(self.numeric_roundabort, 8192)
            | bit(self.xact_abort, 16384)
    }
}

fn word(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}
