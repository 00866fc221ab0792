//! Estimated plans as SHOWPLAN_TEXT and SHOWPLAN_ALL show them: one operator a line, named as SQL Server names its own.
//!
//! A line is what the executor does. A condition above a scan is part of the scan's line; what a seek answers stands in
//! SEEK and not in WHERE; a projection that computes nothing has no line. The upper input of a hash operator is the one
//! that is kept in memory, as SQL Server draws it.
//!
//! One walk makes both forms: with its text each line gets its element of the plan as XML, which [`document`] puts together.

pub(crate) mod element;
mod hash;
mod join;
mod merge;
mod scalar;
mod scan;
mod text;
mod xml;

pub use hash::plan_hash;
pub use xml::{PlannedStatement, Took, Waited, document};

use std::sync::Arc;

use duramen_os::stack;
use duramen_query::children::each_subquery;
use duramen_query::estimate::{Estimate, answered, estimate};
use duramen_query::host::{Parallelism, Table, TableSource};
use duramen_query::plan::{Node, SortKey, WindowKind};
use duramen_query::profile::{Actual, place, way_to};
use duramen_query::{Expr, Kind, Plan, parallel};

use crate::optimize::{MissingIndex, missing_indexes};
use element::{Element, Shape};
use text::Names;

/// One operator of an estimated plan.
#[derive(Clone, Debug)]
pub struct PlanLine {
    /// Its place in the tree, from 0; the operator above, or none.
    pub node: usize,
    pub parent: Option<usize>,
    pub physical: &'static str,
    pub logical: String,
    /// What stands in the parentheses after the logical operator, and apart from it.
    pub argument: String,
    pub defined: String,
    pub output: String,
    pub rows: f64,
    pub io: f64,
    pub cpu: f64,
    pub row_bytes: f64,
    /// Of the operator and everything below it, for one execution.
    pub cost: f64,
    pub executions: f64,
    /// Several threads run it.
    pub parallel: bool,
    /// How many, on the line that gathers their rows.
    pub degree: Option<usize>,
    /// The plan that it stands for: see [`duramen_query::profile`]; 0: none of its own.
    pub place: usize,
    /// What it did, where that was counted.
    pub actual: Option<Actual>,
    /// On the first line: the indexes that the plan would have been cheaper with.
    pub missing: Vec<MissingIndex>,
    /// The same as XML.
    pub(crate) shape: Shape,
}

impl PlanLine {
    /// `Nested Loops(Inner Join, OUTER REFERENCES:([t].[a]))`
    fn named(&self) -> String {
        let mut inside = Vec::new();
        if matches!(
            self.physical,
            "Nested Loops" | "Hash Match" | "Merge Join" | "Parallelism"
        ) {
            inside.push(self.logical.clone());
        }
        if !self.argument.is_empty() {
            inside.push(self.argument.clone());
        }
        match inside.is_empty() {
            true => self.physical.to_owned(),
            false => format!("{}({})", self.physical, inside.join(", ")),
        }
    }
}

/// The lines with the branches of the tree drawn before them.
pub fn drawn(lines: &[PlanLine]) -> Vec<String> {
    // What each operator puts before its inputs.
    let mut before: Vec<String> = Vec::with_capacity(lines.len());
    let mut out = Vec::with_capacity(lines.len());
    for (i, line) in lines.iter().enumerate() {
        let lead = match line.parent {
            Some(p) => before[p].clone(),
            None => "  ".to_owned(),
        };
        let more = lines[i + 1..].iter().any(|l| l.parent == line.parent);
        let bar = if more && line.parent.is_some() {
            "|    "
        } else {
            "     "
        };
        out.push(format!("{lead}|--{}", line.named()));
        before.push(lead + bar);
    }
    out
}

/// The operators of a plan; `variables` are the names of the batch's variables by slot.
pub fn lines(plan: &Plan, variables: &[String]) -> Vec<PlanLine> {
    lines_of(plan, variables, None)
}

/// The same where a statement may use so many threads.
pub fn lines_of(plan: &Plan, variables: &[String], allowed: Option<Parallelism>) -> Vec<PlanLine> {
    let mut tree = Tree::new(variables);
    tree.allowed = allowed.unwrap_or(Parallelism::NONE);
    tree.plan(plan, None, 1.0);
    if let Some(root) = tree.lines.first_mut() {
        root.missing = missing_indexes(plan, 0.0);
    }
    tree.lines
}

