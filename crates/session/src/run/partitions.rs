//! Statements about partitions: their values are evaluated before the definition begins.

use duramen_base::{SqlError, messages};
use duramen_define::parameter_type;
use duramen_planner::Binder;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{self, PartitionStmt};
use duramen_types::{SqlType, TypeId, Value};

use super::Run;
use super::failure::{Failure, RunResult};

impl Run<'_> {
    pub(super) fn partition(&mut self, stmt: &PartitionStmt) -> RunResult<()> {
        match stmt {
            PartitionStmt::CreateFunction {
                name,
                types,
                right,
                values,
            } => {
                let databases = &self.session.instance.databases;
                let ty = match databases.find(&self.session.database) {
                    Some(db) => parameter_type(&db, types)?,
                    None => SqlType::INT,
                };
                let mut boundaries = Vec::new();
                for (ordinal, e) in (1..).zip(values) {
                    boundaries.push(self.boundary(ty, ordinal, e)?);
                }
                self.define(Kind::CreatePartitionFunction.definition(), |d| {
                    d.create_partition_function(name, ty, *right, boundaries)
                })
            }
            PartitionStmt::CreateScheme {
                name,
                function,
                all,
                filegroups,
            } => self.define(Kind::CreatePartitionScheme.definition(), |d| {
                d.create_partition_scheme(name, function, *all, filegroups)
            }),
            PartitionStmt::AlterFunction { name, split, value } => {
                let Some(e) = value else {
                    return Err(SqlError::new(&messages::PARTITION_VALUE_MISSING, &[]).into());
                };
                let value = match self.type_of_function(name)? {
                    Some(ty) => self.boundary(ty, 1, e)?,
                    None => Value::Null,
                };
                self.define(Kind::AlterPartitionFunction.definition(), |d| {
                    d.alter_partition_function(name, *split, value)
                })
            }
            PartitionStmt::AlterScheme { name, next_used } => self
                .define(Kind::AlterPartitionScheme.definition(), |d| {
                    d.alter_partition_scheme(name, next_used.as_deref())
                }),
            PartitionStmt::DropFunction(name) => self
                .define(Kind::DropPartitionFunction.definition(), |d| {
                    d.drop_partition_function(name)
                }),
            PartitionStmt::DropScheme(name) => self
                .define(Kind::DropPartitionScheme.definition(), |d| {
                    d.drop_partition_scheme(name)
                }),
        }
    }

    fn type_of_function(&self, name: &str) -> RunResult<Option<SqlType>> {
        let databases = &self.session.instance.databases;
        let Some(db) = databases.find(&self.session.database) else {
            return Ok(None);
        };
        let snapshot = db.catalog.snapshot()?;
        Ok(snapshot.find_partition_function(name).map(|f| f.ty))
    }

    /// A boundary as a value of the function's type: 7705 when it cannot be one, 7720 when it would lose something.
    fn boundary(&mut self, ty: SqlType, ordinal: i32, e: &ast::Expr) -> RunResult<Value> {
        let failed = |e: SqlError| match e.number == messages::VARIABLE_NOT_DECLARED.number {
            true => e,
            false => SqlError::new(&messages::PARTITION_VALUE_TYPE, &[&ordinal]),
        };
        let failed = |f: Box<Failure>| f.map(failed);
        let value = |run: &mut Self, ty: SqlType| {
            let bound = run.ask_host(|h| Binder::new(h).assigned("", ty, None, e))?;
            run.evaluate(&bound, |e, cx| e.eval(&[], cx))
        };
        let id = match ty.id {
            TypeId::Char | TypeId::VarChar => Some(TypeId::VarChar),
            TypeId::NChar | TypeId::NVarChar => Some(TypeId::NVarChar),
            TypeId::Binary | TypeId::VarBinary => Some(TypeId::VarBinary),
            _ => None,
        };
        // Text and bytes are cut to their type's length without a word.
        if let Some(id) = id {
            let whole = value(
                self,
                SqlType {
                    id,
                    length: 8000,
                    ..ty
                },
            )
            .map_err(failed)?;
            let own = value(self, SqlType { id, ..ty }).map_err(failed)?;
            if whole != own {
                let message = &messages::PARTITION_VALUE_TRUNCATED;
                return Err(SqlError::new(message, &[&ordinal]).into());
            }
        }
        value(self, ty).map_err(failed)
    }

    /// Partition numbers of a statement, as pairs from and to.
    pub(super) fn partition_numbers(
        &mut self,
        given: &[(ast::Expr, Option<ast::Expr>)],
    ) -> RunResult<Vec<(i64, i64)>> {
        let mut out = Vec::new();
        for (first, last) in given {
            let from = self.partition_number(first)?;
            let to = match last {
                Some(e) => self.partition_number(e)?,
                None => from,
            };
            out.push((from, to));
        }
        Ok(out)
    }

    pub(super) fn partition_number(&mut self, e: &ast::Expr) -> RunResult<i64> {
        let ty = SqlType::BIGINT;
        let bound = self.ask_host(|h| Binder::new(h).assigned("", ty, None, e))?;
        let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
        Ok(value.as_i64().unwrap_or(0))
    }
}
