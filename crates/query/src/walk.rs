//! Looking through bound expressions.

use duramen_base::SqlResult;
use duramen_types::{BinaryOp, Value};

use crate::expr::{Expr, Kind};
use crate::functions::Stability;

/// Calls `$f` with every direct child of an expression, read or changed as the kind is; `$or` after each call, `?` where
/// they may fail. The one place that knows them.
macro_rules! children {
    ($kind:expr, $f:ident, $($or:tt)?) => {
        match $kind {
            Kind::Const(_)
            | Kind::Aggregate(_)
            | Kind::Window(_)
            | Kind::Column { .. }
            | Kind::Variable(_)
            | Kind::Global(_)
            | Kind::Scalar(_)
            | Kind::Exists(_) => {}
            Kind::Arithmetic(_, l, r) | Kind::Compare(_, l, r) => {
                $f(l)$($or)?;
                $f(r)$($or)?;
            }
            Kind::Negate(e) | Kind::BitNot(e) | Kind::Not(e) => $f(e)$($or)?,
            Kind::IsNull { input, .. }
            | Kind::InQuery { item: input, .. }
            | Kind::Quantified { item: input, .. } => $f(input)$($or)?,
            Kind::Convert { input, style, .. } => {
                $f(input)$($or)?;
                if let Some(s) = style {
                    $f(s)$($or)?;
                }
            }
            Kind::Case {
                branches,
                otherwise,
            } => {
                for (when, then) in branches {
                    $f(when)$($or)?;
                    $f(then)$($or)?;
                }
                if let Some(e) = otherwise {
                    $f(e)$($or)?;
                }
            }
            Kind::Function { args, .. }
            | Kind::Session { args, .. }
            | Kind::User { args, .. }
            | Kind::And(args)
            | Kind::Or(args) => {
                for e in args {
                    $f(e)$($or)?;
                }
            }
            Kind::In { item, list, .. } => {
                $f(item)$($or)?;
                for e in list {
                    $f(e)$($or)?;
                }
            }
            Kind::Like {
                input,
                pattern,
                escape,
                ..
            } => {
                $f(input)$($or)?;
                $f(pattern)$($or)?;
                if let Some(e) = escape {
                    $f(e)$($or)?;
                }
            }
        }
    };
}

impl Expr {
    /// Calls `f` for each direct child. Plans of subqueries are not looked into.
    pub fn for_each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        children!(&self.kind, f,);
    }

    /// The same to be changed; stops at the first error.
    pub fn try_for_each_child(
        &mut self,
        f: &mut dyn FnMut(&mut Expr) -> SqlResult<()>,
    ) -> SqlResult<()> {
        children!(&mut self.kind, f, ?);
        Ok(())
    }

    /// Whether it gives the same for the same rows, whoever asks and when. Users' functions are taken to.
    pub fn is_deterministic(&self) -> bool {
        !self.any(&|e| match &e.kind {
            Kind::Function { function, .. } => function.stability != Stability::Always,
            Kind::Session { .. } | Kind::Global(_) | Kind::Variable(_) => true,
            _ => false,
        })
    }

    /// Whether `f` holds for the expression or one within it.
    pub fn any<F: Fn(&Expr) -> bool>(&self, f: &F) -> bool {
        let mut found = f(self);
        // Not by `for_each_child`: this is asked for every execution of a statement.
        let mut look = |c: &Expr| found = found || c.any(f);
        children!(&self.kind, look,);
        found
    }

    /// Calls `f` with depth and index of every column below, subqueries' own columns aside.
    pub fn visit_columns(&self, f: &mut dyn FnMut(usize, usize)) {
        if let Kind::Column { depth, index } = self.kind {
            f(depth, index);
        }
        self.for_each_child(&mut |c| c.visit_columns(f));
    }

    /// Whether evaluating it reads rows.
    pub fn reads_tables(&self) -> bool {
        self.has_subquery()
    }

    pub fn has_subquery(&self) -> bool {
        self.any(&Expr::is_subquery)
    }

    /// Whether rows of tables are read when it is computed: by a subquery, or by a user's function.
    pub(crate) fn reads(&self) -> bool {
        self.any(&|e| e.is_subquery() || matches!(e.kind, Kind::User { .. }))
    }

    #[inline]
    fn is_subquery(&self) -> bool {
        matches!(
            self.kind,
            Kind::Scalar(_) | Kind::Exists(_) | Kind::InQuery { .. } | Kind::Quantified { .. }
        )
    }

    /// The value, where it is an int made of ints by +, - and * without overflow: most of what loops compute.
    pub fn quick_int(&self, vars: &[Value]) -> Option<i32> {
        let int = |v: &Value| match v {
            Value::Int(n) => Some(*n),
            _ => None,
        };
        match &self.kind {
            Kind::Const(v) => int(v),
            Kind::Variable(slot) => int(vars.get(*slot)?),
            Kind::Arithmetic(op, l, r) => {
                let (a, b) = (l.quick_int(vars)?, r.quick_int(vars)?);
                match op {
                    BinaryOp::Add => a.checked_add(b),
                    BinaryOp::Sub => a.checked_sub(b),
                    BinaryOp::Mul => a.checked_mul(b),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The truth of a comparison of such ints.
    pub fn quick_test(&self, vars: &[Value]) -> Option<bool> {
        match &self.kind {
            Kind::Compare(op, l, r) => {
                let order = l.quick_int(vars)?.cmp(&r.quick_int(vars)?);
                Some(op.holds(order))
            }
            _ => None,
        }
    }

    /// Whether it is made of constants, variables and operators alone: its value asks nothing of the session, and its
    /// binding stays good whatever becomes of the schema.
    pub fn is_self_contained(&self) -> bool {
        !self.any(&|e| {
            !matches!(
                e.kind,
                Kind::Const(_)
                    | Kind::Variable(_)
                    | Kind::Arithmetic(..)
                    | Kind::Compare(..)
                    | Kind::Negate(_)
                    | Kind::BitNot(_)
                    | Kind::Not(_)
                    | Kind::And(_)
                    | Kind::Or(_)
                    | Kind::IsNull { .. }
                    | Kind::In { .. }
                    | Kind::Convert { .. }
                    | Kind::Case { .. }
                    | Kind::Like { .. }
            )
        })
    }
}
