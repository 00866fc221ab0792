//! Binding of PARSE and TRY_PARSE, which have a syntax of their own.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::{Expr, Kind, functions};
use duramen_tsql::ast;

use super::called;
use super::{Aggregates, Binder, Scope, TypeSite, resolve_type};

impl Binder<'_> {
    /// PARSE(text AS type [USING culture]) and TRY_PARSE: numbers and dates only (10761).
    pub(super) fn parse(
        &mut self,
        cast: &ast::Cast,
        scope: &Scope<'_>,
        agg: &mut Aggregates<'_>,
    ) -> SqlResult<Expr> {
        let ty = resolve_type(&cast.ty, TypeSite::Cast)?;
        if !duramen_types::netformat::makes(ty.id) {
            let args: [&dyn std::fmt::Display; 2] = [&ty.id.name(), &"PARSE"];
            return Err(SqlError::new(&messages::PARSE_TYPE_INVALID, &args));
        }
        let mut args = vec![self.expr(&cast.expr, scope, agg)?];
        if let Some(culture) = &cast.style {
            args.push(self.expr(culture, scope, agg)?);
        }
        let name = if cast.try_ { "try_parse" } else { "parse" };
        let Some(function) = functions::find(name) else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]));
        };
        let args = called::prepare(self, function, args)?;
        Ok(Expr {
            kind: Kind::Function { function, args },
            ty,
            nullable: true,
        })
    }
}
