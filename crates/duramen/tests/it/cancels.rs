//! Statements of every kind, given up at random moments over sockets (attention, KILL, the client gone): how long work goes
//! forward after the word. What is undone then takes its time, and is told beside it.
//!
//! The word is one moment; from then on another session asks `sys.dm_exec_requests` until the request is gone or shown as
//! one that rolls back. What is measured is therefore never too short. Beside it stands what is left without the time that the
//! busiest thread of the server, or the watcher, stood in line for a processor, and what that thread had of one: on a machine
//! with other work these say more.
//!
//! `cargo test` takes few moments of small tables, `cargo xtask cancels` a thousand or more of large ones.

mod administration;
mod kinds;
mod texts;
mod threads;

use std::time::{Duration, Instant};

use duramen_os::random::Rng;
use duramen_program::statements::ROWS;
use duramen_server::client::Stream;
use duramen_tds::client::Client;
use duramen_tds::token::ServerMessage;

use crate::process::{Process, Scratch, ask, rows};
use kinds::{CONTENTS, HELD, Kind, SETUP, TRIED};
use threads::{Spent, Threads};

/// Moments are within so much of a statement's time.
const HORIZON: Duration = Duration::from_millis(1500);
/// What a test allows, of unoptimised code on a machine with much else to do.
const ANY: Duration = Duration::from_secs(10);
/// What a statement may say where memory is short, or its text too large; and ALTER DATABASE whenever it does not come to its
/// end, 5069.
const REFUSALS: [i32; 6] = [191, 701, 5069, 8623, 8631, 8645];
/// What `cargo test` tries: unoptimised, the others take long.
const FEW: [&str; 9] = [
    "cross join",
    "distinct",
    "recursion",
    "loop",
    "a lock",
    "a named lock",
    "UPDATE",
    "UPDATE STATISTICS",
    "DROP TABLE",
];
/// What is told of one by one.
const LATE: Duration = Duration::from_millis(25);
/// What 99 of 100 must keep where the program is asked to hold them to it.
const BOUND: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    Attention,
    Kill,
    Gone,
}

/// What one trial gave.
#[derive(Clone, Copy)]
struct Trial {
    /// From the word until nothing goes forward any more.
    forward: Duration,
    /// From the word until the request, or the session, is gone.
    gone: Duration,
    /// Of the server's threads while it went forward.
    spent: Spent,
}

impl Trial {
    /// Without the time in which a processor was wanted.
    fn own(&self) -> Duration {
        self.forward.saturating_sub(self.spent.waited)
    }
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(format!("DURAMEN_CANCELS_{name}")).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

struct Bench {
    process: Process,
    dir: String,
    n: u64,
    watcher: Client<Stream>,
    /// Makes and takes away what trials need.
    other: Client<Stream>,
    victim: Option<(Client<Stream>, i64)>,
    rng: Rng,
}

/// What a request is seen doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Forward,
    Back,
    None,
}

impl Bench {
    fn text(&self, sql: &str) -> String {
        let sql = sql.replace("{n}", &self.n.to_string());
        sql.replace("{dir}", &self.dir)
    }

    fn state(&mut self, spid: i64) -> State {
        let sql = format!("SELECT status FROM sys.dm_exec_requests WHERE session_id = {spid}");
        match rows(&mut self.watcher, &sql)
            .first()
            .map(|row| row[0].as_text())
        {
            None => State::None,
            Some(Some(text)) if text == "rollback" => State::Back,
            _ => State::Forward,
        }
    }

    fn exists(&mut self, spid: i64) -> bool {
        let sql = format!("SELECT 1 FROM sys.dm_exec_sessions WHERE session_id = {spid}");
        !rows(&mut self.watcher, &sql).is_empty()
    }

    fn victim(&mut self) -> (Client<Stream>, i64) {
        let (mut client, spid) = self.victim.take().unwrap_or_else(|| {
            let mut client = self.process.connect();
            let spid = rows(&mut client, "SELECT @@SPID")[0][0].as_i64();
            (client, spid.expect("a number"))
        });
        rows(&mut client, "USE d");
        (client, spid)
    }

