//! Random changes of large values by two connections, against a model: sizes around those at which a parameter leaves memory, a
//! value its row and a piece its page; NULLs, lengths that are told and not told, uploads that are given up or whose client
//! goes, rollbacks, copies, readers of older versions. What a reader gets is compared byte for byte with what was sent.
//!
//! `DURAMEN_LONG` is how many steps; `cargo test` takes a few.

use std::collections::BTreeMap;

use duramen_server::client::{Stream, Trust, connect};
use duramen_tds::client::Client;
use duramen_tds::packet::STATUS_EOM;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::Token;
use duramen_tds::typeinfo::put_type_info;
use duramen_types::{SqlType, Value};

use crate::process::{Process, Scratch, rows};
use crate::upload::Upload;

const STATUS_IGNORE: u8 = 2;

/// The small sizes, and those that are of use to nobody in memory.
const SMALL: [usize; 12] = [
    0, 1, 7999, 8000, 8001, 8040, 8041, 40_200, 40_201, 65_536, 65_537, 1_048_577,
];
const LARGE: [usize; 5] = [4_194_303, 4_194_305, 4_036_080, 4_036_082, 9_000_001];

/// xorshift: the same steps for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// A value by what it is made of.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Doc {
    seed: u64,
    bytes: usize,
}

impl Doc {
    fn bytes(self) -> impl Iterator<Item = u8> {
        (0..self.bytes as u64).map(move |at| ((at * 31 + at / 8040 + self.seed) % 251) as u8)
    }
}

/// How a call ends.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Ending {
    Whole,
    /// The client gives up while it sends: with a last packet that says so, and an attention behind it.
    GivenUp,
    /// It is gone.
    Gone,
}

/// Runs `sql` with the parameters @a, @b ... of varbinary(max); the numbers of errors. `None`: the client has gone.
fn call(
    client: &mut Client<Stream>,
    sql: &str,
    docs: &[Option<Doc>],
    dice: &mut Dice,
    ending: Ending,
) -> Option<Vec<i32>> {
    let text = SqlType::NVARCHAR_MAX;
    let names = ["@a", "@b"];
    let declared: Vec<String> = (0..docs.len())
        .map(|i| format!("{} varbinary(max)", names[i]))
        .collect();
    let head = CallBuilder::new(client.headers())
        .procedure(ProcId::ExecuteSql)
        .parameter("", false, &text, &Value::nvarchar(sql))
        .and_then(|c| c.parameter("", false, &text, &Value::nvarchar(&declared.join(","))))
        .expect("it can be sent")
        .finish();
    let all: usize = docs.iter().flatten().map(|d| d.bytes).sum();
    let left = match ending {
        Ending::Whole => usize::MAX,
        _ => dice.below(all as u64 + 1) as usize,
    };
    let mut upload = Upload::new(client, left);
    upload.put(&head);
    for (i, doc) in docs.iter().enumerate() {
        upload.put(&[2]);
        let name: Vec<u8> = names[i].encode_utf16().flat_map(u16::to_le_bytes).collect();
        upload.put(&name);
        upload.put(&[0]);
        let mut ty = Vec::new();
        put_type_info(&mut ty, &SqlType::VARBINARY_MAX);
        upload.put(&ty);
        let Some(doc) = doc else {
            upload.put(&u64::MAX.to_le_bytes());
            continue;
        };
        let declared = dice.below(2) == 0;
        let length = if declared {
            doc.bytes as u64
        } else {
            u64::MAX - 1
        };
        upload.put(&length.to_le_bytes());
        let chunk = [1000, 8040, 65_536, 1 << 20][dice.below(4) as usize];
        let mut bytes = doc.bytes();
        loop {
            let some: Vec<u8> = bytes.by_ref().take(chunk).collect();
            upload.put(&(some.len() as u32).to_le_bytes());
            upload.put(&some);
            if some.is_empty() || upload.left == 0 {
                break;
            }
        }
    }
    match ending {
        Ending::Gone => return None,
        // What is left of the last packet goes with the word that nothing is to run.
        Ending::GivenUp => {
            let most = upload.client.packet_bytes() - 8;
            upload.body.truncate(most);
            upload.packet(STATUS_EOM | STATUS_IGNORE);
            upload.client.give_up().expect("the server reads");
            let errors = upload.client.acknowledged().expect("an answer");
            return Some(errors.iter().map(|e| e.number).collect());
        }
        Ending::Whole => upload.packet(STATUS_EOM),
    }
    let mut errors = Vec::new();
    while let Some(event) = client.next_event().expect("an answer") {
        if let Token::Error(e) = event {
            errors.push(e.number);
        }
    }
    Some(errors)
}

