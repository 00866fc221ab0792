//! Whole queries, and changes of rows, in both languages.

use duramen_os::random::Rng;

use super::both::{Both, fill, list, pair, same};
use super::generate::{COLUMNS, Column, Gen, Kind, Table};

/// A query of both engines.
pub struct Query {
    pub text: Both,
    /// The order of the rows counts.
    pub ordered: bool,
}

/// A random query.
pub fn query(rng: &mut Rng, tables: &[Table], large: bool) -> Query {
    let mut names = 0;
    let mut g = Gen {
        rng,
        tables,
        scope: Vec::new(),
        subqueries: !large,
        large,
        sources: 0,
        nested: 0,
        names: &mut names,
    };
    let kinds: Vec<Kind> = (0..1 + g.pick(3)).map(|_| kind(&mut g)).collect();
    match g.pick(10) {
        0 => {
            let text = set_operation(&mut g, &kinds);
            ordered(&mut g, text, kinds.len())
        }
        1 => {
            let text = recursive(&mut g);
            Query {
                text,
                ordered: false,
            }
        }
        2 => {
            let (body, name) = (small_select(&mut g, &kinds), g.name("cte"));
            let columns: Vec<Both> = (0..kinds.len()).map(|i| same(format!("k{i}"))).collect();
            g.scope = derived_columns(&name, &kinds);
            let outer = rest(&mut g, same(name.clone()), &kinds);
            let text = fill(
                "WITH {0} ({1}) AS ({2}) {3}",
                &[&same(name), &list(&columns, ", "), &body, &outer],
            );
            Query {
                text,
                ordered: false,
            }
        }
        3 => windowed(&mut g),
        4 | 5 => Query {
            text: grouped(&mut g),
            ordered: false,
        },
        _ => {
            let from = from(&mut g, 2);
            let text = rest(&mut g, from, &kinds);
            if g.rng.one_in(3) {
                ordered(&mut g, text, kinds.len())
            } else {
                Query {
                    text,
                    ordered: false,
                }
            }
        }
    }
}

fn kind(g: &mut Gen<'_>) -> Kind {
    if g.rng.one_in(3) {
        Kind::Text
    } else {
        Kind::Int
    }
}

fn derived_columns(alias: &str, kinds: &[Kind]) -> Vec<Column> {
    let column = |(i, kind): (usize, &Kind)| Column {
        name: format!("{alias}.k{i}"),
        kind: *kind,
    };
    kinds.iter().enumerate().map(column).collect()
}

/// ORDER BY every column, which leaves equal rows only to chance; sometimes with a limit.
fn ordered(g: &mut Gen<'_>, text: Both, columns: usize) -> Query {
    let direction = |g: &mut Gen<'_>| if g.rng.one_in(3) { " DESC" } else { "" };
    let keys: Vec<Both> = (1..=columns)
        .map(|n| same(format!("{n}{}", direction(g))))
        .collect();
    let by = list(&keys, ", ");
    let text = match g.pick(3) {
        0 => {
            let (skip, take) = (
                same(g.pick(4).to_string()),
                same((1 + g.pick(6)).to_string()),
            );
            pair(
                "{0} ORDER BY {1} OFFSET {2} ROWS FETCH NEXT {3} ROWS ONLY",
                "{0} ORDER BY {1} LIMIT {3} OFFSET {2}",
                &[&text, &by, &skip, &take],
            )
        }
        _ => fill("{0} ORDER BY {1}", &[&text, &by]),
    };
    Query {
        text,
        ordered: true,
    }
}

/// Tables that one query reads, those of its derived tables with them: each multiplies the rows by thirty where nothing
/// joins it.
const MOST_TABLES: u32 = 4;

