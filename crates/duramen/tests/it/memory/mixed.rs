//! Attacks of every kind at once, as dice say: what the clerks say comes to what the process has, and the bound holds.
//!
//! `DURAMEN_MIXED_SEED` begins with another throw; `DURAMEN_MIXED_ONLY` with a part of a name leaves the attacks of such names.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duramen_os::random::Rng;
use duramen_server::client::Stream;
use duramen_tds::client::{Client, ClientError};
use duramen_types::Value;

use super::attacks::{ATTACKS, Attack, ENDLESS, LISTENERS, REFUSALS};
use super::clients::{ask_and_read_nothing, started};
use super::{LIMIT_MB, ask_for, assert_bound, number, sampled, seconds};
use crate::process::{Process, Scratch, ask, rows};

/// Between two looks at what the clerks say.
const LOOK: Duration = Duration::from_millis(50);
/// What the clerks may say less than the process has, or more, beyond a tenth of it. What is sampled is not of one moment: a statement takes a
/// megabyte a millisecond.
const APART_MB: u64 = 64;
/// As many looks one behind the other as are too many: memory that nobody has named stays.
const TOO_MANY: usize = 20;

fn seed() -> u64 {
    let asked = std::env::var("DURAMEN_MIXED_SEED");
    asked.ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

/// The attacks to choose from, and whether each has an end of its own.
fn choice() -> Vec<(Attack, bool)> {
    let only = std::env::var("DURAMEN_MIXED_ONLY").unwrap_or_default();
    let ending = ATTACKS.iter().chain(LISTENERS).map(|a| (*a, true));
    let all = ending.chain(ENDLESS.iter().map(|a| (*a, false)));
    all.filter(|((name, _), _)| name.contains(&only)).collect()
}

/// What one look has found, in megabytes.
#[derive(Clone, Debug)]
struct Look {
    clerks: u64,
    unnamed: u64,
    resident: u64,
    /// What each clerk of some megabytes has.
    most: Vec<(String, u64)>,
}

impl Look {
    fn take(client: &mut Client<Stream>) -> Look {
        let reported = rows(
            client,
            "SELECT type, SUM(pages_kb), (SELECT physical_memory_in_use_kb FROM sys.dm_os_process_memory) \
             FROM sys.dm_os_memory_clerks GROUP BY type",
        );
        let of = |row: &Vec<Value>| match &row[0] {
            Value::NVarChar(name) => (String::from_utf16_lossy(name), number(&row[1]) / 1024),
            other => panic!("{other:?}"),
        };
        let all: Vec<(String, u64)> = reported.iter().map(of).collect();
        let unnamed = all
            .iter()
            .find(|(name, _)| name == "MEMORYCLERK_SQLGENERAL");
        Look {
            clerks: all.iter().map(|(_, mb)| mb).sum(),
            unnamed: unnamed.map_or(0, |(_, mb)| *mb),
            resident: number(&reported[0][2]) / 1024,
            most: all.into_iter().filter(|(_, mb)| *mb > 4).collect(),
        }
    }

    /// The clerks do not come to what the process has.
    fn is_apart(&self) -> bool {
        self.clerks.abs_diff(self.resident) > APART_MB + self.resident / 10
    }
}

/// One session's attacks, as its dice say.
fn attack(server: &Process, mut dice: Rng, until: Instant) -> Vec<&'static str> {
    let all = choice();
    let mut done = Vec::new();
    let mut client = server.connect();
    let wait = Some(Duration::from_secs(300));
    let socket = client.stream().socket();
    socket.set_read_timeout(wait).expect("a time");
    while Instant::now() < until {
        let ((name, sql), ends) = all[dice.below(all.len() as u64) as usize];
        let sql = sql(dice.below(1 << 40));
        done.push(name);
        let patience = Duration::from_millis(200 + dice.below(2000));
        let errors = match ends && !dice.one_in(4) {
            true => ask(&mut client, &sql).map(|answer| answer.errors),
            // It ends where nobody wants it any more.
            false => ask_for(&mut client, &sql, patience),
        };
        for e in errors.unwrap_or_else(|e| panic!("{name}: the connection ends: {e}")) {
            // 15665: the context is full.
            let expected = REFUSALS.contains(&e.number) || e.number == 15665;
            assert!(expected && e.class < 20, "{name}: {e:?}");
        }
    }
    assert_eq!(rows(&mut client, "SELECT 1").len(), 1);
    done
}

/// Clients that ask for much and read nothing, a few at a time.
fn read_nothing(server: &Process, mut dice: Rng, until: Instant) -> Result<(), ClientError> {
    while Instant::now() < until {
        let mut all: Vec<Client<Stream>> = Vec::new();
        for _ in 0..=dice.below(16) {
            let mut client = server.connect();
            ask_and_read_nothing(&mut client)?;
            all.push(client);
        }
        std::thread::sleep(Duration::from_millis(100 * dice.below(20)));
    }
    Ok(())
}

#[test]
fn whatever_comes_together_is_named_and_bounded() {
    let scratch = Scratch::new("memory-mixed");
    let server = started(&scratch);
    let seed = seed();
    let dice = |n: u64| Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(n));
    let ended = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_secs(seconds());
    let ((looks, done), peak) = sampled(server.id(), || {
        std::thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut client = server.connect();
                let mut looks = Vec::new();
                while !ended.load(Ordering::Relaxed) {
                    looks.push(Look::take(&mut client));
                    std::thread::sleep(LOOK);
                }
                looks
            });
            let sessions = (1..=4).map(|n| {
                let (server, dice) = (&server, dice(n));
                scope.spawn(move || attack(server, dice, until))
            });
            let sessions: Vec<_> = sessions.collect();
            let (of, dice) = (&server, dice(5));
            let readers = scope.spawn(move || read_nothing(of, dice, until));
            let done = sessions.into_iter().map(|s| s.join().expect("a session"));
            let done: Vec<_> = done.collect();
            readers.join().expect("the readers").expect("sent");
            ended.store(true, Ordering::Relaxed);
            (looker.join().expect("looks"), done)
        })
    });
    for (n, names) in done.iter().enumerate() {
        println!("session {n}: {names:?}");
    }
    let most = looks.iter().max_by_key(|l| l.clerks.abs_diff(l.resident));
    if let Some(largest) = looks.iter().max_by_key(|l| l.resident) {
        println!("largest: {} MB, {:?}", largest.resident, largest.most);
    }
    let unnamed = looks.iter().max_by_key(|l| l.unnamed);
    println!(
        "seed {seed}, {} looks: most apart {most:?}, most unnamed {unnamed:?}",
        looks.len()
    );
    let apart = looks
        .windows(TOO_MANY)
        .find(|some| some.iter().all(Look::is_apart));
    assert!(apart.is_none(), "the clerks are wrong for long: {apart:?}");
    assert_bound(&server, LIMIT_MB, peak);
}
