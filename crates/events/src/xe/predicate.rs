//! Predicates of events: bound to the fields of one event, evaluated where it fires.
//!
//! The first condition that decides ends the evaluation, from left to right: counters count how often they were asked.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use duramen_base::given_up;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::events::{EventId, EventValue};
use duramen_tsql::ast::{CompareOp, EventPredicate, ObjectName, OptionValue};
use duramen_types::{CollationId, LikePattern, Value};

use super::objects::{self, ActionId, Joined, TypeClass};

/// What a condition looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A field of the event, by position.
    Field(usize),
    Joined(Joined),
    Action(ActionId),
    /// How often this very condition was asked, this time included.
    Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Compare(CompareOp),
    /// The source is a multiple of the operand.
    Divides,
    Like {
        negated: bool,
    },
}

#[derive(Debug)]
enum Operand {
    Number(i128),
    Text(String),
    Pattern(LikePattern),
}

#[derive(Debug)]
struct Leaf {
    source: Source,
    op: Op,
    operand: Operand,
    /// Letter case counts.
    exact: bool,
    asked: AtomicU64,
}

#[derive(Debug)]
enum Node {
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Leaf(Leaf),
}

/// A condition bound to an event.
#[derive(Debug)]
pub struct Predicate {
    root: Node,
    /// The source that tells how long a wait was, if the event has one.
    duration: Option<Source>,
}

/// Gives the value of a source other than a counter; `None` when nobody knows it.
pub type Lookup<'a> = &'a dyn Fn(Source) -> Option<EventValue>;

impl Predicate {
    /// Binds a condition: 25706 for a source that is not there, 25713 for a value of another type, 25623 for an unknown
    /// function.
    pub fn bind(event: EventId, predicate: &EventPredicate) -> SqlResult<Predicate> {
        let at = event.fields().iter().position(|f| *f == "duration");
        Ok(Predicate {
            root: node(event, predicate)?,
            duration: at.map(Source::Field),
        })
    }

    pub fn holds(&self, lookup: Lookup<'_>) -> bool {
        holds(&self.root, lookup)
    }

    /// No event with a shorter `duration` (milliseconds, as waits have it) can satisfy it.
    pub fn shortest(&self) -> Duration {
        let Some(duration) = self.duration else {
            return Duration::ZERO;
        };
        Duration::from_millis(shortest(&self.root, duration))
    }
}

fn node(event: EventId, predicate: &EventPredicate) -> SqlResult<Node> {
    Ok(match predicate {
        EventPredicate::And(a, b) => Node::And(node(event, a)?.into(), node(event, b)?.into()),
        EventPredicate::Or(a, b) => Node::Or(node(event, a)?.into(), node(event, b)?.into()),
        EventPredicate::Not(inner) => Node::Not(node(event, inner)?.into()),
        EventPredicate::Compare { source, op, value } => {
            Node::Leaf(leaf(event, source, Op::Compare(*op), value, false)?)
        }
        EventPredicate::Call {
            function,
            source,
            value,
        } => {
            let (op, exact) = comparison(function)?;
            Node::Leaf(leaf(event, source, op, value, exact)?)
        }
    })
}

/// Comparisons by name; all but LIKE come in every type.
pub const COMPARISONS: &[&str] = &[
    "equal",
    "not_equal",
    "less_than",
    "less_than_equal",
    "greater_than",
    "greater_than_equal",
];
/// The types in which `package0` compares.
pub const COMPARED_TYPES: &[&str] = &[
    "boolean",
    "int64",
    "uint64",
    "unicode_string",
    "ansi_string",
];
/// The types in which `sqlserver` compares, in the order of the server's collation.
pub const COLLATED_TYPES: &[&str] = &["i_sql_unicode_string", "i_sql_ansi_string"];