/// A FROM clause; its columns are in scope after it.
fn from(g: &mut Gen<'_>, depth: u32) -> Both {
    let mut text = source(g, depth);
    for _ in 0..g.pick(3) {
        if g.sources >= MOST_TABLES {
            break;
        }
        let mut before = std::mem::take(&mut g.scope);
        let depth = if g.large { 0 } else { depth.saturating_sub(1) };
        let right = source(g, depth);
        let id = g.scope[0].name.clone();
        let left = std::mem::replace(&mut g.scope, before.clone());
        let wanted = g.column(Kind::Int);
        g.scope = left;
        before.append(&mut g.scope);
        g.scope = before;
        let join = [
            "JOIN",
            "JOIN",
            "LEFT JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "CROSS JOIN",
        ][g.pick(6) as usize];
        let join = match join {
            "CROSS JOIN" if g.large => "JOIN",
            other => other,
        };
        text = if join == "CROSS JOIN" {
            fill("{0} CROSS JOIN {1}", &[&text, &right])
        } else {
            let on = match wanted {
                // A row meets one row of the right side at most.
                Some(column) if g.large => fill("{0} = {1}", &[&column, &same(id)]),
                _ => join_condition(g),
            };
            fill("{0} {1} {2} ON {3}", &[&text, &same(join), &right, &on])
        };
    }
    text
}

/// Often an equality of two columns, for seeks, hashes and merges to find; no subquery. Every part names a column: SQLite
/// (3.40) takes an ON without any to be a condition of the whole query, also on the side that an outer join fills.
fn join_condition(g: &mut Gen<'_>) -> Both {
    let before = std::mem::replace(&mut g.subqueries, false);
    let kind = kind(g);
    let equal = match (g.column(kind), g.column(kind)) {
        (Some(l), Some(r)) if !g.rng.one_in(4) => Some(fill("{0} = {1}", &[&l, &r])),
        _ => None,
    };
    let condition = match equal {
        Some(e) if g.rng.one_in(3) => fill("({0} AND {1})", &[&e, &of_columns(g)]),
        Some(e) => e,
        None => of_columns(g),
    };
    g.subqueries = before;
    condition
}

/// A condition without AND that names a column.
fn of_columns(g: &mut Gen<'_>) -> Both {
    loop {
        let condition = g.condition(0);
        if g.scope.iter().any(|c| condition.ours.contains(&c.name)) {
            return condition;
        }
    }
}

fn source(g: &mut Gen<'_>, depth: u32) -> Both {
    if depth > 0 && g.rng.one_in(5) {
        let mut kinds: Vec<Kind> = (0..1 + g.pick(3)).map(|_| kind(g)).collect();
        // Something to join by.
        kinds[0] = Kind::Int;
        let outside = std::mem::take(&mut g.scope);
        let body = small_select(g, &kinds);
        let alias = g.name("d");
        g.scope = outside;
        g.scope.extend(derived_columns(&alias, &kinds));
        return fill("({0}) AS {1}", &[&body, &same(alias)]);
    }
    g.sources += 1;
    let table = g.rng.choose(g.tables).map(|t| t.name.clone());
    let alias = g.name("t");
    for (name, kind) in COLUMNS {
        let name = format!("{alias}.{name}");
        g.scope.push(Column { name, kind });
    }
    same(format!("{} AS {alias}", table.unwrap_or_default()))
}

/// A query with named columns whose numbers stay small.
fn small_select(g: &mut Gen<'_>, kinds: &[Kind]) -> Both {
    g.scope.clear();
    let from = from(g, 1);
    let mut items = Vec::new();
    for (i, kind) in kinds.iter().enumerate() {
        let name = same(format!("k{i}"));
        items.push(match kind {
            Kind::Int => fill("(({0}) % 97) AS {1}", &[&g.int(2), &name]),
            Kind::Text => pair(
                "LEFT({0}, 20) AS {1}",
                "SUBSTR({0}, 1, 20) AS {1}",
                &[&g.text(2), &name],
            ),
        });
    }
    let distinct = same(if g.rng.one_in(4) { "DISTINCT " } else { "" });
    let condition = g.condition(2);
    fill(
        "SELECT {0}{1} FROM {2} WHERE {3}",
        &[&distinct, &list(&items, ", "), &from, &condition],
    )
}

/// SELECT list, WHERE and perhaps DISTINCT over a FROM whose columns are in scope.
fn rest(g: &mut Gen<'_>, from: Both, kinds: &[Kind]) -> Both {
    let items: Vec<Both> = kinds.iter().map(|k| g.of(*k, 3)).collect();
    let distinct = same(if g.rng.one_in(4) { "DISTINCT " } else { "" });
    let select = fill(
        "SELECT {0}{1} FROM {2}",
        &[&distinct, &list(&items, ", "), &from],
    );
    if g.rng.one_in(5) {
        return select;
    }
    let condition = g.condition(3);
    fill("{0} WHERE {1}", &[&select, &condition])
}

