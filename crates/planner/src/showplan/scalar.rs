//! Expressions of a plan as XML: the text at the root, the operations below it.

use duramen_columns::CompareOp;
use duramen_query::plan::{Aggregate, AggregateKind, SortKey};
use duramen_query::{Expr, Kind};
use duramen_types::{BinaryOp, SqlType};

use super::element::{Element, column};
use super::text::Names;

/// Operations within operations are shown so deep; what is below is named by its text.
const DEEPEST: usize = 16;

pub(super) fn compare_word(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "EQ",
        CompareOp::Ne => "NE",
        CompareOp::Lt => "LT",
        CompareOp::Le => "LE",
        CompareOp::Gt => "GT",
        CompareOp::Ge => "GE",
    }
}

fn arithmetic_word(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "ADD",
        BinaryOp::Sub => "SUB",
        BinaryOp::Mul => "MULT",
        BinaryOp::Div => "DIV",
        BinaryOp::Mod => "MOD",
        BinaryOp::BitAnd => "BIT_AND",
        BinaryOp::BitOr => "BIT_OR",
        BinaryOp::BitXor => "BIT_XOR",
    }
}

fn operator(inner: Element) -> Element {
    Element::new("ScalarOperator").child(inner)
}

fn named_constant(text: &str) -> Element {
    operator(Element::new("Const").with("ConstValue", text))
}

fn logical(operation: &str, operands: impl IntoIterator<Item = Element>) -> Element {
    Element::new("Logical")
        .with("Operation", operation)
        .holding(operands)
}

fn compared(op: &str, left: Element, right: Element) -> Element {
    Element::new("Compare")
        .with("CompareOp", op)
        .child(left)
        .child(right)
}

fn intrinsic(name: &str, args: impl IntoIterator<Item = Element>) -> Element {
    Element::new("Intrinsic")
        .with("FunctionName", name)
        .holding(args)
}

/// `DataType`, and `Length` in bytes or `Precision` and `Scale`.
fn typed(mut element: Element, ty: &SqlType) -> Element {
    let text = ty.to_string();
    let Some((name, inside)) = text.split_once('(') else {
        return element.with("DataType", text);
    };
    element.set("DataType", name);
    let inside = inside.trim_end_matches(')');
    match inside.split_once(',') {
        Some((precision, scale)) => element.with("Precision", precision).with("Scale", scale),
        None if name.contains("char") || name.contains("binary") => {
            let each = if name.starts_with('n') { 2 } else { 1 };
            let length = inside.parse::<u32>().map_or(i32::MAX as u32, |n| n * each);
            element.with("Length", length)
        }
        None => element.with("Scale", inside),
    }
}

