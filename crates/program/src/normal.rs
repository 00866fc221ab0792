//! Expressions as the catalog keeps them: checks, defaults and computed columns in SQL Server's normal form, in which
//! names are in brackets, numbers in parentheses and built-in functions in lower case.
//!
//! The form is read off the published Northwind and pubs files (the tests have their texts). Ranges become two
//! comparisons and lists become equalities, the last first. What is not known is kept as it was written.

use duramen_tsql::ast::{
    BinaryOp, Cast, CompareOp, DataType, Expr, ExprKind, FunctionCall, Literal, TypeArg, UnaryOp,
};

/// How tightly the outermost operator binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Compare,
    Add,
    Multiply,
    Unit,
}

type Text = Option<(String, Level)>;

/// The normal form in parentheses; `None` when some part has none that is known.
pub fn normal(e: &Expr) -> Option<String> {
    let (text, _) = print(e)?;
    Some(format!("({text})"))
}

#[expect(clippy::too_many_lines, reason = "one arm an expression")]
fn print(e: &Expr) -> Text {
    let unit = |text: String| Some((text, Level::Unit));
    match &e.kind {
        ExprKind::Literal(l) => literal(l).and_then(unit),
        ExprKind::Column(name) => unit(bracketed(&name.parts)),
        ExprKind::Unary { op, expr } => unary(*op, expr),
        ExprKind::Binary { op, left, right } => {
            let (sign, level) = match op {
                BinaryOp::Add => ("+", Level::Add),
                BinaryOp::Sub => ("-", Level::Add),
                BinaryOp::BitAnd => ("&", Level::Add),
                BinaryOp::BitOr => ("|", Level::Add),
                BinaryOp::BitXor => ("^", Level::Add),
                BinaryOp::Mul => ("*", Level::Multiply),
                BinaryOp::Div => ("/", Level::Multiply),
                BinaryOp::Mod => ("%", Level::Multiply),
            };
            // What stands on the right at the same level was in parentheses.
            let right = match print(right)? {
                (text, l) if l <= level => format!("({text})"),
                (text, _) => text,
            };
            Some((format!("{}{sign}{right}", at(left, level)?), level))
        }
        ExprKind::Function(call) => function(call).and_then(unit),
        ExprKind::Cast(cast) => conversion(cast).and_then(unit),
        ExprKind::Case {
            operand,
            whens,
            otherwise,
        } => {
            let mut text = "case".to_owned();
            if let Some(operand) = operand {
                text += &format!(" {}", print(operand)?.0);
            }
            for (when, then) in whens {
                text += &format!(" when {} then {}", print(when)?.0, print(then)?.0);
            }
            if let Some(otherwise) = otherwise {
                text += &format!(" else {}", print(otherwise)?.0);
            }
            unit(text + " end")
        }
        ExprKind::Collate { expr, collation } => {
            unit(format!("{} collate {collation}", at(expr, Level::Unit)?))
        }
        ExprKind::Compare { op, left, right } => {
            let sign = match op {
                CompareOp::Eq => "=",
                CompareOp::Ne => "<>",
                CompareOp::Lt => "<",
                CompareOp::Le => "<=",
                CompareOp::Gt => ">",
                CompareOp::Ge => ">=",
            };
            comparison(left, sign, right)
        }
        ExprKind::And(l, r) => {
            let text = format!("{} AND {}", at(l, Level::And)?, at(r, Level::And)?);
            Some((text, Level::And))
        }
        ExprKind::Or(l, r) => {
            let text = format!("{} OR {}", at(l, Level::Or)?, at(r, Level::Or)?);
            Some((text, Level::Or))
        }
        ExprKind::Not(inner) => Some((not(print(inner)?), Level::Not)),
        ExprKind::IsNull { expr, negated } => {
            let word = if *negated { "IS NOT NULL" } else { "IS NULL" };
            Some((format!("{} {word}", at(expr, Level::Add)?), Level::Compare))
        }
        ExprKind::Between {
            expr,
            low,
            high,
            negated,
        } => {
            let (low, high) = (comparison(expr, ">=", low)?, comparison(expr, "<=", high)?);
            let range = (format!("{} AND {}", low.0, high.0), Level::And);
            Some(maybe_not(range, *negated))
        }
        ExprKind::InList {
            expr,
            list,
            negated,
        } => {
            let parts: Option<Vec<String>> = list
                .iter()
                .rev()
                .map(|item| comparison(expr, "=", item).map(|t| t.0))
                .collect();
            let parts = parts?;
            let level = if parts.len() > 1 {
                Level::Or
            } else {
                Level::Compare
            };
            Some(maybe_not((parts.join(" OR "), level), *negated))
        }
        ExprKind::Like {
            expr,
            pattern,
            escape,
            negated,
        } => {
            let mut text = format!(
                "{} like {}",
                at(expr, Level::Add)?,
                at(pattern, Level::Add)?
            );
            if let Some(escape) = escape {
                text += &format!(" escape {}", print(escape)?.0);
            }
            Some(maybe_not((text, Level::Compare), *negated))
        }
        _ => None,
    }
}