/// The operators behind an expression over no row: IF EXISTS (...), SET @x = (SELECT ...).
pub fn of_expression(e: Expr, variables: &[String]) -> Vec<PlanLine> {
    let plan = Plan {
        columns: Default::default(),
        correlated: false,
        node: Node::Project {
            input: Box::new(Plan::one_row()),
            exprs: vec![e],
        },
    };
    lines(&plan, variables)
}

pub(crate) struct Tree<'v> {
    pub lines: Vec<PlanLine>,
    variables: &'v [String],
    /// Columns of the rows around the operator at hand, innermost last.
    outer: Vec<Vec<String>>,
    next: usize,
    pub(crate) allowed: Parallelism,
    /// The operators run in several threads.
    inside_zone: bool,
    /// The place of the plan to which rows come from other threads.
    repartitioned: Option<usize>,
}

/// `[db].[schema].[table]`, or a table variable's name.
pub(crate) fn object(table: &dyn Table) -> String {
    let full = table.full_name();
    if table.name().starts_with('@') {
        return table.name().to_owned();
    }
    let parts: Vec<String> = full.splitn(3, '.').map(|p| format!("[{p}]")).collect();
    parts.join(".")
}

/// The name of the table in its query, where it has one of its own.
fn alias_of(source: &TableSource) -> Option<&str> {
    let name = source.def.name();
    (!source.alias.is_empty() && !crate::bind::same_name(&source.alias, name))
        .then_some(&source.alias)
}

fn column_names(source: &TableSource, width: usize) -> Vec<String> {
    let table = object(&*source.def);
    let alias = alias_of(source);
    let columns = source.def.columns();
    let name = |i: usize| match columns.get(i) {
        None => "[Bmk1000]".to_owned(),
        Some(c) => match alias {
            Some(a) => format!("{table}.[{}] as [{a}].[{}]", c.name, c.name),
            None => format!("{table}.[{}]", c.name),
        },
    };
    (0..width).map(name).collect()
}

fn parts_of(predicate: &Expr) -> &[Expr] {
    match &predicate.kind {
        Kind::And(parts) => parts,
        _ => std::slice::from_ref(predicate),
    }
}

/// The plans within an expression.
fn subplans(e: &Expr) -> Vec<Arc<Plan>> {
    let mut out = Vec::new();
    each_subquery(e, &mut |p| out.push(p.clone()));
    out
}

impl<'v> Tree<'v> {
    pub fn new(variables: &'v [String]) -> Tree<'v> {
        Tree {
            lines: Vec::new(),
            variables,
            outer: Vec::new(),
            next: 1000,
            allowed: Parallelism::NONE,
            inside_zone: false,
            repartitioned: None,
        }
    }

    fn names<'n>(&'n self, columns: &'n [String]) -> Names<'n> {
        Names {
            columns,
            outer: &self.outer,
            variables: self.variables,
        }
    }

    fn fresh(&mut self, word: &str) -> String {
        self.next += 1;
        format!("[{word}{}]", self.next)
    }

    /// Adds a line; what is known only after its inputs is filled in by [`Tree::fill`].
    pub fn line(
        &mut self,
        parent: Option<usize>,
        physical: &'static str,
        logical: &str,
        (estimate, executions): (Estimate, f64),
    ) -> usize {
        let node = self.lines.len();
        self.lines.push(PlanLine {
            node,
            parent,
            physical,
            logical: logical.to_owned(),
            argument: String::new(),
            defined: String::new(),
            output: String::new(),
            rows: estimate.rows,
            io: estimate.own.io,
            cpu: estimate.own.cpu,
            row_bytes: estimate.bytes,
            cost: estimate.cost,
            executions,
            parallel: self.inside_zone || physical == "Parallelism",
            degree: None,
            place: 0,
            actual: None,
            missing: Vec::new(),
            shape: Shape::of(physical),
        });
        node
    }

    /// An expression over a row with these names.
    pub fn expression(&self, e: &Expr, row: &[String]) -> String {
        self.names(row).expr(e)
    }

    pub fn fill(&mut self, at: usize, argument: String, output: &[String]) {
        self.lines[at].argument = argument;
        self.lines[at].output = output.join(", ");
        self.lines[at].shape.columns = output.to_vec();
    }

    /// Adds to the line's element.
    pub fn add(&mut self, at: usize, parts: impl IntoIterator<Item = Element>) {
        self.lines[at].shape.element.children.extend(parts);
    }

    /// Sets an attribute of the line's element.
    pub fn set(&mut self, at: usize, name: &'static str, value: impl std::fmt::Display) {
        self.lines[at].shape.element.set(name, value);
    }

    /// An expression over a row with these names, as XML.
    pub fn scalar(&self, e: &Expr, row: &[String]) -> Element {
        self.names(row).scalar(e)
    }

    /// Conditions that must all hold, in an element of that name.
    fn conditions(&self, name: &'static str, parts: &[&Expr], row: &[String]) -> Element {
        let text = self.condition(parts, row);
        Element::new(name).child(self.names(row).all(parts, &text))
    }

    /// The plans within the expressions of an operator, as further inputs of it.
    fn inside<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        row: &[String],
        (parent, executions): (usize, f64),
    ) {
        for e in exprs {
            for plan in subplans(e) {
                self.outer.push(row.to_vec());
                let times = if plan.correlated { executions } else { 1.0 };
                self.plan(&plan, Some(parent), times);
                self.outer.pop();
            }
        }
    }

