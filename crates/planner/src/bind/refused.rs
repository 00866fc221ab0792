//! What queries may say and is not supported, as far as their text alone tells: whoever compiles a batch asks before
//! anything of it runs, whether the tables that it names are there or not.

use duramen_base::SqlResult;
use duramen_tsql::ast::walk::{self, Part};
use duramen_tsql::ast::{self, ExprKind, StatementKind, TableSource};

use super::called;
use super::unsupported;

/// 40517 for the first thing in a statement that is not supported.
pub fn refused(kind: &StatementKind) -> SqlResult<()> {
    let mut found = Ok(());
    walk::statement(kind, &mut |part| {
        if found.is_ok() {
            found = refused_part(part);
        }
    });
    found?;
    match kind {
        StatementKind::Insert(s) if s.top.is_some() => match &s.source {
            ast::InsertSource::Query(q) if matches!(q.body, ast::QueryExpr::Values(_)) => {
                Err(unsupported("INSERT TOP with VALUES", s.target.line))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn refused_part(part: Part<'_>) -> SqlResult<()> {
    match part {
        Part::Expr(e) => refused_expr(e),
        Part::Source(s) => refused_source(s),
        Part::Target(t) => refused_hints(&t.hints, t.line),
        Part::Hints(hints) => super::hints::refused(hints),
        Part::Set(ast::SetClause::Write { line, .. }) => Err(unsupported(".WRITE", *line)),
        Part::Where(ast::DmlWhere::CurrentOf(_)) => Err(unsupported("WHERE CURRENT OF", 0)),
        Part::Spec(spec) => super::groups::refused(spec),
        Part::Query(q) => super::select::refused(q),
        Part::Set(_) | Part::Where(_) => Ok(()),
    }
}

fn refused_expr(e: &ast::Expr) -> SqlResult<()> {
    match &e.kind {
        ExprKind::Cast(cast) => super::refused_type(&cast.ty),
        ExprKind::AtTimeZone { .. } => Err(unsupported("AT TIME ZONE", e.line)),
        ExprKind::Function(call) => {
            let name = call.name.name().to_ascii_lowercase();
            if call.name.parts.len() == 1 && called::REFUSED.contains(&name.as_str()) {
                return Err(unsupported(&name.to_ascii_uppercase(), e.line));
            }
            match call.over.is_some() && call.ignore_nulls == Some(true) {
                true => Err(unsupported("IGNORE NULLS", e.line)),
                false => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn refused_source(source: &TableSource) -> SqlResult<()> {
    match source {
        TableSource::Function { name, line, .. } if name.parts.len() == 1 => {
            let name = name.name().to_ascii_uppercase();
            match called::REFUSED_TABLES.contains(&name.as_str()) {
                true => Err(unsupported(&name, *line)),
                false => Ok(()),
            }
        }
        TableSource::Pivot(p) => Err(unsupported("PIVOT", p.line)),
        TableSource::Table(t) if t.sample.is_some() => Err(unsupported("TABLESAMPLE", t.line)),
        TableSource::Table(t) => refused_hints(&t.hints, t.line),
        TableSource::Variable { hints, line, .. } => refused_hints(hints, *line),
        TableSource::Join(j) if j.hint.as_deref() == Some("REMOTE") => {
            Err(unsupported("REMOTE JOIN", j.line))
        }
        _ => Ok(()),
    }
}

fn refused_hints(hints: &[ast::TableHint], line: u32) -> SqlResult<()> {
    hints
        .iter()
        .try_for_each(|h| match (h.name.as_str(), h.args.len()) {
            ("FORCESEEK", 1..) => Err(unsupported("FORCESEEK with an index", line)),
            ("INDEX", 2..) => Err(unsupported("INDEX with several indexes", line)),
            _ => Ok(()),
        })
}
