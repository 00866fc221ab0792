//! `NAME = value` in its many shapes: WITH lists of indexes, backups, DBCC, event sessions; file sizes.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::*;
use crate::lexer::Tok;

impl Parser<'_> {
    /// `(option, ...)`.
    pub(super) fn option_list(&mut self) -> SqlResult<Vec<NamedOption>> {
        self.parenthesized(Self::named_option)
    }

    /// `WITH (option, ...)`, if there.
    pub(super) fn with_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        if !self.is_word("WITH") || !self.is_op_at(1, '(') {
            return Ok(Vec::new());
        }
        self.advance();
        self.parenthesized(|p| {
            let option = p.named_option()?;
            // MAX_DURATION of resumable operations.
            match p.is_word("MINUTES") {
                true => Err(p.not_supported(&format!("{} in MINUTES", option.name))),
                false => Ok(option),
            }
        })
    }

    /// One word, then a value when `=` or a parenthesis follows.
    pub(super) fn named_option(&mut self) -> SqlResult<NamedOption> {
        self.nested(|p| {
            let line = p.line();
            let name = p.name_or_word()?.to_ascii_uppercase();
            let mut value = None;
            if p.eat_op('=') {
                value = Some(p.option_value()?);
                p.check_option(&name)?;
            } else if p.is_op('(') {
                value = Some(OptionValue::List(p.option_list()?));
            }
            Ok(NamedOption { name, value, line })
        })
    }

    pub(super) fn option_value(&mut self) -> SqlResult<OptionValue> {
        if self.is_string_at(0) {
            return self.string().map(OptionValue::String);
        }
        if self.is_op('(') {
            return self.nested(Self::option_list).map(OptionValue::List);
        }
        let negative = self.eat_op('-');
        let value = match self.kind() {
            Tok::Int(_) => {
                let value = self.integer()? as i64;
                if !negative && self.size_unit_here() {
                    let unit = self.size_unit();
                    return Ok(OptionValue::Size(Size {
                        value: value as u64,
                        unit,
                    }));
                }
                OptionValue::Int(if negative { -value } else { value })
            }
            Tok::Decimal(text) => {
                let text = match negative {
                    true => format!("-{text}"),
                    false => text.clone(),
                };
                self.advance();
                match text.parse() {
                    Ok(value) => OptionValue::Int(value),
                    Err(_) => OptionValue::Decimal(text),
                }
            }
            _ if negative => return Err(self.unexpected()),
            Tok::Binary(bytes) => {
                let value = OptionValue::Binary(bytes.clone());
                self.advance();
                value
            }
            Tok::Variable => OptionValue::Variable(self.variable()?),
            _ => OptionValue::Word(self.name_or_word()?),
        };
        Ok(value)
    }

    fn size_unit_here(&self) -> bool {
        self.is_op('%') || self.is_any(&["KB", "MB", "GB", "TB", "PERCENT"])
    }

    fn size_unit(&mut self) -> SizeUnit {
        let unit = match () {
            () if self.is_op('%') || self.is_word("PERCENT") => SizeUnit::Percent,
            () if self.is_word("KB") => SizeUnit::KB,
            () if self.is_word("MB") => SizeUnit::MB,
            () if self.is_word("GB") => SizeUnit::GB,
            () if self.is_word("TB") => SizeUnit::TB,
            () => return SizeUnit::Default,
        };
        self.advance();
        unit
    }

    /// `200MB`, `10%`, `UNLIMITED`.
    pub(super) fn size(&mut self) -> SqlResult<Size> {
        if self.eat_word("UNLIMITED") {
            return Ok(Size {
                value: 0,
                unit: SizeUnit::Unlimited,
            });
        }
        let value = self.integer()?;
        let unit = self.size_unit();
        Ok(Size { value, unit })
    }

    /// Bare options separated by commas, for BACKUP, RESTORE and DBCC: `INIT, STATS = 10`.
    pub(super) fn bare_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        self.list(Self::named_option)
    }
}