    /// Adds the lines of a plan that runs `times` times; the names of its columns.
    pub fn plan(&mut self, plan: &Plan, parent: Option<usize>, times: f64) -> Vec<String> {
        let first = self.lines.len();
        let columns = stack::deep(|| self.operators(plan, parent, times));
        // A plan without a line of its own is told of by the line below it.
        if let Some(line) = self.lines.get_mut(first).filter(|l| l.place == 0) {
            line.place = place(plan);
        }
        columns
    }

    #[expect(clippy::too_many_lines, reason = "one arm an operator")]
    fn operators(&mut self, plan: &Plan, parent: Option<usize>, times: f64) -> Vec<String> {
        let e = estimate(plan);
        let all = (e, times);
        match &plan.node {
            Node::OneRow => {
                self.line(parent, "Constant Scan", "Constant Scan", all);
                Vec::new()
            }
            Node::Values(rows) => {
                let at = self.line(parent, "Constant Scan", "Constant Scan", all);
                let own: Vec<String> = plan.columns.iter().map(|_| self.fresh("Union")).collect();
                let names = self.names(&[]);
                let listed = rows
                    .iter()
                    .map(|r| Element::new("Row").holding(r.iter().map(|e| names.scalar(e))));
                let listed = Element::new("Values").holding(listed);
                let row = |r: &Vec<Expr>| {
                    let values: Vec<String> = r.iter().map(|e| names.expr(e)).collect();
                    format!("({})", values.join(","))
                };
                let values: Vec<String> = rows.iter().map(row).collect();
                let argument = match values.is_empty() {
                    true => String::new(),
                    false => format!("VALUES:({})", values.join(",")),
                };
                self.fill(at, argument, &own);
                self.add(at, (!rows.is_empty()).then_some(listed));
                self.inside(rows.iter().flatten(), &[], (at, e.rows));
                own
            }
            Node::Scan { table, seek, .. } => {
                self.scan(plan, table, seek.as_ref(), None, (parent, times))
            }
            Node::Virtual { table, args } => {
                let name = "Table-valued function";
                let at = self.line(parent, name, name, all);
                let columns = plan.columns.iter();
                let own: Vec<String> = columns
                    .map(|c| format!("[{}].[{}]", table.name(), c.name))
                    .collect();
                let given: Vec<Element> = args.iter().map(|a| self.scalar(a, &[])).collect();
                let known = own.iter().map(|c| (c.clone(), None));
                let list = Element::new("ParameterList").holding(given);
                let object = element::object(&format!("[{}]", table.name()), None, None, "");
                self.add(at, [element::defined(known), object]);
                self.add(at, (!args.is_empty()).then_some(list));
                let args: Vec<String> = args.iter().map(|a| self.names(&[]).expr(a)).collect();
                let mut argument = format!("OBJECT:([{}])", table.name());
                if !args.is_empty() {
                    argument += &format!(", PARAMETERS:({})", args.join(","));
                }
                self.fill(at, argument, &own);
                own
            }
            Node::Filter { input, predicate } => {
                self.filter(plan, input, predicate, (parent, times))
            }
            Node::Project { input, exprs } => self.project(plan, input, exprs, (parent, times)),
            Node::Assign { input, targets } => {
                let exprs: Vec<Expr> = targets.iter().map(|(_, e)| e.clone()).collect();
                self.project(plan, input, &exprs, (parent, times))
            }
            Node::Join { .. } => self.join(plan, (parent, times)),
            Node::Aggregate {
                input,
                groups,
                aggregates,
                kept,
                ordered,
            } => {
                let physical = match groups.is_empty() || *ordered {
                    true => "Stream Aggregate",
                    false => "Hash Match",
                };
                let at = self.line(parent, physical, "Aggregate", all);
                let keys: Vec<&Expr> = groups.iter().collect();
                let below = self.input((plan, 0), input, &keys, (Some(at), times));
                let mut own = below[..*kept].to_vec();
                let made: Vec<String> = aggregates.iter().map(|_| self.fresh("Expr")).collect();
                let names = self.names(&below);
                let keys: Vec<String> = groups.iter().map(|g| names.expr(g)).collect();
                let defined: Vec<String> = aggregates
                    .iter()
                    .zip(&made)
                    .map(|(a, n)| format!("{n}={}", names.aggregate(a)))
                    .collect();
                let computed = aggregates.iter().zip(&made);
                let computed = computed.map(|(a, n)| (n.clone(), Some(names.aggregated(a))));
                let computed = element::defined(computed);
                let by = match physical {
                    "Hash Match" => "HashKeysBuild",
                    _ => "GroupBy",
                };
                let by = (!keys.is_empty()).then(|| element::columns(by, &keys));
                self.add(at, [computed].into_iter().chain(by));
                let mut argument = Vec::new();
                if !keys.is_empty() {
                    let how = if *ordered { "GROUP BY" } else { "HASH" };
                    argument.push(format!("{how}:({})", keys.join(", ")));
                }
                if !defined.is_empty() {
                    argument.push(format!("DEFINE:({})", defined.join(", ")));
                }
                own.extend(keys);
                own.extend(made);
                self.lines[at].defined = defined.join(", ");
                self.fill(at, argument.join(" "), &own);
                own
            }
            Node::Window { input, calls } => {
                let at = self.line(parent, "Window Aggregate", "Window Aggregate", all);
                let mut own = self.plan(input, Some(at), times);
                let made: Vec<String> = calls.iter().map(|_| self.fresh("Expr")).collect();
                let names = self.names(&own);
                let mut defined = Vec::new();
                let mut argument = Vec::new();
                for (call, name) in calls.iter().zip(&made) {
                    defined.push(format!("{name}={}", window_name(call.kind)));
                    let mut over = Vec::new();
                    if !call.partition.is_empty() {
                        let columns = call.partition.iter().map(|e| names.expr(e));
                        let columns: Vec<String> = columns.collect();
                        over.push(format!("PARTITION COLUMNS:({})", columns.join(", ")));
                    }
                    if !call.order.is_empty() {
                        over.push(format!("ORDER BY:({})", names.order(&call.order)));
                    }
                    let over = over.join(", ");
                    if !over.is_empty() && !argument.contains(&over) {
                        argument.push(over);
                    }
                }
                argument.insert(0, format!("DEFINE:({})", defined.join(", ")));
                let computed = calls.iter().zip(&made).map(|(call, name)| {
                    let word = window_name(call.kind);
                    let sequence = Element::new("Sequence").with("FunctionName", word);
                    let scalar = Element::new("ScalarOperator")
                        .with("ScalarString", word)
                        .child(sequence);
                    (name.clone(), Some(scalar))
                });
                let computed = element::defined(computed);
                self.add(at, [computed]);
                own.extend(made);
                self.lines[at].defined = defined.join(", ");
                self.fill(at, argument.join(", "), &own);
                own
            }
            Node::Recursive {
                anchor, members, ..
            } => {
                let at = self.line(parent, "Concatenation", "Concatenation", all);
                let own: Vec<String> = plan.columns.iter().map(|_| self.fresh("Recr")).collect();
                let mut below = vec![self.plan(anchor, Some(at), times)];
                for m in members {
                    below.push(self.plan(m, Some(at), times));
                }
                self.fill(at, String::new(), &own);
                self.add(at, [united(&own, &below)]);
                own
            }
            Node::WorkTable { .. } => {
                let at = self.line(parent, "Table Spool", "Lazy Spool", all);
                let own: Vec<String> = plan.columns.iter().map(|_| self.fresh("Recr")).collect();
                self.fill(at, String::new(), &own);
                self.set(at, "Stack", 1);
                own
            }
            Node::Sort { input, keys } => {
                let at = self.line(parent, "Sort", "Sort", all);
                let own = self.plan(input, Some(at), times);
                let argument = format!("ORDER BY:({})", self.names(&own).order(keys));
                self.fill(at, argument, &own);
                let order = self.names(&own).order_by(keys);
                self.add(at, [order]);
                self.inside(keys.iter().map(|k: &SortKey| &k.expr), &own, (at, e.rows));
                own
            }
            Node::Top {
                input,
                count,
                percent,
                ties,
                ..
            } => {
                let at = self.line(parent, "Top", "Top", all);
                let own = self.plan(input, Some(at), times);
                let mut argument = format!("TOP EXPRESSION:({})", self.names(&[]).expr(count));
                if *percent {
                    argument += " PERCENT";
                }
                if !ties.is_empty() {
                    argument += " WITH TIES";
                }
                self.fill(at, argument, &own);
                self.set(at, "RowCount", 0);
                self.set(at, "IsPercent", u8::from(*percent));
                self.set(at, "WithTies", u8::from(!ties.is_empty()));
                let tied: Vec<String> = ties.iter().map(|e| self.expression(e, &own)).collect();
                let tied = (!ties.is_empty()).then(|| element::columns("TieColumns", &tied));
                let count = Element::new("TopExpression").child(self.scalar(count, &[]));
                self.add(at, tied.into_iter().chain([count]));
                own
            }
            Node::Skip { input, count } => {
                let at = self.line(parent, "Top", "Top", all);
                let own = self.plan(input, Some(at), times);
                let argument = format!("OFFSET EXPRESSION:({})", self.names(&[]).expr(count));
                self.fill(at, argument, &own);
                let count = Element::new("OffsetExpression").child(self.scalar(count, &[]));
                self.add(at, [count]);
                own
            }
            Node::Parallel {
                zone,
                cost,
                max_degree,
                any_order,
            } => {
                let degree = self.allowed.degree(*cost, *max_degree);
                if self.inside_zone || degree <= 1 {
                    return self.plan(zone, parent, times);
                }
                let at = self.line(parent, "Parallelism", "Gather Streams", all);
                self.lines[at].degree = Some(degree);
                self.inside_zone = true;
                let repartitioned =
                    parallel::repartition_point(zone, degree, *any_order, &self.allowed);
                self.repartitioned = repartitioned.map(place);
                let own = self.plan(zone, Some(at), times);
                self.inside_zone = false;
                let argument = match &zone.node {
                    Node::Sort { keys, .. } => {
                        let order = self.names(&own).order_by(keys);
                        self.add(at, [order]);
                        format!("ORDER BY:({})", self.names(&own).order(keys))
                    }
                    _ => String::new(),
                };
                self.fill(at, argument, &own);
                own
            }
            Node::Distinct { input } => {
                let at = self.line(parent, "Hash Match", "Aggregate", all);
                let own = self.plan(input, Some(at), times);
                self.fill(at, format!("HASH:({})", own.join(", ")), &own);
                self.add(at, [element::columns("HashKeysBuild", &own)]);
                own
            }
            Node::Concat(inputs) => {
                let at = self.line(parent, "Concatenation", "Concatenation", all);
                let own: Vec<String> = plan.columns.iter().map(|_| self.fresh("Union")).collect();
                let mut below = Vec::with_capacity(inputs.len());
                for p in inputs {
                    below.push(self.plan(p, Some(at), times));
                }
                self.fill(at, String::new(), &own);
                self.add(at, [united(&own, &below)]);
                own
            }
            Node::SetOperation {
                left,
                right,
                keep_common,
            } => {
                let logical = match keep_common {
                    true => "Right Semi Join",
                    false => "Right Anti Semi Join",
                };
                let at = self.line(parent, "Hash Match", logical, all);
                let other = self.plan(right, Some(at), times);
                let own = self.plan(left, Some(at), times);
                let argument = format!("HASH:({})=({})", other.join(", "), own.join(", "));
                self.fill(at, argument, &own);
                let build = element::columns("HashKeysBuild", &other);
                self.add(at, [build, element::columns("HashKeysProbe", &own)]);
                own
            }
        }
    }

