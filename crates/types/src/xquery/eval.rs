//! What a query gives for a document and the item at hand.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use duramen_base::{SqlError, SqlResult, given_up, messages};

use super::Tree;
use super::binary;
use super::doc::{Doc, Kind, NodeId, ROOT};
use super::tree::{Axis, Expr, Math, Op, Step, Test, names};

/// Nodes and values.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    Node(NodeId),
    /// The text of a node, whose type nobody knows.
    Untyped(String),
    Text(String),
    Number(f64),
    Boolean(bool),
    /// Bytes, written as xs:hexBinary or as xs:base64Binary.
    Binary(Vec<u8>, bool),
}

/// A value from outside: `sql:variable`, `sql:column`.
pub type Given<'a> = &'a [Option<Item>];

pub struct Eval<'a> {
    pub tree: &'a Tree,
    pub given: Given<'a>,
}

/// The item at hand, its position and how many there are.
#[derive(Clone, Copy)]
struct Focus<'i> {
    item: &'i Item,
    position: usize,
    last: usize,
}

fn unsupported(what: &str) -> SqlError {
    let what = format!("XQuery: {what}");
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

impl Eval<'_> {
    fn doc(&self) -> &Doc {
        &self.tree.doc
    }

    pub fn run(&self, e: &Expr, context: NodeId) -> SqlResult<Vec<Item>> {
        let item = Item::Node(context);
        let focus = Focus {
            item: &item,
            position: 1,
            last: 1,
        };
        self.eval(e, focus)
    }

    fn eval(&self, e: &Expr, focus: Focus<'_>) -> SqlResult<Vec<Item>> {
        Ok(match e {
            Expr::Text(t) => vec![Item::Text(t.clone())],
            Expr::Number(n) => vec![Item::Number(*n)],
            Expr::Sequence(items) => {
                let mut out = Vec::new();
                for (step, i) in items.iter().enumerate() {
                    given_up::after_step(step)?;
                    out.extend(self.eval(i, focus)?);
                }
                out
            }
            Expr::Or(a, b) => vec![Item::Boolean(
                self.truth(a, focus)? || self.truth(b, focus)?,
            )],
            Expr::And(a, b) => vec![Item::Boolean(
                self.truth(a, focus)? && self.truth(b, focus)?,
            )],
            Expr::Compare(op, single, a, b) => {
                let (a, b) = (self.atoms(a, focus)?, self.atoms(b, focus)?);
                if *single && (a.is_empty() || b.is_empty()) {
                    return Ok(Vec::new());
                }
                vec![Item::Boolean(any_compares(*op, &a, &b)?)]
            }
            Expr::Math(op, a, b) => {
                let (a, b) = (self.atoms(a, focus)?, self.atoms(b, focus)?);
                match (a.first(), b.first()) {
                    (Some(a), Some(b)) => vec![Item::Number(math(*op, number(a), number(b)))],
                    _ => Vec::new(),
                }
            }
            Expr::Negate(inner) => {
                let atoms = self.atoms(inner, focus)?;
                atoms
                    .first()
                    .map(|a| Item::Number(-number(a)))
                    .into_iter()
                    .collect()
            }
            Expr::Union(a, b) => {
                let mut all = self.eval(a, focus)?;
                all.extend(self.eval(b, focus)?);
                in_order(all)
            }
            Expr::If(condition, then, otherwise) => {
                let branch = if self.truth(condition, focus)? {
                    then
                } else {
                    otherwise
                };
                self.eval(branch, focus)?
            }
            Expr::Context => vec![focus.item.clone()],
            Expr::Root => vec![Item::Node(ROOT)],
            Expr::Path(from, steps) => {
                let mut items = self.eval(from, focus)?;
                for (taken, step) in steps.iter().enumerate() {
                    given_up::after_step(taken)?;
                    let mut next = Vec::new();
                    for (i, item) in items.iter().enumerate() {
                        given_up::after_step(i)?;
                        let Item::Node(at) = item else {
                            return Err(unsupported("steps from values"));
                        };
                        next.extend(self.step(step, *at)?);
                    }
                    items = in_order(next);
                }
                items
            }
            Expr::Filter(inner, predicates) => {
                let mut items = self.eval(inner, focus)?;
                for (step, p) in predicates.iter().enumerate() {
                    given_up::after_step(step)?;
                    items = self.kept(items, p)?;
                }
                items
            }
            Expr::Call(name, args) => self.call(name, args, focus)?,
            Expr::Outside(at) => self.given.get(*at).cloned().flatten().into_iter().collect(),
        })
    }

    fn step(&self, step: &Step, at: NodeId) -> SqlResult<Vec<Item>> {
        let mut found = Vec::new();
        self.walk(step.axis, at, &mut found)?;
        let principal = step.axis == Axis::Attribute;
        let hit = |id: &NodeId| match (&self.doc().node(*id).kind, &step.test) {
            (_, Test::Any) => true,
            (Kind::Attribute(name, _), Test::Name(uri, local)) => {
                (principal || step.axis == Axis::Own) && names((uri, local), name)
            }
            (Kind::Element(name), Test::Name(uri, local)) => {
                !principal && names((uri, local), name)
            }
            (Kind::Text(_), Test::Text) => true,
            (Kind::Comment(_), Test::Comment) => true,
            (Kind::Instruction(..), Test::Instruction) => true,
            _ => false,
        };
        let mut items: Vec<Item> = found.into_iter().filter(hit).map(Item::Node).collect();
        for (taken, p) in step.predicates.iter().enumerate() {
            given_up::after_step(taken)?;
            items = self.kept(items, p)?;
        }
        Ok(items)
    }

    fn walk(&self, axis: Axis, at: NodeId, out: &mut Vec<NodeId>) -> SqlResult<()> {
        let node = self.doc().node(at);
        match axis {
            Axis::Own => out.push(at),
            Axis::Parent => {
                if at != ROOT {
                    out.push(node.parent);
                }
            }
            Axis::Attribute => out.extend(&node.attributes),
            Axis::Child | Axis::Descendant | Axis::DescendantOrSelf => {
                if self.tree.lacks_children(at) {
                    return Err(unsupported("what stands beside a node of a large document"));
                }
                if axis == Axis::DescendantOrSelf {
                    out.push(at);
                }
                for c in &node.children {
                    given_up::after_step(out.len())?;
                    match axis {
                        Axis::Child => out.push(*c),
                        // As deep as documents may be nested.
                        _ => self.walk(Axis::DescendantOrSelf, *c, out)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Those that a predicate keeps: a number is a position.
    fn kept(&self, items: Vec<Item>, predicate: &Expr) -> SqlResult<Vec<Item>> {
        let last = items.len();
        if let Expr::Number(n) = predicate {
            let at = (*n >= 1.0 && n.fract() == 0.0).then_some(*n as usize - 1);
            return Ok(at
                .and_then(|at| items.get(at).cloned())
                .into_iter()
                .collect());
        }
        let mut out = Vec::new();
        for (i, item) in items.iter().enumerate() {
            given_up::after_step(i)?;
            let focus = Focus {
                item,
                position: i + 1,
                last,
            };
            let value = self.eval(predicate, focus)?;
            let keep = match value.as_slice() {
                [Item::Number(n)] => *n == (i + 1) as f64,
                other => effective(other),
            };
            if keep {
                out.push(item.clone());
            }
        }
        Ok(out)
    }

    fn truth(&self, e: &Expr, focus: Focus<'_>) -> SqlResult<bool> {
        Ok(effective(&self.eval(e, focus)?))
    }

    /// Values instead of nodes.
    pub fn atom(&self, item: &Item) -> Item {
        match item {
            Item::Node(id) => Item::Untyped(self.doc().string(*id)),
            other => other.clone(),
        }
    }

    fn atoms(&self, e: &Expr, focus: Focus<'_>) -> SqlResult<Vec<Item>> {
        let items = self.eval(e, focus)?;
        Ok(items.iter().map(|i| self.atom(i)).collect())
    }

    #[expect(clippy::too_many_lines, reason = "one arm a function")]
    fn call(&self, name: &str, args: &[Expr], focus: Focus<'_>) -> SqlResult<Vec<Item>> {
        let atoms = |i: usize| match args.get(i) {
            Some(e) => self.atoms(e, focus),
            None => Ok(vec![self.atom(focus.item)]),
        };
        let text = |i: usize| -> SqlResult<String> {
            Ok(atoms(i)?.first().map(shown).unwrap_or_default())
        };
        let numbers =
            |i: usize| -> SqlResult<Vec<f64>> { Ok(atoms(i)?.iter().map(number).collect()) };
        let one = |item| Ok(vec![item]);
        let rounded = |f: fn(f64) -> f64| -> SqlResult<Vec<Item>> {
            Ok(numbers(0)?
                .first()
                .map(|n| Item::Number(f(*n)))
                .into_iter()
                .collect())
        };
        match name {
            "position" => one(Item::Number(focus.position as f64)),
            "last" => one(Item::Number(focus.last as f64)),
            "count" => one(Item::Number(self.eval(&args[0], focus)?.len() as f64)),
            "empty" => one(Item::Boolean(self.eval(&args[0], focus)?.is_empty())),
            "not" => one(Item::Boolean(!self.truth(&args[0], focus)?)),
            "true" => one(Item::Boolean(true)),
            "false" => one(Item::Boolean(false)),
            "data" => atoms(0),
            "string" => one(Item::Text(text(0)?)),
            "number" => one(Item::Number(
                numbers(0)?.first().copied().unwrap_or(f64::NAN),
            )),
            "concat" => {
                let mut out = String::new();
                for i in 0..args.len() {
                    out += &text(i)?;
                }
                one(Item::Text(out))
            }
            "contains" => one(Item::Boolean(text(0)?.contains(&text(1)?))),
            "string-length" => one(Item::Number(text(0)?.chars().count() as f64)),
            "upper-case" => one(Item::Text(text(0)?.to_uppercase())),
            "lower-case" => one(Item::Text(text(0)?.to_lowercase())),
            "substring" => {
                let from = numbers(1)?.first().copied().unwrap_or(f64::NAN).round();
                let length = match args.len() {
                    3 => numbers(2)?.first().copied().unwrap_or(f64::NAN).round(),
                    _ => f64::INFINITY,
                };
                let inside = |i: usize| {
                    let at = i as f64 + 1.0;
                    at >= from && at < from + length
                };
                let text = text(0)?;
                let kept = text.chars().enumerate().filter(|(i, _)| inside(*i));
                one(Item::Text(kept.map(|(_, c)| c).collect()))
            }
            "sum" => one(Item::Number(numbers(0)?.iter().sum())),
            "avg" => {
                let all = numbers(0)?;
                let mean = |n: &[f64]| Item::Number(n.iter().sum::<f64>() / n.len() as f64);
                Ok((!all.is_empty()).then(|| mean(&all)).into_iter().collect())
            }
            "min" => Ok(numbers(0)?
                .into_iter()
                .reduce(f64::min)
                .map(Item::Number)
                .into_iter()
                .collect()),
            "max" => Ok(numbers(0)?
                .into_iter()
                .reduce(f64::max)
                .map(Item::Number)
                .into_iter()
                .collect()),
            "floor" => rounded(f64::floor),
            "ceiling" => rounded(f64::ceil),
            "round" => rounded(|n| (n + 0.5).floor()),
            "distinct-values" => {
                let mut out: Vec<Item> = Vec::new();
                let mut known = BTreeSet::new();
                for (step, a) in atoms(0)?.into_iter().enumerate() {
                    given_up::after_step(step)?;
                    if known.insert(shown(&a)) {
                        out.push(a);
                    }
                }
                Ok(out)
            }
            called @ ("local-name" | "namespace-uri") => {
                let items = match args.first() {
                    Some(e) => self.eval(e, focus)?,
                    None => vec![focus.item.clone()],
                };
                let name = match items.first() {
                    Some(Item::Node(id)) => match &self.doc().node(*id).kind {
                        Kind::Element(n) | Kind::Attribute(n, _) => n.clone(),
                        _ => Default::default(),
                    },
                    _ => Default::default(),
                };
                one(Item::Text(match called {
                    "local-name" => name.local,
                    _ => name.uri,
                }))
            }
            constructor => {
                let atoms = atoms(0)?;
                let Some(first) = atoms.first() else {
                    return Ok(Vec::new());
                };
                let is_hex = constructor == "xs:hexBinary";
                if is_hex || constructor == "xs:base64Binary" {
                    // What is no such thing gives nothing, as in SQL Server, where a cast that fails does.
                    let bytes = match first {
                        Item::Binary(bytes, _) => Some(bytes.clone()),
                        other if is_hex => binary::from_hex(&shown(other)),
                        other => binary::from_base64(&shown(other)),
                    };
                    let item = bytes.map(|b| Item::Binary(b, is_hex));
                    return Ok(item.into_iter().collect());
                }
                one(match constructor {
                    "xs:boolean" => Item::Boolean(matches!(shown(first).trim(), "true" | "1")),
                    "xs:string" | "xs:date" | "xs:time" | "xs:dateTime" => Item::Text(shown(first)),
                    _ => Item::Number(number(first)),
                })
            }
        }
    }
}

/// Nodes in the order of the document, each once; values as they came.
fn in_order(mut items: Vec<Item>) -> Vec<Item> {
    let id = |i: &Item| match i {
        Item::Node(id) => *id,
        _ => 0,
    };
    if items.iter().all(|i| matches!(i, Item::Node(_))) {
        items.sort_by_key(id);
        items.dedup();
    }
    items
}

/// The effective boolean value.
fn effective(items: &[Item]) -> bool {
    match items {
        [] => false,
        [Item::Boolean(b)] => *b,
        [Item::Number(n)] => *n != 0.0 && !n.is_nan(),
        [Item::Text(t) | Item::Untyped(t)] => !t.is_empty(),
        _ => true,
    }
}

pub fn number(item: &Item) -> f64 {
    match item {
        Item::Number(n) => *n,
        Item::Boolean(b) => f64::from(u8::from(*b)),
        Item::Text(t) | Item::Untyped(t) => t.trim().parse().unwrap_or(f64::NAN),
        Item::Node(_) | Item::Binary(..) => f64::NAN,
    }
}

/// A value as text.
pub fn shown(item: &Item) -> String {
    match item {
        Item::Text(t) | Item::Untyped(t) => t.clone(),
        Item::Boolean(b) => b.to_string(),
        Item::Number(n) if n.is_finite() && n.fract() == 0.0 && n.abs() < 1e15 => {
            format!("{}", *n as i64)
        }
        Item::Number(n) => n.to_string(),
        Item::Binary(bytes, true) => binary::hex(bytes),
        Item::Binary(bytes, false) => binary::base64(bytes),
        Item::Node(_) => String::new(),
    }
}

/// Whether any item of one side compares with any of the other.
fn any_compares(op: Op, a: &[Item], b: &[Item]) -> SqlResult<bool> {
    let mut step = 0;
    for x in a {
        for y in b {
            given_up::after_step(step)?;
            step += 1;
            if compares(op, x, y) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// An untyped value takes the type of the other side; two of them are texts.
fn compares(op: Op, a: &Item, b: &Item) -> bool {
    let numeric = matches!(a, Item::Number(_)) || matches!(b, Item::Number(_));
    let order = if numeric {
        number(a).partial_cmp(&number(b))
    } else if matches!(a, Item::Boolean(_)) || matches!(b, Item::Boolean(_)) {
        let truth = |i: &Item| match i {
            Item::Boolean(b) => *b,
            other => matches!(shown(other).trim(), "true" | "1"),
        };
        Some(truth(a).cmp(&truth(b)))
    } else {
        Some(shown(a).cmp(&shown(b)))
    };
    match (op, order) {
        (Op::Ne, None) => true,
        (_, None) => false,
        (Op::Eq, Some(o)) => o == Ordering::Equal,
        (Op::Ne, Some(o)) => o != Ordering::Equal,
        (Op::Lt, Some(o)) => o == Ordering::Less,
        (Op::Le, Some(o)) => o != Ordering::Greater,
        (Op::Gt, Some(o)) => o == Ordering::Greater,
        (Op::Ge, Some(o)) => o != Ordering::Less,
    }
}

fn math(op: Math, a: f64, b: f64) -> f64 {
    match op {
        Math::Add => a + b,
        Math::Sub => a - b,
        Math::Mul => a * b,
        Math::Div => a / b,
        Math::Mod => a % b,
    }
}