/// An operand: in parentheses when it binds less tightly.
fn at(e: &Expr, level: Level) -> Option<String> {
    let (text, own) = print(e)?;
    Some(match own < level {
        true => format!("({text})"),
        false => text,
    })
}

fn comparison(left: &Expr, sign: &str, right: &Expr) -> Text {
    let text = format!("{}{sign}{}", at(left, Level::Add)?, at(right, Level::Add)?);
    Some((text, Level::Compare))
}

fn not((text, level): (String, Level)) -> String {
    match level < Level::Not {
        true => format!("NOT ({text})"),
        false => format!("NOT {text}"),
    }
}

fn maybe_not(inner: (String, Level), negated: bool) -> (String, Level) {
    match negated {
        true => (not(inner), Level::Not),
        false => inner,
    }
}

fn unary(op: UnaryOp, expr: &Expr) -> Text {
    // The sign of a number is inside its parentheses.
    if let (UnaryOp::Minus, ExprKind::Literal(l)) = (op, &expr.kind)
        && let Some(n) = number(l)
    {
        return Some((format!("(-{n})"), Level::Unit));
    }
    let inner = at(expr, Level::Unit)?;
    let text = match op {
        UnaryOp::Plus => inner,
        UnaryOp::Minus => format!("-{inner}"),
        UnaryOp::BitNot => format!("~{inner}"),
    };
    Some((text, Level::Unit))
}

fn number(l: &Literal) -> Option<String> {
    match l {
        Literal::Int(n) => Some(n.to_string()),
        Literal::Decimal(d) if d.starts_with('.') => Some(format!("0{d}")),
        Literal::Decimal(d) => Some(d.clone()),
        _ => None,
    }
}

fn literal(l: &Literal) -> Option<String> {
    match l {
        Literal::Null => Some("NULL".to_owned()),
        Literal::String(s) => {
            let prefix = if s.national { "N" } else { "" };
            Some(format!("{prefix}'{}'", s.value.replace('\'', "''")))
        }
        Literal::Binary(bytes) => {
            let digits = bytes.iter().map(|b| format!("{b:02X}"));
            Some(format!("0x{}", digits.collect::<String>()))
        }
        other => Some(format!("({})", number(other)?)),
    }
}

fn bracketed(parts: &[String]) -> String {
    let quoted = parts.iter().filter(|p| !p.is_empty());
    let quoted = quoted.map(|p| duramen_tsql::ast::bracketed(p));
    quoted.collect::<Vec<_>>().join(".")
}

/// Functions that are written without parentheses, and those that mean the same with them.
const PLAIN: &[(&str, &str)] = &[
    ("current_timestamp", "getdate"),
    ("current_user", "user_name"),
    ("session_user", "user_name"),
    ("system_user", "suser_sname"),
    ("user", "user_name"),
];

fn function(call: &FunctionCall) -> Option<String> {
    let plain = call.type_arg.is_none()
        && !call.star
        && !call.distinct
        && call.over.is_none()
        && call.within_group.is_empty()
        && call.ignore_nulls.is_none();
    if !plain {
        return None;
    }
    let name = match call.name.parts.as_slice() {
        [name] => {
            let lower = name.to_lowercase();
            let plain = PLAIN.iter().find(|(word, _)| *word == lower);
            plain.map_or(lower, |(_, function)| (*function).to_owned())
        }
        parts => bracketed(parts),
    };
    let mut args = Vec::new();
    args.extend(call.datepart.clone());
    for a in &call.args {
        args.push(print(a)?.0);
    }
    Some(format!("{name}({})", args.join(",")))
}