/// `package0.greater_than_uint64`, `sqlserver.like_i_sql_unicode_string`; whether letter case counts.
fn comparison(function: &ObjectName) -> SqlResult<(Op, bool)> {
    let shown = function.display();
    let unknown = || {
        let args: [&dyn std::fmt::Display; 2] = [&"predicate compare", &shown];
        SqlError::new(&messages::EVENT_OBJECT_INVALID, &args)
    };
    let name = function.name().to_ascii_lowercase();
    let collated = match function.schema().map(str::to_ascii_lowercase).as_deref() {
        Some("package0") => false,
        Some("sqlserver") => true,
        _ => return Err(unknown()),
    };
    if !collated && matches!(name.as_str(), "divides_by_uint64" | "divides_by_int64") {
        return Ok((Op::Divides, false));
    }
    let types = match collated {
        true => COLLATED_TYPES,
        false => COMPARED_TYPES,
    };
    let ty = types
        .iter()
        .find_map(|t| Some((name.strip_suffix(t)?.strip_suffix('_')?, *t)));
    let (verb, ty) = ty.ok_or_else(unknown)?;
    let op = match verb {
        "equal" => Op::Compare(CompareOp::Eq),
        "not_equal" => Op::Compare(CompareOp::Ne),
        "less_than" => Op::Compare(CompareOp::Lt),
        "less_than_equal" => Op::Compare(CompareOp::Le),
        "greater_than" => Op::Compare(CompareOp::Gt),
        "greater_than_equal" => Op::Compare(CompareOp::Ge),
        "like" if collated => Op::Like { negated: false },
        "not_like" if collated => Op::Like { negated: true },
        _ => return Err(unknown()),
    };
    Ok((op, !collated && ty.ends_with("string")))
}

/// The source of that name: a field without a package, anything else with one.
fn source(event: EventId, name: &ObjectName) -> SqlResult<(Source, &'static str)> {
    let wanted = name.name();
    let found = match name.schema() {
        None => {
            let own = event
                .fields()
                .iter()
                .position(|f| f.eq_ignore_ascii_case(wanted));
            let added = objects::joined(event)
                .iter()
                .find(|j| j.name().eq_ignore_ascii_case(wanted));
            match (own, added) {
                (Some(at), _) => event.types().get(at).map(|ty| (Source::Field(at), *ty)),
                (None, Some(j)) => Some((Source::Joined(*j), j.type_name())),
                (None, None) => None,
            }
        }
        Some(package) => match objects::action(Some(package), wanted) {
            Some(action) if action.is_source() => {
                Some((Source::Action(action), action.type_name()))
            }
            _ if package.eq_ignore_ascii_case("package0")
                && ["counter", "partitioned_counter"]
                    .iter()
                    .any(|n| n.eq_ignore_ascii_case(wanted)) =>
            {
                Some((Source::Counter, "uint64"))
            }
            _ => None,
        },
    };
    found.ok_or_else(|| {
        let what = "event attribute or predicate source";
        SqlError::new(&messages::EVENT_SOURCE_NOT_FOUND, &[&what, &name.display()])
    })
}

fn leaf(
    event: EventId,
    name: &ObjectName,
    op: Op,
    value: &OptionValue,
    exact: bool,
) -> SqlResult<Leaf> {
    let (source, ty) = source(event, name)?;
    let invalid = || {
        let (what, shown) = ("event attribute or predicate source", name.display());
        let args: [&dyn std::fmt::Display; 4] = [&what, &shown, &"event", &event.name()];
        SqlError::new(&messages::EVENT_VALUE_INVALID, &args)
    };
    let operand = match (objects::class_of(ty), value) {
        (TypeClass::Number, OptionValue::Int(n)) => Operand::Number(i128::from(*n)),
        (TypeClass::Number, OptionValue::Decimal(text)) => {
            Operand::Number(text.parse().map_err(|_| invalid())?)
        }
        (TypeClass::Number, OptionValue::String(s)) if objects::is_map(ty) => {
            let key = objects::map_key(ty, &s.value).ok_or_else(invalid)?;
            Operand::Number(i128::from(key))
        }
        (TypeClass::Number, OptionValue::String(s)) if ty == "boolean" => {
            match s.value.to_ascii_lowercase().as_str() {
                "true" => Operand::Number(1),
                "false" => Operand::Number(0),
                _ => return Err(invalid()),
            }
        }
        (TypeClass::Text, OptionValue::String(s)) => Operand::Text(s.value.clone()),
        _ => return Err(invalid()),
    };
    let operand = match (op, operand) {
        (Op::Like { .. }, Operand::Text(text)) => {
            let pattern = Value::nvarchar(&text);
            let collation = CollationId::DEFAULT;
            Operand::Pattern(LikePattern::compile(&pattern, None, true, collation))
        }
        (Op::Divides, Operand::Number(0)) | (Op::Divides, Operand::Text(_)) => {
            return Err(invalid());
        }
        (Op::Like { .. }, _) => return Err(invalid()),
        (_, operand) => operand,
    };
    Ok(Leaf {
        source,
        op,
        operand,
        exact,
        asked: AtomicU64::new(0),
    })
}