fn set_operation(g: &mut Gen<'_>, kinds: &[Kind]) -> Both {
    let mut text = small_select(g, kinds);
    // INTERSECT binds closer in T-SQL only: it stands alone.
    let ops: &[&str] = match g.pick(4) {
        0 => &["INTERSECT"],
        1 => &["UNION"],
        2 => &["UNION ALL", "EXCEPT"],
        _ => &["EXCEPT", "UNION"],
    };
    for op in ops {
        let right = small_select(g, kinds);
        text = fill("{0} {1} {2}", &[&text, &same(*op), &right]);
    }
    text
}

fn recursive(g: &mut Gen<'_>) -> Both {
    let table = g.rng.choose(g.tables).map(|t| t.name.clone());
    let from = same(table.unwrap_or_default());
    let (rounds, step) = (1 + g.pick(6), 1 + g.pick(3));
    g.scope = vec![
        Column {
            name: "n".to_owned(),
            kind: Kind::Int,
        },
        Column {
            name: "m".to_owned(),
            kind: Kind::Int,
        },
    ];
    g.subqueries = false;
    let condition = g.condition(1);
    let (rounds, step) = (same(rounds.to_string()), same(step.to_string()));
    let tail = match g.pick(2) {
        0 => same("SELECT n, m FROM r"),
        _ => same("SELECT m, COUNT(*), SUM(n) FROM r GROUP BY m"),
    };
    fill(
        "WITH r (n, m) AS (SELECT a, 1 FROM {0} UNION ALL SELECT n + {1}, m + 1 FROM r WHERE m < {2} AND {3}) {4}",
        &[&from, &step, &rounds, &condition, &tail],
    )
}

fn grouped(g: &mut Gen<'_>) -> Both {
    let from = from(g, 1);
    let condition = g.condition(2);
    let mut keys: Vec<(Kind, Both)> = Vec::new();
    for _ in 0..g.pick(3) {
        let kind = kind(g);
        if let Some(column) = g.column(kind)
            && !keys.iter().any(|(_, k)| *k == column)
        {
            keys.push((kind, column));
        }
    }
    g.subqueries = false;
    let mut items: Vec<Both> = keys.iter().map(|(_, k)| k.clone()).collect();
    for _ in 0..1 + g.pick(3) {
        items.push(aggregate(g));
    }
    let having = g.rng.one_in(3).then(|| {
        let (l, r) = (aggregate_int(g), g.constant());
        let op = ["=", "<>", "<", ">"][g.pick(4) as usize];
        fill("{0} {1} {2}", &[&l, &same(op), &r])
    });
    let mut text = fill(
        "SELECT {0} FROM {1} WHERE {2}",
        &[&list(&items, ", "), &from, &condition],
    );
    if !keys.is_empty() {
        let keys: Vec<Both> = keys.into_iter().map(|(_, k)| k).collect();
        text = fill("{0} GROUP BY {1}", &[&text, &list(&keys, ", ")]);
    }
    match having {
        Some(h) => fill("{0} HAVING {1}", &[&text, &h]),
        None => text,
    }
}

fn aggregate(g: &mut Gen<'_>) -> Both {
    if g.rng.one_in(4) {
        let function = same(["MIN", "MAX"][g.pick(2) as usize]);
        return fill("{0}({1})", &[&function, &g.text(1)]);
    }
    aggregate_int(g)
}

fn aggregate_int(g: &mut Gen<'_>) -> Both {
    match g.pick(7) {
        0 => same("COUNT(*)"),
        1 => fill("COUNT({0})", &[&g.int(1)]),
        2 => fill("COUNT(DISTINCT {0})", &[&g.int(1)]),
        3 => fill("COUNT(DISTINCT {0})", &[&g.text(1)]),
        4 => fill("SUM({0})", &[&g.int(2)]),
        5 => fill("MIN({0})", &[&g.int(2)]),
        _ => fill("MAX({0})", &[&g.int(2)]),
    }
}

