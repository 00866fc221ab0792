//! SPLIT, MERGE, SWITCH and TRUNCATE of partitions, alone and in transactions, between changes of rows.
//!
//! Two tables of one scheme, so that partitions change places between them. What a run asserts: boundaries and rows of both
//! tables are those after one of the commits, not before the last that was flushed; each partition has the rows that its
//! boundaries say; indexes agree with their tables.

use std::collections::{BTreeMap, BTreeSet};

use duramen_os::random::Rng;

use super::{End, LIVES, Life, Report, World, audit};

/// Values of the partitioning column are below this.
const IDS: u64 = 60;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    bounds: BTreeSet<i64>,
    p: BTreeMap<i64, i64>,
    q: BTreeMap<i64, i64>,
}

impl State {
    /// RANGE RIGHT: a boundary belongs to the partition behind it.
    fn partition_of(&self, id: i64) -> usize {
        1 + self.bounds.range(..=id).count()
    }

    fn of_partition(&self, rows: &BTreeMap<i64, i64>, n: usize) -> BTreeMap<i64, i64> {
        let inside = rows.iter().filter(|r| self.partition_of(*r.0) == n);
        inside.map(|(id, v)| (*id, *v)).collect()
    }
}

const SETUP: &str = "
    CREATE PARTITION FUNCTION story (int) AS RANGE RIGHT FOR VALUES (10, 20, 40);
    CREATE PARTITION SCHEME stories AS PARTITION story ALL TO ([PRIMARY]);
    CREATE TABLE p (id int NOT NULL CONSTRAINT pk_p PRIMARY KEY, v int NOT NULL, pad varchar(2000) NOT NULL) ON stories (id);
    CREATE INDEX p_v ON p (v);
    CREATE TABLE q (id int NOT NULL CONSTRAINT pk_q PRIMARY KEY, v int NOT NULL, pad varchar(2000) NOT NULL) ON stories (id);
    CREATE INDEX q_v ON q (v)";

pub(super) fn run(seed: u64) -> Result<Report, String> {
    let mut world = World::new(seed, 0x9a27_1710);
    let first = State {
        bounds: [10, 20, 40].into(),
        ..State::default()
    };
    let set_up = world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        for sql in ["USE b", SETUP, "EXEC sys.sp_flush_log"] {
            if let End::Refused(_, e) = life.run(&mut session, sql) {
                return Err(e);
            }
        }
        Ok(())
    });
    set_up?;
    let mut states = vec![first];
    for n in 0..LIVES {
        let cut = match n {
            0 => None,
            _ => world.cut(600),
        };
        let left = world.life(cut, |life| live(life, std::mem::take(&mut states)));
        // Power has failed before anything was looked at: what may be there is the same.
        if let Some(left) = left? {
            states = left;
        }
    }
    let last = world.life(None, |life| {
        let mut session = life.login()?.ok_or("no power")?;
        settle(life, &mut session, &states)?.ok_or("no power")?;
        Ok(())
    });
    last?;
    world.close()
}

/// What is there: one of the states, with its indexes and partitions. `None` without power.
fn settle(
    life: &mut Life<'_>,
    session: &mut duramen_session::Session,
    states: &[State],
) -> Result<Option<State>, String> {
    let bounds = life.rows(
        session,
        "SELECT CAST(v.value AS int) FROM b.sys.partition_range_values AS v
         JOIN b.sys.partition_functions AS f ON f.function_id = v.function_id WHERE f.name = 'story'",
    )?;
    let p = life.table(session, "SELECT id, v FROM b.dbo.p")?;
    let q = life.table(session, "SELECT id, v FROM b.dbo.q")?;
    let (Some(bounds), Some(p), Some(q)) = (bounds, p, q) else {
        return Ok(None);
    };
    let found = State {
        bounds: bounds.into_iter().map(|r| r[0]).collect(),
        p,
        q,
    };
    if !states.contains(&found) {
        return Err(format!(
            "{found:?} is none of {} states, the first of which is {:?} and the last {:?}",
            states.len(),
            states.first(),
            states.last()
        ));
    }
    for (table, rows) in [("p", &found.p), ("q", &found.q)] {
        for n in 1..=found.bounds.len() + 1 {
            let sql = format!("SELECT id, v FROM b.dbo.{table} WHERE $PARTITION.story(id) = {n}");
            let sql = format!("USE b; {sql}");
            let Some(inside) = life.table(session, &sql)? else {
                return Ok(None);
            };
            if inside != found.of_partition(rows, n) {
                return Err(format!(
                    "partition {n} of {table} has {inside:?} of {rows:?}"
                ));
            }
        }
    }
    let open = life.instance.databases.find("b").ok_or("b is not there")?;
    match audit::structures(&open) {
        Err(_) if life.disk.is_off() => Ok(None),
        Err(e) => Err(e),
        Ok(()) => Ok(Some(found)),
    }
}

