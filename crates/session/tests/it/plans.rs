//! The way a query is run changes no answer: the same random queries over tables with and without indexes, with and
//! without hints, give the same rows.

use super::*;

struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn pick<'s>(&mut self, from: &[&'s str]) -> &'s str {
        from[self.roll(from.len() as u64) as usize]
    }

    fn value(&mut self, column: &str) -> String {
        match column {
            "id" => self.roll(420).to_string(),
            "s" => format!(
                "'{}'",
                ["a", "B", "abc", "x", "Ab", ""][self.roll(6) as usize]
            ),
            "d" => format!("{}.{}", self.roll(20), self.roll(10)),
            _ => self.roll(24).to_string(),
        }
    }

    fn test(&mut self, table: &str) -> String {
        let column = self.pick(&["id", "a", "b", "n", "s", "d", "t"]);
        let name = format!("{table}.{column}");
        let value = self.value(column);
        let flipped = self.roll(6) == 0;
        match self.roll(9) {
            0 => format!("{name} IS NULL"),
            1 => format!("{name} IS NOT NULL"),
            2 => format!(
                "{name} IN ({value}, {}, {})",
                self.value(column),
                self.value(column)
            ),
            3 => format!("{name} BETWEEN {value} AND {}", self.value(column)),
            4 if column == "s" => format!("{name} LIKE '{}%'", self.pick(&["a", "ab", "x", "_b"])),
            _ => {
                let sign = self.pick(&["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
                match flipped {
                    true => format!("{value} {sign} {name}"),
                    false => format!("{name} {sign} {value}"),
                }
            }
        }
    }

    fn condition(&mut self, tables: &[&str]) -> String {
        let mut text = String::new();
        for i in 0..=self.roll(4) {
            if i > 0 {
                text += self.pick(&[" AND ", " AND ", " AND ", " OR "]);
            }
            let table = self.pick(tables);
            text += &self.test(table);
        }
        text
    }
}

const MAKE: &str = "SET NOCOUNT ON;
CREATE TABLE h1 (id int NOT NULL, a int NULL, b int NOT NULL, n smallint NULL, s varchar(10) NULL, d decimal(9,2) NULL, t tinyint NOT NULL);
CREATE TABLE h2 (id int NOT NULL, a int NULL, b int NOT NULL, n smallint NULL, s varchar(10) NULL, d decimal(9,2) NULL, t tinyint NOT NULL);
DECLARE @i int = 0;
WHILE @i < 400 BEGIN
  INSERT h1 VALUES (@i, NULLIF(@i * 7 % 23, 5), @i % 20, NULLIF(@i % 17, 3), CASE @i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'a' WHEN 2 THEN 'A' WHEN 3 THEN 'abc' WHEN 4 THEN 'b' ELSE 'x' END, NULLIF(@i % 13, 4) / 2.0, @i % 19);
  IF @i % 3 = 0 INSERT h2 VALUES (@i, NULLIF(@i * 5 % 21, 5), @i % 18, NULLIF(@i % 15, 3), CASE @i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a' WHEN 2 THEN 'B' ELSE 'abc' END, NULLIF(@i % 11, 4) / 2.0, @i % 17);
  SET @i += 1;
END;
CREATE TABLE k1 (id int NOT NULL PRIMARY KEY, a int NULL, b int NOT NULL, n smallint NULL, s varchar(10) NULL, d decimal(9,2) NULL, t tinyint NOT NULL);
CREATE TABLE k2 (id int NOT NULL UNIQUE, a int NULL, b int NOT NULL, n smallint NULL, s varchar(10) NULL, d decimal(9,2) NULL, t tinyint NOT NULL);
CREATE INDEX a1 ON k1 (a, b DESC);
CREATE INDEX b1 ON k1 (b) INCLUDE (a, s);
CREATE INDEX s1 ON k1 (s, n);
CREATE INDEX n1 ON k1 (n DESC);
CREATE INDEX d1 ON k1 (d);
CREATE CLUSTERED INDEX a2 ON k2 (a);
CREATE INDEX b2 ON k2 (b, n);
CREATE INDEX s2 ON k2 (s) INCLUDE (d);
CREATE INDEX t2 ON k2 (t);
INSERT k1 SELECT * FROM h1;
INSERT k2 SELECT * FROM h2;";

/// The rows of a query in an order of their own.
fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let mut lines = run(session, sql);
    assert!(lines[0].starts_with('('), "{sql}: {lines:?}");
    // Rows with NULL that a plan does not read are not warned of.
    lines.retain(|l| !l.starts_with("Warning: Null value"));
    lines[1..].sort();
    lines
}

#[test]
fn a_seek_finds_what_a_scan_finds() {
    let mut session = alone();
    assert_eq!(run(&mut session, MAKE), Vec::<String>::new());
    let mut dice = Dice(7);
    for _ in 0..300 {
        let condition = dice.condition(&["x"]);
        let list = dice.pick(&[
            "*",
            "id",
            "a, b",
            "b, s",
            "s, n",
            "COUNT(*) AS c",
            "MAX(a) AS m",
            "MIN(b) AS m",
            "MAX(d) AS m",
        ]);
        let plain = format!("SELECT {list} FROM h1 AS x WHERE {condition}");
        let keyed = format!("SELECT {list} FROM k1 AS x WHERE {condition}");
        assert_eq!(
            rows(&mut session, &plain),
            rows(&mut session, &keyed),
            "{keyed}"
        );
        let hinted = format!("SELECT {list} FROM k1 AS x WITH (FORCESCAN) WHERE {condition}");
        assert_eq!(
            rows(&mut session, &plain),
            rows(&mut session, &hinted),
            "{hinted}"
        );
    }
}

#[test]
fn rows_come_in_the_order_asked_for_whatever_gives_it() {
    let mut session = alone();
    assert_eq!(run(&mut session, MAKE), Vec::<String>::new());
    let mut dice = Dice(11);
    for _ in 0..200 {
        let condition = dice.condition(&["x"]);
        let order = dice.pick(&[
            "id",
            "id DESC",
            "a, b DESC, id",
            "a DESC, b, id",
            "b, id",
            "s, n, id",
            "n DESC, id",
            "b DESC, id DESC",
            "a, id DESC",
        ]);
        let top = dice.pick(&["", "", "TOP (5) "]);
        let plain = format!("SELECT {top}* FROM h1 AS x WHERE {condition} ORDER BY {order}");
        let keyed = format!("SELECT {top}* FROM k1 AS x WHERE {condition} ORDER BY {order}");
        assert_eq!(
            run(&mut session, &plain),
            run(&mut session, &keyed),
            "{keyed}"
        );
    }
}

#[test]
fn joins_find_the_same_rows_in_every_way() {
    let mut session = alone();
    assert_eq!(run(&mut session, MAKE), Vec::<String>::new());
    let mut dice = Dice(13);
    for _ in 0..120 {
        let kind = dice.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
        let column = dice.pick(&["id", "a", "b", "s"]);
        let extra = match dice.roll(3) {
            0 => format!(" AND {}", dice.test("y")),
            1 => " AND x.b = y.b".to_owned(),
            _ => String::new(),
        };
        let condition = dice.condition(&["x", "y"]);
        let third = match dice.roll(3) {
            0 => " JOIN {}1 AS z ON z.id = y.id AND z.b < 10",
            _ => "",
        };
        let query = |prefix: &str| {
            format!(
                "SELECT x.id, x.s, y.id, y.d FROM {prefix}1 AS x {kind} {prefix}2 AS y ON x.{column} = y.{column}{extra}{} WHERE {condition}",
                third.replace("{}", prefix)
            )
        };
        let expected = rows(&mut session, &query("h"));
        for option in [
            "",
            " OPTION (LOOP JOIN)",
            " OPTION (HASH JOIN)",
            " OPTION (MERGE JOIN)",
            " OPTION (FORCE ORDER)",
        ] {
            let keyed = query("k") + option;
            assert_eq!(expected, rows(&mut session, &keyed), "{keyed}");
        }
    }
}

#[test]
fn merges_of_several_keys_keep_rows_and_order() {
    let mut session = alone();
    assert_eq!(run(&mut session, MAKE), Vec::<String>::new());
    let mut dice = Dice(17);
    let keys = [
        "x.a = y.a AND x.b = y.b",
        "x.b = y.b AND x.a = y.a",
        "x.n = y.n",
        "x.n = y.b AND y.s = x.s",
        "x.s = y.s AND x.n = y.n",
        "x.d = y.d",
        "x.id = y.a AND x.b <> y.b",
        "x.a + 1 = y.t",
    ];
    for _ in 0..60 {
        let kind = dice.pick(&["INNER", "LEFT", "RIGHT", "FULL"]);
        let on = dice.pick(&keys);
        let condition = dice.condition(&["x", "y"]);
        let order = dice.pick(&["x.a, x.b, x.id, y.id", "x.id, y.id", "x.b DESC, x.id, y.id"]);
        let query = |prefix: &str, hint: &str| {
            format!(
                "SELECT x.id, y.id, x.b FROM {prefix}1 AS x {kind} {hint} JOIN {prefix}2 AS y ON {on} WHERE {condition} ORDER BY {order}"
            )
        };
        let expected = run(&mut session, &query("h", "HASH"));
        assert!(expected[0].starts_with('('), "{on}: {expected:?}");
        let merged = query("k", "MERGE");
        assert_eq!(expected, run(&mut session, &merged), "{merged}");
    }
}

/// A column of rows is made of all of them; whoever stops at the first must not hear of the mistakes in the others.
#[test]
fn what_stops_early_reads_no_further() {
    let mut s = alone();
    run(
        &mut s,
        "CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL); INSERT t SELECT value, value % 7 FROM GENERATE_SERIES(1, 5000)",
    );
    let lines = run(&mut s, "SELECT TOP (1) 1 / (2 - id) FROM t");
    assert_eq!(lines, ["( int)", "1", "rows 1"]);
    // All of them are read here.
    let lines = run(&mut s, "SELECT SUM(1 / (2 - id)) FROM t");
    assert!(lines.iter().any(|l| l.starts_with("Msg 8134")), "{lines:?}");
}
