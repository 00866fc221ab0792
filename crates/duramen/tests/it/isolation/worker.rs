//! A session that runs transactions over its socket and writes down what they tell.

use std::sync::atomic::Ordering::Relaxed;

use duramen_os::random::Rng;
use duramen_server::client::Stream;
use duramen_tds::client::{Client, ClientError};
use duramen_tds::packet::PacketType;
use duramen_tds::rpc::{CallBuilder, ProcId};
use duramen_tds::token::Token;
use duramen_types::{SqlType, Value};

use super::round::{Draft, Outcome, Travel, Tried, listed};
use super::steps::{Seen, Step};

/// Errors that end a transaction as they should: deadlock victim, update conflicts.
const EXPECTED: [i32; 3] = [1205, 3960, 3961];
/// More or fewer transactions are open after a call than before it.
const MISMATCH: i32 = 266;
/// `Outcome::Failed` of a transaction whose connection broke before COMMIT was sent.
pub const BROKEN: i32 = -1;

/// The result sets of a request, or the number of its first error.
struct Reported {
    sets: Vec<Vec<Vec<Value>>>,
    error: Option<(i32, String)>,
}

fn receive(client: &mut Client<Stream>) -> Result<Reported, ClientError> {
    let mut reported = Reported {
        sets: Vec::new(),
        error: None,
    };
    while let Some(event) = client.next_event()? {
        match event {
            Token::Columns(_) => reported.sets.push(Vec::new()),
            Token::Row(values) => {
                if let Some(set) = reported.sets.last_mut() {
                    set.push(values);
                }
            }
            // A call that has begun or ended the transaction says that.
            Token::Error(error) if error.number == MISMATCH => {}
            Token::Error(error) if reported.error.is_none() => {
                reported.error = Some((error.number, error.text));
            }
            _ => {}
        }
    }
    Ok(reported)
}

fn ask(client: &mut Client<Stream>, sql: &str) -> Result<Reported, ClientError> {
    client.query(sql)?;
    receive(client)
}

/// A step by `sp_executesql`, its numbers as parameters. `in_transaction`: only while one is open, for it follows others in
/// its message, and they may have ended it.
fn call(to: CallBuilder, step: Step, in_transaction: bool) -> Result<CallBuilder, ClientError> {
    let (a, b) = step.numbers();
    let int = |n: u32| Value::Int(n as i32);
    let sql = match in_transaction {
        true => format!("IF @@TRANCOUNT > 0 BEGIN {} END", step.sql()),
        false => step.sql(),
    };
    Ok(execute(to, &sql)?
        .parameter("", false, &TEXT, &text("@a int, @b int"))?
        .parameter("@a", false, &SqlType::INT, &int(a))?
        .parameter("@b", false, &SqlType::INT, &int(b))?)
}

const TEXT: SqlType = SqlType::nvarchar(4000);

fn text(s: &str) -> Value {
    Value::NVarChar(s.encode_utf16().collect())
}

fn execute(to: CallBuilder, sql: &str) -> Result<CallBuilder, ClientError> {
    let to = to.procedure(ProcId::ExecuteSql);
    Ok(to.parameter("", false, &TEXT, &text(sql))?)
}

fn send(client: &mut Client<Stream>, calls: CallBuilder) -> Result<Reported, ClientError> {
    client.send(PacketType::Rpc, &calls.finish())?;
    receive(client)
}

/// What `SET` makes a session one of this level.
pub fn settings(level: &str) -> String {
    format!("USE iso; SET NOCOUNT ON; SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL {level}")
}

/// Runs transactions until the round is over or the connection breaks. An error is a wrong answer.
pub fn work(
    client: &mut Client<Stream>,
    draft: &Draft,
    rng: &mut Rng,
) -> Result<Vec<Tried>, String> {
    let mut all = Vec::new();
    while let Some((steps, travel)) = draft.next(rng) {
        let tried = match travel {
            Travel::Text => in_one_batch(client, draft, &steps),
            Travel::Message => in_messages(client, draft, &[&steps], rng),
            Travel::Messages => {
                let cut = rng.below(steps.len() as u64 + 1) as usize;
                let (first, last) = steps.split_at(cut);
                in_messages(client, draft, &[first, last], rng)
            }
            Travel::Steps => step_by_step(client, draft, &steps, rng),
        }?;
        draft.done.fetch_add(1, Relaxed);
        let broken = matches!(tried.outcome, Outcome::Unknown | Outcome::Failed(BROKEN));
        all.push(tried);
        if broken {
            return Ok(all);
        }
    }
    Ok(all)
}

fn expected(error: Option<(i32, String)>) -> Result<Option<i32>, String> {
    match error {
        None => Ok(None),
        Some((number, _)) if EXPECTED.contains(&number) => Ok(Some(number)),
        Some((number, text)) => Err(format!("Msg {number}: {text}")),
    }
}

/// What a step's answer says; whatever has a row must be found.
fn seen(step: Step, rows: &[Vec<Value>]) -> Result<Seen, String> {
    let seen = step.seen(rows)?;
    let Seen::Lists(lists) = &seen else {
        return Ok(seen);
    };
    let complete = match step {
        Step::Read { key } => lists.iter().map(|(k, _)| *k).eq([key]),
        Step::ReadMany { from, to } => lists.iter().map(|(k, _)| *k).eq(listed(from, to)),
        _ => true,
    };
    if complete {
        Ok(seen)
    } else {
        Err(format!("{step:?} gave {rows:?}"))
    }
}

