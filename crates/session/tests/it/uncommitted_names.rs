//! Sessions that define, change and drop things of every kind at once, inside transactions that commit or not: nobody sees or
//! uses what another has not committed, nothing is left behind by a rollback, and no lock outlives its session.
//!
//! What a transaction makes carries its number where that can be: as the name of a table's first column, or as what a
//! procedure, view or function gives. Whoever meets a number must find that its transaction commits, or is its own.
//! `NAMES=seeds cargo test -p duramen-session --test it uncommitted` runs so many seeds, `NAMES=first+seeds` from another;
//! with `NAMES_LOG` every statement is told with its session and answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::Simulation;
use duramen_os::sync::Mutex;
use duramen_os::thread;
use duramen_session::Session;

use super::{login, run, start};

/// Errors that a session may meet when names come and go are many; these it may not: what was found is not what is, and what
/// ends a session or a database.
const STALE: u32 = 2801;
const FATAL: u32 = 17;

/// What all sessions know of transactions and rows.
#[derive(Default)]
struct Known {
    next: u64,
    /// Transactions that have begun to commit.
    committed: BTreeSet<u64>,
    /// Rows that were acknowledged, by the number of their table: they stand as long as it does.
    rows: BTreeMap<u64, BTreeSet<u64>>,
    /// Tables that somebody has emptied.
    emptied: BTreeSet<u64>,
    errors: BTreeMap<u32, u64>,
    statements: u64,
    waits: u64,
}

struct Actor {
    session: Session,
    rng: Rng,
    known: Arc<Mutex<Known>>,
    /// The number of the open transaction.
    own: u64,
    /// Rows inserted by it.
    pending: Vec<(u64, u64)>,
    emptied: Vec<u64>,
    /// The number of the last table that it made.
    made: u64,
    open: bool,
    seed: u64,
    log: Vec<String>,
}

