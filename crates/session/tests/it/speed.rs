//! What a batch costs before its first row, and a loop without one: `DURAMEN_SPEED=1 cargo test -p duramen-session
//! --profile sim speed -- --nocapture` takes enough turns for the printed times to mean something; otherwise a few, for
//! the answers. DURAMEN_SPEED_OF=INSERT takes the batches so named alone. Times are the thread's processor time, so that neighbours do not count.

use duramen_os::time::thread_cpu;

use super::*;

/// How many turns to take.
fn turns(few: u64, many: u64) -> u64 {
    match std::env::var_os("DURAMEN_SPEED") {
        Some(_) => many,
        None => few,
    }
}

#[test]
fn speed_of_empty_loops() {
    let mut session = alone();
    let n = turns(1_000, 3_000_000);
    for (what, body) in [
        ("SET @i += 1", "SET @i += 1"),
        ("SET @i = @i + 1", "SET @i = @i + 1"),
        ("block", "BEGIN SET @i += 1 END"),
    ] {
        let start = thread_cpu();
        let text = format!("DECLARE @i int = 0; WHILE @i < {n} {body}; SELECT @i");
        let lines = run(&mut session, &text);
        assert_eq!(lines[1], n.to_string());
        let per = (thread_cpu() - start).as_nanos() / u128::from(n);
        println!("WHILE @i < n {what}: {per} ns");
    }
}

#[test]
fn quick_ints_overflow_and_convert_as_others_do() {
    let text = "DECLARE @i int = 2147483646, @b bigint, @t tinyint = 255, @n int; SET @i += 1; SET @b = @i * 1; SELECT @b; SET @n = @n + 1; IF @n > 0 SELECT 'more' ELSE SELECT 'unknown'; SET @i += 1; SELECT @i; SET @t = @t + 1";
    let lines = batch(text);
    assert_eq!(lines[1], "2147483647");
    assert_eq!(lines[4], "unknown");
    assert!(lines[6].starts_with("Msg 8115"), "{lines:?}");
    assert_eq!(lines[8], "2147483647");
    assert!(lines[10].starts_with("Msg 220"), "{lines:?}");
}

/// Batches a client may send, each with the number of its statements.
fn batches() -> Vec<(&'static str, String)> {
    let columns: Vec<String> = (0..40).map(|i| format!("c{i}")).collect();
    let defs: Vec<String> = columns.iter().map(|c| format!("{c} int NULL")).collect();
    let values: Vec<String> = (0..40).map(|i| format!("{}", i * 37)).collect();
    let names = columns.join(", ");
    let wide = format!("INSERT w ({names}) VALUES ({});\n", values.join(", "));
    let narrow = "INSERT n (a, b, c) VALUES (17, 'some text', 42.5);\n";
    let tests: Vec<String> = columns.iter().map(|c| format!("{c} > 5")).collect();
    let wide_select = format!("SELECT {names} FROM w WHERE {};\n", tests.join(" AND "));
    let sets: Vec<String> = columns.iter().map(|c| format!("{c} = {c} + 1")).collect();
    let update = format!("UPDATE w SET {} WHERE c0 = 5;\n", sets.join(", "));
    let join = "SELECT n.a, n.b, w.c1 + w.c2 AS s FROM n JOIN w ON n.a = w.c0 WHERE n.b LIKE 'x%' AND w.c7 > 17 ORDER BY n.a;\n";
    let grouped = "SELECT b, COUNT(*) AS rows_of_it, SUM(c) AS total, MAX(a) AS largest FROM n WHERE a BETWEEN 5 AND 50 GROUP BY b HAVING COUNT(*) > 3 ORDER BY total DESC;\n";
    vec![
        (
            "CREATE TABLE w",
            format!("CREATE TABLE w ({})", defs.join(", ")),
        ),
        (
            "CREATE TABLE n",
            "CREATE TABLE n (a int, b varchar(20), c decimal(9,2))".to_owned(),
        ),
        // The tables are empty as yet: these are compiled and read nothing.
        ("40 SELECTs of 40 columns", wide_select.repeat(40)),
        ("200 joins", join.repeat(200)),
        ("200 groupings", grouped.repeat(200)),
        ("40 UPDATEs of 40 columns", update.repeat(40)),
        (
            "500 DELETEs",
            "DELETE FROM n WHERE a = 17 AND b = 'some text';\n".repeat(500),
        ),
        ("500 narrow INSERTs", narrow.repeat(500)),
        ("100 INSERTs into 40 columns", wide.repeat(100)),
    ]
}

#[test]
fn speed_of_compilation() {
    let mut session = alone();
    run(&mut session, "SET NOCOUNT ON");
    let n = turns(1, 20);
    for (what, text) in batches() {
        if what.starts_with("CREATE") {
            assert_eq!(run(&mut session, &text), Vec::<String>::new());
            continue;
        }
        if std::env::var("DURAMEN_SPEED_OF").is_ok_and(|only| !what.contains(&only)) {
            continue;
        }
        let mut rate = |before: &str, after: &str| {
            let start = thread_cpu();
            for i in 0..n {
                run(&mut session, &format!("{before}{text}{after} -- {i}"));
            }
            let spent = (thread_cpu() - start).as_secs_f64();
            (text.len() as u64 * n) as f64 / 1e6 / spent
        };
        println!(
            "{what}: parsed {:.1} MB/s, parsed and compiled {:.1} MB/s, and run too {:.1} MB/s",
            rate("IF 1 = 0 BEGIN ", " END"),
            rate("SET NOEXEC ON ", " SET NOEXEC OFF"),
            rate("", " "),
        );
    }
}

/// Keys in order on both sides: what each way of joining takes. The costs of `query::cost` go by this.
#[test]
fn speed_of_joins() {
    let instance = instance();
    let mut session = login(&instance);
    let rows = turns(1_000, 100_000);
    let reported = run(
        &mut session,
        "SET NOCOUNT ON;
         CREATE TABLE d (d int);
         INSERT d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);
         CREATE TABLE l (id int PRIMARY KEY, v int, w varchar(20));
         CREATE TABLE r (id int PRIMARY KEY, v int, w varchar(20))",
    );
    assert_eq!(reported, Vec::<String>::new());
    let numbers = format!(
        "SELECT n, n % 7, 'some text' FROM (SELECT a.d + b.d * 10 + c.d * 100 + e.d * 1000 + f.d * 10000 AS n
            FROM d a CROSS JOIN d b CROSS JOIN d c CROSS JOIN d e CROSS JOIN d f) AS all_n WHERE n < {rows}"
    );
    let fill = format!("INSERT l {numbers}; INSERT r {numbers}");
    assert_eq!(run(&mut session, &fill), Vec::<String>::new());
    for (what, list) in [
        ("counted", "COUNT(*), SUM(l.v + r.v)"),
        ("with text", "COUNT(*), MAX(l.w + r.w)"),
    ] {
        let mut answers = Vec::new();
        for method in ["MERGE", "HASH"] {
            let text = format!("SELECT {list} FROM l JOIN r ON l.id = r.id OPTION ({method} JOIN)");
            run(&mut session, &text);
            let start = thread_cpu();
            for _ in 0..turns(1, 10) {
                answers.push(run(&mut session, &text));
            }
            let per = (thread_cpu() - start).as_nanos() / u128::from(turns(1, 10) * rows);
            println!("{method} JOIN, {what}: {per} ns for a row of each side");
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
    }
}
