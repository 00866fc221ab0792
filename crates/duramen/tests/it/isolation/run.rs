//! One level with one COMMIT_WAIT: rounds of transactions, kills, starts, and the judge beside them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use duramen_os::random::Rng;
use duramen_server::client::Stream;
use duramen_tds::client::Client;

use super::judge::judge;
use super::levels::Level;
use super::prefix;
use super::round::{Draft, Finals, Kind, Outcome, Round, Tried};
use super::settle::settle;
use super::steps::{TABLES, list, number, row_table};
use super::table::Results;
use super::worker::{settings, work};
use crate::process::{Process, Scratch, check, rows};

/// COMMIT_WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    Packet,
    Statement,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Packet => "PACKET",
            Mode::Statement => "STATEMENT",
        }
    }
}

/// DELAYED_DURABILITY: DISABLED or FORCED.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    Full,
    Delayed,
}

#[derive(Clone)]
pub struct Settings {
    pub transactions: u64,
    pub kills: u64,
    pub sessions: usize,
    /// A run ends after so many even if transactions are left.
    pub seconds: u64,
    /// Transactions of a round.
    pub round: u32,
    pub seed: u64,
    pub durability: Durability,
}

/// Rounds whose rows stay in the tables.
const KEPT: u32 = 4;

struct Server<'d> {
    dir: &'d Path,
    process: Option<Process>,
    /// Who makes keys and reads them at the end.
    keeper: Option<Client<Stream>>,
    /// Sessions that work, between rounds.
    workers: Vec<Client<Stream>>,
}

impl Server<'_> {
    fn process(&mut self) -> &Process {
        self.process
            .get_or_insert_with(|| Process::start(self.dir, &[]))
    }

    fn keeper(&mut self) -> &mut Client<Stream> {
        if self.keeper.is_none() {
            let mut client = self.process().connect();
            rows(&mut client, "USE iso");
            self.keeper = Some(client);
        }
        self.keeper.as_mut().expect("it has just been made")
    }

    fn worker(&mut self, sql: &str) -> Client<Stream> {
        self.workers.pop().unwrap_or_else(|| {
            let mut client = self.process().connect();
            rows(&mut client, sql);
            client
        })
    }

    fn kill(&mut self) {
        self.keeper = None;
        if let Some(process) = self.process.take() {
            process.kill();
        }
    }
}

/// Runs a level and gives what was seen; a wrong answer or an error that nobody expects is a panic.
pub fn run(level: &'static Level, mode: Mode, settings: &Settings) -> Results {
    let name = format!("isolation-{}-{}", level.name, mode.name());
    let scratch = match super::setting("DIR") {
        Some(dir) => Scratch::below(Path::new(&dir), &name),
        None => Scratch::new(&name),
    };
    let mut server = Server {
        dir: scratch.path(),
        process: None,
        keeper: None,
        workers: Vec::new(),
    };
    set_up(&mut server, level, mode, settings);
    let mut results = Results::new(level, mode, settings.durability);
    let began = Instant::now();
    let mut rng = Rng::new(settings.seed);
    // The judge works beside the next rounds.
    let (rounds, to_judge) = sync_channel::<Round>(2);
    let judging = std::thread::spawn(move || {
        let mut seen = BTreeMap::new();
        let mut forbidden = Vec::new();
        while let Ok(round) = to_judge.recv() {
            let verdict = judge(level, &round);
            forbidden.extend(verdict.forbidden);
            for (kind, times) in verdict.seen {
                *seen.entry(kind).or_default() += times;
            }
        }
        (seen, forbidden)
    });
    let mut story = Story {
        server: &mut server,
        level,
        settings,
        rng: &mut rng,
        base: 1,
        last: None,
        results: &mut results,
        rounds: &rounds,
    };
    // Kills are spread over the transactions, at most one a round.
    let mut n = 0;
    while story.results.transactions < settings.transactions
        && began.elapsed().as_secs() < settings.seconds
    {
        let done = story.results.transactions;
        let due = (done + u64::from(settings.round)) * settings.kills / settings.transactions;
        let kill = story.results.kills < due.min(settings.kills);
        let left = settings.transactions - done;
        story.round(n, left.min(u64::from(settings.round)) as u32, kill);
        n += 1;
    }
    drop(rounds);
    let (seen, forbidden) = judging.join().expect("the judge does not panic");
    results.take(seen, forbidden);
    results.seconds = began.elapsed();
    server.keeper = None;
    server.workers.clear();
    if let Some(process) = server.process.take() {
        process.stop();
    }
    let (code, text) = check(scratch.path());
    assert_eq!(code, 0, "after a clean stop: {text}");
    results
}

