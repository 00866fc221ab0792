//! A log that cannot grow and is full most of the time: sessions that begin, change, commit and roll back in any order,
//! each with a table of its own, between checkpoints, backups and changes of the recovery model.
//!
//! What a run asserts: a change is made, or refused with 9002 and its transaction rolled back, to the row; COMMIT and
//! ROLLBACK are never refused; CHECKPOINT, backups and SET RECOVERY are refused with 9002 or done. When everybody has
//! ended, what makes room is never refused, and there is room then. After a loss of power each table has the rows of one
//! of its commits, not before the last that was flushed.

use std::collections::BTreeMap;

use duramen_session::Session;

use super::super::image;
use super::{End, LIVES, Life, Report, World, audit};

type Rows = BTreeMap<i64, i64>;

/// Sessions with a table each.
const TABLES: usize = 14;
/// Keys of a table are below this.
const IDS: u64 = 40;

/// What a table may have: the states that it had since the last flush, the last one last.
#[derive(Clone, Debug)]
struct Table {
    states: Vec<Rows>,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            states: vec![Rows::new()],
        }
    }
}

impl Table {
    fn last(&self) -> &Rows {
        self.states.last().expect("never empty")
    }
}

/// A session at work.
struct Actor {
    session: Session,
    /// The rows as its transaction sees them; `None` outside one.
    open: Option<Rows>,
    saved: Option<Rows>,
}

enum Turn {
    On,
    Off,
}

pub(super) fn run(seed: u64) -> Result<Report, String> {
    let mut world = World::new(seed, 0x0f01_1109);
    let kb = [768, 1024, 1536, 2048][world.rng.below(4) as usize];
    let mut tables = vec![Table::default(); TABLES];
    let set_up = world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        let make = format!(
            "CREATE DATABASE f ON (NAME = f, FILENAME = '/data/f.mdf', SIZE = 3MB, FILEGROWTH = 1MB)
             LOG ON (NAME = fl, FILENAME = '/data/fl.ldf', SIZE = {kb}KB, FILEGROWTH = 0)"
        );
        let mut all = vec![make, "USE f".to_owned()];
        for n in 0..TABLES {
            all.push(format!(
                "CREATE TABLE t{n} (id int NOT NULL CONSTRAINT pk_{n} PRIMARY KEY, v int NOT NULL, pad varchar(7000) NOT NULL)"
            ));
            if n % 3 == 0 {
                all.push(format!("CREATE INDEX v_{n} ON t{n} (v)"));
            }
        }
        all.push("USE b; CREATE TABLE other (id int IDENTITY, v int)".to_owned());
        all.push("EXEC sys.sp_flush_log; CHECKPOINT".to_owned());
        for sql in &all {
            if let End::Refused(_, e) = life.run(&mut session, sql) {
                return Err(e);
            }
        }
        Ok(())
    });
    set_up?;
    for n in 0..LIVES {
        let cut = match n {
            0 => None,
            _ => world.cut(4_000),
        };
        world.life(cut, |life| live(life, &mut tables, n))?;
    }
    world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        settle(life, &mut session, &mut tables)?.ok_or("no power")?;
        Ok(())
    })?;
    world.close()
}

/// Every table has the rows of one of its states, and its structure is sound. `None` without power.
fn settle(
    life: &mut Life<'_>,
    session: &mut Session,
    tables: &mut [Table],
) -> Result<Option<()>, String> {
    for (n, table) in tables.iter_mut().enumerate() {
        let found = life.table(session, &format!("SELECT id, v FROM f.dbo.t{n}"));
        let found = found.map_err(|e| match life.instance.databases.unavailable().first() {
            Some(refused) => format!("after a start, {refused}"),
            None => e,
        })?;
        let Some(found) = found else {
            return Ok(None);
        };
        let Some(at) = table.states.iter().rposition(|s| *s == found) else {
            return Err(format!(
                "t{n} has {found:?}: none of {} states, the last of which is {:?}",
                table.states.len(),
                table.last()
            ));
        };
        table.states.truncate(at + 1);
        // What is there after a recovery is durable.
        table.states.drain(..at);
    }
    let open = life.instance.databases.find("f").ok_or("f is not there")?;
    match audit::structures(&open) {
        Err(_) if life.disk.is_off() => Ok(None),
        Err(e) => Err(e),
        Ok(()) => Ok(Some(())),
    }
}

