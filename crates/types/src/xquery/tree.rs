//! An XQuery expression as a tree, with what is known of it before any document is: whether at most one item comes out.

use super::doc::QName;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Math {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Attribute,
    Parent,
    Own,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// `None`: `*`. A name without a prefix is in the default namespace of elements.
    Name(Option<String>, Option<String>),
    Text,
    Comment,
    Instruction,
    Any,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub axis: Axis,
    pub test: Test,
    pub predicates: Vec<Expr>,
}

/// A value from outside: of the statement that the query stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outside {
    Variable(String),
    Column(String),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Text(String),
    Number(f64),
    Sequence(Vec<Expr>),
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    /// True for `eq` and its like, which take one item on each side.
    Compare(Op, bool, Box<Expr>, Box<Expr>),
    Math(Math, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
    Union(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The item at hand.
    Context,
    Root,
    /// What steps begin from, and the steps.
    Path(Box<Expr>, Vec<Step>),
    /// `(...)[...]`
    Filter(Box<Expr>, Vec<Expr>),
    Call(String, Vec<Expr>),
    Outside(usize),
}

/// A query that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    pub body: Expr,
    pub outside: Vec<Outside>,
}

impl Expr {
    /// Whether at most one item can come out.
    pub fn is_single(&self) -> bool {
        match self {
            Expr::Sequence(items) => items.len() <= 1 && items.iter().all(Expr::is_single),
            Expr::Union(..) => false,
            Expr::If(_, then, otherwise) => then.is_single() && otherwise.is_single(),
            Expr::Path(from, steps) => from.is_single() && steps.iter().all(Step::is_single),
            Expr::Filter(inner, predicates) => {
                inner.is_single() || predicates.iter().any(is_position)
            }
            Expr::Call(name, args) => match name.as_str() {
                "data" => args.iter().all(Expr::is_single),
                "distinct-values" => false,
                _ => true,
            },
            _ => true,
        }
    }
}

impl Step {
    fn is_single(&self) -> bool {
        match self.axis {
            Axis::Parent | Axis::Own => true,
            Axis::Attribute if matches!(self.test, Test::Name(_, Some(_))) => true,
            Axis::Descendant | Axis::DescendantOrSelf => false,
            _ => self.predicates.iter().any(is_position),
        }
    }
}

/// Whether a predicate leaves one item at most: a number, or `last()`.
fn is_position(predicate: &Expr) -> bool {
    match predicate {
        Expr::Number(_) => true,
        Expr::Call(name, _) => name == "last",
        Expr::Compare(Op::Eq, _, a, b) => {
            let place = |e: &Expr| matches!(e, Expr::Call(name, _) if name == "position");
            let number = |e: &Expr| matches!(e, Expr::Number(_));
            place(a) && number(b) || number(a) && place(b)
        }
        _ => false,
    }
}

/// Whether a name test holds.
pub fn names(test: (&Option<String>, &Option<String>), name: &QName) -> bool {
    test.0.as_ref().is_none_or(|uri| *uri == name.uri)
        && test.1.as_ref().is_none_or(|local| *local == name.local)
}