fn holds(node: &Node, lookup: Lookup<'_>) -> bool {
    match node {
        Node::And(a, b) => holds(a, lookup) && holds(b, lookup),
        Node::Or(a, b) => holds(a, lookup) || holds(b, lookup),
        Node::Not(inner) => !holds(inner, lookup),
        Node::Leaf(leaf) => leaf.holds(lookup),
    }
}

/// A value as a number.
pub fn number(value: &EventValue) -> Option<i128> {
    match value {
        EventValue::Unsigned(n) => Some(i128::from(*n)),
        EventValue::Signed(n) => Some(i128::from(*n)),
        EventValue::Boolean(b) => Some(i128::from(*b)),
        EventValue::Mapped(key, _) => Some(i128::from(*key)),
        EventValue::Pointer(p) => Some(i128::from(*p)),
        EventValue::Text(_) | EventValue::Binary(_) => None,
    }
}

impl Leaf {
    fn holds(&self, lookup: Lookup<'_>) -> bool {
        let value = match self.source {
            Source::Counter => Some(EventValue::Unsigned(self.asked.fetch_add(1, Relaxed) + 1)),
            source => lookup(source),
        };
        let Some(value) = value else {
            return false;
        };
        match (&self.operand, &value) {
            (Operand::Number(n), value) => {
                let Some(found) = number(value) else {
                    return false;
                };
                match self.op {
                    Op::Compare(op) => ordered(op, found.cmp(n)),
                    Op::Divides => found % n == 0,
                    Op::Like { .. } => false,
                }
            }
            (Operand::Text(wanted), EventValue::Text(found)) => match self.op {
                Op::Compare(op) if self.exact => ordered(op, found.as_str().cmp(wanted)),
                Op::Compare(op) => ordered(op, found.to_lowercase().cmp(&wanted.to_lowercase())),
                Op::Like { .. } | Op::Divides => false,
            },
            (Operand::Pattern(pattern), EventValue::Text(found)) => {
                let negated = self.op == Op::Like { negated: true };
                // An event is told whether its request is wanted or not.
                let matches = given_up::regardless(|| pattern.matches(&Value::nvarchar(found)));
                matches.is_ok_and(|m| m != negated)
            }
            _ => false,
        }
    }
}

fn ordered(op: CompareOp, order: std::cmp::Ordering) -> bool {
    match op {
        CompareOp::Eq => order.is_eq(),
        CompareOp::Ne => order.is_ne(),
        CompareOp::Lt => order.is_lt(),
        CompareOp::Le => order.is_le(),
        CompareOp::Gt => order.is_gt(),
        CompareOp::Ge => order.is_ge(),
    }
}

/// The least `duration` that can satisfy a condition.
fn shortest(node: &Node, duration: Source) -> u64 {
    match node {
        Node::And(a, b) => shortest(a, duration).max(shortest(b, duration)),
        Node::Or(a, b) => shortest(a, duration).min(shortest(b, duration)),
        Node::Leaf(Leaf {
            source,
            op: Op::Compare(op),
            operand: Operand::Number(n),
            ..
        }) if *source == duration => {
            let least = match op {
                CompareOp::Eq | CompareOp::Ge => *n,
                CompareOp::Gt => n.saturating_add(1),
                _ => 0,
            };
            u64::try_from(least).unwrap_or(0)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
