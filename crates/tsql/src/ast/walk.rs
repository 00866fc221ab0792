//! Looking through statements: every query, source and expression within.

use super::*;

/// What stands somewhere in a statement.
#[derive(Clone, Copy)]
pub enum Part<'a> {
    Expr(&'a Expr),
    Query(&'a SelectStmt),
    Spec(&'a QuerySpec),
    Source(&'a TableSource),
    /// Of a table that a statement changes; the line.
    Target(&'a Target),
    Set(&'a SetClause),
    Where(&'a DmlWhere),
    /// OPTION (...).
    Hints(&'a [QueryHint]),
}

type See<'f, 'a> = &'f mut dyn FnMut(Part<'a>);

/// Shows `see` what is in a statement that reads or changes rows or computes values; not what is in the statements
/// within it.
pub fn statement<'a>(kind: &'a StatementKind, see: See<'_, 'a>) {
    match kind {
        StatementKind::Select(s) => query(s, see),
        StatementKind::Insert(s) => insert(s, see),
        StatementKind::Update(s) => {
            written(&s.ctes, s.top.as_ref(), &s.target, s.output.as_ref(), see);
            s.set.iter().for_each(|c| set(c, see));
            s.from.iter().for_each(|t| source(t, see));
            filter(s.where_.as_ref(), see);
            see(Part::Hints(&s.hints));
        }
        StatementKind::Delete(s) => {
            written(&s.ctes, s.top.as_ref(), &s.target, s.output.as_ref(), see);
            s.from.iter().for_each(|t| source(t, see));
            filter(s.where_.as_ref(), see);
            see(Part::Hints(&s.hints));
        }
        StatementKind::SetVariable { value: e, .. }
        | StatementKind::If { condition: e, .. }
        | StatementKind::While { condition: e, .. }
        | StatementKind::Return(Some(e))
        | StatementKind::Print(e)
        | StatementKind::WaitFor { value: e, .. }
        | StatementKind::Kill { session: e, .. }
        | StatementKind::SetOption(SetOption::Value { value: e, .. }) => expr(e, see),
        StatementKind::Declare(list) => {
            let inits = list.iter().filter_map(|d| d.init.as_ref());
            inits.for_each(|e| expr(e, see));
        }
        StatementKind::RaiseError(r) => {
            let all = [&r.message, &r.severity, &r.state];
            all.into_iter().chain(&r.args).for_each(|e| expr(e, see));
        }
        StatementKind::Throw(Some(args)) => {
            [&args.0, &args.1, &args.2]
                .into_iter()
                .for_each(|e| expr(e, see));
        }
        StatementKind::Exec(s) => call(s, see),
        _ => {}
    }
}

fn insert<'a>(s: &'a InsertStmt, see: See<'_, 'a>) {
    written(&s.ctes, s.top.as_ref(), &s.target, s.output.as_ref(), see);
    match &s.source {
        InsertSource::Query(q) => query(q, see),
        InsertSource::Exec(e) => call(e, see),
        InsertSource::DefaultValues => {}
    }
    see(Part::Hints(&s.hints));
}

fn call<'a>(s: &'a ExecStmt, see: See<'_, 'a>) {
    match &s.call {
        ExecCall::Text { text, args, .. } => {
            expr(text, see);
            args.iter().for_each(|e| expr(e, see));
        }
        ExecCall::Procedure { args, .. } | ExecCall::ProcedureVariable { args, .. } => {
            args.iter().for_each(|a| expr(&a.value, see));
        }
    }
}

fn written<'a>(
    ctes: &'a [Cte],
    top: Option<&'a Top>,
    target: &'a Target,
    output: Option<&'a Output>,
    see: See<'_, 'a>,
) {
    ctes.iter().for_each(|c| query(&c.query, see));
    see(Part::Target(target));
    if let Some(t) = top {
        expr(&t.count, see);
    }
    if let Some(o) = output {
        o.items.iter().for_each(|i| item(i, see));
    }
}

fn set<'a>(clause: &'a SetClause, see: See<'_, 'a>) {
    see(Part::Set(clause));
    match clause {
        SetClause::Column { value, .. } | SetClause::Variable { value, .. } => expr(value, see),
        SetClause::Write { args, .. } => args.iter().for_each(|e| expr(e, see)),
    }
}

fn filter<'a>(filter: Option<&'a DmlWhere>, see: See<'_, 'a>) {
    if let Some(f) = filter {
        see(Part::Where(f));
        if let DmlWhere::Condition(e) = f {
            expr(e, see);
        }
    }
}

