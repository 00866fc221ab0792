//! FROM: names and joins become scans and a scope.

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_columns::CompareOp;
use duramen_os::stack;
use duramen_query::host::{ScanHint, Source, Table, TableSource, VirtualTable};
use duramen_query::locking::{check_hints, lock_of};
use duramen_query::plan::{JoinKind, Node};
use duramen_query::{Columns, Expr, Kind, OutColumn, Plan, ScanLock};
use duramen_tsql::ast;

use super::hints::scan_hint;
use super::recursive::names_table;
use super::{Binder, Exposed, Scope, ScopeSource, same_name, unsupported};
use crate::table_functions;

impl Binder<'_> {
    /// The comma list of FROM as one plan; its sources are added to `scope`.
    pub(super) fn from<'s>(
        &mut self,
        from: &[ast::TableSource],
        scope: &mut Scope<'s>,
    ) -> SqlResult<Plan> {
        let mut plan: Option<Plan> = None;
        for source in from {
            // What a source computes does not see those beside it: its way out leads past this scope.
            let right = self.table_source(source, scope, scope.parent)?;
            plan = Some(match plan {
                None => right,
                Some(left) => join(left, right, JoinKind::Inner, None, false),
            });
        }
        Ok(plan.unwrap_or_else(Plan::one_row))
    }

    /// One source, added to `scope`. What it computes sees `outer`: enclosing queries, and the left side of an APPLY.
    fn table_source(
        &mut self,
        source: &ast::TableSource,
        scope: &mut Scope<'_>,
        outer: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        self.another_source()?;
        stack::deep(|| self.source_of_kind(source, scope, outer))
    }

    fn source_of_kind(
        &mut self,
        source: &ast::TableSource,
        scope: &mut Scope<'_>,
        outer: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        match source {
            ast::TableSource::Table(t) => self.table_ref(t, scope),
            ast::TableSource::Derived {
                query,
                alias,
                columns,
                ..
            } => {
                let plan = self.query(query, outer)?;
                self.expose_query(plan, Exposed::alias(alias), columns, scope)
            }
            ast::TableSource::Function {
                name,
                args,
                alias,
                columns,
                line,
                ..
            } => {
                if let Some(plan) = self.nodes(name, args, columns, outer)? {
                    let exposed = Exposed::alias(alias.as_deref().unwrap_or_default());
                    return self.expose(plan, exposed, &[], scope);
                }
                let exposed = Exposed::of(name, alias.as_deref());
                if let Some(function) = self.host.inline_function(name)? {
                    return self.inline(&function, args, exposed, (scope, outer));
                }
                let mut correlated = false;
                let mut bound = Vec::new();
                for a in args {
                    bound.push(match a.kind {
                        ast::ExprKind::Default => {
                            Expr::constant(duramen_types::Value::Null, duramen_types::SqlType::INT)
                        }
                        // Arguments see enclosing queries, not the sources beside them.
                        _ => {
                            let outside = Scope {
                                parent: outer,
                                ..Scope::default()
                            };
                            let bound = self.over(a, &outside)?;
                            correlated |= outside.correlated.get();
                            bound
                        }
                    });
                }
                let built_in = match name.parts.len() {
                    1 if self.lacks_table_function(name.name()) => None,
                    1 => table_functions::find(name.name(), &bound)?,
                    _ => None,
                };
                let found = match built_in {
                    Some(t) => Some(t),
                    None => self.host.table_function(name)?,
                };
                let Some(table) = found else {
                    return Err(
                        SqlError::new(&messages::INVALID_OBJECT_NAME, &[&name.display()])
                            .at_line(*line as i32),
                    );
                };
                if let Some(parameters) = table.parameters() {
                    let given = args.iter().zip(bound);
                    let given = given
                        .map(|(a, e)| (!matches!(a.kind, ast::ExprKind::Default)).then_some(e));
                    let given = given.collect();
                    bound = self.arguments(table.name(), parameters, given)?;
                }
                let mut plan = virtual_plan(table, bound);
                plan.correlated = correlated;
                self.expose(plan, exposed, &[], scope)
            }
            ast::TableSource::Variable {
                name, alias, line, ..
            } => {
                let Some(table) = self.host.table_variable(name) else {
                    let error = SqlError::new(&messages::TABLE_VARIABLE_NOT_DECLARED, &[name])
                        .with_state(2);
                    return Err(error.at_line(*line as i32));
                };
                let exposed = Exposed::local(name, alias.as_deref());
                let target = self.located(&exposed.name).is_some();
                let plan = scan_plan(table, &exposed.name, ScanLock::READ, target);
                self.expose(plan, exposed, &[], scope)
            }
            ast::TableSource::Join(j) => self.join(j, scope, outer),
            ast::TableSource::Pivot(p) => Err(unsupported("PIVOT", p.line)),
        }
    }

    fn table_ref(&mut self, t: &ast::TableRef, scope: &mut Scope<'_>) -> SqlResult<Plan> {
        if t.sample.is_some() {
            return Err(unsupported("TABLESAMPLE", t.line));
        }
        let local = || Exposed::local(t.name.name(), t.alias.as_deref());
        if t.name.parts.len() == 1 {
            // Within its own query a CTE means the rows so far, before it means its text.
            let mut running = self.recursions.iter().rev();
            if let Some(r) = running.find(|r| same_name(&r.name, t.name.name())) {
                return self.expose(r.scan(), local(), &[], scope);
            }
        }
        if t.name.parts.len() == 1
            && let Some(at) = self
                .ctes
                .iter()
                .rposition(|c| same_name(&c.name, t.name.name()))
        {
            let cte = self.ctes[at].clone();
            // A CTE sees only those before it.
            let exposed = local();
            let target = self.located(&exposed.name);
            let hidden = self.ctes.split_off(at);
            let outside = std::mem::take(&mut self.windows);
            if let Some(lock) = target {
                let named = (cte.name.as_str(), cte.columns.as_slice());
                let located = self.located_query(&cte.query, named, lock);
                self.windows = outside;
                self.ctes.extend(hidden);
                return self.expose_located(located?, exposed, scope);
            }
            let plan = if names_table(&cte.query.body, &cte.name) {
                self.recursive(&cte)
            } else {
                self.inside.push(cte.name.clone());
                let plan = self.query(&cte.query, None);
                self.inside.pop();
                plan
            };
            self.windows = outside;
            self.ctes.extend(hidden);
            return self.expose_query(plan?, exposed, &cte.columns, scope);
        }
        if t.name.parts.len() == 1 && self.inside.iter().any(|n| same_name(n, t.name.name())) {
            return Err(unsupported("recursive common table expressions", t.line));
        }
        let not_found = || {
            SqlError::new(&messages::INVALID_OBJECT_NAME, &[&t.name.display()])
                .at_line(t.line as i32)
        };
        let source = self.host.source(&t.name)?.ok_or_else(not_found)?;
        check_hints(&t.hints, &t.name.display()).map_err(|e| e.at_line(t.line as i32))?;
        let exposed = Exposed::of(&t.name, t.alias.as_deref());
        let plan = match source {
            Source::Table(table) => {
                let hint = scan_hint(&*table, &t.hints)?;
                let alias = &exposed.name;
                let mut plan = match self.located(alias) {
                    Some(lock) => scan_plan(table, alias, lock, true),
                    None => scan_plan(table, alias, lock_of(&t.hints)?, false),
                };
                if let Node::Scan { table, .. } = &mut plan.node {
                    table.hint = hint;
                }
                plan
            }
            Source::Virtual(table) => virtual_plan(table, Vec::new()),
            Source::View(view) => {
                if let Some(lock) = self.located(&exposed.name) {
                    let located = self.located_view(&view, lock)?;
                    return self.expose_located(located, exposed, scope);
                }
                let plan = self.view(&view)?;
                return self.expose_query(plan, exposed, &view.columns, scope);
            }
        };
        self.expose(plan, exposed, &[], scope)
    }

    /// The lock of the target, when this source is it.
    fn located(&mut self, alias: &str) -> Option<ScanLock> {
        let (_, lock) = self.locate.take_if(|(name, _)| same_name(name, alias))?;
        Some(lock)
    }

    /// FROM of an UPDATE or DELETE, one of whose sources is the target (`exposed` is its name there); without it the
    /// target stands before the others. Also gives where the target's columns start.
    pub(crate) fn target_from(
        &mut self,
        table: &Arc<dyn Table>,
        (exposed, listed): (&Exposed, bool),
        lock: ScanLock,
        from: &[ast::TableSource],
    ) -> SqlResult<(Plan, Scope<'static>, usize)> {
        let alias = &exposed.name;
        let mut scope = Scope::default();
        let plan = if listed {
            self.locate = Some((alias.clone(), lock));
            self.from(from, &mut scope)?
        } else {
            let target = scan_plan(table.clone(), alias, lock, true);
            let target = self.expose(target, exposed.clone(), &[], &mut scope)?;
            if from.is_empty() {
                target
            } else {
                let others = self.from(from, &mut scope)?;
                join(target, others, JoinKind::Inner, None, false)
            }
        };
        let at = scope
            .sources
            .iter()
            .find(|s| same_name(&s.exposed.name, alias));
        let offset = at.map_or(0, |s| s.offset);
        Ok((plan, scope, offset))
    }

    fn join(
        &mut self,
        j: &ast::Join,
        scope: &mut Scope<'_>,
        outer: Option<&Scope<'_>>,
    ) -> SqlResult<Plan> {
        given_up::check()?;
        if let Some(hint) = &j.hint {
            self.join_hint(hint, j.line)?;
        }
        let (first, base) = (scope.sources.len(), scope.width());
        let left = self.table_source(&j.left, scope, outer)?;
        let middle = scope.sources.len();
        let (kind, apply) = match j.kind {
            ast::JoinKind::Inner | ast::JoinKind::Cross => (JoinKind::Inner, false),
            ast::JoinKind::Left => (JoinKind::Left, false),
            ast::JoinKind::Right => (JoinKind::Right, false),
            ast::JoinKind::Full => (JoinKind::Full, false),
            ast::JoinKind::CrossApply => (JoinKind::Inner, true),
            ast::JoinKind::OuterApply => (JoinKind::Left, true),
        };
        let right = if apply {
            // The right side runs anew for each row of the left, which is then its nearest enclosing row.
            let row = join_scope(scope, first, base, outer);
            self.table_source(&j.right, scope, Some(&row))?
        } else {
            self.table_source(&j.right, scope, outer)?
        };
        // ON sees the two sides of its own join, and counts columns from where that join's row starts.
        let on = match &j.on {
            Some(on) => {
                let own = join_scope(scope, first, base, outer);
                let bound = self.over_one(on, &own, &messages::AGGREGATE_IN_ON)?;
                if own.correlated.get() {
                    scope.correlated.set(true);
                }
                Some(bound)
            }
            None => None,
        };
        // The side an outer join may leave out can be NULL from here on.
        let (nullable_left, nullable_right) = optional_sides(kind);
        for (i, source) in scope.sources.iter_mut().enumerate().skip(first) {
            if if i < middle {
                nullable_left
            } else {
                nullable_right
            } {
                let columns = Arc::make_mut(&mut source.columns);
                columns.iter_mut().for_each(|c| c.nullable = true);
            }
        }
        Ok(join(left, right, kind, on, apply))
    }

    /// Adds a derived table's columns: each must have a name of its own.
    pub(super) fn expose_query(
        &self,
        plan: Plan,
        exposed: Exposed,
        columns: &[String],
        scope: &mut Scope<'_>,
    ) -> SqlResult<Plan> {
        let plan = self.expose(plan, exposed, columns, scope)?;
        let Some(source) = scope.sources.last() else {
            return Ok(plan);
        };
        let (alias, names) = (&source.exposed.name, &source.columns);
        for (i, c) in names.iter().enumerate() {
            if c.name.is_empty() {
                let args: [&dyn std::fmt::Display; 2] = [&(i + 1), alias];
                return Err(SqlError::new(&messages::NO_COLUMN_NAME, &args).with_state(2));
            }
            if names[..i].iter().any(|n| same_name(&n.name, &c.name)) {
                let args: [&dyn std::fmt::Display; 2] = [&c.name, alias];
                return Err(SqlError::new(&messages::COLUMN_SPECIFIED_TWICE, &args));
            }
        }
        Ok(plan)
    }

    /// Adds a plan's columns to the scope under a name.
    pub(super) fn expose(
        &self,
        plan: Plan,
        exposed: Exposed,
        columns: &[String],
        scope: &mut Scope<'_>,
    ) -> SqlResult<Plan> {
        if !columns.is_empty() && columns.len() != plan.columns.len() {
            let message = if columns.len() < plan.columns.len() {
                &messages::MORE_COLUMNS_THAN_LIST
            } else {
                &messages::FEWER_COLUMNS_THAN_LIST
            };
            return Err(SqlError::new(message, &[&exposed.name]));
        }
        let mut others = scope.sources.iter();
        others.try_for_each(|s| exposed.check_distinct(&s.exposed))?;
        let mut named = plan.columns.clone();
        if !columns.is_empty() {
            let own = Arc::make_mut(&mut named).iter_mut();
            own.zip(columns)
                .for_each(|(c, name)| c.name = name.as_str().into());
        }
        let source = ScopeSource::new(exposed, named, scope.width());
        scope.sources.push(source);
        Ok(plan)
    }
}