fn in_one_batch(
    client: &mut Client<Stream>,
    draft: &Draft,
    steps: &[Step],
) -> Result<Tried, String> {
    let texts: Vec<String> = steps.iter().map(|step| step.text()).collect();
    // One statement is a transaction of its own, but where it takes more than one.
    let alone = matches!(steps, [step] if !matches!(step, Step::Undone { .. }));
    let sql = match alone {
        true => texts[0].clone(),
        false => format!("BEGIN TRAN; {}; COMMIT", texts.join("; ")),
    };
    let began = draft.now();
    let reported = ask(client, &sql);
    let ended = draft.now();
    let (steps, outcome) = match reported {
        Err(_) => (unobserved(steps), Outcome::Unknown),
        Ok(mut reported) => match expected(reported.error.take())? {
            Some(number) => (unobserved(steps), Outcome::Failed(number)),
            None => (observed(steps, reported)?, Outcome::Committed),
        },
    };
    Ok(Tried {
        began,
        ended,
        steps,
        outcome,
    })
}

/// What the steps of one request have told.
fn observed(steps: &[Step], reported: Reported) -> Result<Vec<(Step, Seen)>, String> {
    let mut sets = reported.sets.into_iter();
    let mut observed = Vec::new();
    for &step in steps {
        let reported = match step.answers() {
            true => seen(step, &sets.next().unwrap_or_default())?,
            false => Seen::Nothing,
        };
        observed.push((step, reported));
    }
    Ok(observed)
}

fn unobserved(steps: &[Step]) -> Vec<(Step, Seen)> {
    steps.iter().map(|step| (*step, Seen::Nothing)).collect()
}

/// A message has several calls: the first begins the transaction, the last ends it.
fn in_messages(
    client: &mut Client<Stream>,
    draft: &Draft,
    parts: &[&[Step]],
    rng: &mut Rng,
) -> Result<Tried, String> {
    let keeps = !rng.one_in(12);
    let end = match keeps {
        true => "IF @@TRANCOUNT > 0 COMMIT",
        false => "IF @@TRANCOUNT > 0 ROLLBACK",
    };
    let mut tried = Tried {
        began: draft.now(),
        ended: 0,
        steps: Vec::new(),
        outcome: Outcome::Failed(0),
    };
    for (at, steps) in parts.iter().enumerate() {
        let (first, last) = (at == 0, at + 1 == parts.len());
        let mut calls = Ok(CallBuilder::new(client.headers()));
        if first {
            calls = calls.and_then(|calls| execute(calls, "BEGIN TRAN"));
        }
        for &step in *steps {
            calls = calls.and_then(|calls| call(calls, step, true));
        }
        if last {
            calls = calls.and_then(|calls| execute(calls, end));
        }
        let reported = calls.and_then(|calls| send(client, calls));
        let failed = match reported {
            Err(_) if last && keeps => Some(Outcome::Unknown),
            Err(_) => Some(Outcome::Failed(BROKEN)),
            Ok(mut reported) => match expected(reported.error.take())? {
                Some(number) => Some(Outcome::Failed(number)),
                None => {
                    tried.steps.extend(observed(steps, reported)?);
                    None
                }
            },
        };
        if let Some(outcome) = failed {
            // They may have written before they failed.
            tried.steps.extend(unobserved(steps));
            tried.ended = draft.now();
            return Ok(Tried { outcome, ..tried });
        }
    }
    tried.ended = draft.now();
    if keeps {
        tried.outcome = Outcome::Committed;
    }
    Ok(tried)
}

fn step_by_step(
    client: &mut Client<Stream>,
    draft: &Draft,
    steps: &[Step],
    rng: &mut Rng,
) -> Result<Tried, String> {
    let began = draft.now();
    let mut tried = Tried {
        began,
        ended: began,
        steps: Vec::new(),
        outcome: Outcome::Failed(BROKEN),
    };
    let end = |mut tried: Tried, outcome| {
        tried.ended = draft.now();
        tried.outcome = outcome;
        Ok(tried)
    };
    let Ok(reported) = ask(client, "BEGIN TRAN") else {
        return end(tried, Outcome::Failed(BROKEN));
    };
    expected(reported.error)?;
    for &step in steps {
        let calls = CallBuilder::new(client.headers());
        let reported = call(calls, step, false).and_then(|calls| send(client, calls));
        let number = match reported {
            Err(_) => Some(BROKEN),
            Ok(mut reported) => match expected(reported.error.take())? {
                Some(number) => Some(number),
                None => {
                    let rows = reported.sets.pop().unwrap_or_default();
                    tried.steps.push((step, seen(step, &rows)?));
                    None
                }
            },
        };
        if let Some(number) = number {
            // It may have written before it failed.
            tried.steps.push((step, Seen::Nothing));
            return end(tried, Outcome::Failed(number));
        }
    }
    if rng.one_in(12) {
        let reported = ask(client, "ROLLBACK");
        let number = if reported.is_ok() { 0 } else { BROKEN };
        return end(tried, Outcome::Failed(number));
    }
    match ask(client, "COMMIT") {
        Err(_) => end(tried, Outcome::Unknown),
        Ok(reported) => match reported.error {
            None => end(tried, Outcome::Committed),
            Some((number, text)) => Err(format!("COMMIT: Msg {number}: {text}")),
        },
    }
}
