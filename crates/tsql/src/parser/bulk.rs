//! `INSERT BULK`: what a client says before it sends rows as a stream of its own.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::{BulkColumn, InsertBulk, StatementKind};

/// What WITH may say. The last but ORDER, which rows are held to, are advice to a planner, and change no result.
const OPTIONS: [&str; 7] = [
    "CHECK_CONSTRAINTS",
    "FIRE_TRIGGERS",
    "KEEP_NULLS",
    "TABLOCK",
    "ROWS_PER_BATCH",
    "KILOBYTES_PER_BATCH",
    "ORDER",
];

impl Parser<'_> {
    /// After `INSERT`: `BULK table (column type [COLLATE name] [NULL | NOT NULL], ...) [WITH (option, ...)]`.
    pub(super) fn insert_bulk(&mut self) -> SqlResult<StatementKind> {
        let line = self.line();
        self.expect_word("BULK")?;
        let table = self.object_name()?;
        let mut columns = Vec::new();
        if self.is_op('(') {
            columns = self.parenthesized(Self::bulk_column)?;
        }
        let (mut options, mut order) = (Vec::new(), Vec::new());
        if self.eat_word("WITH") {
            options = self.parenthesized(|p| p.bulk_option(&mut order))?;
        }
        Ok(StatementKind::InsertBulk(Box::new(InsertBulk {
            table,
            columns,
            options,
            order,
            line,
        })))
    }

    fn bulk_column(&mut self) -> SqlResult<BulkColumn> {
        let name = self.name()?;
        let ty = self.data_type()?;
        if self.eat_word("COLLATE") {
            self.name()?;
        }
        self.nullability()?;
        Ok(BulkColumn { name, ty })
    }

    fn bulk_option(&mut self, order: &mut Vec<(String, bool)>) -> SqlResult<String> {
        let word = self.text(0).to_ascii_uppercase();
        if !OPTIONS.contains(&word.as_str()) {
            return Err(self.not_supported(&format!("INSERT BULK WITH ({word})")));
        }
        self.advance();
        match word.as_str() {
            "ORDER" => {
                *order = self.parenthesized(|p| {
                    let name = p.name()?;
                    let descends = !p.eat_word("ASC") && p.eat_word("DESC");
                    Ok((name, descends))
                })?;
            }
            "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH" => {
                self.expect_op('=')?;
                self.integer()?;
            }
            _ => {}
        }
        Ok(word)
    }
}
