//! ODBC's escapes, which T-SQL understands by itself: `{d '...'}`, `{fn f(...)}`, `{oj ...}`. JDBC and ODBC programs write
//! them and their drivers pass them on.
//!
//! A scalar function inside `{fn }` comes into the tree as the T-SQL function that does the same (ODBC Programmer's
//! Reference, appendix E). Those that no T-SQL function equals, and those whose names are reserved words here (INSERT,
//! DATABASE, CONVERT, TRUNCATE), stay what they are and are unknown.

use crate::ast::{BinaryOp, DataType, Expr, ExprKind, FunctionCall, ObjectName};
use crate::ast::{Cast, CastKind};

/// Functions that have another name in T-SQL and the same arguments.
const RENAMED: &[(&str, &str)] = &[
    ("atan2", "atn2"),
    ("char_length", "len"),
    ("character_length", "len"),
    ("ifnull", "isnull"),
    ("lcase", "lower"),
    ("length", "len"),
    ("locate", "charindex"),
    ("now", "getdate"),
    ("octet_length", "datalength"),
    ("repeat", "replicate"),
    ("ucase", "upper"),
];

/// Parts of a date that have a function each, and the T-SQL name of the part.
const PARTS: &[(&str, &str)] = &[
    ("dayofmonth", "day"),
    ("dayofweek", "weekday"),
    ("dayofyear", "dayofyear"),
    ("hour", "hour"),
    ("minute", "minute"),
    ("quarter", "quarter"),
    ("second", "second"),
    ("week", "week"),
];

/// Intervals of TIMESTAMPADD and TIMESTAMPDIFF.
const INTERVALS: &[(&str, &str)] = &[
    ("sql_tsi_second", "second"),
    ("sql_tsi_minute", "minute"),
    ("sql_tsi_hour", "hour"),
    ("sql_tsi_day", "day"),
    ("sql_tsi_week", "week"),
    ("sql_tsi_month", "month"),
    ("sql_tsi_quarter", "quarter"),
    ("sql_tsi_year", "year"),
];

fn known<'a>(list: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    let found = list.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map(|(_, t)| *t)
}

/// What `{fn ...}` holds, as T-SQL has it.
pub(super) fn scalar(expr: Expr) -> Expr {
    let line = expr.line;
    let ExprKind::Function(call) = expr.kind else {
        return expr;
    };
    let mut call = *call;
    let name = call.name.name().to_ascii_lowercase();
    let renamed = |mut call: FunctionCall, name: &str| {
        call.name = ObjectName::single(name, line);
        call
    };
    let expr = |kind: ExprKind| Expr { kind, line };
    let text = |call: FunctionCall, ty: &str| {
        let cast = |expr: Expr, ty: DataType| Expr {
            kind: ExprKind::Cast(Box::new(Cast {
                kind: CastKind::Cast,
                expr,
                ty,
                style: None,
                try_: false,
            })),
            line,
        };
        let ty = DataType {
            name: ObjectName::single(ty, line),
            args: Vec::new(),
        };
        cast(expr(ExprKind::Function(Box::new(call))), ty)
    };
    if let Some(other) = known(RENAMED, &name) {
        return expr(ExprKind::Function(Box::new(renamed(call, other))));
    }
    if let Some(part) = known(PARTS, &name) {
        call.datepart = Some(part.to_owned());
        return expr(ExprKind::Function(Box::new(renamed(call, "datepart"))));
    }
    match (name.as_str(), call.args.len()) {
        ("concat" | "mod", 2) => {
            let right = Box::new(call.args.remove(1));
            let left = Box::new(call.args.remove(0));
            let op = match name.as_str() {
                "concat" => BinaryOp::Add,
                _ => BinaryOp::Mod,
            };
            expr(ExprKind::Binary { op, left, right })
        }
        ("dayname" | "monthname", 1) => {
            let part = if name == "dayname" {
                "weekday"
            } else {
                "month"
            };
            call.datepart = Some(part.to_owned());
            expr(ExprKind::Function(Box::new(renamed(call, "datename"))))
        }
        ("curdate" | "current_date", 0) => text(renamed(call, "getdate"), "date"),
        ("curtime" | "current_time", 0) => text(renamed(call, "getdate"), "time"),
        ("timestampadd" | "timestampdiff", 3) => {
            let interval = match &call.args[0].kind {
                ExprKind::Column(c) => known(INTERVALS, c.name()),
                _ => None,
            };
            let Some(interval) = interval else {
                return expr(ExprKind::Function(Box::new(call)));
            };
            call.datepart = Some(interval.to_owned());
            call.args.remove(0);
            let other = if name == "timestampadd" {
                "dateadd"
            } else {
                "datediff"
            };
            expr(ExprKind::Function(Box::new(renamed(call, other))))
        }
        _ => expr(ExprKind::Function(Box::new(call))),
    }
}