/// Statements that define. `@` is the number of the transaction, `%` one of the names of a kind.
const DEFINITIONS: &[&str] = &[
    "CREATE TABLE t% (x@ int)",
    "CREATE TABLE t% (x@ int PRIMARY KEY, y int)",
    "CREATE TABLE t% (x@ int CONSTRAINT c% CHECK (x@ < 1000000000), z ty% NULL)",
    "CREATE TABLE s%.t1 (x@ int)",
    "CREATE TABLE t% (x@ int) ON ps%(x@)",
    "DROP TABLE t%",
    "DROP TABLE IF EXISTS t%",
    "DROP TABLE s%.t1",
    "SELECT @ AS x@ INTO t%",
    "ALTER TABLE t% ADD y int",
    "ALTER TABLE t% ADD y int NOT NULL DEFAULT 5",
    "ALTER TABLE t% DROP COLUMN y",
    "ALTER TABLE t% ADD CONSTRAINT c% CHECK (1 = 1)",
    "ALTER TABLE t% DROP CONSTRAINT c%",
    "CREATE INDEX i1 ON t% (y)",
    "DROP INDEX i1 ON t%",
    "ALTER INDEX ALL ON t% REBUILD",
    "CREATE STATISTICS st ON t% (y)",
    "DROP STATISTICS t%.st",
    "EXEC sp_rename 't%', 't1'",
    "EXEC sp_rename 't%.y', 'z', 'COLUMN'",
    "ALTER SCHEMA s% TRANSFER dbo.t1",
    "ALTER SCHEMA dbo TRANSFER s%.t1",
    "CREATE PROCEDURE p% AS SELECT @ AS stamp",
    "ALTER PROCEDURE p% AS SELECT @ AS stamp",
    "CREATE OR ALTER PROCEDURE p% AS SELECT @ AS stamp",
    "DROP PROCEDURE p%",
    "CREATE VIEW v% AS SELECT @ AS stamp",
    "ALTER VIEW v% AS SELECT @ AS stamp",
    "DROP VIEW v%",
    "CREATE FUNCTION f% () RETURNS int AS BEGIN RETURN @ END",
    "ALTER FUNCTION f% () RETURNS int AS BEGIN RETURN @ END",
    "DROP FUNCTION f%",
    "CREATE FUNCTION g% () RETURNS TABLE AS RETURN SELECT @ AS stamp",
    "DROP FUNCTION g%",
    "CREATE TRIGGER tr% ON t% AFTER INSERT AS SET NOCOUNT ON",
    "DROP TRIGGER tr%",
    "CREATE SYNONYM y% FOR dbo.t%",
    "DROP SYNONYM y%",
    "CREATE TYPE ty% FROM int",
    "DROP TYPE ty%",
    "CREATE TYPE tt% AS TABLE (a int)",
    "DROP TYPE tt%",
    "CREATE SCHEMA s%",
    "CREATE SCHEMA s% AUTHORIZATION u%",
    "DROP SCHEMA s%",
    "CREATE USER u% WITHOUT LOGIN",
    "DROP USER u%",
    "CREATE ROLE r%",
    "DROP ROLE r%",
    "ALTER ROLE r% ADD MEMBER u%",
    "ALTER ROLE r% DROP MEMBER u%",
    "GRANT SELECT ON t% TO u%",
    "GRANT SELECT ON SCHEMA::s% TO r%",
    "GRANT EXECUTE TO u%",
    "REVOKE SELECT ON t% FROM u%",
    "DENY SELECT ON t% TO u%",
    "DENY EXECUTE TO u%",
    "REVOKE EXECUTE FROM u%",
    "GRANT CREATE TABLE TO public",
    "DENY CREATE TABLE TO public",
    "REVOKE CREATE TABLE FROM public",
    "ALTER ROLE db_datareader ADD MEMBER u%",
    "ALTER ROLE db_datareader DROP MEMBER u%",
    "CREATE PARTITION FUNCTION pf% (int) AS RANGE LEFT FOR VALUES (10)",
    "DROP PARTITION FUNCTION pf%",
    "CREATE PARTITION SCHEME ps% AS PARTITION pf% ALL TO ([PRIMARY])",
    "DROP PARTITION SCHEME ps%",
    "ALTER PARTITION SCHEME ps% NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf% () SPLIT RANGE (20)",
    "ALTER PARTITION FUNCTION pf% () MERGE RANGE (20)",
    "EXEC sp_addextendedproperty 'n%', @, 'SCHEMA', 'dbo', 'TABLE', 't%'",
    "EXEC sp_updateextendedproperty 'n1', @, 'SCHEMA', 'dbo', 'TABLE', 't%'",
    "EXEC sp_addextendedproperty 'm%', @",
    "EXEC sp_dropextendedproperty 'm%'",
    "EXEC sp_dropextendedproperty 'n%', 'SCHEMA', 'dbo', 'TABLE', 't%'",
    "CREATE PROCEDURE #p% AS SELECT @ AS stamp",
    "DROP PROCEDURE IF EXISTS #p%",
    "CREATE TABLE #t% (x@ int)",
    "DROP TABLE IF EXISTS #t%",
];

/// What looks, and what uses.
const LOOKS: &[&str] = &[
    "SELECT * FROM t%",
    "SELECT * FROM s%.t1",
    "SELECT * FROM y%",
    "EXEC p%",
    "SELECT stamp FROM v%",
    "SELECT dbo.f%() AS stamp",
    "SELECT stamp FROM g%()",
    "SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t%')",
    "SELECT c.name FROM sys.columns c JOIN sys.tables t ON t.object_id = c.object_id",
    "SELECT o.name FROM sys.objects o WHERE o.object_id > 100 AND NOT EXISTS (SELECT 1 FROM sys.schemas s WHERE s.schema_id = o.schema_id)",
    "SELECT COL_LENGTH('t%', 'y')",
    "SELECT SCHEMA_ID('s%'), TYPE_ID('ty%'), USER_ID('u%')",
    "SELECT y FROM t%",
    "UPDATE t% SET y = 1",
    "DELETE t% WHERE y = -1",
    "EXEC #p%",
    "SELECT * FROM #t%",
    "DECLARE @v tt%; SELECT * FROM @v",
];

fn numbers_in(line: &str) -> Vec<u64> {
    // A column of a table, or a stamp.
    let heading = line.trim_start_matches('(');
    let mut found = Vec::new();
    for word in heading.split(|c: char| !c.is_ascii_alphanumeric()) {
        if let Some(n) = word.strip_prefix('x').and_then(|n| n.parse().ok()) {
            found.push(n);
        }
    }
    found
}

