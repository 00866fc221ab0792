//! The room that transactions free and take on pages that they share: several sessions with open transactions fill the
//! pages of one heap and of one B-tree, row by row and many at once, in rows, outside rows and in indexes; each has a
//! table of its own besides that is made from others, rebuilt, emptied and dropped. They commit, roll back, go back to
//! savepoints; power fails meanwhile.
//!
//! What a run asserts: no statement, COMMIT or ROLLBACK is refused, but for a lock that somebody holds (1222); every session
//! reads what it wrote; after a recovery the rows of each are those after one of its commits, not before the last that
//! was flushed, every value as it was written; DBCC CHECKDB, which rolls back in its copy whatever is open, has nothing to
//! say, in the middle of it all and after every recovery.

use std::collections::BTreeMap;

use duramen_os::random::Rng;
use duramen_session::Session;
use duramen_types::Value;

use super::super::image;
use super::{End, LIVES, Life, Report, World, audit};

/// Sessions with open transactions.
const SESSIONS: usize = 4;
/// Ids of a session, in each table, are below this from its number times a thousand on.
const IDS: i64 = 400;

/// Bytes of the three values of a row, -1 for NULL; the first is what all are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    v: i64,
    pad: i64,
    wide: i64,
    big: i64,
}

type Rows = BTreeMap<i64, Row>;

/// What there is of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    heap: Rows,
    tree: Rows,
    own: Option<Own>,
}

/// A session's own table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Own {
    rows: Rows,
    clustered: bool,
}

/// A session at work.
struct Actor {
    session: Session,
    open: Option<State>,
    saved: Option<State>,
}

/// What sessions of a life like.
struct Habits {
    /// Bytes of the most values in rows.
    pad: i64,
    /// Of a hundred changes: values outside rows; the session's own table.
    outside: u64,
    own: u64,
    /// Of a hundred statements: the end of the transaction.
    ends: u64,
}

enum Turn {
    On,
    Off,
}

/// The columns of all tables; what is compared of a row.
const COLUMNS: &str = "id int NOT NULL, grp int NOT NULL, v int NOT NULL, pad varchar(8000) NULL, wide varchar(8000) NULL, big varchar(max) NULL";
const SEEN: &str = "id, v, ISNULL(DATALENGTH(pad), -1), ISNULL(DATALENGTH(wide), -1), ISNULL(DATALENGTH(big), -1),
 CASE WHEN ISNULL(pad, '') = ISNULL(REPLICATE(CHAR(97 + v % 26), DATALENGTH(pad)), '')
 AND ISNULL(wide, '') = ISNULL(REPLICATE(CHAR(97 + v % 26), DATALENGTH(wide)), '')
 AND ISNULL(big, '') = ISNULL(REPLICATE(CAST(CHAR(97 + v % 26) AS varchar(max)), DATALENGTH(big)), '') THEN 1 ELSE 0 END";

pub(super) fn run(seed: u64) -> Result<Report, String> {
    let mut world = World::new(seed, 0x0400_0a34);
    let mut all: Vec<Vec<State>> = vec![vec![State::default()]; SESSIONS];
    world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        let tables = format!(
            "CREATE TABLE h ({COLUMNS}); CREATE INDEX h_id ON h (id); CREATE INDEX h_v ON h (v) INCLUDE (pad);
             CREATE TABLE c ({COLUMNS}); CREATE CLUSTERED INDEX c_grp ON c (grp); CREATE INDEX c_id ON c (id) INCLUDE (v)"
        );
        let make = "CREATE DATABASE r ON (NAME = r, FILENAME = '/data/r.mdf', SIZE = 3MB, FILEGROWTH = 1MB)
                    LOG ON (NAME = rl, FILENAME = '/data/rl.ldf', SIZE = 4MB, FILEGROWTH = 1MB)";
        for sql in [make, "USE r", &tables, "EXEC sys.sp_flush_log; CHECKPOINT"] {
            if let End::Refused(_, e) = life.run(&mut session, sql) {
                return Err(e);
            }
        }
        Ok(())
    })?;
    for n in 0..LIVES {
        let cut = match n {
            0 => None,
            _ => world.cut(3_000),
        };
        world.life(cut, |life| live(life, &mut all))?;
    }
    world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        settle(life, &mut session, &mut all)?.ok_or("no power")?;
        Ok(())
    })?;
    world.close()
}

