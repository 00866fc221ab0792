//! Merge joins as plans show them.

use duramen_query::estimate::estimate;
use duramen_query::plan::Node;
use duramen_query::{Expr, Plan};

use super::element::{Element, column, columns};
use super::join::join_name;
use super::{Tree, parts_of};
use crate::optimize::merge::is_unique;

impl Tree<'_> {
    /// `Merge Join(Inner Join, MERGE:([t].[id])=([u].[id]), RESIDUAL:([t].[id]=[u].[id]))`; MANY-TO-MANY where neither
    /// side is known to have each key once.
    pub(super) fn merge(
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
            ..
        } = &plan.node
        else {
            return Vec::new();
        };
        let e = estimate(plan);
        let at = self.line(parent, "Merge Join", join_name(*kind), (e, times));
        let mut own = self.plan(left, Some(at), times);
        let other = self.plan(right, Some(at), times);
        let side = |columns: &[String], f: fn(&(Expr, Expr)) -> &Expr| -> Vec<String> {
            let names = self.names(columns);
            hash.iter().map(|p| names.expr(f(p))).collect()
        };
        let (l, r) = (side(&own, |p| &p.0), side(&other, |p| &p.1));
        let once = is_unique(left, hash.iter().map(|p| &p.0))
            || is_unique(right, hash.iter().map(|p| &p.1));
        let many = if once { "" } else { "MANY-TO-MANY " };
        own.extend(other);
        self.set(at, "ManyToMany", u8::from(!once));
        // The right side is read for each key of the left one.
        self.add(at, [columns("InnerSideJoinColumns", &r)]);
        self.add(at, [columns("OuterSideJoinColumns", &l)]);
        let mut residual: Vec<String> = l.iter().zip(&r).map(|(l, r)| format!("{l}={r}")).collect();
        if let Some(on) = on {
            let parts: Vec<&Expr> = parts_of(on).iter().collect();
            residual.push(self.condition(&parts, &own));
        }
        let pairs = l.iter().zip(&r).map(|(l, r)| {
            let side = |name: &str| {
                let identifier = Element::new("Identifier").child(column(name));
                Element::new("ScalarOperator").child(identifier)
            };
            let equal = Element::new("Compare")
                .with("CompareOp", "EQ")
                .child(side(l))
                .child(side(r));
            Element::new("ScalarOperator").child(equal)
        });
        let rest = on.as_ref().map(|on| {
            let parts: Vec<&Expr> = parts_of(on).iter().collect();
            self.names(&own).all(&parts, &self.condition(&parts, &own))
        });
        let mut operands: Vec<Element> = pairs.chain(rest).collect();
        let whole = match operands.len() {
            1 => operands.remove(0),
            _ => Element::new("ScalarOperator").child(
                Element::new("Logical")
                    .with("Operation", "AND")
                    .holding(operands),
            ),
        };
        let whole = whole.with("ScalarString", residual.join(" AND "));
        self.add(at, [Element::new("Residual").child(whole)]);
        let text = format!(
            "{many}MERGE:({})=({}), RESIDUAL:({})",
            l.join(", "),
            r.join(", "),
            residual.join(" AND ")
        );
        self.fill(at, text, &own);
        self.inside(on, &own, (at, e.rows));
        own
    }
}
