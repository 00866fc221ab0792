//! Binding: a tree of names becomes a plan of slots and types. Errors are SQL Server's, with the line of the name.

mod aggregate;
mod bound;
mod called;
mod chosen;
mod collation;
mod condition;
mod exists;
mod exposed;
mod expr;
mod extent;
mod groups;
mod hints;
mod levels;
mod literal;
pub(crate) mod located;
mod module;
mod order_by;
mod parse;
mod recursive;
mod refused;
mod select;
mod source;
mod types;
mod window;
mod xml;

pub use bound::BoundQuery;
pub use exposed::Exposed;
pub use expr::REFUSED_GLOBALS;
pub(crate) use expr::not_bound;
pub use hints::percent as grant_percent;
pub use refused::refused;
pub(crate) use select::{converted, wrap};
pub(crate) use source::{conjuncts, join, join_with, joined_columns};
pub use types::{TypeSite, refused_type, resolve_type};

use std::cell::RefCell;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::Host;
use duramen_query::plan::Aggregate;
use duramen_query::{Columns, Expr, Kind, Plan, ScanLock};
use duramen_tsql::ast;
use duramen_types::SqlType;

use crate::optimize::Hints;

/// One source of FROM: the name it is exposed under and where its columns start in the joined row.
#[derive(Clone, Debug)]
pub struct ScopeSource {
    pub exposed: Exposed,
    pub columns: Columns,
    pub offset: usize,
    /// All the columns' names are ASCII.
    pub(crate) ascii: bool,
}

impl ScopeSource {
    pub fn new(exposed: Exposed, columns: Columns, offset: usize) -> ScopeSource {
        ScopeSource {
            ascii: columns.iter().all(|c| c.name.is_ascii()),
            exposed,
            columns,
            offset,
        }
    }
}

/// A column as names find it.
pub use duramen_query::plan::OutColumn as ScopeColumn;

/// The names an expression can see: the sources at hand, then those of enclosing queries.
#[derive(Default)]
pub struct Scope<'a> {
    pub sources: Vec<ScopeSource>,
    pub parent: Option<&'a Scope<'a>>,
    /// A name was found in an enclosing scope.
    pub correlated: std::cell::Cell<bool>,
}

impl Scope<'_> {
    pub fn width(&self) -> usize {
        self.sources.iter().map(|s| s.columns.len()).sum()
    }
}

/// What aggregates may do where an expression stands.
pub(crate) enum Aggregates<'b> {
    Collect(&'b mut Vec<Aggregate>),
    Forbidden(&'static messages::Message),
}

pub struct Binder<'h> {
    pub host: &'h dyn Host,
    ctes: Vec<ast::Cte>,
    /// Names of the CTEs being bound.
    inside: Vec<String>,
    /// The source of FROM that an UPDATE or DELETE changes, by its exposed name, until it is met.
    locate: Option<(String, ScanLock)>,
    /// The same, when it is a query: found.
    located_target: Option<located::Target>,
    windows: window::Windows,
    /// How many views and functions are around the query at hand.
    nesting: u32,
    /// How much the statement has become so far.
    size: extent::Extent,
    /// The WINDOW clause of the query at hand.
    window_names: Vec<(String, ast::Over)>,
    recursions: Vec<recursive::Recursion>,
    /// OPTION (MAXRECURSION).
    max_recursion: u64,
    /// OPTION (FORCE ORDER, HASH JOIN...) and the hints of joins.
    plan_hints: Hints,
    /// Errors alone are asked for now: subqueries are left as they are bound.
    checking: bool,
    /// Some have been.
    unplanned: bool,
    /// Names that mean nothing are noted, and binding goes on.
    collecting: bool,
    /// The expression of a computed column.
    pub(crate) computed: bool,
    unknown: RefCell<Vec<SqlError>>,
}

