//! The names of objects that a statement uses: tables and views, functions, procedures. Whether there are such objects is
//! nobody's business here; what the text itself makes (common table expressions, aliases, variables) is not among them.
//!
//! MERGE and cursors, which nothing runs, are not looked into.

use crate::ast::*;

/// How a name is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// In FROM, or as what a statement changes.
    Table,
    /// A function in an expression or in FROM, with its schema.
    Function,
    /// By EXECUTE.
    Procedure,
}

/// Names and their uses, each pair once, in the order of the text.
pub type Names = Vec<(ObjectName, Use)>;

/// The names that the body of a module uses.
pub fn of_module(module: &CreateModule) -> Names {
    let mut walk = Walk::default();
    match &module.kind {
        ModuleKind::View { query, .. } | ModuleKind::InlineFunction { query, .. } => {
            walk.select(query);
        }
        ModuleKind::Procedure { body, .. }
        | ModuleKind::ScalarFunction { body, .. }
        | ModuleKind::TableFunction { body, .. }
        | ModuleKind::Trigger { body, .. } => walk.statements(body),
    }
    walk.found
}

#[derive(Default)]
struct Walk {
    found: Names,
    /// Names of one part that mean something of the text: common table expressions around, aliases of a change.
    own: Vec<String>,
}

impl Walk {
    fn note(&mut self, name: &ObjectName, of: Use) {
        let is_own = |o: &String| o.eq_ignore_ascii_case(name.name());
        if name.parts.len() == 1 && self.own.iter().any(is_own) {
            return;
        }
        let same = |(n, u): &(ObjectName, Use)| n.parts == name.parts && *u == of;
        if !self.found.iter().any(same) {
            self.found.push((name.clone(), of));
        }
    }

    /// Does with `walk` what stands under common table expressions.
    fn within(&mut self, ctes: &[Cte], walk: impl FnOnce(&mut Walk)) {
        let outside = self.own.len();
        for cte in ctes {
            // One may name itself.
            self.own.push(cte.name.clone());
            self.select(&cte.query);
        }
        walk(self);
        self.own.truncate(outside);
    }

    fn statements(&mut self, all: &[Statement]) {
        all.iter().for_each(|s| self.statement(&s.kind));
    }

