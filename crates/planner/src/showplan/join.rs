//! Joins as plans show them.

use std::collections::BTreeSet;

use duramen_query::batch::builds_left;
use duramen_query::estimate::estimate;
use duramen_query::plan::{JoinKind, Node};
use duramen_query::reads::outer_of;
use duramen_query::{Expr, Plan};

use super::element::columns;
use super::text::Names;
use super::{Tree, parts_of};

pub(super) fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner Join",
        JoinKind::Left => "Left Outer Join",
        JoinKind::Right => "Right Outer Join",
        JoinKind::Full => "Full Outer Join",
    }
}

/// The kind of a join whose inputs change places.
fn mirrored(kind: JoinKind) -> JoinKind {
    match kind {
        JoinKind::Left => JoinKind::Right,
        JoinKind::Right => JoinKind::Left,
        same => same,
    }
}

impl Tree<'_> {
    /// Loops and hash joins; merge joins are drawn by [`Tree::merge`].
    pub(super) fn join(
        &mut self,
        plan: &Plan,
        (parent, times): (Option<usize>, f64),
    ) -> Vec<String> {
        let Node::Join {
            left,
            right,
            kind,
            hash,
            on,
            apply,
            merge,
        } = &plan.node
        else {
            return Vec::new();
        };
        if *merge {
            return self.merge(plan, (parent, times));
        }
        let e = estimate(plan);
        let inner = estimate(left).rows;
        if *apply || hash.is_empty() {
            let at = self.line(parent, "Nested Loops", join_name(*kind), (e, times));
            let mut own = self.plan(left, Some(at), times);
            let mut argument = Vec::new();
            let mut references = None;
            if *apply {
                self.outer.push(own.clone());
                let below = self.plan(right, Some(at), times * inner);
                self.outer.pop();
                let mut used = BTreeSet::new();
                outer_of(right, 1, &mut used);
                let used: Vec<String> = used
                    .into_iter()
                    .filter_map(|i| own.get(i).cloned())
                    .collect();
                if !used.is_empty() {
                    references = Some(columns("OuterReferences", &used));
                    argument.push(format!("OUTER REFERENCES:({})", used.join(", ")));
                }
                own.extend(below);
            } else {
                // The inner side is read once and kept.
                own.extend(self.plan(right, Some(at), times));
            }
            if let Some(on) = on {
                let parts: Vec<&Expr> = parts_of(on).iter().collect();
                argument.push(format!("WHERE:({})", self.condition(&parts, &own)));
                let predicate = self.conditions("Predicate", &parts, &own);
                self.add(at, [predicate]);
            }
            self.add(at, references);
            self.fill(at, argument.join(", "), &own);
            self.inside(on, &own, (at, e.rows));
            return own;
        }
        let build_left = builds_left(left, right);
        let name = match build_left {
            true => join_name(*kind),
            false => join_name(mirrored(*kind)),
        };
        let at = self.line(parent, "Hash Match", name, (e, times));
        let place = (Some(at), times);
        let of_left: Vec<&Expr> = hash.iter().map(|p| &p.0).collect();
        let of_right: Vec<&Expr> = hash.iter().map(|p| &p.1).collect();
        let (mut own, other) = match build_left {
            true => {
                let own = self.input((plan, 0), left, &of_left, place);
                (own, self.input((plan, 1), right, &of_right, place))
            }
            false => {
                let other = self.input((plan, 1), right, &of_right, place);
                (self.input((plan, 0), left, &of_left, place), other)
            }
        };
        let side = |names: &Names<'_>, f: fn(&(Expr, Expr)) -> &Expr| -> Vec<String> {
            hash.iter().map(|p| names.expr(f(p))).collect()
        };
        let (left_keys, right_keys) = (
            side(&self.names(&own), |p| &p.0),
            side(&self.names(&other), |p| &p.1),
        );
        let (built, probed) = match build_left {
            true => (left_keys, right_keys),
            false => (right_keys, left_keys),
        };
        let keys = format!("HASH:({})=({})", built.join(", "), probed.join(", "));
        own.extend(other);
        let mut residual = String::new();
        self.add(at, [columns("HashKeysBuild", &built)]);
        self.add(at, [columns("HashKeysProbe", &probed)]);
        if let Some(on) = on {
            let parts: Vec<&Expr> = parts_of(on).iter().collect();
            residual = format!(", RESIDUAL:({})", self.condition(&parts, &own));
            let left = self.conditions("ProbeResidual", &parts, &own);
            self.add(at, [left]);
        }
        self.fill(at, keys + &residual, &own);
        self.inside(on, &own, (at, e.rows));
        own
    }
}
