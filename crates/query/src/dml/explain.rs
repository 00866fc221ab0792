//! The estimated plan of a statement that changes rows.

use super::{Action, ColumnValue, Dml, InsertSource};
use crate::expr::Expr;
use crate::optimize::cost::Cost;
use crate::optimize::estimate::{Estimate, estimate};
use crate::plan::{Columns, Node, OutColumn, Plan};
use crate::showplan::{PlanLine, Tree, object};

/// What writing a row costs in each of a table's indexes. *Assumed*: a page out of turn and a row.
const WRITE: Cost = Cost {
    io: 0.01,
    cpu: 0.000_001,
};

impl Dml {
    /// Its operators; `variables` are the names of the batch's variables by slot.
    pub fn explain(&self, variables: &[String]) -> Vec<PlanLine> {
        let mut tree = Tree::new(variables);
        match &self.action {
            Action::Insert {
                source, columns, ..
            } => self.explain_insert(&mut tree, source, columns),
            Action::Update {
                plan, assignments, ..
            } => {
                let at = self.root(&mut tree, "Update", estimate(plan));
                let row = tree.plan(plan, Some(at), 1.0);
                let set = assignments
                    .iter()
                    .map(|(c, e)| (*c, tree.expression(e, &row)));
                let argument = self.argument(set.collect());
                tree.fill(at, argument, &[]);
            }
            Action::Delete { plan, .. } => {
                let at = self.root(&mut tree, "Delete", estimate(plan));
                tree.plan(plan, Some(at), 1.0);
                let argument = self.argument(Vec::new());
                tree.fill(at, argument, &[]);
            }
        }
        tree.lines
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
        let value = |v: &ColumnValue| match (v, given) {
            (ColumnValue::Given(i) | ColumnValue::GivenIdentity(i), Some(exprs)) => {
                exprs.get(*i).map(|e| tree.expression(e, &[]))
            }
            (ColumnValue::Given(i) | ColumnValue::GivenIdentity(i), None) => row.get(*i).cloned(),
            (ColumnValue::Expression(e), _) => Some(tree.expression(e, &[])),
            (ColumnValue::Identity, _) => Some("getidentity".to_owned()),
            (ColumnValue::Generated, _) => None,
        };
        let set = columns.iter().enumerate();
        let set = set.filter_map(|(i, v)| Some((i, value(v)?))).collect();
        let argument = self.argument(set);
        tree.fill(at, argument, &[]);
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
        let indexes = self.table.paths().len().max(1) as f64;
        let own = Cost {
            io: WRITE.io * indexes,
            cpu: WRITE.cpu * indexes * below.rows,
        };
        let whole = Estimate {
            rows: below.rows,
            own,
            cost: below.cost + own.total(),
            bytes: 9.0,
        };
        tree.line(None, physical, logical, (whole, 1.0))
    }

    fn argument(&self, set: Vec<(usize, String)>) -> String {
        let table = object(&*self.table);
        let paths = self.table.paths();
        let mut objects: Vec<String> = paths
            .iter()
            .map(|p| format!("OBJECT:({table}.[{}])", p.name))
            .collect();
        if !paths.iter().any(|p| p.covers_all) {
            objects.insert(0, format!("OBJECT:({table})"));
        }
        let columns = self.table.columns();
        let set: Vec<String> = set
            .iter()
            .filter_map(|(i, e)| Some(format!("{table}.[{}] = {e}", columns.get(*i)?.name)))
            .collect();
        if !set.is_empty() {
            objects.push(format!("SET:({})", set.join(",")));
        }
        objects.join(", ")
    }
}

fn column_of(e: &Expr) -> OutColumn {
    OutColumn::unnamed(e.ty, e.nullable)
}