/// Rows of a table with the sessions that they belong to; `None` without power.
fn read(
    life: &mut Life<'_>,
    session: &mut Session,
    from: &str,
) -> Result<Option<Vec<Rows>>, String> {
    let sql = format!("SELECT {SEEN} FROM {from}");
    let found = match life.run(session, &sql) {
        End::Good(reply) => reply.rows,
        End::Off => return Ok(None),
        End::Refused(_, e) => return Err(e),
    };
    life.report.looks += 1;
    rows_of(from, &found).map(Some)
}

/// What was read, with the sessions that it belongs to.
fn rows_of(from: &str, found: &[Vec<Value>]) -> Result<Vec<Rows>, String> {
    let mut all = vec![Rows::new(); SESSIONS];
    for r in found {
        let r: Vec<i64> = r.iter().filter_map(Value::as_i64).collect();
        if r.len() < 6 {
            return Err(format!("{from}: a row is {r:?}"));
        }
        let row = Row {
            v: r[1],
            pad: r[2],
            wide: r[3],
            big: r[4],
        };
        if r[5] != 1 {
            return Err(format!("{from}: the values of {} are not {row:?}", r[0]));
        }
        let own = usize::try_from(r[0] / 1000)
            .ok()
            .and_then(|n| all.get_mut(n));
        let own = own.ok_or_else(|| format!("{from}: nobody's row {}", r[0]))?;
        if own.insert(r[0], row).is_some() {
            return Err(format!("{from}: {} is there twice", r[0]));
        }
    }
    Ok(all)
}

/// What is there is what may be there, and it is sound. `None` without power.
fn settle(
    life: &mut Life<'_>,
    session: &mut Session,
    all: &mut [Vec<State>],
) -> Result<Option<()>, String> {
    let refused = |life: &Life<'_>, e: String| match life.instance.databases.unavailable().first() {
        Some(refused) => format!("after a start, {refused}"),
        None => e,
    };
    let Some(heap) = read(life, session, "r.dbo.h").map_err(|e| refused(life, e))? else {
        return Ok(None);
    };
    let Some(tree) = read(life, session, "r.dbo.c")? else {
        return Ok(None);
    };
    for (n, states) in all.iter_mut().enumerate() {
        let mut found = State {
            heap: heap[n].clone(),
            tree: tree[n].clone(),
            own: None,
        };
        let sql = format!(
            "SELECT CAST(index_id AS int) FROM r.sys.indexes WHERE object_id = OBJECT_ID('r.dbo.o{n}') AND index_id < 2"
        );
        let Some(kind) = life.rows(session, &sql)? else {
            return Ok(None);
        };
        if let Some(kind) = kind.first() {
            let Some(mut rows) = read(life, session, &format!("r.dbo.o{n}"))? else {
                return Ok(None);
            };
            found.own = Some(Own {
                rows: std::mem::take(&mut rows[n]),
                clustered: kind[0] == 1,
            });
        }
        let Some(at) = states.iter().rposition(|s| *s == found) else {
            let last = states.last();
            return Err(format!(
                "session {n} has none of its {} states: {}",
                states.len(),
                difference(last.unwrap_or(&State::default()), &found)
            ));
        };
        states.truncate(at + 1);
        states.drain(..at);
    }
    let open = life.instance.databases.find("r").ok_or("r is not there")?;
    match audit::structures(&open) {
        Err(_) if life.disk.is_off() => return Ok(None),
        other => other?,
    }
    Ok(checked(life, session)?.then_some(()))
}