/// Whether a call has been done; what there is no memory for changes nothing (701).
fn done(
    client: &mut Client<Stream>,
    sql: &str,
    docs: &[Option<Doc>],
    dice: &mut Dice,
    at: (u64, u64),
) -> bool {
    let errors = call(client, sql, docs, dice, Ending::Whole).expect("the client is there");
    assert!(
        errors.iter().all(|n| *n == 701),
        "{errors:?} at {at:?} with {docs:?}"
    );
    errors.is_empty()
}

type Model = BTreeMap<i32, (i32, Option<Doc>)>;

/// What is stored of one row is what the model says, in every way of asking.
fn check(client: &mut Client<Stream>, table: &str, id: i32, model: &Model, step: u64) {
    let asked = format!("SELECT n, doc, DATALENGTH(doc), LEN(doc) FROM {table} WHERE id = {id}");
    let found = rows(client, &asked);
    let Some((n, doc)) = model.get(&id) else {
        assert!(found.is_empty(), "step {step}: {id} is there");
        return;
    };
    assert_eq!(found.len(), 1, "step {step}: {id}");
    let [number, value, length, len] = found[0].as_slice() else {
        panic!("four columns");
    };
    assert_eq!(*number, Value::Int(*n), "step {step}: {id}");
    let expected = doc.map_or(Value::Null, |d| Value::BigInt(d.bytes as i64));
    assert_eq!((length, len), (&expected, &expected), "step {step}: {id}");
    match (value, doc) {
        (Value::Null, None) => {}
        (Value::Binary(b), Some(doc)) => {
            assert!(
                doc.bytes().eq(b.iter().copied()),
                "step {step}: {id} {doc:?}"
            );
            let at = doc.bytes.saturating_sub(5);
            let end = rows(
                client,
                &format!(
                    "SELECT SUBSTRING(doc, {}, 9), HASHBYTES('MD5', doc) FROM {table} WHERE id = {id}",
                    at + 1
                ),
            );
            let last: Vec<u8> = doc.bytes().skip(at).collect();
            assert_eq!(
                end[0][0],
                Value::Binary(last.clone()),
                "step {step}: {id} {doc:?}"
            );
            let grouped = rows(
                client,
                &format!(
                    "SELECT SUM(DATALENGTH(doc)), MAX(CONVERT(varbinary(9), SUBSTRING(doc, {}, 9))) FROM {table} WHERE id = {id} GROUP BY n",
                    at + 1
                ),
            );
            assert_eq!(
                grouped,
                [[expected, Value::Binary(last)]],
                "step {step}: {id} {doc:?}"
            );
        }
        other => panic!("step {step}: {id} is {:?}", other.1),
    }
}