/// A scan of every row; `locators` adds the column that says where each lies.
fn scan_plan(table: Arc<dyn Table>, alias: &str, lock: ScanLock, locators: bool) -> Plan {
    let mut columns = table.out_columns();
    if locators {
        let place = OutColumn {
            // No identifier is spelt like this: nothing can name the column.
            name: "\0locator".into(),
            ..OutColumn::unnamed(duramen_types::SqlType::BIGINT, false)
        };
        columns = columns.iter().cloned().chain([place]).collect();
    }
    let node = Node::Scan {
        table: TableSource {
            def: table,
            alias: alias.to_owned(),
            hint: ScanHint::None,
            needed: None,
        },
        seek: None,
        reach: None,
        lock,
        forward: true,
    };
    Plan {
        node,
        columns,
        correlated: false,
    }
}

pub(super) fn virtual_plan(table: Arc<dyn VirtualTable>, args: Vec<Expr>) -> Plan {
    let columns = table
        .columns()
        .iter()
        .map(|c| OutColumn {
            updatable: false,
            ..c.out()
        })
        .collect();
    Plan {
        node: Node::Virtual { table, args },
        columns,
        correlated: false,
    }
}

/// A join; equalities between the two sides of an inner or outer join become hash keys.
pub(crate) fn join(left: Plan, right: Plan, kind: JoinKind, on: Option<Expr>, apply: bool) -> Plan {
    let columns = joined_columns(&left, &right, kind);
    join_with(left, right, kind, on, apply, columns)
}

