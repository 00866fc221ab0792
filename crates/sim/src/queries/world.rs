//! The tables that queries are asked of, and the two engines that hold them.

use std::sync::Arc;
use std::time::Duration;

use duramen_access::cancel::CancelToken;
use duramen_base::SqlError;
use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::SimDisk;
use duramen_os::time;
use duramen_program::login::LoginRequest;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink};
use duramen_session::Session;
use duramen_types::Value;

use super::both::{Both, same};
use super::generate::{Table, WORDS};
use super::partition;
use super::select::Query;
use super::sqlite::Sqlite;

/// Rows as text; `None` is NULL.
pub type Rows = Vec<Vec<Option<String>>>;

/// What comparing a query came to.
pub enum Answer {
    Same,
    Refused,
    Different(String),
}

pub struct World {
    instance: Arc<Instance>,
    session: Session,
    /// Queries asked so far, and those that were answered without memory, too.
    asked: u64,
    pub without_memory: u64,
    pub tables: Vec<Table>,
    /// The tables have thousands of rows.
    pub large: bool,
    /// What made the tables, and every change since.
    made: Vec<String>,
    /// What took our engine longest, and how long.
    pub slowest: (Duration, String),
}

/// An instance on a disk in memory.
pub fn instance() -> Arc<Instance> {
    let config = InstanceConfig {
        sa_password: "Secret-1".to_owned(),
        server_name: "QUERIES".to_owned(),
        storage: StorageConfig {
            data_dir: "/data".into(),
            drives: Default::default(),
            memory: 64 << 20,
            profile: Default::default(),
            sector: 4096,
            instant_file_init: true,
            files: Default::default(),
        },
    };
    duramen_session::start(&SimDisk::new(1).env(), config).expect("the instance starts")
}

/// From now on every query that several threads can run is run by four.
pub fn be_parallel(instance: &Arc<Instance>) {
    instance.use_processors(4);
    let mut session = duramen_session::login(instance, &sa("master")).expect("sa logs in");
    let mut sink = Collect::default();
    let sql = "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
               EXEC sp_configure 'cost threshold for parallelism', 0; \
               EXEC sp_configure 'max degree of parallelism', 4; RECONFIGURE";
    session.execute_batch(sql, &mut sink, &CancelToken::default());
    assert!(sink.error.is_none(), "{:?}", sink.error);
}

fn sa(database: &str) -> LoginRequest {
    LoginRequest {
        user: "sa".to_owned(),
        password: "Secret-1".to_owned(),
        database: database.to_owned(),
        ..LoginRequest::default()
    }
}

impl World {
    /// New tables with rows and indexes, all from the random numbers.
    pub fn make(instance: &Arc<Instance>, rng: &mut Rng, mut other: Option<&mut Sqlite>) -> World {
        let mut world = World {
            instance: instance.clone(),
            session: duramen_session::login(instance, &sa("tempdb")).expect("sa logs in"),
            asked: 0,
            without_memory: 0,
            tables: Vec::new(),
            large: rng.one_in(8),
            made: Vec::new(),
            slowest: Default::default(),
        };
        for n in 0..3 {
            let name = format!("t{n}");
            world.table(&name, rng, other.as_deref_mut());
            world.tables.push(Table { name });
        }
        for statement in partition::tables(rng) {
            world.ours(&statement);
        }
        world
    }

    fn table(&mut self, name: &str, rng: &mut Rng, mut other: Option<&mut Sqlite>) {
        let key = ["PRIMARY KEY", "PRIMARY KEY NONCLUSTERED", ""][rng.below(3) as usize];
        let create = Both {
            ours: format!(
                "CREATE TABLE {name} (id int NOT NULL {key}, a int, b int, c varchar(20), d varchar(20))"
            ),
            theirs: format!(
                "CREATE TABLE {name} (id INTEGER NOT NULL UNIQUE, a INTEGER, b INTEGER, c TEXT, d TEXT)"
            ),
        };
        if let Some(other) = other.as_deref_mut() {
            let _ = other.ask(&format!("DROP TABLE IF EXISTS {name}"));
        }
        self.both(&create, other.as_deref_mut());
        let mut rows = Vec::new();
        let wanted = match self.large {
            true => 500 + rng.below(4_000),
            false => rng.below(14),
        };
        for id in 0..wanted {
            let number = |rng: &mut Rng| match rng.below(5) {
                0 => "NULL".to_owned(),
                _ => (rng.below(9) as i64 - 3).to_string(),
            };
            let word = |rng: &mut Rng| match rng.below(6) {
                0 => "NULL".to_owned(),
                _ => format!("'{}'", WORDS[rng.below(WORDS.len() as u64) as usize]),
            };
            let (a, b) = (number(rng), number(rng));
            rows.push(format!("({id}, {a}, {b}, {}, {})", word(rng), word(rng)));
        }
        // A VALUES list has 1,000 rows at most.
        for rows in rows.chunks(1_000) {
            let rows = rows.join(", ");
            let insert = format!("INSERT INTO {name} (id, a, b, c, d) VALUES {rows}");
            self.both(&same(insert), other.as_deref_mut());
        }
        for (i, columns) in ["(a)", "(c)", "(a, c)", "(b DESC)", "(d) INCLUDE (a)"]
            .iter()
            .enumerate()
        {
            if rng.one_in(4) {
                self.ours(&format!("CREATE INDEX i{i} ON {name} {columns}"));
            }
        }
        if rng.one_in(5) && key != "PRIMARY KEY" {
            self.ours(&format!("CREATE CLUSTERED INDEX cl ON {name} (b, c)"));
        }
    }

