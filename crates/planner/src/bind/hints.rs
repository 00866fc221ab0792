//! Hints that choose how a query runs: of tables, of joins, and OPTION (...).

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::{ScanHint, Table};
use duramen_tsql::ast;

use super::{Binder, same_name, unsupported};
use crate::optimize::Method;

/// What a table's hints say about reading it. Of an index's numbers only those of the table itself are known.
pub(super) fn scan_hint(table: &dyn Table, hints: &[ast::TableHint]) -> SqlResult<ScanHint> {
    let mut found = ScanHint::None;
    for hint in hints {
        found = match (hint.name.as_str(), &hint.args[..]) {
            ("FORCESEEK", []) => ScanHint::Seek,
            ("FORCESEEK", _) => return Err(unsupported("FORCESEEK with an index", 0)),
            ("FORCESCAN", _) => ScanHint::Scan,
            ("INDEX", [one]) => index_hint(table, one)?,
            ("INDEX", _) => return Err(unsupported("INDEX with several indexes", 0)),
            _ => continue,
        };
    }
    Ok(found)
}

fn index_hint(table: &dyn Table, index: &str) -> SqlResult<ScanHint> {
    let paths = table.paths();
    let clustered = paths.iter().position(|p| p.covers_all);
    match (index, clustered) {
        ("0", _) => return Ok(ScanHint::Whole),
        ("1", Some(at)) => return Ok(ScanHint::Index(at)),
        (n, _) if n.parse::<u32>().is_ok() => {
            return Err(unsupported("INDEX with the number of an index", 0));
        }
        _ => {}
    }
    let at = paths.iter().position(|p| same_name(&p.name, index));
    at.map(ScanHint::Index)
        .ok_or_else(|| SqlError::new(&messages::INDEX_HINT_NOT_FOUND, &[&index, &table.name()]))
}

/// Hints of OPTION (...) that are followed, or ask for what is done anyway.
const KNOWN: &[&str] = &[
    "CONCAT UNION",
    "FORCE ORDER",
    "HASH GROUP",
    "HASH JOIN",
    "KEEP PLAN",
    "KEEPFIXED PLAN",
    "LOOP JOIN",
    "MAXDOP",
    "MAXRECURSION",
    "MAX_GRANT_PERCENT",
    "MERGE JOIN",
    "MIN_GRANT_PERCENT",
    "RECOMPILE",
];

/// The number of MIN_GRANT_PERCENT and MAX_GRANT_PERCENT, from 0 to 100.
pub fn percent(hint: &ast::QueryHint) -> Option<f64> {
    let number = match &hint.value {
        Some(ast::Literal::Int(n)) => f64::from(*n),
        Some(ast::Literal::Float(f)) => *f,
        Some(ast::Literal::Decimal(text)) => text.parse().ok()?,
        _ => return None,
    };
    (0.0..=100.0).contains(&number).then_some(number)
}

/// 40517 for a hint that is not followed.
pub(super) fn refused(hints: &[ast::QueryHint]) -> SqlResult<()> {
    let followed = |h: &&ast::QueryHint| {
        // MAXRECURSION without its number is none.
        let number = h.name != "MAXRECURSION" || matches!(h.value, Some(ast::Literal::Int(_)));
        let percent = !h.name.ends_with("_GRANT_PERCENT") || percent(h).is_some();
        number && percent && KNOWN.contains(&h.name.as_str())
    };
    match hints.iter().find(|h| !followed(h)) {
        Some(h) => Err(unsupported(&format!("OPTION ({})", h.name), 0)),
        None => Ok(()),
    }
}

impl Binder<'_> {
    /// What OPTION (...) of a statement says. Hints that ask for what is done anyway are accepted: queries are bound anew
    /// when their schema changes, and group by hashing. What is not followed is refused by name.
    pub fn hints(&mut self, hints: &[ast::QueryHint]) -> SqlResult<()> {
        for hint in hints {
            match (hint.name.as_str(), &hint.value) {
                ("RECOMPILE", _) => {}
                ("MAXDOP", Some(ast::Literal::Int(n))) => {
                    self.plan_hints.max_degree = u64::try_from(*n).ok();
                }
                ("MAXDOP", _) => {}
                ("MAXRECURSION", Some(ast::Literal::Int(n))) => {
                    if !(0..=32_767).contains(n) {
                        let args: [&dyn std::fmt::Display; 2] = [n, &32_767];
                        return Err(SqlError::new(&messages::MAXRECURSION_TOO_LARGE, &args));
                    }
                    self.max_recursion = *n as u64;
                }
                ("FORCE ORDER", _) => self.plan_hints.force_order = true,
                ("LOOP JOIN", _) => self.plan_hints.method = Some(Method::Loop),
                ("HASH JOIN", _) => self.plan_hints.method = Some(Method::Hash),
                ("MERGE JOIN", _) => self.plan_hints.method = Some(Method::Merge),
                _ => {}
            }
        }
        refused(hints)
    }

    /// INNER LOOP JOIN, LEFT HASH JOIN: the order of all joins is then that of the text. One method for a query.
    pub(super) fn join_hint(&mut self, hint: &str, line: u32) -> SqlResult<()> {
        let method = match hint {
            "LOOP" => Method::Loop,
            "HASH" => Method::Hash,
            "MERGE" => Method::Merge,
            other => return Err(unsupported(&format!("{other} JOIN"), line)),
        };
        if self.plan_hints.method.is_some_and(|m| m != method) {
            return Err(unsupported(
                "join hints of several methods in one query",
                line,
            ));
        }
        self.plan_hints.method = Some(method);
        self.plan_hints.force_order = true;
        Ok(())
    }
}
