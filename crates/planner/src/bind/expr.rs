//! Binding of expressions.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_columns::CompareOp;
use duramen_os::stack;
use duramen_query::functions::{self, ScalarFunction};
use duramen_query::host::Host;
use duramen_query::{Expr, Kind};
use duramen_tsql::ast::{self, ExprKind, UnaryOp};
use duramen_types::datefn::{DatePart, check_date_function};
use duramen_types::{BinaryOp, CollationId, SqlType, Value};

use super::aggregate::aggregate_kind;
use super::called;
use super::{Aggregates, Binder, Scope, TypeSite, collation, resolve_type, same_name, unsupported};

/// Globals that are refused by name.
pub const REFUSED_GLOBALS: &[&str] = &["@@procid"];

impl Binder<'_> {
    /// Binds a value or a condition; the parser has made sure that each stands where it may.
    pub(super) fn expr(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        self.another_expression()?;
        stack::deep(|| self.expr_kind(e, scope, agg)).map_err(|err| err.at_line(e.line as i32))
    }

    pub(super) fn boxed(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Box<Expr>> {
        self.expr(e, scope, agg).map(Box::new)
    }

    fn expr_kind(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        match &e.kind {
            ExprKind::Literal(l) => self.literal(l),
            ExprKind::Column(name) => {
                let found = self.known(column(name, scope, self.host), e.line)?;
                super::xml::used_directly(found, name)
            }
            ExprKind::Variable(name) => match super::module::parameter(name, scope) {
                Some(bound) => Ok(bound),
                None => self.variable(name),
            },
            ExprKind::Unary { op, expr } => {
                let input = self.expr(expr, scope, agg)?;
                unary(*op, input)
            }
            ExprKind::Binary { op, left, right } => {
                let l = self.expr(left, scope, agg)?;
                let r = self.expr(right, scope, agg)?;
                arithmetic(arithmetic_op(*op), l, r)
            }
            ExprKind::Function(call) => self.function(call, e.line, scope, agg),
            ExprKind::Cast(cast) => {
                if cast.kind == ast::CastKind::Parse {
                    return self.parse(cast, scope, agg);
                }
                self.has_conversion(cast)?;
                let mut ty = resolve_type(&cast.ty, TypeSite::Cast)?;
                let input = self.boxed(&cast.expr, scope, agg)?;
                if ty.id.is_string() {
                    let given = collation::of_result([&*input]);
                    ty.collation = given.unwrap_or_else(|| self.plain_collation());
                }
                let style = match &cast.style {
                    Some(s) => Some(self.boxed(s, scope, agg)?),
                    None => self.unnamed_style(&input.ty, &ty),
                };
                if !is_null(&input) {
                    duramen_types::check_explicit(&input.ty, &ty)?;
                }
                let nullable = input.nullable || cast.try_;
                Ok(Expr {
                    kind: Kind::Convert {
                        input,
                        style,
                        or_null: cast.try_,
                    },
                    ty,
                    nullable,
                })
            }
            ExprKind::Case {
                operand,
                whens,
                otherwise,
            } => self.case(operand.as_deref(), whens, otherwise.as_deref(), scope, agg),
            ExprKind::Subquery(query) => {
                let plan = self.subquery(query, scope)?;
                let ty = plan.columns[0].ty;
                Ok(Expr {
                    kind: Kind::Scalar(plan),
                    ty,
                    nullable: true,
                })
            }
            ExprKind::Collate { expr, collation } => {
                let input = self.expr(expr, scope, agg)?;
                self.collate(input, collation)
            }
            ExprKind::AtTimeZone { .. } => Err(unsupported("AT TIME ZONE", e.line)),
            ExprKind::Default => Err(SqlError::new(&messages::SYNTAX_NEAR_KEYWORD, &[&"DEFAULT"])),
            _ => self.condition(e, scope, agg),
        }
    }

    /// Expressions brought to their common type.
    pub(crate) fn unify(&self, items: Vec<Expr>) -> SqlResult<Vec<Expr>> {
        let Some(ty) = common(&items)? else {
            return Ok(items);
        };
        items.into_iter().map(|e| self.coerce(e, ty)).collect()
    }

    fn variable(&self, name: &str) -> SqlResult<Expr> {
        if name.starts_with("@@")
            && let Some((kept, ty)) = self.host.global_type(&name[2..])
        {
            return Ok(Expr {
                kind: Kind::Global(kept),
                ty,
                nullable: true,
            });
        }
        if REFUSED_GLOBALS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(unsupported(&name.to_ascii_uppercase(), 0));
        }
        match self.host.variable(name) {
            Some((slot, mut ty)) => {
                if ty.collation == CollationId::DEFAULT {
                    ty.collation = self.plain_collation();
                }
                Ok(Expr {
                    kind: Kind::Variable(slot),
                    ty,
                    nullable: true,
                })
            }
            None => Err(SqlError::new(&messages::VARIABLE_NOT_DECLARED, &[&name]).with_state(2)),
        }
    }

    /// A subquery that stands for values: exactly one column.
    pub(super) fn subquery(
        &mut self,
        query: &ast::SelectStmt,
        scope: &Scope<'_>,
    ) -> SqlResult<Arc<duramen_query::plan::Plan>> {
        let plan = self.query(query, Some(scope))?;
        if plan.columns.len() != 1 {
            return Err(SqlError::new(&messages::SUBQUERY_ONE_EXPRESSION, &[]));
        }
        Ok(Arc::new(self.nested_plan(plan)?))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let mut conditions = Vec::new();
        let mut results = Vec::new();
        for (when, then) in whens {
            let condition = match operand {
                Some(o) => {
                    let l = self.expr(o, scope, agg)?;
                    let r = self.expr(when, scope, agg)?;
                    self.compare(CompareOp::Eq, l, r)?
                }
                None => self.expr(when, scope, agg)?,
            };
            conditions.push(condition);
            results.push(self.expr(then, scope, agg)?);
        }
        if let Some(o) = otherwise {
            results.push(self.expr(o, scope, agg)?);
        }
        self.choose(conditions, results, otherwise.is_some())
    }

    pub(super) fn choose(
        &self,
        conditions: Vec<Expr>,
        results: Vec<Expr>,
        has_else: bool,
    ) -> SqlResult<Expr> {
        let nullable = !has_else || results.iter().any(|r| r.nullable);
        let Some(mut ty) = common(&results)? else {
            return Err(SqlError::new(&messages::CASE_ALL_NULL, &[]));
        };
        if ty.id.is_string() {
            ty.collation = collation::of_result(&results).unwrap_or(ty.collation);
        }
        let mut results = self.unify(results)?;
        let otherwise = if has_else {
            results.pop().map(Box::new)
        } else {
            None
        };
        let branches = conditions.into_iter().zip(results).collect();
        Ok(Expr {
            kind: Kind::Case {
                branches,
                otherwise,
            },
            ty,
            nullable,
        })
    }

    fn function(
        &mut self,
        call: &ast::FunctionCall,
        line: u32,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        if call.name.parts[0] == ast::XML_METHOD
            && let Some((input, args)) = call.args.split_first()
        {
            return self.xml_method(input, call.name.name(), args, scope, agg);
        }
        let name = call.name.name().to_ascii_lowercase();
        self.has_characters(&name, call.args.len())?;
        // There are no sequences: what it names is not looked for.
        if name == "next value for" {
            return Err(unsupported("NEXT VALUE FOR", line));
        }
        // SELECT ... INTO takes those of its list out before it is bound; *assumed* of one within an expression there.
        if call.type_arg.is_some() {
            return Err(SqlError::new(
                &messages::IDENTITY_FUNCTION_WITHOUT_INTO,
                &[],
            ));
        }
        if call.over.is_some() {
            return self.window(call, line, scope, agg);
        }
        // With a schema it is a user's, whatever its name.
        let built_in = call.name.parts.len() == 1;
        if built_in && super::window::needs_over(&name) {
            return Err(SqlError::new(&messages::FUNCTION_NEEDS_OVER, &[&name]));
        }
        if let Some(kind) = aggregate_kind(&name, call.star).filter(|_| built_in) {
            return self.aggregate(kind, &name, call, scope, agg);
        }
        let mut args = Vec::with_capacity(call.args.len() + 1);
        if let Some(word) = &call.datepart {
            args.push(Expr::constant(Value::varchar(word), SqlType::varchar(30)));
        }
        for a in &call.args {
            args.push(match a.kind {
                // DEFAULT stands for a parameter's own value in calls of users' functions.
                ExprKind::Default if call.name.parts.len() > 1 => {
                    Expr::constant(Value::Null, SqlType::INT)
                }
                _ => self.expr(a, scope, agg)?,
            });
        }
        // What the type has no part of is known before a row is read.
        if let Some(word) = &call.datepart
            && let (Some(part), Some(date)) = (DatePart::from_name(word), args.last())
            && date.ty.id.is_temporal()
        {
            check_date_function(&name, part, &date.ty)?;
        }
        match built_in {
            true => self.built_in(&name, call.name.name(), args, line),
            false => self.qualified(call, args, line, scope, agg),
        }
    }

    /// A call of a function of the system: by its name in lower case, and as it is written.
    fn built_in(
        &mut self,
        name: &str,
        written: &str,
        args: Vec<Expr>,
        line: u32,
    ) -> SqlResult<Expr> {
        if called::REFUSED.contains(&name) {
            return Err(unsupported(&name.to_ascii_uppercase(), line));
        }
        if let Some(chosen) = super::chosen::find(name, args.len()) {
            return (chosen.bind)(self, args);
        }
        if let Some(function) = functions::find(name) {
            return self.scalar_call(function, args);
        }
        match self.host.function_type(name) {
            Some(ty) => {
                let (min, max) = self.host.function_arguments(name);
                called::check_arguments(name, min, max, args.len())?;
                Ok(Expr {
                    kind: Kind::Session {
                        name: name.to_owned(),
                        args,
                    },
                    ty,
                    nullable: true,
                })
            }
            None => Err(SqlError::new(
                &messages::UNRECOGNIZED_NAME,
                &[&written, &"built-in function name"],
            )
            .with_state(10)),
        }
    }

    fn scalar_call(
        &mut self,
        function: &'static ScalarFunction,
        mut args: Vec<Expr>,
    ) -> SqlResult<Expr> {
        if function.unifies {
            called::check_count(function, args.len())?;
            args = self.unify(args)?;
        }
        let mut args = called::prepare(self, function, args)?;
        if function.compares
            && let Some(decided) = collation::decided(&args, function.name)?
        {
            let strings = args.iter_mut().filter(|a| a.ty.id.is_string());
            strings.for_each(|a| a.ty.collation = decided);
        }
        let mut ty = (function.ty)(&args);
        if ty.id.is_string() {
            let given = collation::of_result(&args);
            ty.collation = given.unwrap_or_else(|| self.plain_collation());
        }
        let nullable = function.is_nullable(&args);
        Ok(Expr {
            kind: Kind::Function { function, args },
            ty,
            nullable,
        })
    }

    /// A call with a schema: of a user's function, or of a method of a column of XML.
    fn qualified(
        &mut self,
        call: &ast::FunctionCall,
        args: Vec<Expr>,
        line: u32,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        if let Some(function) = self.host.scalar_function(&call.name)? {
            return self.user_function(function, call, args);
        }
        if ast::XML_METHODS.contains(&call.name.name()) {
            let input = super::xml::column_of(&call.name, line);
            return self.xml_method(&input, call.name.name(), &call.args, scope, agg);
        }
        let shown = call.name.display();
        Err(SqlError::new(
            &messages::FUNCTION_NOT_FOUND,
            &[&call.name.parts[0], &shown],
        ))
    }
}