/// The columns of a join.
pub(crate) fn joined_columns(left: &Plan, right: &Plan, kind: JoinKind) -> Columns {
    let (nullable_left, nullable_right) = optional_sides(kind);
    let of_left = left.columns.iter().map(|c| OutColumn {
        nullable: c.nullable || nullable_left,
        ..c.clone()
    });
    let of_right = right.columns.iter().map(|c| OutColumn {
        nullable: c.nullable || nullable_right,
        ..c.clone()
    });
    of_left.chain(of_right).collect()
}

/// A join whose columns are known.
pub(crate) fn join_with(
    left: Plan,
    right: Plan,
    kind: JoinKind,
    on: Option<Expr>,
    apply: bool,
    columns: Columns,
) -> Plan {
    let width = left.columns.len();
    let mut hash = Vec::new();
    let mut rest = Vec::new();
    for part in conjuncts(on) {
        match split(part, width) {
            Ok(pair) => hash.push(pair),
            Err(part) => rest.push(part),
        }
    }
    let on = match rest.len() {
        0 => None,
        1 => rest.pop(),
        _ => Some(Expr::predicate(Kind::And(rest))),
    };
    let correlated = left.correlated || right.correlated;
    let node = Node::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind,
        hash,
        on,
        apply,
        merge: false,
    };
    Plan {
        node,
        columns,
        correlated,
    }
}