/// Window functions over base tables: an order that ends with the ids leaves nothing to chance.
fn windowed(g: &mut Gen<'_>) -> Query {
    let mut ids = Vec::new();
    let mut text = Both {
        ours: String::new(),
        theirs: String::new(),
    };
    for n in 0..1 + g.pick(if g.large { 1 } else { 2 }) {
        let table = source(g, 0);
        let id = g.scope[g.scope.len() - COLUMNS.len()].name.clone();
        ids.push(id);
        text = match n {
            0 => table,
            _ => {
                let on = join_condition(g);
                fill("{0} LEFT JOIN {1} ON {2}", &[&text, &table, &on])
            }
        };
    }
    let ids = same(ids.join(", "));
    let condition = g.condition(2);
    g.subqueries = false;
    let mut items = vec![ids.clone()];
    for _ in 0..1 + g.pick(3) {
        items.push(window(g, &ids));
    }
    Query {
        text: fill(
            "SELECT {0} FROM {1} WHERE {2}",
            &[&list(&items, ", "), &text, &condition],
        ),
        ordered: false,
    }
}

fn window(g: &mut Gen<'_>, ids: &Both) -> Both {
    let kind = kind(g);
    let by = g.column(kind).unwrap_or_else(|| ids.clone());
    let desc = same(if g.rng.one_in(3) { " DESC" } else { "" });
    let partition = match g.rng.one_in(2) {
        true => {
            let column = g.column(Kind::Int).unwrap_or_else(|| ids.clone());
            fill("PARTITION BY {0} ", &[&column])
        }
        false => same(""),
    };
    let unique = fill("ORDER BY {0}{1}, {2}", &[&by, &desc, ids]);
    let ties = fill("ORDER BY {0}{1}", &[&by, &desc]);
    let value = g.int(1);
    let (function, order) = match g.pick(11) {
        0 => (same("ROW_NUMBER()"), unique),
        1 => (same("RANK()"), ties),
        2 => (same("DENSE_RANK()"), ties),
        3 => (fill("SUM({0})", &[&value]), same("")),
        4 => (fill("SUM({0})", &[&value]), ties),
        5 => (fill("LAG({0})", &[&value]), unique),
        6 => (fill("LEAD({0}, 2)", &[&value]), unique),
        7 => (fill("FIRST_VALUE({0})", &[&value]), unique),
        8 => (same("NTILE(3)"), unique),
        9 => {
            let frame = [
                "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
                "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            ][g.pick(4) as usize];
            let function = same(["MIN", "MAX", "COUNT", "SUM"][g.pick(4) as usize]);
            (
                fill("{0}({1})", &[&function, &value]),
                fill("{0} {1}", &[&unique, &same(frame)]),
            )
        }
        _ => (same("COUNT(*)"), same("")),
    };
    fill("{0} OVER ({1}{2})", &[&function, &partition, &order])
}

/// A statement that changes one table; the table's position among `tables`.
pub fn change(rng: &mut Rng, tables: &[Table]) -> (usize, Both) {
    let mut names = 0;
    let at = rng.below(tables.len() as u64) as usize;
    let table = same(tables[at].name.clone());
    let scope = COLUMNS.iter().map(|(name, kind)| Column {
        name: (*name).to_owned(),
        kind: *kind,
    });
    let scope = scope.collect();
    let mut g = Gen {
        rng,
        tables,
        scope,
        // SQLite sees its own changes in them.
        subqueries: false,
        large: false,
        sources: 0,
        nested: 0,
        names: &mut names,
    };
    let condition = g.condition(3);
    let text = match g.pick(4) {
        0 => fill(
            "DELETE FROM {0} WHERE {1} AND id % 3 = 0",
            &[&table, &condition],
        ),
        1 => {
            let by = same((1000 + g.pick(1_000_000)).to_string());
            fill(
                "INSERT INTO {0} (id, a, b, c, d) SELECT id + {2}, {3}, b, c, d FROM {0} WHERE {1} AND id < 8",
                &[&table, &condition, &by, &small_int(&mut g)],
            )
        }
        2 => fill(
            "UPDATE {0} SET a = {2}, b = a WHERE {1}",
            &[&table, &condition, &small_int(&mut g)],
        ),
        _ => {
            let word = pair("LEFT({0}, 20)", "SUBSTR({0}, 1, 20)", &[&g.text(2)]);
            fill(
                "UPDATE {0} SET c = {2}, d = c WHERE {1}",
                &[&table, &condition, &word],
            )
        }
    };
    (at, text)
}

fn small_int(g: &mut Gen<'_>) -> Both {
    fill("(({0}) % 97)", &[&g.int(2)])
}
