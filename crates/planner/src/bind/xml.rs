//! Methods of xml values: their queries are read when the statement is bound, as is what they ask of it.
//!
//! A row of `nodes()` has the type xml with a scale of 1, so that nobody uses it but for its methods (493).

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::{Expr, Kind, Plan};
use duramen_tsql::ast::{self, ExprKind};
use duramen_tsql::{ParseOptions, parse_expression, parse_name};
use duramen_types::xquery::{self, Outside, Query};
use duramen_types::{SqlType, TypeId, Value};

use super::called::check_arguments;
use super::expr::column;
use super::source::virtual_plan;
use super::types::{TypeSite, resolve_type};
use super::{Aggregates, Binder, Scope, unsupported};
use crate::xml_methods as xml;

/// The type of a column of `nodes()`.
pub(super) const NODES: SqlType = SqlType {
    scale: 1,
    ..SqlType::XML
};

pub(super) fn is_nodes(ty: &SqlType) -> bool {
    ty.id == TypeId::Xml && ty.scale == NODES.scale
}

/// 493
pub(super) fn nodes_column(name: &str) -> SqlError {
    SqlError::new(&messages::NODES_COLUMN, &[&name])
}

/// A column that stands by itself: not one of `nodes()`.
pub(super) fn used_directly(e: Expr, name: &ast::ObjectName) -> SqlResult<Expr> {
    match is_nodes(&e.ty) {
        true => Err(nodes_column(name.name())),
        false => Ok(e),
    }
}

/// What stands before the method's name.
pub(super) fn column_of(call: &ast::ObjectName, line: u32) -> ast::Expr {
    let mut name = call.clone();
    name.parts.pop();
    ast::Expr {
        kind: ExprKind::Column(name),
        line,
    }
}

/// An argument that has to be a literal: 8172.
fn literal(method: &str, args: &[ast::Expr], at: usize) -> SqlResult<String> {
    match args.get(at).map(|a| &a.kind) {
        Some(ExprKind::Literal(ast::Literal::String(s))) => {
            Ok(format!("{}{}", s.namespaces, s.value))
        }
        _ => {
            let at = at + 1;
            Err(SqlError::new(
                &messages::XML_ARGUMENT_LITERAL,
                &[&at, &method],
            ))
        }
    }
}

