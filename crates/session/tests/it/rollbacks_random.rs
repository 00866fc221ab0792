//! Random definitions and changes in transactions that end in every way: what is there afterwards is what was there before,
//! or what was there at the commit, and the database is sound. Each seed is one database and some thirty transactions.
//!
//! `DURAMEN_SEEDS=N` tries the first N seeds, `DURAMEN_SEED=S` that one alone.

use duramen_os::random::Rng;

use super::*;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A statement about one of a few tables; many are refused, as they come.
fn statement(rng: &mut Rng) -> String {
    let t = NAMES[rng.below(3) as usize];
    let n = rng.below(40);
    let many = 1 + rng.below(60);
    match rng.below(24) {
        0 | 1 => format!("CREATE TABLE {t} (id int IDENTITY, k int, p varchar(200))"),
        2 => format!("CREATE TABLE {t} (id smallint IDENTITY(3, 2) PRIMARY KEY, k int, p varchar(max))"),
        3 => format!("SELECT IDENTITY(int, 5, 5) AS id, k, p INTO {t} FROM {}", NAMES[n as usize % 3]),
        4 => format!("DROP TABLE {t}"),
        5 => format!("TRUNCATE TABLE {t}"),
        6 => format!("ALTER TABLE {t} ADD x{} int IDENTITY", n % 3),
        7 => format!("ALTER TABLE {t} ADD y{} varchar(20) NOT NULL DEFAULT 'y'", n % 3),
        8 => format!("ALTER TABLE {t} DROP COLUMN id"),
        9 => format!("EXEC sp_rename '{t}.k', 'kk{}', 'COLUMN'", "k".repeat(n as usize)),
        10 => format!("CREATE INDEX i{} ON {t} (k)", n % 3),
        11 => format!("CREATE CLUSTERED INDEX ci ON {t} (k)"),
        12 => format!("DROP INDEX {t}.i{}", n % 3),
        13 => format!("DBCC CHECKIDENT ({t}, RESEED, {}) WITH NO_INFOMSGS", n * 50),
        14 => format!("ALTER TABLE {t} ADD v rowversion"),
        15 => format!("DELETE {t} WHERE k % 3 = {}", n % 3),
        16 => format!("UPDATE {t} SET k = k + 1, p = REPLICATE('q', {}) WHERE k % 4 = {}", n * 5, n % 4),
        17 => "CREATE TABLE #t (id int IDENTITY, k int); INSERT #t SELECT value FROM GENERATE_SERIES(1, 20); DROP TABLE #t".to_owned(),
        18 => format!("CREATE PROCEDURE p{} AS SELECT 1", n % 3),
        _ => format!("INSERT {t} (k, p) SELECT value, REPLICATE('p', {}) FROM GENERATE_SERIES(1, {many})", n * 20),
    }
}

/// All that can be seen of the database.
fn seen(s: &mut Session) -> Vec<String> {
    let mut all = run(
        s,
        "SELECT name, type FROM sys.objects WHERE is_ms_shipped = 0 ORDER BY type, name; SELECT OBJECT_NAME(object_id), column_id, name, system_type_id, is_identity FROM sys.columns WHERE OBJECTPROPERTY(object_id, 'IsUserTable') = 1 ORDER BY 1, 2; SELECT OBJECT_NAME(object_id), index_id, name, type FROM sys.indexes WHERE OBJECTPROPERTY(object_id, 'IsUserTable') = 1 ORDER BY 1, 2",
    );
    for t in NAMES {
        let mut rows = run(
            s,
            &format!("IF OBJECT_ID('{t}') IS NOT NULL SELECT * FROM {t}"),
        );
        rows.sort();
        all.extend(rows);
    }
    // Names that the server makes up for what a transaction brought back are those that they were.
    all
}