#[test]
fn large_values_are_what_was_sent() {
    let asked = std::env::var("DURAMEN_LONG").ok();
    let steps: u64 = asked.as_deref().map_or(24, |n| n.parse().expect("steps"));
    let seed: u64 =
        std::env::var("DURAMEN_SEED").map_or(20_261_126, |n| n.parse().expect("a seed"));
    let mut dice = Dice(seed | 1);
    let scratch = Scratch::new("random-large");
    let process = Process::start(&scratch.path().join("data"), &["--max-memory", "64MB"]);
    let mut client = process.connect();
    let mut other = process.connect();
    rows(
        &mut client,
        "CREATE DATABASE d; ALTER DATABASE d SET RECOVERY SIMPLE; ALTER DATABASE d SET ALLOW_SNAPSHOT_ISOLATION ON; \
         ALTER DATABASE d SET READ_COMMITTED_SNAPSHOT ON",
    );
    rows(
        &mut client,
        "CREATE TABLE d.dbo.c (id int PRIMARY KEY, n int, doc varbinary(max)); \
         CREATE TABLE d.dbo.h (id int, n int, doc varbinary(max))",
    );
    let tables = ["d.dbo.c", "d.dbo.h"];
    let mut models: [Model; 2] = Default::default();
    let (mut counts, mut refused) = ([0; 8], 0);
    for step in 0..steps {
        let which = dice.below(2) as usize;
        let (table, other_table) = (tables[which], tables[1 - which]);
        let id = dice.below(4) as i32;
        let n = step as i32;
        let doc = |dice: &mut Dice| {
            let sizes: &[usize] = if dice.below(3) == 0 { &LARGE } else { &SMALL };
            let bytes = sizes[dice.below(sizes.len() as u64) as usize];
            (dice.below(8) > 0).then_some(Doc { seed: step, bytes })
        };
        let (a, b) = (doc(&mut dice), doc(&mut dice));
        let exists = models[which].contains_key(&id);
        let kind = dice.below(8) as usize;
        counts[kind] += 1;
        let set = match exists {
            true => format!("UPDATE {table} SET doc = @a, n = {n} WHERE id = {id}"),
            false => format!("INSERT {table} VALUES ({id}, {n}, @a)"),
        };
        match kind {
            // Of another table, or of nothing.
            0 => {
                let copy = format!(
                    "DELETE {other_table} WHERE id = {id}; INSERT {other_table} SELECT id, n, doc FROM {table} WHERE id = {id}"
                );
                rows(&mut client, &copy);
                match models[which].get(&id).copied() {
                    Some(row) => models[1 - which].insert(id, row),
                    None => models[1 - which].remove(&id),
                };
                check(&mut client, other_table, id, &models[1 - which], step);
            }
            1 => {
                rows(
                    &mut client,
                    &format!("UPDATE {table} SET n = {n} WHERE id = {id}"),
                );
                if let Some(row) = models[which].get_mut(&id) {
                    row.0 = n;
                }
            }
            2 => {
                rows(&mut client, &format!("DELETE {table} WHERE id = {id}"));
                models[which].remove(&id);
            }
            // Taken back; meanwhile others read what was there before.
            3 => {
                rows(&mut client, "BEGIN TRAN");
                refused += u64::from(!done(&mut client, &set, &[a], &mut dice, (seed, step)));
                check(&mut other, table, id, &models[which], step);
                rows(&mut client, "ROLLBACK");
            }
            4 => {
                let ending = match dice.below(2) {
                    0 => Ending::GivenUp,
                    _ => Ending::Gone,
                };
                if call(&mut client, &set, &[a], &mut dice, ending).is_none() {
                    drop(client);
                    client = connect(&process.options(Trust::NoEncryption)).expect("it lives");
                }
            }
            // Two at once.
            5 => {
                let free = 10 + step as i32;
                let two = format!("{set}; INSERT {table} SELECT {free}, {n}, @b");
                if done(&mut client, &two, &[a, b], &mut dice, (seed, step)) {
                    models[which].insert(id, (n, a));
                    models[which].insert(free, (n, b));
                    check(&mut client, table, free, &models[which], step);
                } else {
                    // The first of them may have been done.
                    refused += 1;
                    rows(&mut client, &format!("DELETE {table} WHERE id = {id}"));
                    models[which].remove(&id);
                }
                rows(&mut client, &format!("DELETE {table} WHERE id = {free}"));
                models[which].remove(&free);
            }
            // A snapshot goes on seeing what it has seen.
            6 => {
                rows(
                    &mut other,
                    "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM d.dbo.c",
                );
                let before = models[which].clone();
                if done(&mut client, &set, &[a], &mut dice, (seed, step)) {
                    models[which].insert(id, (n, a));
                } else {
                    refused += 1;
                }
                check(&mut other, table, id, &before, step);
                rows(
                    &mut other,
                    "COMMIT; SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                );
            }
            _ => {
                if done(&mut client, &set, &[a], &mut dice, (seed, step)) {
                    models[which].insert(id, (n, a));
                } else {
                    refused += 1;
                }
            }
        }
        check(&mut client, table, id, &models[which], step);
    }
    for (table, model) in tables.iter().zip(&models) {
        for id in 0..4 {
            check(&mut client, table, id, model, steps);
        }
    }
    rows(&mut client, "DBCC CHECKDB (d) WITH NO_INFOMSGS");
    drop((client, other));
    process.stop();
    assert!(
        refused * 4 <= steps,
        "seed {seed}: {refused} of {steps} refused"
    );
    eprintln!("seed {seed}: {steps} steps, by kind {counts:?}, {refused} without room");
}