impl Names<'_> {
    /// The whole expression.
    pub fn scalar(&self, e: &Expr) -> Element {
        self.operator(e, 0).with("ScalarString", self.expr(e))
    }

    /// Conditions of which all must hold; `text` is what they are written as.
    pub fn all(&self, parts: &[&Expr], text: &str) -> Element {
        let whole = match parts {
            [one] => self.operator(one, 0),
            _ => operator(logical("AND", parts.iter().map(|p| self.operator(p, 1)))),
        };
        whole.with("ScalarString", text)
    }

    /// The keys of a sort.
    pub fn order_by(&self, keys: &[SortKey]) -> Element {
        let one = |k: &SortKey| {
            Element::new("OrderByColumn")
                .with("Ascending", u8::from(!k.descending))
                .child(column(&self.expr(&k.expr)))
        };
        Element::new("OrderBy").holding(keys.iter().map(one))
    }

    pub fn aggregated(&self, a: &Aggregate) -> Element {
        let (kind, input) = match (&a.input, a.kind) {
            (None, _) | (_, AggregateKind::CountStar) => ("countstar", None),
            (Some(e), kind) => (duramen_query::estimate::aggregate_name(kind), Some(e)),
        };
        let aggregate = Element::new("Aggregate")
            .with("AggType", kind)
            .with("Distinct", u8::from(a.distinct))
            .holding(input.map(|e| self.operator(e, 1)));
        operator(aggregate).with("ScalarString", self.aggregate(a))
    }

    fn operator(&self, e: &Expr, depth: usize) -> Element {
        operator(self.inner(e, depth))
    }

    fn inner(&self, e: &Expr, depth: usize) -> Element {
        match depth < DEEPEST {
            true => self.operation(e, depth + 1),
            false => Element::new("Identifier").child(column(&self.expr(e))),
        }
    }

    fn operation(&self, e: &Expr, depth: usize) -> Element {
        let below = |e: &Expr| self.operator(e, depth);
        let all = |list: &[Expr]| -> Vec<Element> { list.iter().map(below).collect() };
        match &e.kind {
            Kind::Const(_) => Element::new("Const").with("ConstValue", self.expr(e)),
            Kind::Column { .. }
            | Kind::Variable(_)
            | Kind::Aggregate(_)
            | Kind::Window(_)
            | Kind::Scalar(_) => Element::new("Identifier").child(column(&self.expr(e))),
            Kind::Global(_) => intrinsic(&self.expr(e), None),
            Kind::Arithmetic(op, l, r) => Element::new("Arithmetic")
                .with("Operation", arithmetic_word(*op))
                .child(below(l))
                .child(below(r)),
            Kind::Negate(inner) => Element::new("Arithmetic")
                .with("Operation", "MINUS")
                .child(below(inner)),
            Kind::BitNot(inner) => Element::new("Arithmetic")
                .with("Operation", "BIT_NOT")
                .child(below(inner)),
            Kind::Convert {
                input,
                or_null: true,
                ..
            } => intrinsic("TRY_CONVERT", [below(input)]),
            Kind::Convert { input, style, .. } => {
                let known = style.as_ref().and_then(|s| match &s.kind {
                    Kind::Const(v) => v.as_i64(),
                    _ => None,
                });
                let computed = style.as_ref().filter(|_| known.is_none());
                typed(Element::new("Convert"), &e.ty)
                    .with("Style", known.unwrap_or(0))
                    .with("Implicit", u8::from(style.is_none()))
                    .holding(computed.map(|s| Element::new("Style").child(below(s))))
                    .child(below(input))
            }
            Kind::Case {
                branches,
                otherwise,
            } => self.case(branches, otherwise.as_deref(), depth),
            Kind::Function { function, args } => intrinsic(function.name, all(args)),
            Kind::Session { name, args } => intrinsic(&name.to_lowercase(), all(args)),
            Kind::User { function, args } => Element::new("UserDefinedFunction")
                .with("FunctionName", format_args!("[{}]", function.0.name()))
                .holding(all(args)),
            Kind::Compare(op, l, r) => compared(compare_word(*op), below(l), below(r)),
            Kind::And(parts) => logical("AND", all(parts)),
            Kind::Or(parts) => logical("OR", all(parts)),
            Kind::Not(inner) => logical("NOT", [below(inner)]),
            Kind::IsNull { input, negated } => {
                let op = if *negated { "IS NOT" } else { "IS" };
                compared(op, below(input), named_constant("NULL"))
            }
            Kind::In {
                item,
                list,
                negated,
            } => {
                let (op, between) = if *negated {
                    ("NE", "AND")
                } else {
                    ("EQ", "OR")
                };
                let one = |e: &Expr| compared(op, below(item), below(e));
                match list.as_slice() {
                    [only] => one(only),
                    _ => logical(between, list.iter().map(|e| operator(one(e)))),
                }
            }
            Kind::Exists(_) => intrinsic("EXISTS", None),
            Kind::InQuery { item, negated, .. } => {
                negated_or_not(*negated, intrinsic("IN", [below(item)]))
            }
            Kind::Quantified { op, all, item, .. } => {
                let word = if *all { "ALL" } else { "ANY" };
                let name = format!("{} {word}", compare_word(*op));
                intrinsic(&name, [below(item)])
            }
            Kind::Like {
                input,
                pattern,
                escape,
                negated,
            } => {
                let args = [input, pattern].into_iter().chain(escape);
                let args: Vec<Element> = args.map(|e| below(e)).collect();
                negated_or_not(*negated, intrinsic("like", args))
            }
        }
    }

    /// CASE: an IF for each branch, in the Else of the one before.
    fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>, depth: usize) -> Element {
        let (shown, more) = branches.split_at(branches.len().min(DEEPEST));
        let last = match otherwise {
            _ if !more.is_empty() => Element::new("Identifier").child(column("(CASE)")),
            Some(e) => self.inner(e, depth),
            None => Element::new("Const").with("ConstValue", "NULL"),
        };
        shown.iter().rev().fold(last, |rest, (when, then)| {
            let condition = self.operator(when, depth);
            let then = self.operator(then, depth);
            Element::new("IF")
                .child(Element::new("Condition").child(condition))
                .child(Element::new("Then").child(then))
                .child(Element::new("Else").child(operator(rest)))
        })
    }
}

fn negated_or_not(negated: bool, inner: Element) -> Element {
    match negated {
        true => logical("NOT", [operator(inner)]),
        false => inner,
    }
}
