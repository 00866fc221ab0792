//! Statements and expressions that T-SQL has and this server does not, refused by name (40517) where a grammar without them
//! would only see a syntax error.

use duramen_base::SqlResult;

use super::Parser;
use crate::lexer::Tok;

/// Statements that begin like others, or like none.
const STATEMENTS: &[&[&str]] = &[
    &["ADD", "COUNTER", "SIGNATURE"],
    &["ADD", "SENSITIVITY", "CLASSIFICATION"],
    &["ADD", "SIGNATURE"],
    &["CLOSE", "ALL", "SYMMETRIC", "KEYS"],
    &["CLOSE", "MASTER", "KEY"],
    &["CLOSE", "SYMMETRIC", "KEY"],
    &["DROP", "COUNTER", "SIGNATURE"],
    &["DROP", "DATABASE", "AUDIT", "SPECIFICATION"],
    &["DROP", "DATABASE", "ENCRYPTION", "KEY"],
    &["DROP", "DATABASE", "SCOPED", "CREDENTIAL"],
    &["DROP", "SENSITIVITY", "CLASSIFICATION"],
    &["DROP", "SIGNATURE"],
    &["END", "CONVERSATION"],
    &["GET", "CONVERSATION", "GROUP"],
    &["MOVE", "CONVERSATION"],
    &["RECEIVE"],
    &["RESTORE", "MASTER", "KEY"],
    &["RESTORE", "SERVICE", "MASTER", "KEY"],
    &["SEND", "ON", "CONVERSATION"],
];

/// Functions whose arguments are no list of values.
const FUNCTIONS: &[&str] = &[
    "JSON_ARRAY",
    "JSON_ARRAYAGG",
    "JSON_OBJECT",
    "JSON_OBJECTAGG",
];

impl Parser<'_> {
    /// Whether a statement of the list begins here.
    pub(super) fn starts_refused(&self) -> bool {
        STATEMENTS.iter().any(|words| self.is_words(words))
    }

    pub(super) fn check_statement(&self) -> SqlResult<()> {
        match STATEMENTS.iter().find(|words| self.is_words(words)) {
            Some(words) => Err(self.not_supported(&words.join(" "))),
            None => Ok(()),
        }
    }

    /// Behind a name in a value: `geography::Point(...)`, and functions with a grammar of their own.
    pub(super) fn check_name(&self, name: &str) -> SqlResult<()> {
        if self.is_op(':') && self.is_op_at(1, ':') {
            let what = format!("{name}::{}", self.text(2));
            return Err(self.not_supported(&what));
        }
        if !self.is_op('(') {
            return Ok(());
        }
        match FUNCTIONS.iter().find(|f| f.eq_ignore_ascii_case(name)) {
            Some(function) => Err(self.not_supported(function)),
            None => Ok(()),
        }
    }

    /// `<<` and `>>` behind a value.
    pub(super) fn check_shift(&self) -> SqlResult<()> {
        let what = match (self.kind(), &self.at(1).kind) {
            (Tok::Op('<'), Tok::Op('<')) => "<<",
            (Tok::Op('>'), Tok::Op('>')) => ">>",
            _ => return Ok(()),
        };
        Err(self.not_supported(what))
    }

    /// What may follow the value of an option: `ON (...)`, `PAGE ON PARTITIONS (...)`.
    pub(super) fn check_option(&self, name: &str) -> SqlResult<()> {
        let what = match () {
            () if self.is_op('(') => "= ... (...)",
            () if self.is_words(&["ON", "PARTITIONS"]) => "ON PARTITIONS",
            () => return Ok(()),
        };
        Err(self.not_supported(&format!("{name} {what}")))
    }
}
