//! Table variables of more rows than memory holds, against temporary tables: random statements change both alike, among
//! them such as fail half way, and both hold the same rows after each.

use super::*;

/// Every seed makes a batch of so many statements.
const STATEMENTS: usize = 60;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// One change of the table `~`.
fn change(r: &mut Random) -> String {
    let id = r.below(6_000);
    let n = r.below(2_000) + 1;
    match r.below(12) {
        // 9 MB in all, and the workspace has 8.
        0..3 => format!(
            "INSERT ~ SELECT id, id * {n} % 1000, CONCAT(id, REPLICATE('x', {})) FROM u WHERE id BETWEEN {id} AND {id} + {n} \
             AND id NOT IN (SELECT id FROM ~)",
            r.below(1_500)
        ),
        // Most of these meet a row that is there, some only after many others.
        3 => format!("INSERT ~ SELECT id, 5, 'again' FROM u WHERE id > {id} ORDER BY id"),
        4 => format!("UPDATE ~ SET a = a + {n} WHERE id % 7 = {}", n % 7),
        5 => format!("UPDATE ~ SET pad = REVERSE(pad) + 'y', a = a - 1 WHERE id < {id}"),
        // A division by zero behind rows that have been changed already.
        6 => format!("UPDATE ~ SET a = 1000 / (id - {id})"),
        7 => format!("UPDATE ~ SET id = id + 10000 WHERE id > {id} AND id < {id} + 50"),
        8 => format!("DELETE ~ WHERE a % 50 = {}", n % 50),
        9 => format!("DELETE ~ WHERE id BETWEEN {id} AND {id} + {n}"),
        10 => format!("DELETE ~ WHERE 1000 / (id - {id}) > 900"),
        _ => format!(
            "INSERT ~ SELECT id + 100000, a, pad FROM ~ WHERE id BETWEEN {id} AND {id} + {}",
            n / 20
        ),
    }
}

fn batch(seed: u64) -> String {
    let mut r = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let columns = "(id int NOT NULL PRIMARY KEY, a int, pad varchar(3000), INDEX i (a))";
    let mut sql = format!(
        "SET NOCOUNT ON; CREATE TABLE #t {columns}; DECLARE @t TABLE {columns}; \
         DECLARE @e int, @f int, @s bigint, @r bigint, @k int, @l int; "
    );
    for n in 0..STATEMENTS {
        let change = change(&mut r);
        let key = r.below(6_000);
        sql += &format!(
            "SELECT @e = 0, @f = 0; \
             BEGIN TRY {} END TRY BEGIN CATCH SET @e = ERROR_NUMBER() END CATCH; \
             BEGIN TRY {} END TRY BEGIN CATCH SET @f = ERROR_NUMBER() END CATCH; \
             SELECT @s = SUM(CONVERT(bigint, CHECKSUM(id, a, pad))) + COUNT(*) FROM @t; \
             SELECT @r = SUM(CONVERT(bigint, CHECKSUM(id, a, pad))) + COUNT(*) FROM #t; \
             SELECT @k = (SELECT LEN(pad) FROM @t WHERE id = {key}) + (SELECT COUNT(*) FROM @t WHERE a = {key}); \
             SELECT @l = (SELECT LEN(pad) FROM #t WHERE id = {key}) + (SELECT COUNT(*) FROM #t WHERE a = {key}); \
             IF @e <> @f OR ISNULL(@s, -1) <> ISNULL(@r, -1) OR ISNULL(@k, -1) <> ISNULL(@l, -1) \
             BEGIN SELECT 'differs', {n}, @e, @f, @s, @r, @k, @l, '{}'; RETURN END; ",
            change.replace('~', "@t"),
            change.replace('~', "#t"),
            change.replace('\'', "''")
        );
    }
    sql + "SELECT 'same', COUNT(*), SUM(LEN(pad)) FROM @t"
}

#[test]
fn table_variables_have_files() {
    let mut s = alone();
    for sql in [
        "CREATE TABLE u (id int NOT NULL PRIMARY KEY)",
        "INSERT u SELECT TOP 8000 ROW_NUMBER() OVER (ORDER BY a.object_id) FROM sys.all_columns a CROSS JOIN sys.types",
    ] {
        quiet(&mut s, sql);
    }
    let seeds = std::env::var("DURAMEN_SEEDS")
        .ok()
        .and_then(|n| n.parse().ok());
    let (mut most, mut failed) = (0, Vec::new());
    for seed in 1..=seeds.unwrap_or(3) {
        let said = run(&mut s, &batch(seed));
        println!("seed {seed}: {said:?}");
        let end = said.get(1).cloned().unwrap_or_default();
        match end
            .strip_prefix("same | ")
            .and_then(|e| e.split(" | ").nth(1))
        {
            Some(bytes) => most = most.max(bytes.parse::<u64>().unwrap_or(0)),
            None => failed.push(format!("seed {seed}: {said:?}")),
        }
        run(&mut s, "DROP TABLE IF EXISTS #t");
    }
    assert!(failed.is_empty(), "{failed:#?}");
    println!("at most {most} bytes at the end");
}