fn set_up(server: &mut Server, level: &Level, mode: Mode, settings: &Settings) {
    let mut client = server.process().connect();
    rows(&mut client, "CREATE DATABASE iso");
    for option in level.database {
        rows(&mut client, &format!("ALTER DATABASE iso SET {option}"));
    }
    let mode = mode.name();
    rows(
        &mut client,
        &format!("USE iso; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {mode}"),
    );
    for table in TABLES {
        rows(&mut client, table);
    }
    if settings.durability == Durability::Delayed {
        rows(
            &mut client,
            "ALTER DATABASE iso SET DELAYED_DURABILITY = FORCED",
        );
        rows(&mut client, "EXEC sys.sp_flush_log");
    }
}

/// What a round has left under its keys.
struct Left {
    kind: Kind,
    from: u32,
    to: u32,
    finals: Finals,
}

struct Story<'s, 'd> {
    server: &'s mut Server<'d>,
    level: &'static Level,
    settings: &'s Settings,
    rng: &'s mut Rng,
    /// The first key of the next round.
    base: u32,
    /// What the round before has left.
    last: Option<Left>,
    results: &'s mut Results,
    rounds: &'s SyncSender<Round>,
}

impl Story<'_, '_> {
    fn round(&mut self, n: u64, transactions: u32, kill: bool) {
        let delayed = self.settings.durability == Durability::Delayed;
        let kind = match n % 4 {
            3 if !delayed => Kind::Registers,
            _ => Kind::Lists,
        };
        let draft = Arc::new(Draft::new(
            kind,
            self.base,
            transactions,
            !delayed,
            self.settings.sessions as u32,
        ));
        self.prepare(&draft);
        let (tried, errors) = self.work(&draft, kill);
        assert!(errors.is_empty(), "{}: {errors:?}", self.level.title);
        let client = self.server.keeper();
        let finals = finals(client, kind, draft.base, draft.end());
        if let (true, Some(left)) = (kill, &self.last) {
            let still = self::finals(client, left.kind, left.from, left.to);
            assert!(
                still == left.finals,
                "{}: what was there before the kill is there no more",
                self.level.title
            );
        }
        let mut round = Round {
            kind,
            tried,
            finals: finals.clone(),
        };
        self.results.count(&round, kill);
        if delayed && kill {
            let loss = prefix::cut(&mut round, self.level.readers_commit_first);
            self.results.lost += loss.lost as u64;
            self.results.find(loss.findings);
        }
        let dirty = delayed || self.level.name == "read-uncommitted";
        self.results.find(settle(&mut round, dirty));
        self.last = Some(Left {
            kind,
            from: draft.base,
            to: draft.end(),
            finals,
        });
        self.base = draft.end();
        self.rounds.send(round).expect("the judge listens");
    }