/// The bare NULL, which has no type of its own.
pub(super) fn is_null(e: &Expr) -> bool {
    matches!(e.kind, Kind::Const(Value::Null))
}

fn common(items: &[Expr]) -> SqlResult<Option<SqlType>> {
    // A bare NULL takes the type of the others.
    let mut ty: Option<SqlType> = None;
    for e in items.iter().filter(|e| !is_null(e)) {
        ty = Some(match ty {
            Some(t) => duramen_types::common_type(&t, &e.ty)?,
            None => e.ty,
        });
    }
    Ok(ty)
}

pub(super) fn arithmetic_op(op: ast::BinaryOp) -> BinaryOp {
    match op {
        ast::BinaryOp::Add => BinaryOp::Add,
        ast::BinaryOp::Sub => BinaryOp::Sub,
        ast::BinaryOp::Mul => BinaryOp::Mul,
        ast::BinaryOp::Div => BinaryOp::Div,
        ast::BinaryOp::Mod => BinaryOp::Mod,
        ast::BinaryOp::BitAnd => BinaryOp::BitAnd,
        ast::BinaryOp::BitOr => BinaryOp::BitOr,
        ast::BinaryOp::BitXor => BinaryOp::BitXor,
    }
}

pub(super) fn arithmetic(op: BinaryOp, l: Expr, r: Expr) -> SqlResult<Expr> {
    // A bare NULL is of the other side's type.
    let lt = if is_null(&l) {
        r.ty
    } else {
        operand_type(&l, &r.ty)
    };
    let rt = if is_null(&r) {
        l.ty
    } else {
        operand_type(&r, &l.ty)
    };
    let mut ty = duramen_types::result_type(op, &lt, &rt)?;
    if ty.id.is_string() {
        ty.collation = collation::of_result([&l, &r]).unwrap_or(ty.collation);
    }
    let nullable = l.nullable || r.nullable;
    Ok(Expr {
        kind: Kind::Arithmetic(op, Box::new(l), Box::new(r)),
        ty,
        nullable,
    })
}

