//! Expressions as estimated plans write them: `[db].[dbo].[t].[a]=(1)`.

use duramen_base::given_up::is_given_up;
use duramen_types::{BinaryOp, Value, to_display};

use duramen_columns::CompareOp;

use duramen_query::plan::{Aggregate, AggregateKind, SortKey};
use duramen_query::{Expr, Kind};

/// What names mean where an expression stands.
pub struct Names<'n> {
    /// The columns of the row at hand.
    pub columns: &'n [String],
    /// Those of the rows around it, innermost last.
    pub outer: &'n [Vec<String>],
    /// Variables by slot, with the `@`.
    pub variables: &'n [String],
}

impl Names<'_> {
    fn column(&self, depth: usize, index: usize) -> String {
        let found = match depth {
            0 => self.columns.get(index),
            _ => {
                let row = self.outer.len().checked_sub(depth);
                row.and_then(|at| self.outer[at].get(index))
            }
        };
        found.cloned().unwrap_or_else(|| format!("[Col{index}]"))
    }

    fn list(&self, exprs: &[Expr], between: &str) -> String {
        let all: Vec<String> = exprs.iter().map(|e| self.expr(e)).collect();
        all.join(between)
    }

    /// An operand: in parentheses where it is an operation of its own.
    fn operand(&self, e: &Expr) -> String {
        match e.kind {
            Kind::Arithmetic(..) | Kind::And(_) | Kind::Or(_) => format!("({})", self.expr(e)),
            _ => self.expr(e),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm an expression")]
    pub fn expr(&self, e: &Expr) -> String {
        match &e.kind {
            Kind::Const(v) => constant(v, e),
            Kind::Column { depth, index } => self.column(*depth, *index),
            Kind::Variable(slot) => match self.variables.get(*slot) {
                Some(name) => format!("[{name}]"),
                None => format!("[@{slot}]"),
            },
            Kind::Global(name) => format!("@@{name}"),
            Kind::Aggregate(i) | Kind::Window(i) => format!("[Expr{i}]"),
            Kind::Arithmetic(op, l, r) => {
                format!("{}{}{}", self.operand(l), sign(*op), self.operand(r))
            }
            Kind::Negate(e) => format!("-{}", self.operand(e)),
            Kind::BitNot(e) => format!("~{}", self.operand(e)),
            Kind::Convert {
                input,
                style,
                or_null,
            } => {
                let word = match (or_null, style) {
                    (true, _) => "TRY_CONVERT",
                    (false, Some(_)) => "CONVERT",
                    (false, None) => "CONVERT_IMPLICIT",
                };
                let style = style.as_ref().map_or("0".to_owned(), |s| match &s.kind {
                    Kind::Const(v) => to_display(v, &s.ty),
                    _ => self.expr(s),
                });
                format!("{word}({},{},{style})", e.ty, self.expr(input))
            }
            Kind::Case {
                branches,
                otherwise,
            } => {
                let mut text = "CASE".to_owned();
                for (when, then) in branches {
                    text += &format!(" WHEN {} THEN {}", self.expr(when), self.expr(then));
                }
                if let Some(e) = otherwise {
                    text += &format!(" ELSE {}", self.expr(e));
                }
                text + " END"
            }
            Kind::Function { function, args } => {
                format!("{}({})", function.name, self.list(args, ","))
            }
            Kind::Session { name, args } => {
                format!("{}({})", name.to_lowercase(), self.list(args, ","))
            }
            Kind::User { function, args } => {
                format!("[{}]({})", function.0.name(), self.list(args, ","))
            }
            Kind::Scalar(_) => "(SUBQUERY)".to_owned(),
            Kind::Compare(op, l, r) => {
                format!(
                    "{}{}{}",
                    self.operand(l),
                    compare_sign(*op),
                    self.operand(r)
                )
            }
            Kind::And(parts) => self.parts(parts, " AND "),
            Kind::Or(parts) => self.parts(parts, " OR "),
            Kind::Not(e) => format!("NOT {}", self.operand(e)),
            Kind::IsNull { input, negated } => {
                let word = if *negated { "IS NOT NULL" } else { "IS NULL" };
                format!("{} {word}", self.operand(input))
            }
            Kind::In {
                item,
                list,
                negated,
            } => {
                let (sign, between) = if *negated {
                    ("<>", " AND ")
                } else {
                    ("=", " OR ")
                };
                let item = self.operand(item);
                let all: Vec<String> = list
                    .iter()
                    .take_while(|_| !is_given_up())
                    .map(|e| format!("{item}{sign}{}", self.operand(e)))
                    .collect();
                all.join(between)
            }
            Kind::InQuery { item, negated, .. } => {
                let word = if *negated { "NOT IN" } else { "IN" };
                format!("{} {word} (SUBQUERY)", self.operand(item))
            }
            Kind::Quantified { op, all, item, .. } => {
                let word = if *all { "ALL" } else { "ANY" };
                let sign = compare_sign(*op);
                format!("{}{sign}{word} (SUBQUERY)", self.operand(item))
            }
            Kind::Exists(_) => "EXISTS (SUBQUERY)".to_owned(),
            Kind::Like {
                input,
                pattern,
                negated,
                ..
            } => {
                let word = if *negated { "not like" } else { "like" };
                format!("{} {word} {}", self.operand(input), self.expr(pattern))
            }
        }
    }

    fn parts(&self, parts: &[Expr], between: &str) -> String {
        let wanted = parts.iter().take_while(|_| !is_given_up());
        let all: Vec<String> = wanted.map(|e| self.operand(e)).collect();
        all.join(between)
    }

    /// `[t].[a] ASC, [t].[b] DESC`
    pub fn order(&self, keys: &[SortKey]) -> String {
        let one = |k: &SortKey| {
            let word = if k.descending { "DESC" } else { "ASC" };
            format!("{} {word}", self.expr(&k.expr))
        };
        keys.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// `SUM([t].[a])`
    pub fn aggregate(&self, a: &Aggregate) -> String {
        let distinct = if a.distinct { "DISTINCT " } else { "" };
        match (&a.input, a.kind) {
            (None, _) | (_, AggregateKind::CountStar) => "Count(*)".to_owned(),
            (Some(e), kind) => {
                let name = duramen_query::estimate::aggregate_name(kind);
                format!("{name}({distinct}{})", self.expr(e))
            }
        }
    }
}

fn constant(v: &Value, e: &Expr) -> String {
    match v {
        Value::Null => "NULL".to_owned(),
        Value::VarChar(_) => format!("'{}'", to_display(v, &e.ty).replace('\'', "''")),
        Value::NVarChar(_) => format!("N'{}'", to_display(v, &e.ty).replace('\'', "''")),
        Value::Binary(_) => to_display(v, &e.ty),
        Value::Guid(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => format!("'{}'", to_display(v, &e.ty)),
        v => format!("({})", to_display(v, &e.ty)),
    }
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
    }
}

pub fn compare_sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::Ne => "<>",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
    }
}