/// Looks, then works until power fails or the turns are over; the states that may be there afterwards.
fn live(life: &mut Life<'_>, states: Vec<State>) -> Result<Vec<State>, String> {
    let Some(mut session) = life.login()? else {
        return Ok(states);
    };
    let Some(found) = settle(life, &mut session, &states)? else {
        return Ok(states);
    };
    let mut states = vec![found];
    for _ in 0..20 + life.rng.below(60) {
        let (sql, after) = match life.rng.below(12) {
            0 => ("USE b; CHECKPOINT".to_owned(), None),
            1 | 2 => ("USE b; EXEC sys.sp_flush_log".to_owned(), Some(None)),
            _ => {
                let now = states.last().cloned().unwrap_or_default();
                let (sql, after) = batch(life.rng, &now);
                (sql, Some(Some(after)))
            }
        };
        if let Some(Some(after)) = &after {
            states.push(after.clone());
        }
        if !life.must(&mut session, &sql)? {
            return Ok(states);
        }
        if matches!(after, Some(None)) {
            states.drain(..states.len() - 1);
        }
    }
    Ok(states)
}

/// One change, or a few in a transaction that is committed or rolled back.
fn batch(rng: &mut Rng, now: &State) -> (String, State) {
    if !rng.one_in(3) {
        let (sql, after) = change(rng, now);
        return (format!("USE b; {sql}"), after);
    }
    let mut after = now.clone();
    let mut sql = "USE b; SET XACT_ABORT ON; BEGIN TRAN; ".to_owned();
    for _ in 0..1 + rng.below(3) {
        let (one, next) = change(rng, &after);
        sql.push_str(&one);
        sql.push_str("; ");
        after = next;
    }
    match rng.one_in(3) {
        true => (sql + "ROLLBACK", now.clone()),
        false => (sql + "COMMIT", after),
    }
}

fn change(rng: &mut Rng, now: &State) -> (String, State) {
    let mut after = now.clone();
    let partitions = now.bounds.len() + 1;
    let n = 1 + rng.below(partitions as u64) as usize;
    match rng.below(12) {
        0 | 1 if partitions < 12 => {
            let at = rng.below(IDS) as i64;
            if after.bounds.insert(at) {
                let sql = format!(
                    "ALTER PARTITION SCHEME stories NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION story () SPLIT RANGE ({at})"
                );
                return (sql, after);
            }
        }
        2 | 3 => {
            let bounds: Vec<i64> = now.bounds.iter().copied().collect();
            // One boundary stays.
            if bounds.len() > 1
                && let Some(at) = rng.choose(&bounds)
            {
                after.bounds.remove(at);
                let sql = format!("ALTER PARTITION FUNCTION story () MERGE RANGE ({at})");
                return (sql, after);
            }
        }
        4..7 => {
            let (from_p, from_q) = (now.of_partition(&now.p, n), now.of_partition(&now.q, n));
            if from_q.is_empty() {
                after.p.retain(|id, _| !from_p.contains_key(id));
                after.q.extend(from_p);
                return (
                    format!("ALTER TABLE p SWITCH PARTITION {n} TO q PARTITION {n}"),
                    after,
                );
            }
            if from_p.is_empty() {
                after.q.retain(|id, _| !from_q.contains_key(id));
                after.p.extend(from_q);
                return (
                    format!("ALTER TABLE q SWITCH PARTITION {n} TO p PARTITION {n}"),
                    after,
                );
            }
        }
        7 => {
            let last = n + rng.below((partitions - n) as u64 + 1) as usize;
            after
                .p
                .retain(|id, _| !(n..=last).contains(&now.partition_of(*id)));
            let list = format!("{n} TO {last}");
            return (
                format!("TRUNCATE TABLE p WITH (PARTITIONS ({list}))"),
                after,
            );
        }
        8 => {
            let low = rng.below(IDS) as i64;
            let high = low + rng.below(20) as i64;
            for (_, v) in after.p.range_mut(low..=high) {
                *v += 1;
            }
            let sql = format!("UPDATE p SET v = v + 1 WHERE id BETWEEN {low} AND {high}");
            return (sql, after);
        }
        _ => {}
    }
    let table = if rng.one_in(4) { "q" } else { "p" };
    let rows = match table {
        "q" => &mut after.q,
        _ => &mut after.p,
    };
    let low = rng.below(IDS) as i64;
    let new: Vec<i64> = (low..low + 12)
        .filter(|id| !rows.contains_key(id))
        .collect();
    if new.is_empty() {
        rows.retain(|id, _| *id < low || *id >= low + 12);
        let sql = format!("DELETE {table} WHERE id >= {low} AND id < {}", low + 12);
        return (sql, after);
    }
    let pad = rng.below(1900);
    let values: Vec<String> = new
        .iter()
        .map(|id| format!("({id}, {}, REPLICATE('x', {pad}))", id % 7))
        .collect();
    rows.extend(new.iter().map(|id| (*id, id % 7)));
    (
        format!("INSERT {table} VALUES {}", values.join(", ")),
        after,
    )
}