    /// Until the request has been seen to run, and then `after`; whether it runs.
    fn wait(&mut self, spid: i64, after: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < after {
            let left = after.saturating_sub(began.elapsed());
            std::thread::sleep(left.min(Duration::from_millis(20)));
            if left > Duration::from_millis(40) && self.state(spid) == State::None {
                return false;
            }
        }
        self.state(spid) == State::Forward
    }

    /// One statement, given up `after` it was sent; `None` when it had ended before.
    fn trial(&mut self, kind: &Kind, after: Duration, word: Word) -> Option<Trial> {
        let before = self.text(kind.before);
        if !before.is_empty() {
            rows(&mut self.other, &before);
        }
        let (mut client, spid) = self.victim();
        let sql = self.text(kind.sql);
        client.query(&sql).expect("the request is sent");
        let running = self.wait(spid, after);
        let word = if running { word } else { Word::Attention };
        let before = Threads::of(self.process.id());
        let said = Instant::now();
        match word {
            Word::Attention => client.give_up().expect("the attention is sent"),
            Word::Kill => drop(ask(&mut self.other, &format!("KILL {spid}"))),
            Word::Gone => {}
        }
        // What is on its way already has to be read, or the request cannot end.
        let (mut reader, mut killed) = (None, None);
        match word {
            Word::Attention => {
                reader = Some(std::thread::spawn(move || {
                    let read = client.acknowledged();
                    read.expect("the attention is acknowledged");
                    client
                }));
            }
            Word::Kill => killed = Some(client),
            Word::Gone => drop(client),
        }
        let mut forward = None;
        let mut spent = Spent::default();
        let gone = loop {
            let state = self.state(spid);
            let now = said.elapsed();
            if forward.is_none() && state != State::Forward {
                forward = Some(now);
                spent = Threads::of(self.process.id()).since(&before);
            }
            if state == State::None {
                break now;
            }
            assert!(
                now < Duration::from_secs(120),
                "{}: {word:?} is not heard",
                kind.name
            );
        };
        drop(killed);
        match reader {
            Some(reader) => {
                let client = reader.join().expect("the client is told");
                self.victim = Some((client, spid));
            }
            None => {
                while self.exists(spid) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        // An attention leaves the transaction open.
        if let Some((client, _)) = &mut self.victim {
            rows(client, "IF @@TRANCOUNT > 0 ROLLBACK");
        }
        let undo = self.text(kind.undo);
        if !undo.is_empty() {
            rows(&mut self.other, &undo);
        }
        let trial = Trial {
            forward: forward.unwrap_or(gone),
            gone,
            spent,
        };
        // For who has taken a profile meanwhile.
        if running && trial.own() > LATE && std::env::var_os("DURAMEN_CANCELS_TELL").is_some() {
            let own = trial.own();
            eprintln!("{}: {word:?} at {said:?}, {after:?} in: {own:?}", kind.name);
        }
        running.then_some(trial)
    }
}

/// How long a statement runs, at most the horizon.
fn length(bench: &mut Bench, kind: &Kind) -> Duration {
    let before = bench.text(kind.before);
    if !before.is_empty() {
        rows(&mut bench.other, &before);
    }
    let (mut client, spid) = bench.victim();
    let sql = bench.text(kind.sql);
    let began = Instant::now();
    client.query(&sql).expect("the request is sent");
    std::thread::sleep(Duration::from_millis(2));
    while began.elapsed() < HORIZON && bench.state(spid) != State::None {}
    let length = began.elapsed();
    client.give_up().expect("the attention is sent");
    let errors = client
        .acknowledged()
        .expect("the attention is acknowledged");
    let wrong = |e: &ServerMessage| !REFUSALS.contains(&e.number);
    assert!(!errors.iter().any(wrong), "{}: {errors:?}", kind.name);
    rows(&mut client, "IF @@TRANCOUNT > 0 ROLLBACK");
    bench.victim = Some((client, spid));
    let undo = bench.text(kind.undo);
    if !undo.is_empty() {
        rows(&mut bench.other, &undo);
    }
    length
}

/// The value below which a share of sorted times lies.
fn at(times: &[Duration], share: f64) -> f64 {
    let place = (times.len() as f64 * share) as usize;
    let found = times.get(place.min(times.len().saturating_sub(1)));
    found.map_or(0.0, |t| t.as_secs_f64() * 1000.0)
}

/// Prints the line of a kind. What 99 of 100 keep, without the machine's other work.
fn print_kind(name: &str, trials: &[Trial]) -> Duration {
    let sorted = |of: fn(&Trial) -> Duration| {
        let mut times: Vec<Duration> = trials.iter().map(of).collect();
        times.sort();
        times
    };
    let (forward, own) = (sorted(|t| t.forward), sorted(Trial::own));
    let (cpu, gone) = (sorted(|t| t.spent.cpu), sorted(|t| t.gone));
    println!(
        "| {name} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} |",
        forward.len(),
        at(&forward, 0.5),
        at(&forward, 0.99),
        at(&forward, 1.0),
        at(&own, 0.5),
        at(&own, 0.99),
        at(&own, 1.0),
        at(&cpu, 1.0),
        at(&gone, 1.0)
    );
    Duration::from_secs_f64(at(&own, 0.99) / 1000.0)
}

fn run(n: u64, moments: u64, bound: Option<Duration>) {
    let scratch = Scratch::new("cancels");
    let dir = scratch.path().join("data");
    let process = Process::start(&dir, &["--max-memory", "512MB"]);
    let mut bench = Bench {
        watcher: process.connect(),
        other: process.connect(),
        dir: dir.display().to_string(),
        process,
        n,
        victim: None,
        rng: Rng::new(number("SEED", 1)),
    };
    for sql in SETUP {
        let sql = bench.text(sql);
        rows(&mut bench.other, &sql);
    }
    let mut holder = bench.process.connect();
    rows(&mut holder, HELD);
    let only = std::env::var("DURAMEN_CANCELS_ONLY").unwrap_or_default();
    // Kinds before this one have been seen.
    let from = std::env::var("DURAMEN_CANCELS_FROM").unwrap_or_default();
    let all_kinds = std::env::var_os("DURAMEN_CANCELS_MOMENTS").is_some();
    let wanted =
        |kind: &&Kind| kind.name.contains(&only) && (all_kinds || FEW.contains(&kind.name));
    let contents = rows(&mut bench.other, CONTENTS);
    let mut all = Vec::new();
    println!(
        "| statement | n | p50 ms | p99 ms | max ms | own p50 ms | own p99 ms | own max ms | CPU max ms | max with undo ms |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    let mut late = Vec::new();
    let rest = kinds::all().skip_while(|kind| !from.is_empty() && kind.name != from);
    for kind in rest.filter(wanted) {
        let length = length(&mut bench, kind);
        let mut trials = Vec::new();
        for _ in 0..moments {
            let after = bench.rng.below(length.as_micros() as u64 + 1);
            let word = match bench.rng.below(4) {
                0 => Word::Kill,
                1 => Word::Gone,
                _ => Word::Attention,
            };
            trials.extend(bench.trial(kind, Duration::from_micros(after), word));
        }
        assert_eq!(rows(&mut bench.other, CONTENTS), contents, "{}", kind.name);
        let own = print_kind(kind.name, &trials);
        let longest = trials.iter().map(|t| t.forward).max().unwrap_or_default();
        assert!(longest < ANY, "{}: {longest:?}", kind.name);
        if bound.is_some_and(|bound| own > bound) {
            late.push(kind.name);
        }
        all.extend(trials);
    }
    print_kind("all", &all);
    rows(&mut holder, "ROLLBACK");
    rows(&mut bench.other, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
    bench.process.stop();
    assert!(
        late.is_empty(),
        "99 of 100 are later than {bound:?}: {late:?}"
    );
}

#[test]
fn statements_end_soon_after_they_are_given_up() {
    let bound = (number("HOLD", 0) > 0).then_some(BOUND);
    run(number("ROWS", 4000), number("MOMENTS", 1), bound);
}

/// A statement whose row says that it may take long is tried, and no other.
#[test]
fn every_statement_has_its_kinds() {
    for row in ROWS {
        let tried = TRIED.iter().any(|(n, _)| *n == row.name);
        assert_eq!(tried, row.may_take_long(), "{}", row.name);
    }
    for (name, kinds) in TRIED {
        assert!(
            ROWS.iter().any(|r| r.name == *name),
            "{name} is no statement"
        );
        assert!(!kinds.is_empty(), "{name}");
        for kind in *kinds {
            assert!(kinds::all().any(|k| k.name == *kind), "{name}: {kind}");
        }
    }
}