    /// The lines of an operator's input. Where rows change threads there, each goes to the thread of its `keys`.
    pub(super) fn input(
        &mut self,
        (above, number): (&Plan, usize),
        input: &Plan,
        keys: &[&Expr],
        (parent, times): (Option<usize>, f64),
    ) -> Vec<String> {
        if self.repartitioned != Some(place(above)) {
            return self.plan(input, parent, times);
        }
        let sent = Estimate {
            own: Default::default(),
            ..estimate(input)
        };
        let at = self.line(parent, "Parallelism", "Repartition Streams", (sent, times));
        self.lines[at].place = way_to(above, number);
        let own = self.plan(input, Some(at), times);
        let keys: Vec<String> = keys.iter().map(|e| self.expression(e, &own)).collect();
        let argument = format!("Hash Partitioning, PARTITION COLUMNS:({})", keys.join(", "));
        self.fill(at, argument, &own);
        self.set(at, "PartitioningType", "Hash");
        self.add(at, [element::columns("PartitionColumns", &keys)]);
        own
    }

    fn filter(
        &mut self,
        plan: &Plan,
        input: &Plan,
        predicate: &Expr,
        (parent, times): (Option<usize>, f64),
    ) -> Vec<String> {
        let parts = parts_of(predicate).iter();
        let rest: Vec<&Expr> = parts.filter(|p| !answered(input, p)).collect();
        if rest.is_empty() {
            return self.plan(input, parent, times);
        }
        let plain = rest.iter().all(|p| !p.has_subquery());
        if let (Node::Scan { table, seek, .. }, true) = (&input.node, plain) {
            let place = (parent, times);
            let above = Some((rest.as_slice(), estimate(plan)));
            return self.scan(input, table, seek.as_ref(), above, place);
        }
        let at = self.line(parent, "Filter", "Filter", (estimate(plan), times));
        let own = self.plan(input, Some(at), times);
        let argument = format!("WHERE:({})", self.condition(&rest, &own));
        self.fill(at, argument, &own);
        let predicate = self.conditions("Predicate", &rest, &own);
        self.add(at, [predicate]);
        let rows = estimate(input).rows;
        self.inside(rest, &own, (at, rows));
        own
    }

