//! Partition functions and schemes, and the clauses of other statements that name partitions.

use duramen_base::SqlResult;

use super::{Holds, Parser};
use crate::ast::*;

impl Parser<'_> {
    /// After CREATE: `PARTITION FUNCTION f (type) AS RANGE [LEFT|RIGHT] FOR VALUES (...)` or
    /// `PARTITION SCHEME s AS PARTITION f [ALL] TO (...)`.
    pub(super) fn create_partition(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("PARTITION")?;
        if self.eat_word("FUNCTION") {
            let name = self.name()?;
            self.expect_op('(')?;
            let types = match self.is_op(')') {
                true => Vec::new(),
                false => self.list(Self::data_type)?,
            };
            self.expect_op(')')?;
            self.expect_words(&["AS", "RANGE"])?;
            let right = self.eat_word("RIGHT");
            if !right {
                self.eat_word("LEFT");
            }
            self.expect_words(&["FOR", "VALUES"])?;
            self.expect_op('(')?;
            let values = match self.is_op(')') {
                true => Vec::new(),
                false => self.holding(Holds::Constants, |p| p.list(Self::expr))?,
            };
            self.expect_op(')')?;
            return Ok(statement(PartitionStmt::CreateFunction {
                name,
                types,
                right,
                values,
            }));
        }
        self.expect_word("SCHEME")?;
        let name = self.name()?;
        self.expect_words(&["AS", "PARTITION"])?;
        let function = self.name()?;
        let all = self.eat_word("ALL");
        self.expect_word("TO")?;
        let filegroups = self.parenthesized(Self::filegroup_name)?;
        Ok(statement(PartitionStmt::CreateScheme {
            name,
            function,
            all,
            filegroups,
        }))
    }

    /// After ALTER.
    pub(super) fn alter_partition(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("PARTITION")?;
        if self.eat_word("FUNCTION") {
            let name = self.name()?;
            self.expect_op('(')?;
            self.expect_op(')')?;
            let split = self.eat_word("SPLIT");
            if !split {
                self.expect_word("MERGE")?;
            }
            self.expect_word("RANGE")?;
            let mut value = None;
            if self.eat_op('(') {
                value = Some(self.expr()?);
                self.expect_op(')')?;
            }
            return Ok(statement(PartitionStmt::AlterFunction {
                name,
                split,
                value,
            }));
        }
        self.expect_word("SCHEME")?;
        let name = self.name()?;
        self.expect_words(&["NEXT", "USED"])?;
        let named = self.is_word("PRIMARY")
            || matches!(self.kind(), crate::lexer::Tok::DoubleQuoted(_))
            || self.is_name_at(0);
        let next_used = match named {
            true => Some(self.filegroup_name()?),
            false => None,
        };
        Ok(statement(PartitionStmt::AlterScheme { name, next_used }))
    }

    /// After DROP.
    pub(super) fn drop_partition(&mut self) -> SqlResult<StatementKind> {
        self.expect_word("PARTITION")?;
        let function = self.eat_word("FUNCTION");
        if !function {
            self.expect_word("SCHEME")?;
        }
        let name = self.name()?;
        Ok(statement(match function {
            true => PartitionStmt::DropFunction(name),
            false => PartitionStmt::DropScheme(name),
        }))
    }

    /// `PARTITION = n | ALL`.
    pub(super) fn which_partition(&mut self) -> SqlResult<Option<Expr>> {
        if !self.eat_word("PARTITION") {
            return Ok(None);
        }
        self.expect_op('=')?;
        match self.eat_word("ALL") {
            true => Ok(None),
            false => self.expr().map(Some),
        }
    }

    /// After `ALTER TABLE t SWITCH`.
    pub(super) fn switch(&mut self) -> SqlResult<AlterTableAction> {
        let number = |p: &mut Self| match p.eat_word("PARTITION") {
            true => p.expr().map(Some),
            false => Ok(None),
        };
        let partition = number(self)?;
        self.expect_word("TO")?;
        let target = self.object_name()?;
        let target_partition = number(self)?;
        if self.is_word("WITH") && self.is_op_at(1, '(') {
            return Err(self.not_supported("ALTER TABLE ... SWITCH ... WITH"));
        }
        Ok(AlterTableAction::Switch {
            partition,
            target,
            target_partition,
        })
    }

    /// `WITH (PARTITIONS (n, a TO b))` of TRUNCATE TABLE.
    pub(super) fn truncated_partitions(&mut self) -> SqlResult<Vec<(Expr, Option<Expr>)>> {
        if !(self.is_word("WITH") && self.is_op_at(1, '(')) {
            return Ok(Vec::new());
        }
        self.advance();
        self.expect_op('(')?;
        self.expect_word("PARTITIONS")?;
        let partitions = self.parenthesized(|p| {
            let first = p.expr()?;
            let last = match p.eat_word("TO") {
                true => Some(p.expr()?),
                false => None,
            };
            Ok((first, last))
        })?;
        self.expect_op(')')?;
        Ok(partitions)
    }
}

fn statement(stmt: PartitionStmt) -> StatementKind {
    StatementKind::Partition(Box::new(stmt))
}