impl Actor {
    fn run(&mut self, sql: &str) -> Vec<String> {
        self.log.push(sql.to_owned());
        let lines = run(&mut self.session, sql);
        if std::env::var_os("NAMES_LOG").is_some() {
            println!("{}: {sql}: {}", self.session.spid(), lines.join("; "));
        }
        if let Some(last) = lines.last().filter(|l| !l.starts_with("rows ")) {
            self.log.push(format!("-- {last}"));
        }
        let mut known = self.known.lock();
        known.statements += 1;
        for line in &lines {
            let Some(rest) = line.strip_prefix("Msg ") else {
                continue;
            };
            let number: u32 = rest
                .split(',')
                .next()
                .and_then(|n| n.parse().ok())
                .unwrap_or(0);
            *known.errors.entry(number).or_default() += 1;
            known.waits += u64::from(number == 1222);
            // A query whose heading is out cannot have another: its table has changed while it waited for it.
            let heading_reported = lines[0].starts_with('(') && line.contains("of the statement");
            let mut numbers = rest
                .split(|c: char| !c.is_ascii_digit())
                .filter(|n| !n.is_empty());
            let severity: u32 = numbers.nth(1).and_then(|n| n.parse().ok()).unwrap_or(99);
            assert!(
                severity < FATAL
                    && (number != STALE || heading_reported)
                    && !line.contains("sys.")
                    && !line.contains("in object 'object "),
                "seed {}: {sql}: {line}\n{:#?}",
                self.seed,
                self.log
            );
        }
        drop(known);
        // Some errors end the transaction.
        if self.open && lines.iter().any(|l| l.starts_with("Msg ")) {
            let count = run(&mut self.session, "SELECT @@TRANCOUNT");
            self.open = count.get(1).is_none_or(|n| n != "0");
        }
        lines
    }

    fn fill(&mut self, template: &str) -> String {
        let name = (1 + self.rng.below(3)).to_string();
        template
            .replace('@', &self.own.to_string())
            .replace('%', &name)
            .replace("DECLARE 1v", "DECLARE @v")
    }

    fn definition(&mut self) {
        let at = self.rng.below(DEFINITIONS.len() as u64) as usize;
        let sql = self.fill(DEFINITIONS[at]);
        let lines = self.run(&sql);
        let makes =
            sql.starts_with("CREATE TABLE ") && !sql.contains('#') || sql.contains(" INTO ");
        if makes && !lines.iter().any(|l| l.starts_with("Msg ")) {
            // Of two tables with one number nobody can say whose a row is.
            if self.made == self.own {
                self.emptied.push(self.own);
            }
            self.made = self.own;
        }
    }

    fn look(&mut self) {
        let at = self.rng.below(LOOKS.len() as u64) as usize;
        let name = (1 + self.rng.below(3)).to_string();
        let sql = LOOKS[at].replace('%', &name);
        let lines = self.run(&sql);
        let stamped = lines.first().is_some_and(|l| l.starts_with("(stamp "));
        let known = self.known.lock();
        for line in lines.iter().filter(|l| !l.starts_with("Msg ")) {
            let mut seen = numbers_in(line);
            if stamped {
                seen.extend(line.parse::<u64>());
            }
            for n in seen {
                assert!(
                    n == self.own || known.committed.contains(&n),
                    "seed {}: {sql} shows {n}, which has not committed: {lines:?}\n{:#?}",
                    self.seed,
                    self.log
                );
            }
        }
    }

    /// A row for whatever table has the name now.
    fn insert(&mut self) {
        let name = 1 + self.rng.below(3);
        let lines = self.run(&format!("SELECT * FROM t{name}"));
        let Some(of) = lines.first().and_then(|l| numbers_in(l).first().copied()) else {
            return;
        };
        let value = {
            let mut known = self.known.lock();
            known.next += 1;
            known.next
        };
        let lines = self.run(&format!("INSERT t{name} (x{of}) VALUES ({value})"));
        if lines == ["rows 1"] {
            self.pending.push((of, value));
        }
    }