/// The type of an operand beside a number of type `other`: an integer literal beside a decimal counts by its digits.
pub(super) fn operand_type(e: &Expr, other: &SqlType) -> SqlType {
    let literal = match &e.kind {
        Kind::Const(Value::Int(n)) => Some(*n),
        Kind::Negate(inner) => match &inner.kind {
            Kind::Const(Value::Int(n)) => Some(*n),
            _ => None,
        },
        _ => None,
    };
    match literal {
        Some(n) if other.id.is_decimal() => {
            let digits = n.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            SqlType::numeric(digits as u8, 0)
        }
        _ => e.ty,
    }
}

fn unary(op: UnaryOp, input: Expr) -> SqlResult<Expr> {
    let (mut ty, nullable) = (input.ty, input.nullable);
    let kind = match op {
        UnaryOp::Plus => return Ok(input),
        UnaryOp::Minus => {
            ty = duramen_types::negate_type(&input.ty)?;
            Kind::Negate(Box::new(input))
        }
        UnaryOp::BitNot => Kind::BitNot(Box::new(input)),
    };
    Ok(Expr { kind, ty, nullable })
}

/// A column by name: the sources at hand first, then enclosing queries, outward. One with a qualifier is the nearest
/// source's that the qualifier means, or nobody's.
pub(super) fn column(
    name: &ast::ObjectName,
    scope: &Scope<'_>,
    host: &dyn Host,
) -> SqlResult<Expr> {
    let qualifier = name
        .parts
        .split_last()
        .map_or(&[][..], |(_, before)| before);
    let wanted = name.name();
    let ascii = wanted.is_ascii();
    let mut at = Some(scope);
    let mut depth = 0;
    let mut meant = false;
    while let Some(s) = at {
        let mut found = None;
        for source in &s.sources {
            if !source.exposed.answers_to(qualifier, host) {
                continue;
            }
            meant = !qualifier.is_empty();
            for (i, c) in source.columns.iter().enumerate() {
                let same = match ascii && source.ascii {
                    true => c.name.eq_ignore_ascii_case(wanted),
                    false => same_name(&c.name, wanted),
                };
                if same {
                    if found.is_some() {
                        return Err(SqlError::new(
                            &messages::AMBIGUOUS_COLUMN_NAME,
                            &[&name.name()],
                        ));
                    }
                    found = Some((source.offset + i, c));
                }
            }
        }
        if let Some((index, c)) = found {
            if depth > 0 {
                mark_correlated(scope, depth);
            }
            return Ok(Expr {
                kind: Kind::Column { depth, index },
                ty: c.ty,
                nullable: c.nullable,
            });
        }
        if meant {
            break;
        }
        at = s.parent;
        depth += 1;
    }
    Err(match qualifier.is_empty() || meant {
        false => not_bound(name),
        true => SqlError::new(&messages::INVALID_COLUMN_NAME, &[&name.name()]),
    })
}

/// 4104 for a column whose qualifier means nothing.
pub(crate) fn not_bound(name: &ast::ObjectName) -> SqlError {
    SqlError::new(&messages::MULTIPART_NOT_BOUND, &[&name.display()])
}

/// Every scope between the reader and the row it reads depends on an outer row.
pub(super) fn mark_correlated(scope: &Scope<'_>, depth: usize) {
    let mut at = Some(scope);
    for _ in 0..depth {
        if let Some(s) = at {
            s.correlated.set(true);
            at = s.parent;
        }
    }
}