fn difference(last: &State, found: &State) -> String {
    let of = |what: &str, last: &Rows, found: &Rows| {
        let lost: Vec<_> = last
            .iter()
            .filter(|(k, v)| found.get(k) != Some(v))
            .collect();
        let odd: Vec<_> = found
            .iter()
            .filter(|(k, v)| last.get(k) != Some(v))
            .collect();
        format!("{what}: not there {lost:?}, there instead {odd:?}; ")
    };
    let own = |s: &State| s.own.clone().unwrap_or_default();
    of("h", &last.heap, &found.heap)
        + &of("c", &last.tree, &found.tree)
        + &match (&last.own, &found.own) {
            (None, None) => String::new(),
            _ => {
                let (a, b) = (own(last), own(found));
                let rows = of("own", &a.rows, &b.rows);
                format!("{rows} clustered {} and {}", a.clustered, b.clustered)
            }
        }
}

/// DBCC CHECKDB has nothing to say: false without power.
fn checked(life: &mut Life<'_>, session: &mut Session) -> Result<bool, String> {
    life.must(session, "DBCC CHECKDB('r') WITH NO_INFOMSGS, ALL_ERRORMSGS")
}

/// Looks, then works until power fails or the turns are over. The transactions that are open then are cut off.
fn live(life: &mut Life<'_>, all: &mut [Vec<State>]) -> Result<(), String> {
    let Some(mut main) = life.login()? else {
        return Ok(());
    };
    if settle(life, &mut main, all)?.is_none() {
        return Ok(());
    }
    if let End::Off = life.run(&mut main, "USE r; SET LOCK_TIMEOUT 0") {
        return Ok(());
    }
    let mut actors = Vec::new();
    for _ in 0..SESSIONS {
        let mut session = match image::login_to(&life.instance, "r") {
            Ok(session) => session,
            Err(_) if life.disk.is_off() => return Ok(()),
            Err(e) => return Err(e),
        };
        if let End::Off = life.run(&mut session, "SET LOCK_TIMEOUT 0") {
            return Ok(());
        }
        actors.push(Actor {
            session,
            open: None,
            saved: None,
        });
    }
    let habits = Habits {
        pad: [8, 100, 900, 4_000, 7_900][life.rng.below(5) as usize],
        outside: [0, 10, 50][life.rng.below(3) as usize],
        own: [0, 0, 25][life.rng.below(3) as usize],
        ends: 4 + life.rng.below(20),
    };
    for _ in 0..60 + life.rng.below(200) {
        let who = life.rng.below(SESSIONS as u64) as usize;
        let turn = match life.rng.below(60) {
            0 => match checked(life, &mut main)? {
                true => Turn::On,
                false => Turn::Off,
            },
            1 | 2 => flush(life, &mut main, all)?,
            3 => match life.must(&mut main, "CHECKPOINT")? {
                true => Turn::On,
                false => off(life),
            },
            // Ghosts go, and whatever else is done behind the sessions' backs.
            4 => match life.must(&mut main, "WAITFOR DELAY '00:00:06'")? {
                true => Turn::On,
                false => off(life),
            },
            5 | 6 => look(life, &mut actors[who], &all[who], who)?,
            _ => act(life, &mut actors[who], &mut all[who], who, &habits)?,
        };
        if let Turn::Off = turn {
            return Ok(());
        }
    }
    if life.rng.one_in(2) {
        for (n, actor) in actors.iter_mut().enumerate() {
            if let Turn::Off = end(life, actor, &mut all[n])? {
                return Ok(());
            }
        }
    }
    checked(life, &mut main)?;
    Ok(())
}

fn off(life: &mut Life<'_>) -> Turn {
    life.report.cut += 1;
    Turn::Off
}

fn flush(life: &mut Life<'_>, main: &mut Session, all: &mut [Vec<State>]) -> Result<Turn, String> {
    if !life.must(main, "EXEC sys.sp_flush_log")? {
        return Ok(Turn::Off);
    }
    for states in all {
        states.drain(..states.len() - 1);
    }
    Ok(Turn::On)
}