/// A query with everything in it.
pub fn query<'a>(q: &'a SelectStmt, see: See<'_, 'a>) {
    see(Part::Query(q));
    q.ctes.iter().for_each(|c| query(&c.query, see));
    body(&q.body, see);
    q.order_by.iter().for_each(|o| expr(&o.expr, see));
    q.offset.iter().chain(&q.fetch).for_each(|e| expr(e, see));
    see(Part::Hints(&q.hints));
}

fn body<'a>(b: &'a QueryExpr, see: See<'_, 'a>) {
    match b {
        QueryExpr::Select(s) => spec(s, see),
        QueryExpr::SetOp { left, right, .. } => {
            body(left, see);
            body(right, see);
        }
        QueryExpr::Values(rows) => rows.iter().flatten().for_each(|e| expr(e, see)),
    }
}

fn spec<'a>(s: &'a QuerySpec, see: See<'_, 'a>) {
    see(Part::Spec(s));
    if let Some(t) = &s.top {
        expr(&t.count, see);
    }
    s.items.iter().for_each(|i| item(i, see));
    s.from.iter().for_each(|t| source(t, see));
    s.where_.iter().chain(&s.having).for_each(|e| expr(e, see));
    if let Some(by) = &s.group_by {
        for g in &by.items {
            if let GroupItem::Expr(e) = g {
                expr(e, see);
            }
        }
    }
    s.windows.iter().for_each(|(_, w)| window(w, see));
}

fn item<'a>(i: &'a SelectItem, see: See<'_, 'a>) {
    match i {
        SelectItem::Star { .. } => {}
        SelectItem::Expr { expr: e, .. } | SelectItem::Assign { expr: e, .. } => expr(e, see),
    }
}

fn source<'a>(t: &'a TableSource, see: See<'_, 'a>) {
    see(Part::Source(t));
    match t {
        TableSource::Table(_) | TableSource::Variable { .. } => {}
        TableSource::Derived { query: q, .. } => query(q, see),
        TableSource::Function { args, .. } => args.iter().for_each(|e| expr(e, see)),
        TableSource::Join(j) => {
            source(&j.left, see);
            source(&j.right, see);
            j.on.iter().for_each(|e| expr(e, see));
        }
        TableSource::Pivot(p) => source(&p.source, see),
    }
}

fn window<'a>(w: &'a Over, see: See<'_, 'a>) {
    w.partition_by.iter().for_each(|e| expr(e, see));
    w.order_by.iter().for_each(|o| expr(&o.expr, see));
}

/// An expression with everything in it.
pub fn expr<'a>(e: &'a Expr, see: See<'_, 'a>) {
    see(Part::Expr(e));
    match &e.kind {
        ExprKind::Literal(_)
        | ExprKind::Column(_)
        | ExprKind::Variable(_)
        | ExprKind::Default
        | ExprKind::UpdateColumn(_) => {}
        ExprKind::Unary { expr: one, .. }
        | ExprKind::Collate { expr: one, .. }
        | ExprKind::Not(one)
        | ExprKind::IsNull { expr: one, .. } => expr(one, see),
        ExprKind::Binary { left, right, .. }
        | ExprKind::Compare { left, right, .. }
        | ExprKind::IsDistinct { left, right, .. }
        | ExprKind::And(left, right)
        | ExprKind::Or(left, right)
        | ExprKind::AtTimeZone {
            expr: left,
            zone: right,
        } => {
            expr(left, see);
            expr(right, see);
        }
        ExprKind::Function(call) => {
            call.args.iter().for_each(|a| expr(a, see));
            call.within_group.iter().for_each(|o| expr(&o.expr, see));
            if let Some(w) = &call.over {
                window(w, see);
            }
        }
        ExprKind::Cast(cast) => {
            expr(&cast.expr, see);
            cast.style.iter().for_each(|s| expr(s, see));
        }
        ExprKind::Case {
            operand,
            whens,
            otherwise,
        } => {
            operand.iter().for_each(|o| expr(o, see));
            for (when, then) in whens {
                expr(when, see);
                expr(then, see);
            }
            otherwise.iter().for_each(|o| expr(o, see));
        }
        ExprKind::Subquery(q) | ExprKind::Exists(q) => query(q, see),
        ExprKind::CompareQuantified { left, query: q, .. }
        | ExprKind::InQuery {
            expr: left,
            query: q,
            ..
        } => {
            expr(left, see);
            query(q, see);
        }
        ExprKind::Between {
            expr: one,
            low,
            high,
            ..
        } => [one, low, high].into_iter().for_each(|e| expr(e, see)),
        ExprKind::InList {
            expr: one, list, ..
        } => {
            expr(one, see);
            list.iter().for_each(|e| expr(e, see));
        }
        ExprKind::Like {
            expr: one,
            pattern,
            escape,
            ..
        } => {
            expr(one, see);
            expr(pattern, see);
            escape.iter().for_each(|e| expr(e, see));
        }
    }
}
