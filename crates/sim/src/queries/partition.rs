//! Three-part queries: the rows for which a condition is true, false and unknown are all the rows there are.
//!
//! Conditions compare columns of every type with each other and with literals that must be converted, so some fail; a
//! query of which a part fails proves nothing. The same table without indexes must answer alike.

use duramen_os::random::Rng;

use super::world::{Rows, World, shown};

/// The tables: one with indexes, one without.
pub const NAMES: [&str; 2] = ["p_indexed", "p_heap"];

/// Columns with their types and literals that make sense there.
const COLUMNS: [(&str, &str, &[&str]); 13] = [
    ("i", "int", &["0", "1", "-1", "7", "2147483647"]),
    ("s", "smallint", &["0", "1", "-5", "300"]),
    ("l", "bigint", &["0", "5000000000", "-1"]),
    ("n", "decimal(9,3)", &["0", "1.500", "-0.001", "7"]),
    ("m", "money", &["0", "1.5", "-922.3372"]),
    ("f", "float", &["0", "1.5", "1e10", "-1e-3"]),
    ("t", "bit", &["0", "1"]),
    (
        "v",
        "varchar(20)",
        &["'a'", "'A'", "'ab '", "''", "'b'", "'7'"],
    ),
    (
        "w",
        "nvarchar(20)",
        &["N'a'", "N'Ab'", "N'é'", "N'ß'", "N''"],
    ),
    (
        "d",
        "datetime",
        &["'20200101'", "'2020-01-01T12:30:00.003'", "'19000101'"],
    ),
    ("e", "date", &["'20200101'", "'00010101'", "'99991231'"]),
    (
        "x",
        "datetime2(3)",
        &["'2020-01-01 00:00:00.001'", "'20200101'"],
    ),
    ("b", "varbinary(8)", &["0x", "0x01", "0x0100"]),
];

/// Statements that make the tables.
pub fn tables(rng: &mut Rng) -> Vec<String> {
    let mut out = Vec::new();
    let columns: Vec<String> = COLUMNS.iter().map(|(n, t, _)| format!("{n} {t}")).collect();
    let mut rows = Vec::new();
    for id in 0..4 + rng.below(30) {
        let mut row = vec![id.to_string()];
        for (_, _, literals) in COLUMNS {
            row.push(match rng.one_in(5) {
                true => "NULL".to_owned(),
                false => literal(rng, literals),
            });
        }
        rows.push(format!("({})", row.join(", ")));
    }
    for name in NAMES {
        out.push(format!(
            "CREATE TABLE {name} (id int NOT NULL, {})",
            columns.join(", ")
        ));
        out.extend(rows.iter().map(|r| format!("INSERT {name} VALUES {r}")));
    }
    out.push(format!("ALTER TABLE {} ADD PRIMARY KEY (id)", NAMES[0]));
    for (n, (column, _, _)) in COLUMNS.iter().enumerate() {
        if rng.one_in(2) {
            let second = COLUMNS[rng.below(13) as usize].0;
            let columns = match second == *column {
                true => (*column).to_owned(),
                false => format!("{column}, {second} DESC"),
            };
            out.push(format!("CREATE INDEX i{n} ON {} ({columns})", NAMES[0]));
        }
    }
    out
}

fn literal(rng: &mut Rng, of: &[&str]) -> String {
    of[rng.below(of.len() as u64) as usize].to_owned()
}

/// One query in three parts, over both tables. What is wrong, if anything is.
pub fn check(world: &mut World, rng: &mut Rng) -> Option<String> {
    let condition = condition(rng, 2);
    let item = match rng.below(4) {
        0 => "p.id",
        1 => "p.id, p.v, p.n",
        2 => "p.id, q.id",
        _ => "p.*",
    };
    let join = match item {
        "p.id, q.id" => {
            let kind = ["JOIN", "LEFT JOIN", "FULL JOIN"][rng.below(3) as usize];
            let column = COLUMNS[rng.below(13) as usize].0;
            format!(" {kind} {{t}} AS q ON p.{column} = q.{column}")
        }
        _ => String::new(),
    };
    let base = format!("SELECT {item} FROM {{t}} AS p{join}");
    let unknown = format!("CASE WHEN {condition} THEN 1 WHEN NOT ({condition}) THEN 0 END IS NULL");
    let parts = [condition.clone(), format!("NOT ({condition})"), unknown];
    let mut firsts: Vec<Rows> = Vec::new();
    for table in NAMES {
        let whole = base.replace("{t}", table);
        let mut all = match world.ask(&whole) {
            Ok(rows) => rows,
            Err(e) => return Some(format!("error {}: {}\n{whole}", e.number, e.message)),
        };
        let mut sum = Rows::new();
        for (n, part) in parts.iter().enumerate() {
            let Ok(rows) = world.ask(&format!("{whole} WHERE {part}")) else {
                return None;
            };
            if n == 0 {
                let mut rows = rows.clone();
                rows.sort();
                firsts.push(rows);
            }
            sum.extend(rows);
        }
        all.sort();
        sum.sort();
        if all != sum {
            return Some(format!(
                "the parts are not the whole\n{whole} WHERE {condition}\nwhole {}\nparts {}",
                shown(&all),
                shown(&sum)
            ));
        }
    }
    (firsts[0] != firsts[1]).then(|| {
        format!(
            "indexes change the answer\n{} WHERE {condition}\nwith    {}\nwithout {}",
            base.replace("{t}", NAMES[0]),
            shown(&firsts[0]),
            shown(&firsts[1])
        )
    })
}

fn condition(rng: &mut Rng, depth: u32) -> String {
    if depth > 0 && rng.one_in(2) {
        let (l, r) = (condition(rng, depth - 1), condition(rng, depth - 1));
        return match rng.below(3) {
            0 => format!("({l} AND {r})"),
            1 => format!("({l} OR {r})"),
            _ => format!("(NOT {l})"),
        };
    }
    let (name, _, literals) = COLUMNS[rng.below(13) as usize];
    let (other, _, others) = COLUMNS[rng.below(13) as usize];
    let op = ["=", "<>", "<", "<=", ">", ">="][rng.below(6) as usize];
    match rng.below(10) {
        0..=3 => format!("(p.{name} {op} {})", literal(rng, literals)),
        4 => format!("(p.{name} {op} {})", literal(rng, others)),
        5 => format!("(p.{name} {op} p.{other})"),
        6 => format!("(p.{name} IS NULL)"),
        7 => {
            let (l, h) = (literal(rng, literals), literal(rng, literals));
            format!("(p.{name} BETWEEN {l} AND {h})")
        }
        8 => {
            let (l, h) = (literal(rng, literals), literal(rng, literals));
            format!("(p.{name} IN ({l}, {h}, NULL))")
        }
        _ => {
            let pattern = ["'a%'", "'%B%'", "'_'", "'[a-b]%'", "'[^a]%'"][rng.below(5) as usize];
            format!("(p.v LIKE {pattern})")
        }
    }
}