    fn statement(&mut self, kind: &StatementKind) {
        match kind {
            StatementKind::Select(s) => self.select(s),
            StatementKind::Insert(s) => self.within(&s.ctes, |w| {
                w.target(&s.target.kind);
                w.output(s.output.as_ref());
                w.top(s.top.as_ref());
                match &s.source {
                    InsertSource::Query(q) => w.select(q),
                    InsertSource::Exec(e) => w.exec(e),
                    InsertSource::DefaultValues => {}
                }
            }),
            StatementKind::Update(s) => self.within(&s.ctes, |w| {
                w.aliases(&s.from);
                w.target(&s.target.kind);
                for clause in &s.set {
                    match clause {
                        SetClause::Column { value, .. } | SetClause::Variable { value, .. } => {
                            w.expr(value);
                        }
                        SetClause::Write { args, .. } => w.exprs(args),
                    }
                }
                w.changed(
                    &s.from,
                    s.where_.as_ref(),
                    s.output.as_ref(),
                    s.top.as_ref(),
                );
            }),
            StatementKind::Delete(s) => self.within(&s.ctes, |w| {
                w.aliases(&s.from);
                w.target(&s.target.kind);
                w.changed(
                    &s.from,
                    s.where_.as_ref(),
                    s.output.as_ref(),
                    s.top.as_ref(),
                );
            }),
            StatementKind::TruncateTable { table, .. } => self.note(table, Use::Table),
            StatementKind::Declare(all) => {
                all.iter()
                    .filter_map(|d| d.init.as_ref())
                    .for_each(|e| self.expr(e));
            }
            StatementKind::SetVariable { value, .. } => self.expr(value),
            StatementKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.expr(condition);
                self.statement(&then.kind);
                if let Some(other) = otherwise {
                    self.statement(&other.kind);
                }
            }
            StatementKind::While { condition, body } => {
                self.expr(condition);
                self.statement(&body.kind);
            }
            StatementKind::Block(all) => self.statements(all),
            StatementKind::TryCatch { body, catch } => {
                self.statements(body);
                self.statements(catch);
            }
            StatementKind::Return(Some(e)) | StatementKind::Print(e) => self.expr(e),
            StatementKind::Throw(Some(args)) => {
                [&args.0, &args.1, &args.2]
                    .into_iter()
                    .for_each(|e| self.expr(e));
            }
            StatementKind::RaiseError(r) => {
                [&r.message, &r.severity, &r.state]
                    .into_iter()
                    .for_each(|e| self.expr(e));
                self.exprs(&r.args);
            }
            StatementKind::WaitFor { value, .. } => self.expr(value),
            StatementKind::Exec(e) => self.exec(e),
            _ => {}
        }
    }

    fn exec(&mut self, stmt: &ExecStmt) {
        match &stmt.call {
            ExecCall::Procedure { name, args, .. } => {
                self.note(name, Use::Procedure);
                args.iter().for_each(|a| self.expr(&a.value));
            }
            ExecCall::ProcedureVariable { args, .. } => {
                args.iter().for_each(|a| self.expr(&a.value));
            }
            ExecCall::Text { text, args, .. } => {
                self.expr(text);
                self.exprs(args);
            }
        }
    }

    fn target(&mut self, target: &TargetKind) {
        if let TargetKind::Table(name) = target {
            self.note(name, Use::Table);
        }
    }

    /// The aliases of a FROM by which a change may name what it changes. They last as long as its other names.
    fn aliases(&mut self, from: &[TableSource]) {
        for source in from {
            match source {
                TableSource::Table(t) => self.own.extend(t.alias.clone()),
                TableSource::Variable { alias, .. } | TableSource::Function { alias, .. } => {
                    self.own.extend(alias.clone());
                }
                TableSource::Derived { alias, .. } => self.own.push(alias.clone()),
                TableSource::Join(j) => {
                    self.aliases(std::slice::from_ref(&j.left));
                    self.aliases(std::slice::from_ref(&j.right));
                }
                TableSource::Pivot(p) => self.own.push(p.alias.clone()),
            }
        }
    }

    fn changed(
        &mut self,
        from: &[TableSource],
        condition: Option<&DmlWhere>,
        output: Option<&Output>,
        top: Option<&Top>,
    ) {
        from.iter().for_each(|s| self.source(s));
        if let Some(DmlWhere::Condition(e)) = condition {
            self.expr(e);
        }
        self.output(output);
        self.top(top);
    }

    fn output(&mut self, output: Option<&Output>) {
        let Some(output) = output else { return };
        self.items(&output.items);
        if let Some((into, _)) = &output.into {
            self.target(into);
        }
    }

    fn top(&mut self, top: Option<&Top>) {
        if let Some(top) = top {
            self.expr(&top.count);
        }
    }

    fn select(&mut self, stmt: &SelectStmt) {
        self.within(&stmt.ctes, |w| {
            w.body(&stmt.body);
            w.order(&stmt.order_by);
            let bounds = [&stmt.offset, &stmt.fetch];
            bounds.into_iter().flatten().for_each(|e| w.expr(e));
        });
    }

    fn body(&mut self, body: &QueryExpr) {
        match body {
            QueryExpr::Select(spec) => {
                self.top(spec.top.as_ref());
                self.items(&spec.items);
                spec.from.iter().for_each(|s| self.source(s));
                let conditions = [&spec.where_, &spec.having];
                conditions.into_iter().flatten().for_each(|e| self.expr(e));
                if let Some(group) = &spec.group_by {
                    group.items.iter().for_each(|i| self.group(i));
                }
                spec.windows.iter().for_each(|(_, over)| self.over(over));
            }
            QueryExpr::SetOp { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            QueryExpr::Values(rows) => rows.iter().for_each(|r| self.exprs(r)),
        }
    }

    fn items(&mut self, items: &[SelectItem]) {
        for item in items {
            match item {
                SelectItem::Expr { expr, .. } | SelectItem::Assign { expr, .. } => self.expr(expr),
                SelectItem::Star { .. } => {}
            }
        }
    }

    fn group(&mut self, item: &GroupItem) {
        match item {
            GroupItem::Expr(e) => self.expr(e),
            GroupItem::Rollup(sets) | GroupItem::Cube(sets) => {
                sets.iter().for_each(|s| self.exprs(s));
            }
            GroupItem::GroupingSets(sets) => sets.iter().for_each(|s| self.group(s)),
            GroupItem::Set(all) => self.exprs(all),
        }
    }

    fn order(&mut self, items: &[OrderItem]) {
        items.iter().for_each(|i| self.expr(&i.expr));
    }

    fn over(&mut self, over: &Over) {
        self.exprs(&over.partition_by);
        self.order(&over.order_by);
    }

    fn source(&mut self, source: &TableSource) {
        match source {
            TableSource::Table(t) => self.note(&t.name, Use::Table),
            TableSource::Derived { query, .. } => self.select(query),
            TableSource::Function { name, args, .. } => {
                self.function(name);
                self.exprs(args);
            }
            TableSource::Variable { .. } => {}
            TableSource::Join(join) => {
                self.source(&join.left);
                self.source(&join.right);
                if let Some(on) = &join.on {
                    self.expr(on);
                }
            }
            TableSource::Pivot(pivot) => self.source(&pivot.source),
        }
    }

    /// A name without a schema is a function of the server's; a method of an xml column looks like one of a user's.
    fn function(&mut self, name: &ObjectName) {
        let method = XML_METHODS.contains(&name.name());
        if name.parts.len() > 1 && !method && name.parts[0] != XML_METHOD {
            self.note(name, Use::Function);
        }
    }

    fn exprs(&mut self, all: &[Expr]) {
        all.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Literal(_)
            | ExprKind::Column(_)
            | ExprKind::Variable(_)
            | ExprKind::Default
            | ExprKind::UpdateColumn(_) => {}
            ExprKind::Unary { expr, .. }
            | ExprKind::Collate { expr, .. }
            | ExprKind::Not(expr)
            | ExprKind::IsNull { expr, .. } => self.expr(expr),
            ExprKind::Binary { left, right, .. }
            | ExprKind::Compare { left, right, .. }
            | ExprKind::And(left, right)
            | ExprKind::Or(left, right)
            | ExprKind::IsDistinct { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::AtTimeZone { expr, zone } => {
                self.expr(expr);
                self.expr(zone);
            }
            ExprKind::Function(call) => {
                self.function(&call.name);
                self.exprs(&call.args);
                self.order(&call.within_group);
                if let Some(over) = &call.over {
                    self.over(over);
                }
            }
            ExprKind::Cast(cast) => {
                self.expr(&cast.expr);
                if let Some(style) = &cast.style {
                    self.expr(style);
                }
            }
            ExprKind::Case {
                operand,
                whens,
                otherwise,
            } => {
                operand.iter().for_each(|e| self.expr(e));
                for (when, then) in whens {
                    self.expr(when);
                    self.expr(then);
                }
                otherwise.iter().for_each(|e| self.expr(e));
            }
            ExprKind::Subquery(query) | ExprKind::Exists(query) => self.select(query),
            ExprKind::CompareQuantified { left, query, .. } => {
                self.expr(left);
                self.select(query);
            }
            ExprKind::Between {
                expr, low, high, ..
            } => [expr, low, high].into_iter().for_each(|e| self.expr(e)),
            ExprKind::InList { expr, list, .. } => {
                self.expr(expr);
                self.exprs(list);
            }
            ExprKind::InQuery { expr, query, .. } => {
                self.expr(expr);
                self.select(query);
            }
            ExprKind::Like {
                expr,
                pattern,
                escape,
                ..
            } => {
                self.expr(expr);
                self.expr(pattern);
                escape.iter().for_each(|e| self.expr(e));
            }
        }
    }
}