/// A session reads what it wrote.
fn look(
    life: &mut Life<'_>,
    actor: &mut Actor,
    states: &[State],
    n: usize,
) -> Result<Turn, String> {
    let known = actor.open.as_ref().or(states.last());
    let known = known.cloned().unwrap_or_default();
    let mut found = State {
        own: known.own.clone(),
        ..State::default()
    };
    for (from, rows) in [("h", &mut found.heap), ("c", &mut found.tree)] {
        let sql = format!(
            "SELECT {SEEN} FROM {from} WITH (INDEX({from}_id)) WHERE {}",
            mine(n)
        );
        match life.run(&mut actor.session, &sql) {
            End::Good(reply) => *rows = std::mem::take(&mut rows_of(from, &reply.rows)?[n]),
            End::Off => return Ok(off(life)),
            // Somebody has the whole table.
            End::Refused(1222, _) => return Ok(Turn::On),
            End::Refused(_, e) => return Err(e),
        }
    }
    life.report.looks += 1;
    if let Some(own) = &mut found.own {
        let Some(mut all) = read(life, &mut actor.session, &format!("o{n}"))? else {
            return Ok(off(life));
        };
        own.rows = std::mem::take(&mut all[n]);
    }
    match found == known {
        true => Ok(Turn::On),
        false => Err(format!(
            "session {n} does not read what it wrote: {}",
            difference(&known, &found)
        )),
    }
}

fn mine(n: usize) -> String {
    let first = n as i64 * 1000;
    format!("id BETWEEN {first} AND {}", first + IDS - 1)
}

/// One statement of a session.
fn act(
    life: &mut Life<'_>,
    actor: &mut Actor,
    states: &mut Vec<State>,
    n: usize,
    habits: &Habits,
) -> Result<Turn, String> {
    if actor.open.is_some() && life.rng.below(100) < habits.ends {
        return end(life, actor, states);
    }
    let last = states.last().cloned().unwrap_or_default();
    let before = actor.open.clone().unwrap_or(last);
    let (sql, after) = match life.rng.below(12) {
        0..4 if actor.open.is_none() => ("BEGIN TRAN".to_owned(), None),
        0 if actor.open.is_some() => ("SAVE TRAN here".to_owned(), None),
        1 if actor.saved.is_some() => ("ROLLBACK TRAN here".to_owned(), actor.saved.clone()),
        _ => {
            let (sql, after) = change(life.rng, &before, n, habits);
            (sql, Some(after))
        }
    };
    // Whether a statement outside a transaction was done is not known when power fails in it.
    let pushed = match (&actor.open, &after) {
        (None, Some(after)) => {
            states.push(after.clone());
            true
        }
        _ => false,
    };
    match life.run(&mut actor.session, &sql) {
        End::Off => Ok(off(life)),
        End::Good(_) => {
            life.report.done += 1;
            match sql.as_str() {
                "BEGIN TRAN" => actor.open = Some(before),
                "SAVE TRAN here" => actor.saved = Some(before),
                _ => {}
            }
            if let (Some(open), Some(after)) = (&mut actor.open, after) {
                *open = after;
            }
            Ok(Turn::On)
        }
        End::Refused(1222, _) => {
            if pushed {
                states.pop();
            }
            look(life, actor, states, n)
        }
        End::Refused(_, e) => Err(e),
    }
}

/// COMMIT or ROLLBACK: never refused.
fn end(life: &mut Life<'_>, actor: &mut Actor, states: &mut Vec<State>) -> Result<Turn, String> {
    actor.saved = None;
    let Some(state) = actor.open.take() else {
        return Ok(Turn::On);
    };
    let sql = match life.rng.one_in(2) {
        true => {
            states.push(state);
            "COMMIT"
        }
        false => "ROLLBACK",
    };
    match life.must(&mut actor.session, sql)? {
        true => Ok(Turn::On),
        false => Ok(Turn::Off),
    }
}

