//! The estimated plan of a statement that changes rows.

use duramen_query::cost::Cost;
use duramen_query::estimate::{Estimate, estimate};
use duramen_query::host::Parallelism;
use duramen_query::plan::Node;
use duramen_query::{Columns, Expr, OutColumn, Plan};

use super::columns::ColumnValue;
use super::statement::{Action, Dml, InsertSource};
use crate::optimize::{MissingIndex, missing_indexes};
use crate::showplan::element::{self, Element};
use crate::showplan::{PlanLine, Tree, object};

/// What writing a row costs in each of a table's indexes. *Assumed*: a page out of turn and a row.
const WRITE: Cost = Cost {
    io: 0.01,
    cpu: 0.000_001,
};

impl Dml {
    /// Its operators; `variables` are the names of the batch's variables by slot. `allowed`: threads.
    pub fn explain(&self, variables: &[String], allowed: Parallelism) -> Vec<PlanLine> {
        let mut tree = Tree::new(variables);
        tree.allowed = allowed;
        match &self.action {
            Action::Insert {
                source, columns, ..
            } => self.explain_insert(&mut tree, source, columns),
            Action::Update {
                plan, assignments, ..
            } => {
                let at = self.root(&mut tree, "Update", estimate(plan));
                let row = tree.plan(plan, Some(at), 1.0);
                let set = assignments.iter().map(|(c, e)| {
                    let scalar = tree.scalar(e, &row);
                    (*c, tree.expression(e, &row), scalar)
                });
                let set = set.collect();
                self.changes(&mut tree, at, set);
            }
            Action::Delete { plan, .. } => {
                let at = self.root(&mut tree, "Delete", estimate(plan));
                tree.plan(plan, Some(at), 1.0);
                self.changes(&mut tree, at, Vec::new());
            }
        }
        let missing = self.missing_indexes();
        if let Some(root) = tree.lines.first_mut() {
            root.missing = missing;
        }
        tree.lines
    }

    /// Of so many rows.
    fn writing(&self, rows: f64) -> Cost {
        let indexes = self.table.paths().len().max(1) as f64;
        Cost {
            io: WRITE.io * indexes,
            cpu: WRITE.cpu * indexes * rows,
        }
    }

    pub(super) fn missing_below(&self, plan: &Plan) -> Vec<MissingIndex> {
        missing_indexes(plan, self.writing(estimate(plan).rows).total())
    }

    fn explain_insert(&self, tree: &mut Tree<'_>, source: &InsertSource, columns: &[ColumnValue]) {
        let values;
        let (plan, given) = match source {
            InsertSource::Row(row) => (None, Some(row)),
            InsertSource::Rows(rows) => {
                values = Plan {
                    node: Node::Values(rows.clone()),
                    columns: rows
                        .first()
                        .map_or_else(Columns::default, |r| r.iter().map(column_of).collect()),
                    correlated: false,
                };
                (Some(&values), None)
            }
            InsertSource::Query(plan) => (Some(&**plan), None),
        };
        let below = plan.map_or(
            Estimate {
                rows: 1.0,
                ..Estimate::default()
            },
            estimate,
        );
        let at = self.root(tree, "Insert", below);
        let row = match plan {
            Some(plan) => tree.plan(plan, Some(at), 1.0),
            None => Vec::new(),
        };
        let written = |e: &Expr| (tree.expression(e, &[]), tree.scalar(e, &[]));
        let value = |v: &ColumnValue| match (v, given) {
            (ColumnValue::Given(i) | ColumnValue::GivenIdentity(i), Some(exprs)) => {
                exprs.get(*i).map(written)
            }
            (ColumnValue::Given(i) | ColumnValue::GivenIdentity(i), None) => {
                row.get(*i).map(|name| (name.clone(), element::named(name)))
            }
            (ColumnValue::Expression(e), _) => Some(written(e)),
            (ColumnValue::Identity, _) => {
                let name = "getidentity";
                let call = Element::new("Intrinsic").with("FunctionName", name);
                let scalar = Element::new("ScalarOperator").with("ScalarString", name);
                Some((name.to_owned(), scalar.child(call)))
            }
            (ColumnValue::Generated, _) => None,
        };
        let set = columns.iter().enumerate();
        let set = set.filter_map(|(i, v)| {
            let (text, scalar) = value(v)?;
            Some((i, text, scalar))
        });
        let set = set.collect();
        self.changes(tree, at, set);
    }

    /// The operator that writes: of the clustered index, or of the heap.
    fn root(&self, tree: &mut Tree<'_>, logical: &str, below: Estimate) -> usize {
        let clustered = self.table.paths().iter().any(|p| p.covers_all);
        let physical = match (logical, clustered) {
            ("Insert", true) => "Clustered Index Insert",
            ("Insert", false) => "Table Insert",
            ("Update", true) => "Clustered Index Update",
            ("Update", false) => "Table Update",
            (_, true) => "Clustered Index Delete",
            (_, false) => "Table Delete",
        };
        let own = self.writing(below.rows);
        let whole = Estimate {
            rows: below.rows,
            own,
            cost: below.cost + own.total(),
            bytes: 9.0,
        };
        tree.line(None, physical, logical, (whole, 1.0))
    }

    /// What the operator at the root writes to, and the columns that it sets: as text and as XML.
    fn changes(&self, tree: &mut Tree<'_>, at: usize, set: Vec<(usize, String, Element)>) {
        let table = object(&*self.table);
        let paths = self.table.paths();
        let mut objects: Vec<String> = paths
            .iter()
            .map(|p| format!("OBJECT:({table}.[{}])", p.name))
            .collect();
        if !paths.iter().any(|p| p.covers_all) {
            objects.insert(0, format!("OBJECT:({table})"));
            tree.add(at, [element::object(&table, None, None, "Heap")]);
        }
        for path in paths {
            let kind = if path.covers_all {
                "Clustered"
            } else {
                "NonClustered"
            };
            tree.add(at, [element::object(&table, Some(&path.name), None, kind)]);
        }
        let columns = self.table.columns();
        let mut texts = Vec::with_capacity(set.len());
        let mut assigned = Vec::with_capacity(set.len());
        for (i, text, scalar) in set {
            let Some(column) = columns.get(i) else {
                continue;
            };
            let name = format!("{table}.[{}]", column.name);
            let target = element::column(&name);
            assigned.push(Element::new("Assign").child(target).child(scalar));
            texts.push(format!("{name} = {text}"));
        }
        if !texts.is_empty() {
            let text = texts.join(",");
            let list = Element::new("ScalarExpressionList").child(
                Element::new("ScalarOperator")
                    .child(Element::new("MultipleAssign").holding(assigned)),
            );
            let whole = Element::new("ScalarOperator")
                .with("ScalarString", &text)
                .child(list);
            tree.add(at, [Element::new("SetPredicate").child(whole)]);
            objects.push(format!("SET:({text})"));
        }
        tree.fill(at, objects.join(", "), &[]);
    }
}

fn column_of(e: &Expr) -> OutColumn {
    OutColumn::unnamed(e.ty, e.nullable)
}