    /// A statement that must work in both engines.
    fn both(&mut self, text: &Both, other: Option<&mut Sqlite>) {
        self.ours(&text.ours);
        if let Some(other) = other {
            let result = other.ask(&text.theirs);
            assert!(result.is_ok(), "{}: {result:?}", text.theirs);
        }
    }

    fn ours(&mut self, sql: &str) {
        let result = self.ask(sql);
        assert!(result.is_ok(), "{sql}: {:?}", result.err());
        self.made.push(sql.to_owned());
    }

    /// What our engine answers.
    pub fn ask(&mut self, sql: &str) -> Result<Rows, SqlError> {
        let mut sink = Collect::default();
        let start = time::now();
        self.session
            .execute_batch(sql, &mut sink, &CancelToken::default());
        let took = start.elapsed();
        if took > self.slowest.0 {
            self.slowest = (took, sql.to_owned());
        }
        match sink.error {
            Some(error) => Err(error),
            None => Ok(sink.rows),
        }
    }

    /// The statements that made the tables what they are.
    pub fn script(&self) -> String {
        self.made.join("\n")
    }

    pub fn drop_all(mut self) {
        let names = self.tables.iter().map(|t| t.name.clone());
        let names: Vec<String> = names.chain(partition::NAMES.map(str::to_owned)).collect();
        self.ours(&format!("DROP TABLE {}", names.join(", ")));
    }

    /// Asks both engines.
    pub fn compare(&mut self, query: &Query, other: &mut Sqlite) -> Answer {
        let (ours, theirs) = (self.ask(&query.text.ours), other.ask(&query.text.theirs));
        if let Ok(ours) = &ours
            && let Some(found) = self.otherwise_without_memory(query, ours)
        {
            return Answer::Different(found);
        }
        let (mut ours, mut theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(_), Err(_)) => return Answer::Refused,
            // Arithmetic overflow: SQLite's integers have 64 bits.
            (Err(e), Ok(_)) if e.number == 8115 => return Answer::Refused,
            (Err(e), Ok(_)) => {
                let text = format!("error {}: {}\n{}", e.number, e.message, query.text.ours);
                return Answer::Different(text);
            }
            (Ok(_), Err(e)) => {
                return Answer::Different(format!("SQLite: {e}\n{}", query.text.theirs));
            }
        };
        if !query.ordered {
            ours.sort();
            theirs.sort();
        }
        if ours == theirs {
            return Answer::Same;
        }
        Answer::Different(format!(
            "{}\n{}\nours   {}\nSQLite {}",
            query.text.ours,
            query.text.theirs,
            shown(&ours),
            shown(&theirs)
        ))
    }

    /// Asks every third query again when no operator is lent anything: what differs then. Where no file helps, 701 is an
    /// answer.
    fn otherwise_without_memory(&mut self, query: &Query, found: &Rows) -> Option<String> {
        self.asked += 1;
        if !self.asked.is_multiple_of(3) {
            return None;
        }
        let lends = self.instance.lends_rows();
        self.instance.lend_rows(0);
        let tight = self.ask(&query.text.ours);
        self.instance.lend_rows(lends);
        let (mut tight, mut found) = match tight {
            Ok(tight) => (tight, found.clone()),
            Err(e) if e.number == 701 => return None,
            Err(e) => {
                let text = &query.text.ours;
                return Some(format!(
                    "without memory: {} {}\n{text}",
                    e.number, e.message
                ));
            }
        };
        self.without_memory += 1;
        if !query.ordered {
            tight.sort();
            found.sort();
        }
        (tight != found).then(|| {
            let (text, with, without) = (&query.text.ours, shown(&found), shown(&tight));
            format!("{text}\nwith memory    {with}\nwithout memory {without}")
        })
    }

    /// Changes a table in both engines and compares what it holds then.
    pub fn change(&mut self, (at, text): &(usize, Both), other: &mut Sqlite) -> Option<String> {
        let (ours, theirs) = (self.ask(&text.ours), other.ask(&text.theirs));
        if ours.is_ok() != theirs.is_ok() {
            // A value may be longer than the column there, or a number larger than 32 bits.
            let (ours, theirs) = (ours.err(), theirs.err());
            return Some(format!("{}\nours {ours:?}\nSQLite {theirs:?}", text.ours));
        }
        self.made.push(text.ours.clone());
        let all = same(format!("SELECT * FROM {}", self.tables[*at].name));
        let query = Query {
            text: all,
            ordered: false,
        };
        match self.compare(&query, other) {
            Answer::Same => None,
            Answer::Refused => Some(format!("refused after {}", text.ours)),
            Answer::Different(found) => Some(format!("after {}\n{found}", text.ours)),
        }
    }
}

/// Rows for people, the first few.
pub fn shown(rows: &Rows) -> String {
    let row = |r: &Vec<Option<String>>| {
        let fields: Vec<&str> = r.iter().map(|f| f.as_deref().unwrap_or("NULL")).collect();
        format!("({})", fields.join(", "))
    };
    let first: Vec<String> = rows.iter().take(40).map(row).collect();
    format!("{} rows: {}", rows.len(), first.join(" "))
}

/// The rows of every result set, one after the other, and the first error.
#[derive(Default)]
struct Collect {
    rows: Rows,
    error: Option<SqlError>,
}

impl ResultSink for Collect {
    fn columns(&mut self, _: &[ColumnMeta]) {}
    fn row(&mut self, values: &[Value]) {
        self.rows.push(values.iter().map(text).collect());
    }
    fn done(&mut self, _: &Done) {}
    fn error(&mut self, error: &SqlError) {
        self.error.get_or_insert_with(|| error.clone());
    }
    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        v => Some(match (v.as_i64(), v.as_text()) {
            (Some(n), _) => n.to_string(),
            (None, Some(t)) => t,
            (None, None) => format!("{v:?}"),
        }),
    }
}