fn conversion(cast: &Cast) -> Option<String> {
    if cast.kind == duramen_tsql::ast::CastKind::Parse {
        return None;
    }
    let name = if cast.try_ { "TRY_CAST" } else { "CONVERT" };
    let ty = type_text(&cast.ty);
    let value = print(&cast.expr)?.0;
    Some(match (&cast.style, cast.try_) {
        (None, true) => format!("{name}({value} AS {ty})"),
        (None, false) => format!("{name}({ty},{value})"),
        (Some(_), true) => return None,
        (Some(style), false) => format!("{name}({ty},{value},{})", print(style)?.0),
    })
}

fn type_text(ty: &DataType) -> String {
    let lower: Vec<String> = ty.name.parts.iter().map(|p| p.to_lowercase()).collect();
    let args: Vec<String> = ty
        .args
        .iter()
        .map(|a| match a {
            TypeArg::Number(n) => n.to_string(),
            TypeArg::Max => "max".to_owned(),
        })
        .collect();
    match args.is_empty() {
        true => bracketed(&lower),
        false => format!("{}({})", bracketed(&lower), args.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> String {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let parsed = duramen_tsql::parse_condition(text, &options);
        let parsed = parsed.or_else(|_| duramen_tsql::parse_expression(text, &options));
        normal(&parsed.expect(text)).expect("has a form")
    }

    #[test]
    fn the_texts_of_the_published_files() {
        for (written, kept) in [
            ("(BirthDate < getdate())", "([BirthDate]<getdate())"),
            (
                "(Discount >= 0 and (Discount <= 1))",
                "([Discount]>=(0) AND [Discount]<=(1))",
            ),
            ("(UnitPrice >= 0)", "([UnitPrice]>=(0))"),
            ("(zip like '[0-9][0-9]')", "([zip] like '[0-9][0-9]')"),
            (
                "(pub_id in ('1389', '0736') OR pub_id like '99[0-9][0-9]')",
                "([pub_id]='0736' OR [pub_id]='1389' OR [pub_id] like '99[0-9][0-9]')",
            ),
            ("0", "((0))"),
            ("(getdate())", "(getdate())"),
            ("CURRENT_TIMESTAMP", "(getdate())"),
            (
                "left(USER, 3) + System_User",
                "(left(user_name(),(3))+suser_sname())",
            ),
            ("CURRENT_USER", "(user_name())"),
            ("session_user", "(user_name())"),
            (
                "'New Position - title not formalized yet'",
                "('New Position - title not formalized yet')",
            ),
        ] {
            assert_eq!(form(written), kept);
        }
    }

    #[test]
    fn parentheses_stay_where_they_count() {
        for (written, kept) in [
            ("(a + b) * 2", "(([a]+[b])*(2))"),
            ("a - (b - 1)", "([a]-([b]-(1)))"),
            (
                "a > 1 and (b > 2 or c > 3)",
                "([a]>(1) AND ([b]>(2) OR [c]>(3)))",
            ),
            ("a between 1 and -2", "([a]>=(1) AND [a]<=(-2))"),
            ("a not in (1, 2)", "(NOT ([a]=(2) OR [a]=(1)))"),
            ("a is not null", "([a] IS NOT NULL)"),
            (
                "case when a > .5 then 1 else dbo.f(a) end",
                "(case when [a]>(0.5) then (1) else [dbo].[f]([a]) end)",
            ),
            (
                "cast(a as varchar(10)) + N'it''s'",
                "(CONVERT([varchar](10),[a])+N'it''s')",
            ),
            ("datepart(year, d)", "(datepart(year,[d]))"),
        ] {
            assert_eq!(form(written), kept);
        }
    }

    #[test]
    fn a_form_means_what_was_written() {
        for written in [
            "a + b * (c - 1) > 2 or not (a = 1 and b = 2)",
            "a in (1, 2) and b not like 'x'",
        ] {
            let once = form(written);
            assert_eq!(form(&once), once);
        }
    }
}