/// The sources of one join, their columns counted from where that join's row starts.
fn join_scope<'p>(
    scope: &Scope<'_>,
    first: usize,
    base: usize,
    parent: Option<&'p Scope<'p>>,
) -> Scope<'p> {
    let mut sources = scope.sources[first..].to_vec();
    sources.iter_mut().for_each(|s| s.offset -= base);
    Scope {
        sources,
        parent,
        ..Scope::default()
    }
}

/// Which sides of a join may be missing from its rows: left, right.
fn optional_sides(kind: JoinKind) -> (bool, bool) {
    (
        matches!(kind, JoinKind::Right | JoinKind::Full),
        matches!(kind, JoinKind::Left | JoinKind::Full),
    )
}

/// The parts of a condition that must all hold.
pub(crate) fn conjuncts(e: Option<Expr>) -> Vec<Expr> {
    fn take(e: Expr, out: &mut Vec<Expr>) {
        match e.kind {
            Kind::And(parts) => parts.into_iter().for_each(|p| take(p, out)),
            _ => out.push(e),
        }
    }
    let mut out = Vec::new();
    if let Some(e) = e {
        take(e, &mut out);
    }
    out
}

/// `left = right` with each side's columns all on one side of the join.
pub(super) fn split(e: Expr, width: usize) -> Result<(Expr, Expr), Expr> {
    let Kind::Compare(CompareOp::Eq, l, r) = &e.kind else {
        return Err(e);
    };
    // A subquery may read columns of either side.
    if e.has_subquery() {
        return Err(e);
    }
    let side = |e: &Expr| {
        let mut sides = (false, false, false);
        e.visit_columns(&mut |depth, index| match depth {
            0 if index < width => sides.0 = true,
            0 => sides.1 = true,
            _ => sides.2 = true,
        });
        sides
    };
    match (side(l), side(r)) {
        ((true, false, false), (false, true, false)) => Ok(((**l).clone(), r.shifted(width))),
        ((false, true, false), (true, false, false)) => Ok(((**r).clone(), l.shifted(width))),
        _ => Err(e),
    }
}