    fn empty(&mut self) {
        let name = 1 + self.rng.below(3);
        let lines = self.run(&format!("SELECT * FROM t{name}"));
        let Some(of) = lines.first().and_then(|l| numbers_in(l).first().copied()) else {
            return;
        };
        // A table that has come instead is emptied as well: then it does not count either.
        let lines = self.run(&format!(
            "DECLARE @o int = OBJECT_ID('t{name}'); TRUNCATE TABLE t{name}; SELECT name FROM sys.columns WHERE object_id = @o OR object_id = OBJECT_ID('t{name}')"
        ));
        self.emptied.push(of);
        for line in &lines {
            self.emptied.extend(numbers_in(line));
        }
    }

    fn settle(&mut self, commits: bool) {
        let mut known = self.known.lock();
        if commits {
            for (of, value) in self.pending.drain(..) {
                known.rows.entry(of).or_default().insert(value);
            }
        }
        // What was perhaps emptied says nothing any more.
        let emptied = std::mem::take(&mut self.emptied);
        known.emptied.extend(emptied);
        self.pending.clear();
    }

    fn transaction(&mut self) {
        self.own = {
            let mut known = self.known.lock();
            known.next += 1;
            known.next
        };
        let explicit = self.rng.below(4) != 0;
        if !explicit {
            // By itself: committed when it is told.
            self.known.lock().committed.insert(self.own);
        }
        if explicit {
            self.run("BEGIN TRAN");
            self.open = true;
        }
        let mut saved = false;
        for _ in 0..1 + self.rng.below(6) {
            match self.rng.below(12) {
                0..=4 => self.definition(),
                5..=7 => self.look(),
                8 | 9 => self.insert(),
                10 if explicit && self.open => {
                    match saved && self.rng.below(2) == 0 {
                        true => {
                            // Rows since then are gone, those before may be: none of them counts.
                            self.run("ROLLBACK TRAN here");
                            self.pending.clear();
                        }
                        false => {
                            self.run("SAVE TRAN here");
                            saved = true;
                        }
                    }
                }
                11 => self.empty(),
                _ => self.look(),
            }
            if explicit && !self.open {
                break;
            }
            if !explicit {
                self.settle(true);
            }
        }
        if explicit && self.open {
            let commits = self.rng.below(2) == 0;
            if commits {
                self.known.lock().committed.insert(self.own);
                let lines = self.run("COMMIT");
                self.settle(lines.is_empty());
            } else {
                self.run("ROLLBACK");
                self.settle(false);
            }
        } else {
            // A deadlock's victim has nothing left.
            self.run("IF @@TRANCOUNT > 0 ROLLBACK");
            self.settle(false);
        }
        self.open = false;
    }
}

/// All that must hold when nobody is at work.
fn at_rest(instance: &Arc<Instance>, known: &Known, seed: u64) {
    let mut s = login(instance);
    for name in ["master", "tempdb", "d"] {
        let db = instance.databases.find(name).expect("the database");
        let differs = db.catalog.differs_from_rows().expect("it is read");
        assert_eq!(differs, None, "seed {seed}: {name}");
    }
    run(&mut s, "USE d");
    for sql in [
        "DBCC CHECKDB (d) WITH NO_INFOMSGS",
        "DBCC CHECKCATALOG (d) WITH NO_INFOMSGS",
        "DBCC CHECKDB (tempdb) WITH NO_INFOMSGS",
    ] {
        assert_eq!(run(&mut s, sql), Vec::<String>::new(), "seed {seed}: {sql}");
    }
    let locks = run(
        &mut s,
        "SELECT resource_type, request_mode, request_session_id FROM sys.dm_tran_locks WHERE resource_type <> 'DATABASE'",
    );
    assert_eq!(locks.len(), 2, "seed {seed}: {locks:?}");
    let left = run(
        &mut s,
        "SELECT name FROM tempdb.sys.objects WHERE name LIKE '#%'",
    );
    assert_eq!(left, ["(name nvarchar(128))", "rows 0"], "seed {seed}");
    let tables = run(
        &mut s,
        "SELECT s.name + '.' + t.name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id",
    );
    for table in tables
        .iter()
        .filter(|l| !l.starts_with('(') && !l.starts_with("rows "))
    {
        let lines = run(&mut s, &format!("SELECT * FROM {table}"));
        let Some(of) = numbers_in(&lines[0]).first().copied() else {
            panic!("seed {seed}: {table}: {lines:?}");
        };
        assert!(
            known.committed.contains(&of),
            "seed {seed}: {table} of {of}"
        );
        if known.emptied.contains(&of) {
            continue;
        }
        let there: BTreeSet<&str> = lines.iter().filter_map(|l| l.split(" | ").next()).collect();
        for row in known.rows.get(&of).into_iter().flatten() {
            assert!(
                there.contains(row.to_string().as_str()),
                "seed {seed}: {table} of {of} has lost {row}: {lines:?}"
            );
        }
    }
}