impl Binder<'_> {
    /// An expression that may be a column of `nodes()`.
    pub(super) fn of_any_kind(
        &mut self,
        e: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        match &e.kind {
            ExprKind::Column(name) => column(name, scope, self.host),
            _ => self.expr(e, scope, agg),
        }
    }

    /// The value whose method it is: 258 for one of another type.
    fn xml_value(
        &mut self,
        input: &ast::Expr,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let value = self.of_any_kind(input, scope, agg)?;
        match value.ty.id {
            TypeId::Xml => Ok(value),
            other => Err(SqlError::new(&messages::NO_METHODS, &[&other.name()])),
        }
    }

    /// The query and what it asks for, as arguments behind the value.
    fn xml_query(
        &mut self,
        query: &Query,
        text: &str,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Vec<Expr>> {
        let mut out = vec![Expr::constant(Value::nvarchar(text), SqlType::NVARCHAR_MAX)];
        for outside in &query.outside {
            let kind = match outside {
                Outside::Variable(name) => ExprKind::Variable(name.clone()),
                Outside::Column(name) => ExprKind::Column(parse_name(name)?),
            };
            out.push(self.expr(&ast::Expr { kind, line: 1 }, scope, agg)?);
        }
        Ok(out)
    }

    pub(super) fn xml_method(
        &mut self,
        input: &ast::Expr,
        method: &str,
        args: &[ast::Expr],
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let count = if method == "value" { 2 } else { 1 };
        let function = match method {
            "value" => &xml::VALUE,
            "query" => &xml::QUERY,
            "exist" => &xml::EXIST,
            "modify" => return Err(unsupported("the xml method modify()", input.line)),
            _ => return Err(SqlError::new(&messages::NOT_A_METHOD, &[&method])),
        };
        check_arguments(method, count, count, args.len())?;
        let value = self.xml_value(input, scope, agg)?;
        let text = literal(method, args, 0)?;
        let query = xquery::parse(method, &text)?;
        if method == "value" && !query.body.is_single() {
            let shown = "XQuery [value()]: ";
            let args: [&dyn std::fmt::Display; 3] = [&shown, &"value()", &"xdt:untypedAtomic *"];
            return Err(SqlError::new(&messages::XQUERY_SINGLETON, &args));
        }
        let mut given = vec![value];
        given.extend(self.xml_query(&query, &text, scope, agg)?);
        let ty = match method {
            "query" => SqlType::XML,
            "exist" => SqlType::BIT,
            _ => SqlType::NVARCHAR_MAX.with_collation(self.plain_collation()),
        };
        let asked = match method {
            "value" => Some(self.value_type(&literal(method, args, 1)?)?),
            _ => None,
        };
        let binary = asked.is_some_and(|t| matches!(t.id, TypeId::Binary | TypeId::VarBinary));
        let (function, ty) = match binary {
            true => (&xml::VALUE_BINARY, SqlType::VARBINARY_MAX),
            false => (function, ty),
        };
        let found = Expr {
            kind: Kind::Function {
                function,
                args: given,
            },
            ty,
            nullable: true,
        };
        let Some(ty) = asked else {
            return Ok(found);
        };
        Ok(Expr {
            kind: Kind::Convert {
                input: Box::new(found),
                style: None,
                or_null: false,
            },
            ty,
            nullable: true,
        })
    }

    /// The type that `value()` was told.
    fn value_type(&self, text: &str) -> SqlResult<SqlType> {
        let cast = parse_expression(&format!("CAST(NULL AS {text})"), &ParseOptions::default())?;
        let ExprKind::Cast(cast) = cast.kind else {
            return Err(SqlError::new(&messages::SYNTAX_NEAR, &[&text]));
        };
        let mut ty = resolve_type(&cast.ty, TypeSite::Variable(1))?;
        match ty.id {
            TypeId::Xml | TypeId::SqlVariant | TypeId::Text | TypeId::NText | TypeId::Image => {
                Err(unsupported(&format!("value() as {}", ty.id.name()), 1))
            }
            id => {
                if id.is_string() {
                    ty.collation = self.plain_collation();
                }
                Ok(ty)
            }
        }
    }

    /// `x.nodes('...') AS t(c)`; `None` when it is no such thing.
    pub(super) fn nodes(
        &mut self,
        name: &ast::ObjectName,
        args: &[ast::Expr],
        columns: &[String],
        outer: Option<&Scope<'_>>,
    ) -> SqlResult<Option<Plan>> {
        let outside = Scope {
            parent: outer,
            ..Scope::default()
        };
        let (input, args) = match args.split_first() {
            Some((input, args)) if name.parts[0] == ast::XML_METHOD => (input.clone(), args),
            Some(_) if name.parts.len() > 1 && name.name() == "nodes" => {
                let input = column_of(name, name.line);
                let ExprKind::Column(prefix) = &input.kind else {
                    return Ok(None);
                };
                // A function of that name in a schema.
                if column(
                    prefix,
                    &Scope {
                        parent: outer,
                        ..Scope::default()
                    },
                    self.host,
                )
                .is_err()
                {
                    return Ok(None);
                }
                (input, args)
            }
            _ => return Ok(None),
        };
        if name.name() != "nodes" {
            return Err(SqlError::new(&messages::NOT_A_METHOD, &[&name.name()]));
        }
        check_arguments("nodes", 1, 1, args.len())?;
        let [column] = columns else {
            return Err(unsupported(
                "nodes() without an alias and the name of one column",
                name.line,
            ));
        };
        let mut agg = Aggregates::Forbidden(&messages::AGGREGATE_IN_WHERE);
        let value = self.xml_value(&input, &outside, &mut agg)?;
        let text = literal("nodes", args, 0)?;
        let query = xquery::parse("nodes", &text)?;
        let mut given = vec![value];
        given.extend(self.xml_query(&query, &text, &outside, &mut agg)?);
        let mut plan = virtual_plan(Arc::new(xml::Nodes::new(column, NODES)), given);
        plan.correlated = outside.correlated.get();
        Ok(Some(plan))
    }
}