impl<'h> Binder<'h> {
    pub fn new(host: &'h dyn Host) -> Binder<'h> {
        Binder {
            host,
            ctes: Vec::new(),
            inside: Vec::new(),
            locate: None,
            located_target: None,
            windows: window::Windows::Forbidden,
            nesting: 0,
            size: extent::Extent::default(),
            window_names: Vec::new(),
            recursions: Vec::new(),
            max_recursion: recursive::DEFAULT_MAX_RECURSION,
            plan_hints: Hints::default(),
            checking: false,
            unplanned: false,
            collecting: false,
            computed: false,
            unknown: RefCell::default(),
        }
    }

    /// One that says what is wrong with a statement, without planning anything.
    pub fn checking(host: &'h dyn Host) -> Binder<'h> {
        Binder {
            checking: true,
            ..Binder::new(host)
        }
    }

    /// Whether what it has bound lacks plans within: it tells errors, and nothing can run it.
    pub fn is_incomplete(&self) -> bool {
        self.unplanned
    }

    /// The common table expressions before an INSERT, UPDATE or DELETE.
    pub(crate) fn with(&mut self, ctes: &[ast::Cte]) {
        self.ctes.extend(ctes.iter().cloned());
    }

    /// A whole SELECT.
    pub fn select(&mut self, stmt: &ast::SelectStmt) -> SqlResult<Plan> {
        self.bound_select(stmt)?.planned()
    }

    /// The plan of a SELECT that gives all its rows to a client or to an INSERT: several threads may run it.
    pub fn parallel_select(&mut self, stmt: &ast::SelectStmt) -> SqlResult<Plan> {
        self.bound_select(stmt)?.parallel()
    }

    /// A whole SELECT, to be planned when it is reached.
    pub fn bound_select(&mut self, stmt: &ast::SelectStmt) -> SqlResult<BoundQuery> {
        self.with_all_names(|b| {
            b.hints(&stmt.hints)?;
            let plan = b.query(stmt, None)?;
            Ok(BoundQuery {
                plan,
                hints: b.take_hints(),
            })
        })
    }

    /// An expression over variables only: SET, IF, PRINT, defaults.
    pub fn scalar(&mut self, e: &ast::Expr) -> SqlResult<Expr> {
        let scope = Scope::default();
        self.expr(
            e,
            &scope,
            &mut Aggregates::Forbidden(&messages::AGGREGATE_IN_WHERE),
        )
    }

    /// An expression over one row of `scope`.
    pub fn over(&mut self, e: &ast::Expr, scope: &Scope<'_>) -> SqlResult<Expr> {
        self.over_one(e, scope, &messages::AGGREGATE_IN_WHERE)
    }

    /// The same where an aggregate is an error of its own.
    pub fn over_one(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        aggregate: &'static messages::Message,
    ) -> SqlResult<Expr> {
        self.expr(e, scope, &mut Aggregates::Forbidden(aggregate))
    }

    /// The value that an assignment to a variable stores: `@x = e`, `@x += e`.
    pub fn assigned(
        &mut self,
        name: &str,
        ty: SqlType,
        op: Option<ast::BinaryOp>,
        e: &ast::Expr,
    ) -> SqlResult<Expr> {
        let mut value = self.scalar(e)?;
        if let (Some(op), Some((slot, ty))) = (op, self.host.variable(name)) {
            let current = Expr {
                kind: Kind::Variable(slot),
                ty,
                nullable: true,
            };
            value = combine(op, current, value)?;
        }
        self.coerce(value, ty)
    }

    /// An expression as text, for PRINT.
    pub fn as_text(&mut self, e: &ast::Expr) -> SqlResult<Expr> {
        let value = self.scalar(e)?;
        let ty = if value.ty.id.is_nchar() {
            SqlType::nvarchar(4000)
        } else {
            SqlType::varchar(8000)
        };
        self.coerce(value, ty)
    }

    /// `e`, converted to `ty` when it is not of it already. Implicit rules apply.
    pub fn coerce(&self, e: Expr, ty: SqlType) -> SqlResult<Expr> {
        coerced(e, ty)
    }
}

/// `e`, converted to `ty` as [`Binder::coerce`] says.
pub(crate) fn coerced(e: Expr, ty: SqlType) -> SqlResult<Expr> {
    if e.ty == ty
        || (e.ty.id == ty.id
            && e.ty.length <= ty.length
            && e.ty.collation.is_utf8() == ty.collation.is_utf8()
            && ty.is_variable()
            && ty.id.is_string())
    {
        return Ok(e);
    }
    if matches!(e.kind, Kind::Const(duramen_types::Value::Null)) {
        return Ok(Expr { ty, ..e });
    }
    duramen_types::check_implicit(&e.ty, &ty)?;
    let nullable = e.nullable;
    Ok(Expr {
        kind: Kind::Convert {
            input: Box::new(e),
            style: None,
            or_null: false,
        },
        ty,
        nullable,
    })
}

/// `left op right`, as compound assignment needs it.
pub(crate) fn combine(op: ast::BinaryOp, left: Expr, right: Expr) -> SqlResult<Expr> {
    expr::arithmetic(expr::arithmetic_op(op), left, right)
}

pub(crate) fn unsupported(what: &str, line: u32) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what]).at_line(line as i32)
}

pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
        || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase()
}

/// Functions of the language that binding knows by themselves: CASE in other words, aggregates and window functions.
pub(crate) fn function_entries() -> impl Iterator<Item = duramen_query::functions::Entry> {
    let aggregates = aggregate::entries();
    chosen::entries().chain(aggregates).chain(window::entries())
}
