//! Views and functions of users: their queries are bound where they are used, as if they stood there.
//!
//! An inline function becomes an APPLY over one row of its arguments; in its query a parameter is a column of that row.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::expr::UserCall;
use duramen_query::host::{FunctionParameter, Host, InlineFunction, UserFunction, View};
use duramen_query::plan::{JoinKind, Node};
use duramen_query::{Columns, Expr, Kind, OutColumn, Plan};
use duramen_tsql::ast;

use super::expr::mark_correlated;
use super::source::join;
use super::{Binder, Exposed, Scope, ScopeSource, same_name};

/// The source that holds the arguments of an inline function; no identifier is spelt like this.
const PARAMETERS: &str = "\0parameters";
/// How deep views and functions may be within each other.
const MAX_NESTING: u32 = 32;

/// A parameter of the inline function that is being bound.
pub(super) fn parameter(name: &str, scope: &Scope<'_>) -> Option<Expr> {
    let mut at = Some(scope);
    let mut depth = 0;
    while let Some(s) = at {
        for source in s.sources.iter().filter(|s| s.exposed.name == PARAMETERS) {
            let mut columns = source.columns.iter();
            let Some(i) = columns.position(|c| same_name(&c.name, name)) else {
                continue;
            };
            if depth > 0 {
                mark_correlated(scope, depth);
            }
            return Some(Expr {
                kind: Kind::Column {
                    depth,
                    index: source.offset + i,
                },
                ty: source.columns[i].ty,
                nullable: true,
            });
        }
        at = s.parent;
        depth += 1;
    }
    None
}

impl Binder<'_> {
    /// Binds what belongs to a module: in its database, with nothing of the statement around it.
    pub(super) fn inside<T>(
        &mut self,
        (database, of_system): (&str, bool),
        bind: impl FnOnce(&mut Binder<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.nesting >= MAX_NESTING {
            let limit: [&dyn std::fmt::Display; 1] = [&MAX_NESTING];
            return Err(SqlError::new(&messages::NESTING_LEVEL_EXCEEDED, &limit));
        }
        let other = self.host.within(database, of_system);
        let host: &dyn Host = other.as_deref().unwrap_or(self.host);
        let mut inner = Binder::new(host);
        inner.nesting = self.nesting + 1;
        inner.size = self.size;
        inner.checking = self.checking;
        let bound = bind(&mut inner);
        self.size = inner.size;
        self.unplanned |= inner.unplanned;
        // Lines of a module are not lines of the statement.
        bound.map_err(|e| SqlError { line: 0, ..e })
    }

    /// A view gives the columns that it had when it was made. Columns that its tables have got since are left out; one
    /// that has too few by now is 4502.
    pub(super) fn view(&mut self, view: &View) -> SqlResult<Plan> {
        let mut plan = self.inside((&view.database, view.system), |b| {
            b.query(&view.query, None)
        })?;
        let width = view.columns.len();
        if width > plan.columns.len() {
            return Err(SqlError::new(&messages::VIEW_MORE_NAMES, &[&view.name]));
        }
        if width > 0 && width < plan.columns.len() {
            plan = picked(plan, 0..width);
        }
        Ok(plan)
    }

    /// The arguments of a call, each of its parameter's type.
    pub(super) fn arguments(
        &mut self,
        name: &str,
        parameters: &[FunctionParameter],
        given: Vec<Option<Expr>>,
    ) -> SqlResult<Vec<Expr>> {
        if given.len() < parameters.len() {
            return Err(SqlError::new(&messages::INSUFFICIENT_ARGUMENTS, &[&name]).with_state(3));
        }
        if given.len() > parameters.len() {
            return Err(SqlError::new(&messages::TOO_MANY_ARGUMENTS, &[&name]).with_state(3));
        }
        let mut out = Vec::with_capacity(given.len());
        for (given, p) in given.into_iter().zip(parameters) {
            let value = match (given, &p.default) {
                (Some(e), _) => e,
                (None, Some(default)) => self.scalar(default)?,
                (None, None) => {
                    let args: [&dyn std::fmt::Display; 2] = [&name, &p.name];
                    let error = SqlError::new(&messages::PARAMETER_NOT_SUPPLIED, &args);
                    return Err(error.with_state(4));
                }
            };
            out.push(self.coerce(value, p.ty)?);
        }
        Ok(out)
    }

    /// A call of an inline function in FROM, added to `scope`; its arguments see `outer`.
    pub(super) fn inline(
        &mut self,
        function: &Arc<InlineFunction>,
        args: &[ast::Expr],
        exposed: Exposed,
        (scope, outer): (&mut Scope<'_>, Option<&Scope<'_>>),
    ) -> SqlResult<Plan> {
        let outside = Scope {
            parent: outer,
            ..Scope::default()
        };
        let mut given = Vec::with_capacity(args.len());
        for a in args {
            given.push(match a.kind {
                ast::ExprKind::Default => None,
                _ => Some(self.over(a, &outside)?),
            });
        }
        let exprs = self.arguments(&function.name, &function.parameters, given)?;
        let parameters = function.parameters.iter();
        let columns: Columns = parameters
            .map(|p| OutColumn {
                name: p.name.as_str().into(),
                ..OutColumn::unnamed(p.ty, true)
            })
            .collect();
        let row = ScopeSource::new(Exposed::local(PARAMETERS, None), columns.clone(), 0);
        let correlated = outside.correlated.get();
        let width = columns.len();
        let left = Plan {
            node: Node::Project {
                input: Box::new(Plan::one_row()),
                exprs,
            },
            columns,
            correlated,
        };
        let right = self.inside((&function.database, false), |b| {
            let parameters = Scope {
                sources: vec![row],
                ..Scope::default()
            };
            b.query(&function.query, Some(&parameters))
        })?;
        let columns = right.columns.clone();
        let joined = join(left, right, JoinKind::Inner, None, true);
        let own = columns.iter().enumerate();
        let exprs = own.map(|(i, c)| Expr::column(width + i, c.ty, c.nullable));
        let plan = Plan {
            node: Node::Project {
                exprs: exprs.collect(),
                input: Box::new(joined),
            },
            columns,
            correlated,
        };
        self.expose_query(plan, exposed, &[], scope)
    }

    /// A call of a scalar function.
    pub(super) fn user_function(
        &mut self,
        function: Arc<dyn UserFunction>,
        call: &ast::FunctionCall,
        args: Vec<Expr>,
    ) -> SqlResult<Expr> {
        let given = call.args.iter().zip(args);
        let given = given.map(|(a, e)| (!matches!(a.kind, ast::ExprKind::Default)).then_some(e));
        let name = call.name.display();
        let args = self.arguments(&name, function.parameters(), given.collect())?;
        let ty = function.returns();
        Ok(Expr {
            kind: Kind::User {
                function: UserCall(function),
                args,
            },
            ty,
            nullable: true,
        })
    }
}

/// Some of a plan's columns.
pub(super) fn picked(plan: Plan, which: impl Iterator<Item = usize>) -> Plan {
    let which: Vec<usize> = which.collect();
    let column = |i: &usize| {
        let c = &plan.columns[*i];
        Expr::column(*i, c.ty, c.nullable)
    };
    let exprs = which.iter().map(column).collect();
    let columns = which.iter().map(|i| plan.columns[*i].clone()).collect();
    let correlated = plan.correlated;
    Plan {
        node: Node::Project {
            exprs,
            input: Box::new(plan),
        },
        columns,
        correlated,
    }
}