fn seed(seed: u64, sessions: u64, transactions: u64) -> (u64, u64, BTreeMap<u32, u64>) {
    let result = Arc::new(Mutex::new((0, 0, BTreeMap::new())));
    let reported = result.clone();
    Simulation::new(seed)
        .max_steps(200_000_000)
        .run(move |sim| {
            let instance = start(&sim.env());
            let mut s = login(&instance);
            run(&mut s, "CREATE DATABASE d");
            drop(s);
            let known = Arc::new(Mutex::new(Known {
                next: 100,
                ..Known::default()
            }));
            let mut actors = Vec::new();
            for n in 0..sessions {
                let mut session = login(&instance);
                let mut rng = Rng::new(seed * 1000 + n);
                let timeout = [0, 20, 200, -1][rng.below(4) as usize];
                run(&mut session, &format!("USE d; SET LOCK_TIMEOUT {timeout}"));
                let mut actor = Actor {
                    session,
                    rng,
                    known: known.clone(),
                    own: 0,
                    pending: Vec::new(),
                    emptied: Vec::new(),
                    made: 0,
                    open: false,
                    seed,
                    log: Vec::new(),
                };
                actors.push(thread::spawn("actor", move || {
                    for _ in 0..transactions {
                        actor.transaction();
                    }
                }));
            }
            for actor in actors {
                actor.join().expect("it ends");
            }
            let known = known.lock();
            at_rest(&instance, &known, seed);
            *reported.lock() = (known.statements, known.waits, known.errors.clone());
        });
    result.lock().clone()
}

#[test]
pub(super) fn nobody_sees_or_uses_what_another_has_not_committed() {
    let wish = std::env::var("NAMES").unwrap_or_default();
    let (first, seeds) = match wish.split_once('+') {
        Some((first, seeds)) => (first.parse().unwrap_or(1), seeds.parse().unwrap_or(1)),
        None => (1, wish.parse().unwrap_or(3)),
    };
    let (mut statements, mut waits) = (0, 0);
    let mut errors: BTreeMap<u32, u64> = BTreeMap::new();
    for n in first..first + seeds {
        let (s, w, e) = seed(n, 3 + n % 3, 12);
        statements += s;
        waits += w;
        for (number, count) in e {
            *errors.entry(number).or_default() += count;
        }
    }
    println!("{seeds} seeds, {statements} statements, {waits} timed out; errors {errors:?}");
    assert!(statements > seeds * 100);
}

/// A rollback would bring the dropped one back, with its id; a start has forgotten which ids were given.
#[test]
fn the_id_of_what_is_dropped_and_not_committed_is_not_given_again() {
    let env = duramen_os::sim::SimDisk::new(1).env();
    let id =
        |s: &mut Session, name: &str| run(s, &format!("SELECT OBJECT_ID('{name}')"))[1].clone();
    let before = {
        let instance = start(&env);
        let mut s = login(&instance);
        run(&mut s, "CREATE DATABASE d");
        run(&mut s, "USE d");
        run(&mut s, "CREATE TABLE a (x int)");
        let before = id(&mut s, "a");
        drop(s);
        instance.shutdown().expect("it stops");
        before
    };
    let instance = start(&env);
    let mut s = login(&instance);
    run(&mut s, "USE d");
    run(&mut s, "BEGIN TRAN; DROP TABLE a; CREATE TABLE b (x int)");
    assert_ne!(id(&mut s, "b"), before);
    let mut other = login(&instance);
    run(&mut other, "USE d");
    run(&mut other, "CREATE TABLE c (x int)");
    assert_ne!(id(&mut other, "c"), before);
    run(&mut s, "ROLLBACK");
    assert_eq!(id(&mut s, "a"), before);
}