fn live(life: &mut Life<'_>, tables: &mut [Table], n: u64) -> Result<(), String> {
    let Some(mut main) = life.login()? else {
        return Ok(());
    };
    if settle(life, &mut main, tables)?.is_none() {
        return Ok(());
    }
    if let End::Off = life.run(&mut main, "USE f; SET LOCK_TIMEOUT 0") {
        return Ok(());
    }
    let mut actors = Vec::new();
    for _ in 0..TABLES {
        let mut session = match image::login_to(&life.instance, "f") {
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
    // Mostly large rows, or mostly small ones; few commits, or many.
    let largest = [60, 900, 6_900][life.rng.below(3) as usize];
    let ends = 2 + life.rng.below(12);
    for _ in 0..200 + life.rng.below(500) {
        let turn = match life.rng.below(24) {
            0 => ask(life, &mut main, tables, n)?,
            1 => flush(life, &mut main, tables)?,
            _ => {
                let who = life.rng.below(TABLES as u64) as usize;
                act(life, &mut actors[who], &mut tables[who], who, largest, ends)?
            }
        };
        if let Turn::Off = turn {
            return Ok(());
        }
    }
    finish(life, &mut main, actors, tables)
}

/// What lets go of log, or takes some of what is kept back: done or refused.
fn ask(
    life: &mut Life<'_>,
    main: &mut Session,
    tables: &mut [Table],
    n: u64,
) -> Result<Turn, String> {
    let sql = match life.rng.below(if n == 0 { 3 } else { 9 }) {
        0..3 => "CHECKPOINT",
        3 | 4 => "BACKUP LOG f TO DISK = 'nul'",
        5 => "BACKUP DATABASE f TO DISK = 'nul'",
        6 => "ALTER DATABASE f SET RECOVERY SIMPLE",
        7 => "ALTER DATABASE f SET RECOVERY FULL",
        _ => "ALTER DATABASE f SET TARGET_RECOVERY_TIME = 60 SECONDS",
    };
    match life.run(main, sql) {
        End::Off => return Ok(off(life)),
        // No chain of log backups; one that is not possible under SIMPLE; the end of one.
        End::Refused(9002 | 4214 | 4208 | 3013 | 5069, _) => {}
        End::Refused(_, e) => return Err(e),
        End::Good(_) => life.report.done += 1,
    }
    let _ = tables;
    Ok(Turn::On)
}

fn flush(life: &mut Life<'_>, main: &mut Session, tables: &mut [Table]) -> Result<Turn, String> {
    if !life.must(main, "EXEC sys.sp_flush_log")? {
        return Ok(Turn::Off);
    }
    for table in tables {
        table.states.drain(..table.states.len() - 1);
    }
    Ok(Turn::On)
}

fn off(life: &mut Life<'_>) -> Turn {
    life.report.cut += 1;
    Turn::Off
}

/// One statement of a session.
fn act(
    life: &mut Life<'_>,
    actor: &mut Actor,
    table: &mut Table,
    n: usize,
    largest: u64,
    ends: u64,
) -> Result<Turn, String> {
    if actor.open.is_some() && life.rng.below(100) < ends {
        return end(life, actor, table);
    }
    let before = actor.open.clone().unwrap_or_else(|| table.last().clone());
    let (sql, after) = match life.rng.below(12) {
        0 | 1 if actor.open.is_none() => ("BEGIN TRAN".to_owned(), None),
        0 => ("SAVE TRAN here".to_owned(), None),
        1 if actor.saved.is_some() => ("ROLLBACK TRAN here".to_owned(), actor.saved.clone()),
        2 if actor.open.is_some() => ("INSERT b.dbo.other VALUES (1)".to_owned(), None),
        3 if actor.open.is_some() && life.rng.one_in(6) => {
            let number = life.rng.below(1 << 40);
            let sql = format!(
                "CREATE TABLE x{number} (a int NOT NULL, b char(4000)); INSERT x{number} VALUES (1, 'x'), (2, 'y')"
            );
            (sql, None)
        }
        _ => {
            let (sql, after) = change(life, &before, n, largest);
            (sql, Some(after))
        }
    };
    // Whether a statement outside a transaction was done is not known when power fails in it.
    let pushed = match (&actor.open, &after) {
        (None, Some(after)) => {
            table.states.push(after.clone());
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
        End::Refused(9002 | 1222 | 1205, why) => {
            if pushed {
                table.states.pop();
            }
            look(life, actor, table, n, &why)
        }
        End::Refused(_, e) => Err(e),
    }
}

/// After a refusal: the transaction goes on as it was, or is rolled back, and the rows say so.
fn look(
    life: &mut Life<'_>,
    actor: &mut Actor,
    table: &Table,
    n: usize,
    why: &str,
) -> Result<Turn, String> {
    let Some(count) = life.rows(&mut actor.session, "SELECT @@TRANCOUNT")? else {
        return Ok(off(life));
    };
    if count == [[0]] {
        (actor.open, actor.saved) = (None, None);
    }
    let Some(found) = life.table(&mut actor.session, &format!("SELECT id, v FROM t{n}"))? else {
        return Ok(off(life));
    };
    let known = actor.open.as_ref().unwrap_or(table.last());
    match found == *known {
        true => Ok(Turn::On),
        false => Err(format!("t{n} has {found:?}, not {known:?}, after {why}")),
    }
}

/// COMMIT or ROLLBACK: never refused.
fn end(life: &mut Life<'_>, actor: &mut Actor, table: &mut Table) -> Result<Turn, String> {
    actor.saved = None;
    let Some(rows) = actor.open.take() else {
        return Ok(Turn::On);
    };
    let sql = match life.rng.one_in(2) {
        true => {
            table.states.push(rows);
            "COMMIT"
        }
        false => "ROLLBACK",
    };
    match life.must(&mut actor.session, sql)? {
        true => Ok(Turn::On),
        false => Ok(Turn::Off),
    }
}

/// A change of rows, and what they are then.
fn change(life: &mut Life<'_>, rows: &Rows, n: usize, largest: u64) -> (String, Rows) {
    let rng = &mut *life.rng;
    let mut after = rows.clone();
    let id = rng.below(IDS) as i64;
    let v = rng.below(1 << 20) as i64;
    let pad = rng.below(largest);
    let sql = match rng.below(6) {
        0 => {
            after.retain(|k, _| *k < id || *k > id + 4);
            format!("DELETE t{n} WHERE id BETWEEN {id} AND {}", id + 4)
        }
        1 => {
            after.values_mut().for_each(|x| *x = v);
            format!("UPDATE t{n} SET v = {v}")
        }
        _ if after.contains_key(&id) => {
            after.insert(id, v);
            format!(
                "UPDATE t{n} SET v = {v}, pad = REPLICATE('{}', {pad}) WHERE id = {id}",
                v % 10
            )
        }
        _ => {
            after.insert(id, v);
            format!("INSERT t{n} VALUES ({id}, {v}, REPLICATE('x', {pad}))")
        }
    };
    (sql, after)
}

/// Everybody ends; then there is a way to room.
fn finish(
    life: &mut Life<'_>,
    main: &mut Session,
    actors: Vec<Actor>,
    tables: &mut [Table],
) -> Result<(), String> {
    for (n, mut actor) in actors.into_iter().enumerate() {
        if let Turn::Off = end(life, &mut actor, &mut tables[n])? {
            return Ok(());
        }
    }
    let Some(model) = life.rows(
        main,
        "SELECT CAST(recovery_model AS int) FROM sys.databases WHERE name = 'f'",
    )?
    else {
        return Ok(());
    };
    // A chain of log backups keeps the log, if one has begun; what holds a log backup back a checkpoint lets go of.
    let mut way = vec!["CHECKPOINT"];
    if model == [[1]] {
        way = vec!["ALTER DATABASE f SET RECOVERY SIMPLE", "CHECKPOINT"];
        if life.rng.one_in(2) {
            way = vec![
                "BACKUP LOG f TO DISK = 'nul'",
                "CHECKPOINT",
                "BACKUP LOG f TO DISK = 'nul'",
            ];
        }
    }
    for sql in way {
        match life.run(main, sql) {
            End::Off => {
                off(life);
                return Ok(());
            }
            // A checkpoint that would let go of nothing; a chain that has not begun.
            End::Refused(9002, e) if !sql.starts_with("CHECK") => return Err(e),
            End::Refused(9002 | 4214 | 3013, _) | End::Good(_) => {}
            End::Refused(_, e) => return Err(e),
        }
    }
    let mut after = tables[0].last().clone();
    // A crash may have kept the row of an earlier life whose DELETE was not durable yet.
    let id = (IDS as i64 + 1..).find(|id| !after.contains_key(id));
    let id = id.ok_or("every id is taken")?;
    after.insert(id, 7);
    tables[0].states.push(after.clone());
    after.remove(&id);
    tables[0].states.push(after);
    let sql = format!("INSERT t0 VALUES ({id}, 7, 'room'); DELETE t0 WHERE id = {id}");
    life.must(main, &sql)?;
    Ok(())
}
