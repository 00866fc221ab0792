//! Compiling a statement that is not run: SHOWPLAN tells its plan, NOEXEC its errors.

use duramen_base::SqlResult;
use duramen_query::{Binder, Expr, Plan, dml};
use duramen_tsql::ast::{self, StatementKind};

use super::{Run, into};
use crate::program::Op;

/// What a step would run.
pub(super) enum Compiled {
    Select(Box<Plan>),
    Change(Box<dml::Dml>),
    /// A condition, or a value to assign or to return.
    Value(Expr),
    /// A step that has no plan.
    Nothing,
}

impl Run<'_> {
    pub(super) fn compiled(&mut self, at: usize) -> SqlResult<Compiled> {
        let program = self.program;
        self.ask_host(|h| {
            Ok(match &program.steps[at].op {
                Op::Run(StatementKind::Select(stmt)) => {
                    Compiled::Select(Box::new(match super::query::into(stmt) {
                        Some(_) => Binder::new(h).select(&into::without_identity(stmt)?.0)?,
                        None => Binder::new(h).parallel_select(stmt)?,
                    }))
                }
                Op::Run(StatementKind::Insert(stmt)) => match stmt.source {
                    ast::InsertSource::Exec(_) => Compiled::Nothing,
                    _ => Compiled::Change(Box::new(dml::insert(h, stmt)?)),
                },
                Op::Run(StatementKind::Update(stmt)) => {
                    Compiled::Change(Box::new(dml::update(h, stmt)?))
                }
                Op::Run(StatementKind::Delete(stmt)) => {
                    Compiled::Change(Box::new(dml::delete(h, stmt)?))
                }
                Op::Assign { value: e, .. }
                | Op::BranchUnless { condition: e, .. }
                | Op::Return(Some(e)) => Compiled::Value(Binder::new(h).scalar(e)?),
                _ => Compiled::Nothing,
            })
        })
    }
}
