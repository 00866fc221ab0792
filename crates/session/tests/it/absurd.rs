//! Statements of absurd shape: each production of the grammar grows, in depth or in width, until it is refused. Whatever is
//! sent, the process lives, the answer comes in bounded time and is a result or an error that says why, and the session goes
//! on.
//!
//! `ABSURD=1` grows each shape further and prints how long each size took; `ABSURD_SHAPE=name` picks one. What takes long
//! then is run once more and given up on the way: how long it went on after that is printed, too.

mod shapes;

use std::sync::atomic::Ordering;
use std::time::Duration;

use self::shapes::shapes;
use super::*;

/// Grown by doubling until an attempt takes so long that the next one is not worth waiting for.
const PATIENCE: Duration = Duration::from_millis(300);

/// No attempt takes longer, in unoptimised code on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

type Make = fn(usize) -> Vec<String>;

/// A shape: what makes it, `n` deep or wide, and the size up to which it must work. The last batch is the one looked at.
struct Shape {
    name: &'static str,
    make: Make,
    works: usize,
}

fn around(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

fn select(what: String) -> Vec<String> {
    vec![format!("SELECT {what}")]
}

fn list(n: usize, separator: &str, item: impl Fn(usize) -> String) -> String {
    let items: Vec<String> = (0..n.max(1)).map(item).collect();
    items.join(separator)
}

fn ctes(n: usize, next: impl Fn(usize) -> String, last: &str) -> Vec<String> {
    let mut text = String::from("WITH c0 AS (SELECT 1 AS x)");
    for i in 1..=n {
        text += &format!(", c{i} AS ({})", next(i));
    }
    vec![format!("{text} {}", last.replace('#', &n.to_string()))]
}

/// Modules that call each other: `n` batches of set-up before the one looked at.
fn modules(n: usize, first: &str, next: &str, last: &str) -> Vec<String> {
    let of = |text: &str, i: usize| {
        text.replace("#-", &(i.max(1) - 1).to_string())
            .replace('#', &i.to_string())
    };
    let mut all = vec![of(first, 0)];
    all.extend((1..=n).map(|i| of(next, i)));
    all.push(of(last, n));
    all
}

/// What came of one attempt: the number of the first error, or 0.
fn number(lines: &[String]) -> i32 {
    let error = lines.iter().find_map(|l| l.strip_prefix("Msg "));
    let digits = error.and_then(|e| e.split(',').next());
    digits.map_or(0, |d| d.parse().unwrap_or(-1))
}

/// Runs a shape in a session of its own, in a database of its own when it makes anything; the number of its error, and
/// how long the last batch took. With `given_up`, the last batch is given up after so long, and what it took is from then on.
fn attempt(
    instance: &Arc<Instance>,
    shape: &Shape,
    n: usize,
    given_up: Option<Duration>,
) -> (i32, Duration) {
    let mut s = login(instance);
    let mut batches = (shape.make)(n);
    let last = batches.pop().expect("a batch at least");
    if !batches.is_empty() || last.starts_with("CREATE") {
        run(&mut s, "CREATE DATABASE absurd");
        run(&mut s, "USE absurd");
    }
    for b in &batches {
        run(&mut s, b);
    }
    let cancel = CancelToken::default();
    let giving_up = given_up.map(|after| {
        let flag = Arc::clone(&cancel.0);
        duramen_os::thread::spawn("gives up", move || {
            duramen_os::thread::sleep(after);
            flag.store(true, Ordering::Release);
            duramen_os::time::now()
        })
    });
    let began = duramen_os::time::now();
    let mut sink = TextSink::default();
    s.execute_batch(&last, &mut sink, &cancel);
    let ended = duramen_os::time::now();
    let took = match giving_up.map(|g| g.join().expect("it only waits")) {
        Some(said) if said > ended => Duration::ZERO,
        Some(said) => ended.since(said),
        None => ended.since(began),
    };
    run(&mut s, "SET SHOWPLAN_ALL OFF");
    run(&mut s, "SET SHOWPLAN_XML OFF");
    assert_eq!(
        run(&mut s, "SELECT 1"),
        ["( int)", "1", "rows 1"],
        "{} {n}",
        shape.name
    );
    run(&mut s, "USE master");
    run(&mut s, "DROP DATABASE IF EXISTS absurd");
    (number(&sink.lines), took)
}

/// Answers that say that a statement is too much, by the rule that it breaks.
const REFUSED: &[i32] = &[
    102, 103, 105, 113, 117, 130, 156, 164, 191, 217, 319, 330, 1007, 1056, 1204, 1702, 4104, 6335,
    701, 8115, 8152, 8621, 8623, 8631, 8632, 10738, 2628, 3728, 8134, 40517, 2209, 2217, 344, 189,
    207, 208,
];

fn grow(instance: &Arc<Instance>, shape: &Shape, furthest: usize, shown: bool) {
    let mut sizes: Vec<usize> = (0..)
        .map(|i| 1 << i)
        .take_while(|n| *n <= furthest)
        .collect();
    sizes.push(shape.works);
    sizes.sort_unstable();
    sizes.dedup();
    for n in sizes {
        let (number, took) = attempt(instance, shape, n, None);
        if shown {
            eprintln!(
                "{:28} {n:>7} {:>8} ms  {number}",
                shape.name,
                took.as_millis()
            );
        }
        assert!(took < BOUND, "{} of {n} took {took:?}", shape.name);
        assert!(
            number == 0 || n > shape.works || shape.works == 1 || shape.name == "tries",
            "{} of {n} is to work, and is {number}",
            shape.name
        );
        assert!(
            number == 0 || REFUSED.contains(&number),
            "{} of {n} is {number}",
            shape.name
        );
        if n >= shape.works && (took > PATIENCE || number != 0) {
            if shown && took > PATIENCE {
                let (_, more) = attempt(instance, shape, n, Some(took / 3));
                eprintln!("{:28} heard after {:>5} ms", shape.name, more.as_millis());
            }
            break;
        }
    }
}

#[test]
fn no_shape_ends_the_process() {
    let long = std::env::var_os("ABSURD").is_some();
    let only = std::env::var("ABSURD_SHAPE").ok();
    let furthest = if long { 1 << 17 } else { 0 };
    let instance = instance();
    let mut failed = Vec::new();
    for shape in shapes() {
        if only
            .as_ref()
            .is_some_and(|o| !shape.name.contains(o.as_str()))
        {
            continue;
        }
        let name = shape.name;
        // The stack that the server's workers have.
        let instance = instance.0.clone();
        let thread =
            duramen_os::thread::spawn(name, move || grow(&instance, &shape, furthest, long));
        if thread.join().is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