/// A change, and what there is then.
fn change(rng: &mut Rng, state: &State, n: usize, habits: &Habits) -> (String, State) {
    let mut after = state.clone();
    if rng.below(100) < habits.own {
        let sql = change_own(rng, &mut after, n, habits);
        return (sql, after);
    }
    let (table, rows) = match rng.one_in(2) {
        true => ("h", &mut after.heap),
        false => ("c", &mut after.tree),
    };
    let sql = change_rows(rng, (table, rows), n, habits);
    (sql, after)
}

fn row(rng: &mut Rng, habits: &Habits) -> Row {
    let some = |rng: &mut Rng, most: i64| rng.below(most as u64 + 1) as i64 - 1;
    let outside = rng.below(100) < habits.outside;
    let pad = match rng.one_in(3) {
        true => some(rng, 60),
        false => some(rng, habits.pad),
    };
    let (mut wide, mut big) = (-1, -1);
    if outside {
        wide = if rng.one_in(2) { some(rng, 8_000) } else { -1 };
        let most = [50, 5_000, 20_000, 120_000][rng.below(4) as usize];
        big = if rng.one_in(2) { some(rng, most) } else { -1 };
    }
    Row {
        v: rng.below(1_000) as i64,
        pad,
        wide,
        big,
    }
}

/// The values of a row as expressions.
fn values(row: &Row) -> [String; 4] {
    let letter = 97 + row.v % 26;
    let text = |n: i64| match n {
        -1 => "NULL".to_owned(),
        n => format!("REPLICATE(CHAR({letter}), {n})"),
    };
    let big = match row.big {
        -1 => "NULL".to_owned(),
        n => format!("REPLICATE(CAST(CHAR({letter}) AS varchar(max)), {n})"),
    };
    [row.v.to_string(), text(row.pad), text(row.wide), big]
}

/// Equal rows of the ids as a SELECT; how many of them follow from their length.
fn select(ids: &[i64], row: &Row, n: usize) -> String {
    let [v, pad, wide, big] = values(row);
    let list: Vec<String> = ids.iter().map(|i| format!("({i})")).collect();
    format!(
        "SELECT x.i AS id, {n} * 3 + x.i % 3 AS grp, {v} AS v, CAST({pad} AS varchar(8000)) AS pad, CAST({wide} AS varchar(8000)) AS wide, CAST({big} AS varchar(max)) AS big FROM (VALUES {}) AS x(i)",
        list.join(", ")
    )
}

/// Ids that are free from somewhere on, as many as fill a page or a few.
fn free_ids(rng: &mut Rng, rows: &Rows, n: usize, row: &Row) -> Vec<i64> {
    let first = n as i64 * 1000 + rng.below(IDS as u64) as i64;
    let bytes = 40 + row.pad.max(0) + row.wide.max(0) + row.big.max(0);
    let most = (24_000 / bytes).clamp(2, 300);
    let count = 1 + rng.below(most as u64) as i64;
    let end = (first + count).min(n as i64 * 1000 + IDS);
    (first..end).filter(|id| !rows.contains_key(id)).collect()
}