    /// Makes the round's keys, and takes away those of rounds long ago.
    fn prepare(&mut self, draft: &Draft) {
        let client = self.server.keeper();
        let old = draft.base.saturating_sub(KEPT * (draft.end() - draft.base));
        for (table, key) in [
            ("list", "k"),
            ("list_heap", "k"),
            ("register", "k"),
            ("row_clustered", "grp"),
            ("row_indexed", "grp"),
            ("row_heap", "grp"),
        ] {
            rows(client, &format!("DELETE {table} WHERE {key} < {old}"));
        }
        let keys = draft.base..draft.base + draft.keys;
        match draft.kind {
            Kind::Registers => {
                let all: Vec<String> = keys.map(|k| format!("({k}, NULL)")).collect();
                let all = all.join(", ");
                rows(client, &format!("INSERT register VALUES {all}"));
            }
            Kind::Lists => {
                let (heap, clustered): (Vec<u32>, Vec<u32>) =
                    keys.partition(|k| super::steps::in_heap(*k));
                for (table, keys) in [("list", clustered), ("list_heap", heap)] {
                    let all: Vec<String> = keys.iter().map(|k| format!("({k}, '')")).collect();
                    let all = all.join(", ");
                    rows(client, &format!("INSERT {table} VALUES {all}"));
                }
            }
        }
        if self.settings.durability == Durability::Delayed {
            rows(client, "EXEC sys.sp_flush_log");
        }
    }

    /// Lets all sessions work until the round is over, or its server killed.
    fn work(&mut self, draft: &Arc<Draft>, kill: bool) -> (Vec<Tried>, Vec<String>) {
        let sql = settings(self.level.set);
        let threads: Vec<_> = (0..self.settings.sessions)
            .map(|_| {
                let mut client = self.server.worker(&sql);
                let mut rng = Rng::new(self.rng.next_u64());
                let draft = Arc::clone(draft);
                std::thread::spawn(move || {
                    // Who goes on no more keeps nobody waiting.
                    work(&mut client, &draft, &mut rng).map(|all| (all, client))
                })
            })
            .collect();
        if kill {
            let after = self.rng.below(u64::from(draft.transactions)) as u32;
            let limit = Instant::now() + Duration::from_secs(60);
            while draft.done.load(Relaxed) < after && Instant::now() < limit {
                std::thread::sleep(Duration::from_micros(200));
            }
            self.server.kill();
        }
        let (mut tried, mut errors) = (Vec::new(), Vec::new());
        for thread in threads {
            match thread.join().expect("a session does not panic") {
                Ok((all, client)) => {
                    tried.extend(all);
                    if !kill {
                        self.server.workers.push(client);
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        if !kill && errors.is_empty() {
            let broken = tried.iter().any(|t| t.outcome == Outcome::Unknown);
            assert!(!broken, "a connection broke, and nobody killed the server");
        }
        (tried, errors)
    }
}

/// What is there of the keys from `from` to below `to`.
fn finals(client: &mut Client<Stream>, kind: Kind, from: u32, to: u32) -> Finals {
    let mut finals = Finals::default();
    let range = |key: &str| format!("WHERE {key} >= {from} AND {key} < {to}");
    match kind {
        Kind::Lists => {
            for table in ["list", "list_heap"] {
                let sql = format!("SELECT k, v FROM {table} {}", range("k"));
                for row in rows(client, &sql) {
                    let key = number(&row[0]).expect("a key");
                    finals.lists.insert(key, list(&row[1]).expect("a list"));
                }
            }
            for table in ["row_clustered", "row_indexed", "row_heap"] {
                let sql = format!("SELECT grp, slot FROM {table} {}", range("grp"));
                for row in rows(client, &sql) {
                    let (group, slot) = (number(&row[0]), number(&row[1]));
                    let row = group.zip(slot).expect("numbers");
                    assert_eq!(row_table(row.0), table);
                    assert!(finals.rows.insert(row), "{row:?} is there twice");
                }
            }
        }
        Kind::Registers => {
            let sql = format!("SELECT k, v FROM register {}", range("k"));
            for row in rows(client, &sql) {
                let key = number(&row[0]).expect("a key");
                finals.registers.insert(key, number(&row[1]));
            }
        }
    }
    finals
}
