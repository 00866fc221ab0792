//! Compiling a statement that is not run: SHOWPLAN tells its plan, NOEXEC its errors.

use duramen_planner::{Binder, dml};
use duramen_program::program::Op;
use duramen_query::{Expr, Plan};
use duramen_tsql::ast::{self, StatementKind};

use super::failure::RunResult;
use super::{Run, into};

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
    pub(super) fn compiled(&mut self, at: usize) -> RunResult<Compiled> {
        let program = self.program;
        Ok(self.ask_host(|h| {
            Ok(match &program.steps[at].op {
                Op::Run(StatementKind::Select(stmt)) => Compiled::Select(Box::new(
                    match duramen_program::statements::into_table(stmt) {
                        Some(_) => Binder::new(h).select(&into::without_identity(stmt)?.0)?,
                        None => Binder::new(h).parallel_select(stmt)?,
                    },
                )),
                Op::Run(StatementKind::Insert(stmt))
                    if matches!(stmt.source, ast::InsertSource::Exec(_)) =>
                {
                    Compiled::Nothing
                }
                Op::Run(kind) => match dml::bind(h, kind)? {
                    Some(change) => Compiled::Change(Box::new(change)),
                    None => Compiled::Nothing,
                },
                Op::Assign { value: e, .. }
                | Op::BranchUnless { condition: e, .. }
                | Op::Return(Some(e)) => Compiled::Value(Binder::new(h).scalar(e)?),
                _ => Compiled::Nothing,
            })
        })?)
    }
}