fn change_rows(
    rng: &mut Rng,
    (table, rows): (&str, &mut Rows),
    n: usize,
    habits: &Habits,
) -> String {
    let new = row(rng, habits);
    let low = n as i64 * 1000 + rng.below(IDS as u64) as i64;
    let high = low + [0, 3, 30, 200][rng.below(4) as usize];
    let range = format!(
        "id BETWEEN {low} AND {}",
        high.min(n as i64 * 1000 + IDS - 1)
    );
    let from = format!("FROM {table} WITH (INDEX({table}_id)) WHERE {range}");
    match rng.below(10) {
        0..3 => {
            rows.retain(|id, _| !(low..=high).contains(id));
            format!("DELETE {table} {from}")
        }
        3 | 4 => {
            for row in rows.range_mut(low..=high) {
                *row.1 = new;
            }
            let [v, pad, wide, big] = values(&new);
            format!("UPDATE {table} SET v = {v}, pad = {pad}, wide = {wide}, big = {big} {from}")
        }
        5 => {
            // In the place where they are, mostly: the others keep their values.
            let pad = new.pad;
            for row in rows.range_mut(low..=high) {
                row.1.pad = pad;
            }
            let text = match pad {
                -1 => "NULL".to_owned(),
                pad => format!("REPLICATE(CHAR(97 + v % 26), {pad})"),
            };
            format!("UPDATE {table} SET pad = {text} {from}")
        }
        6 | 7 => {
            let id = low;
            if rows.contains_key(&id) {
                rows.remove(&id);
                return format!(
                    "DELETE {table} FROM {table} WITH (INDEX({table}_id)) WHERE id = {id}"
                );
            }
            rows.insert(id, new);
            let [v, pad, wide, big] = values(&new);
            format!(
                "INSERT {table} VALUES ({id}, {}, {v}, {pad}, {wide}, {big})",
                n as i64 * 3 + id % 3
            )
        }
        _ => {
            let ids = free_ids(rng, rows, n, &new);
            if ids.is_empty() {
                rows.retain(|id, _| !(low..=high).contains(id));
                return format!("DELETE {table} {from}");
            }
            rows.extend(ids.iter().map(|id| (*id, new)));
            let hint = if rng.one_in(8) { " WITH (TABLOCK)" } else { "" };
            format!("INSERT {table}{hint} {}", select(&ids, &new, n))
        }
    }
}

/// A change of the session's own table, or of what it is.
fn change_own(rng: &mut Rng, state: &mut State, n: usize, habits: &Habits) -> String {
    let new = row(rng, habits);
    let Some(own) = &mut state.own else {
        // From values, or from what the session has elsewhere.
        let mut made = Own::default();
        if rng.one_in(3) {
            made.rows = state.heap.clone();
            state.own = Some(made);
            return format!(
                "SELECT * INTO o{n} FROM h WITH (INDEX(h_id)) WHERE {}",
                mine(n)
            );
        }
        let ids = free_ids(rng, &made.rows, n, &new);
        made.rows.extend(ids.iter().map(|id| (*id, new)));
        state.own = Some(made);
        let rows = select(&ids, &new, n);
        return rows.replacen(" FROM (VALUES", &format!(" INTO o{n} FROM (VALUES"), 1);
    };
    match rng.below(10) {
        0 => {
            own.rows.clear();
            format!("TRUNCATE TABLE o{n}")
        }
        1 => {
            state.own = None;
            format!("DROP TABLE o{n}")
        }
        2 if own.clustered => {
            own.clustered = false;
            format!("DROP INDEX k ON o{n}")
        }
        2 => {
            own.clustered = true;
            format!("CREATE CLUSTERED INDEX k ON o{n} (grp)")
        }
        3 if own.clustered => format!("ALTER INDEX k ON o{n} REBUILD"),
        4 => {
            own.rows.retain(|id, _| id % 2 != 0);
            format!("DELETE o{n} WHERE id % 2 = 0")
        }
        5 => {
            let had = own.rows.clone();
            let came: Vec<(i64, Row)> = state
                .heap
                .iter()
                .filter(|(id, _)| !had.contains_key(id))
                .map(|(id, row)| (*id, *row))
                .collect();
            own.rows.extend(came);
            format!(
                "INSERT o{n} SELECT * FROM h WITH (INDEX(h_id)) WHERE {} AND id NOT IN (SELECT id FROM o{n})",
                mine(n)
            )
        }
        _ => {
            let ids = free_ids(rng, &own.rows, n, &new);
            if ids.is_empty() {
                own.rows.clear();
                return format!("DELETE o{n}");
            }
            own.rows.extend(ids.iter().map(|id| (*id, new)));
            let hint = if rng.one_in(3) { " WITH (TABLOCK)" } else { "" };
            format!("INSERT o{n}{hint} {}", select(&ids, &new, n))
        }
    }
}