    fn condition(&self, parts: &[&Expr], row: &[String]) -> String {
        let names = self.names(row);
        let one = |p: &&Expr| match p.kind {
            Kind::Or(_) if parts.len() > 1 => format!("({})", names.expr(p)),
            _ => names.expr(p),
        };
        let all: Vec<String> = parts.iter().map(one).collect();
        all.join(" AND ")
    }

    fn project(
        &mut self,
        plan: &Plan,
        input: &Plan,
        exprs: &[Expr],
        (parent, times): (Option<usize>, f64),
    ) -> Vec<String> {
        let computed = |e: &&Expr| !matches!(e.kind, Kind::Column { .. });
        if exprs.iter().all(|e| !computed(&e)) {
            let below = self.plan(input, parent, times);
            return exprs.iter().map(|e| self.names(&below).expr(e)).collect();
        }
        let at = self.line(
            parent,
            "Compute Scalar",
            "Compute Scalar",
            (estimate(plan), times),
        );
        let below = self.plan(input, Some(at), times);
        let mut defined = Vec::new();
        let mut own = Vec::new();
        let mut values = Vec::new();
        for e in exprs {
            let text = self.names(&below).expr(e);
            own.push(match computed(&e) {
                false => text,
                true => {
                    let name = self.fresh("Expr");
                    defined.push(format!("{name}={text}"));
                    values.push((name.clone(), Some(self.scalar(e, &below))));
                    name
                }
            });
        }
        let defined = defined.join(", ");
        self.lines[at].defined.clone_from(&defined);
        self.fill(at, format!("DEFINE:({defined})"), &own);
        self.add(at, [element::defined(values)]);
        self.inside(exprs, &below, (at, estimate(input).rows));
        own
    }
}

/// The columns of a union, with those of its inputs that they are made of.
fn united(own: &[String], below: &[Vec<String>]) -> Element {
    let value = |(i, name): (usize, &String)| {
        let inputs = below.iter().filter_map(|row| row.get(i));
        Element::new("DefinedValue")
            .child(element::column(name))
            .holding(inputs.map(|n| element::column(n)))
    };
    Element::new("DefinedValues").holding(own.iter().enumerate().map(value))
}

fn window_name(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::RowNumber => "row_number",
        WindowKind::Rank => "rank",
        WindowKind::DenseRank => "dense_rank",
        WindowKind::Ntile => "ntile",
        WindowKind::PercentRank => "percent_rank",
        WindowKind::CumeDist => "cume_dist",
        WindowKind::Lag => "lag",
        WindowKind::Lead => "lead",
        WindowKind::FirstValue => "first_value",
        WindowKind::LastValue => "last_value",
        WindowKind::Aggregate(kind) => duramen_query::estimate::aggregate_name(kind),
    }
}