/// Statements until the dice or the transaction ends them, with savepoints that are gone back to.
fn work(s: &mut Session, rng: &mut Rng, reported: &mut Vec<String>) {
    let mut saved: Option<Vec<String>> = None;
    for _ in 0..2 + rng.below(7) {
        match (rng.below(6), saved.take()) {
            (0, None) => {
                run(s, "SAVE TRAN s");
                reported.push("SAVE TRAN s".to_owned());
                saved = Some(seen(s));
            }
            (0, Some(was)) => {
                reported.push("ROLLBACK TRAN s".to_owned());
                let lines = run(s, "ROLLBACK TRAN s");
                assert_eq!(lines, Vec::<String>::new(), "{reported:#?}");
                assert_eq!(seen(s), was, "{reported:#?}");
            }
            (_, kept) => {
                saved = kept;
                let sql = statement(rng);
                let lines = run(s, &sql);
                let error = lines.iter().find(|l| l.starts_with("Msg"));
                let deep = error.is_some_and(|l| l.contains("Level 2"));
                reported.push(format!("{sql} -- {}", error.map_or("", |e| e)));
                assert!(!deep, "{reported:#?}");
                if run(s, "SELECT @@TRANCOUNT")[1] == "0" {
                    return;
                }
            }
        }
    }
}

fn sound(s: &mut Session, reported: &[String]) {
    let lines = run(
        s,
        "DBCC CHECKDB WITH NO_INFOMSGS; SELECT COUNT(*) FROM sys.dm_tran_database_transactions WHERE database_transaction_begin_lsn IS NOT NULL",
    );
    assert_eq!(
        lines.get(1).map(String::as_str),
        Some("0"),
        "{lines:?} {reported:#?}"
    );
}

fn enter(instance: &Arc<Instance>, reported: &[String]) -> Session {
    let mut s = login(instance);
    let lines = run(&mut s, "USE d");
    assert!(
        lines[0].starts_with("Changed database context"),
        "{lines:?} {reported:#?}"
    );
    s
}

fn one(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut disk = SimDisk::new(seed);
    let mut instance = start(&disk.env());
    run(&mut login(&instance), "CREATE DATABASE d");
    let mut reported = vec![format!("seed {seed}")];
    for round in 0..24 {
        let mut s = enter(&instance, &reported);
        let was = seen(&mut s);
        reported.push("BEGIN TRAN".to_owned());
        run(&mut s, "BEGIN TRAN");
        work(&mut s, &mut rng, &mut reported);
        if run(&mut s, "SELECT @@TRANCOUNT")[1] == "0" {
            // Its own errors have ended it.
            assert_eq!(seen(&mut s), was, "{reported:#?}");
            continue;
        }
        let now = seen(&mut s);
        let end = rng.below(6);
        reported.push(format!("-- end {end}"));
        match end {
            0 | 1 => {
                let lines = run(&mut s, "ROLLBACK");
                assert_eq!(lines, Vec::<String>::new(), "{reported:#?}");
                assert_eq!(seen(&mut s), was, "{reported:#?}");
            }
            2 => {
                drop(s);
                assert_eq!(seen(&mut enter(&instance, &reported)), was, "{reported:#?}");
            }
            3 => {
                let lines = run(&mut s, "COMMIT");
                assert_eq!(lines, Vec::<String>::new(), "{reported:#?}");
                assert_eq!(seen(&mut s), now, "{reported:#?}");
            }
            _ => {
                // Power fails, now and then also while that is recovered from.
                let commits = end == 5;
                if commits {
                    run(&mut s, "COMMIT");
                }
                run(&mut enter(&instance, &reported), "EXEC sys.sp_flush_log");
                let crashed = disk.crash(seed + round);
                drop(s);
                drop(instance);
                disk = crashed;
                if rng.below(2) == 0 {
                    disk.power_off_after(rng.below(60));
                    let cut = duramen_session::start(&disk.env(), config(Default::default()));
                    disk = disk.crash(seed + round + 1000);
                    if let Ok(cut) = cut {
                        drop(Started(cut));
                    }
                }
                instance = start(&disk.env());
                let mut s = enter(&instance, &reported);
                let wanted = if commits { &now } else { &was };
                assert_eq!(&seen(&mut s), wanted, "{reported:#?}");
                sound(&mut s, &reported);
            }
        }
    }
    sound(&mut enter(&instance, &reported), &reported);
}

#[test]
fn whatever_a_transaction_defines_its_end_is_as_if_it_had_not_or_as_it_was() {
    let number = |name: &str| -> Option<u64> { std::env::var(name).ok()?.parse().ok() };
    if let Some(seed) = number("DURAMEN_SEED") {
        return one(seed);
    }
    for seed in 1..=number("DURAMEN_SEEDS").unwrap_or(2) {
        one(seed);
    }
}
