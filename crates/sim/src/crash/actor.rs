//! A session that makes up its work as it goes and knows what its rows must be.

mod loads;
mod rebuilds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use duramen_base::SqlError;
use duramen_events::instance::Instance;
use duramen_os::random::Rng;
use duramen_os::sim::SimDisk;
use duramen_os::{thread, time};
use duramen_types::Value;

use super::image;
use super::model::{ACCOUNTS, Claim, DATABASES, DBS, Entry, IDS, Part, Row};
use super::plan::{Habits, Plan, Round};
use super::wire::{Connection, Reply, Wire, execute};

/// Of the changes of shared tables: loads of many rows. A share of 100.
const LOADS: u64 = 8;
/// Rows a session may have in a table, loads apart.
const ROWS: i32 = 16;

/// A point of a transaction: the rows there, and which databases were written.
type Point = ([Part; DBS], [bool; DBS]);

/// An open explicit transaction.
struct Open {
    rows: [Part; DBS],
    wrote: [bool; DBS],
    saved: Option<Point>,
    /// Its number: goes to `seq` at its end.
    number: i64,
}

/// How a statement ended.
enum End {
    Good(Reply),
    /// Undone; the transaction stays.
    Refused,
    /// The transaction is rolled back.
    Aborted,
    /// Nobody knows: the session ends.
    Lost,
}

pub struct Actor {
    rng: Rng,
    /// From 0.
    n: usize,
    wire: Arc<Wire>,
    instance: Arc<Instance>,
    delayed: bool,
    ddl: bool,
    steps: u32,
    faulty: bool,
    habits: Habits,
    sessions: usize,
    open: Option<Open>,
    number: i64,
    talk: bool,
}

/// Errors that undo the statement and nothing else.
const REFUSALS: &[i32] = &[2627, 2601, 1222];
/// Errors that roll the transaction back.
const ABORTS: &[i32] = &[1205];
/// The same when the disk is full.
const FULL: &[i32] = &[9002, 1105];

impl Actor {
    pub(super) fn new(
        instance: &Arc<Instance>,
        wire: &Arc<Wire>,
        plan: &Plan,
        round: &Round,
        n: usize,
        faulty: bool,
    ) -> Actor {
        let seed = plan.seed ^ (n as u64 + 1).wrapping_mul(0x9e37_79b9) ^ u64::from(round.steps);
        let number = wire.with(|l| (0..DBS).map(|db| l.last(n, db).seq).max().unwrap_or(0));
        Actor {
            rng: Rng::new(seed),
            n,
            wire: wire.clone(),
            instance: instance.clone(),
            delayed: plan.delayed,
            ddl: plan.ddl,
            steps: round.steps,
            faulty,
            habits: plan.habits,
            sessions: plan.sessions,
            open: None,
            number,
            talk: std::env::var_os("DURAMEN_SIM_TALK").is_some(),
        }
    }

    /// Works until it is through, lost, or without power.
    pub fn run(mut self, disk: &SimDisk) {
        let session = match image::login(&self.instance) {
            Ok(session) => session,
            Err(e) => {
                if !disk.is_off() && !self.faulty {
                    self.wire.violate(e);
                }
                return;
            }
        };
        let id = self.n as u64 + 1;
        let mut c = Connection::new(&self.instance, &self.wire, session, id);
        let mut left = self.steps;
        let mut alive = true;
        while alive && left > 0 {
            // A request of one to four batches, then a packet.
            let batches = 1 + self.rng.below(4);
            for _ in 0..batches {
                left = left.saturating_sub(1);
                alive = self.step(&mut c, disk) && !self.wire.has_violation();
                if !alive || left == 0 {
                    break;
                }
            }
            if !alive {
                break;
            }
            alive = c.send();
            if alive && !self.rng.one_in(4) {
                alive = c.wait();
            }
        }
        if alive {
            let _ = c.wait();
        }
    }

    /// One statement, or a few; false when the session is at its end.
    fn step(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        if self.open.is_some() {
            if self.one_of_hundred(self.habits.commit) {
                return self.commit(c, disk);
            }
            match self.rng.below(16) {
                0..12 => self.change(c, disk),
                12 => self.save(c, disk),
                13 => self.back_to_savepoint(c, disk),
                14 => self.rollback(c, disk),
                _ => self.look(c, disk),
            }
        } else if self.one_of_hundred(self.habits.read) {
            self.look_at_others(c, disk)
        } else if self.one_of_hundred(self.habits.checkpoint) {
            self.checkpoint(c, disk)
        } else {
            match self.rng.below(20) {
                0..12 => self.begin(c, disk),
                12..18 => self.change(c, disk),
                18 => self.look(c, disk),
                _ => self.rest(c, disk),
            }
        }
    }

    fn execute(&mut self, c: &mut Connection, sql: &str, disk: &SimDisk) -> End {
        self.wire.count(1, 0);
        let reply = execute(&mut c.session, sql);
        if self.talk {
            let errors: Vec<String> = reply.errors.iter().map(SqlError::to_string).collect();
            eprintln!(
                "{:>12} session {}: {sql:.160} -> {} rows {errors:?}",
                time::now().0,
                self.n + 1,
                reply.rows.len(),
            );
        }
        let numbers: Vec<i32> = reply.errors.iter().map(|e| e.number).collect();
        let all = |known: &[i32]| numbers.iter().all(|n| known.contains(n));
        if numbers.is_empty() {
            End::Good(reply)
        } else if disk.is_off() {
            End::Lost
        } else if all(REFUSALS) {
            End::Refused
        } else if all(ABORTS) || self.faulty && all(FULL) {
            if reply.in_transaction {
                let text = format!("a transaction is left after {}", reply.errors[0]);
                self.wire.violate(text);
            }
            End::Aborted
        } else {
            if !self.faulty {
                let text = format!("session {}: {sql:.300}: {}", self.n + 1, reply.errors[0]);
                self.wire.violate(text);
            }
            End::Lost
        }
    }

    /// The session's rows as its next statement finds them.
    fn rows(&self, db: usize) -> Part {
        match &self.open {
            Some(open) => open.rows[db].clone(),
            None => self.wire.with(|l| l.last(self.n, db).clone()),
        }
    }

    fn begin(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        match self.execute(c, "BEGIN TRAN", disk) {
            End::Good(_) => {
                self.number += 1;
                self.open = Some(Open {
                    rows: std::array::from_fn(|db| self.wire.with(|l| l.last(self.n, db).clone())),
                    wrote: [false; DBS],
                    saved: None,
                    number: self.number,
                });
                true
            }
            _ => false,
        }
    }

    fn save(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        match self.execute(c, "SAVE TRAN here", disk) {
            End::Good(_) => {
                if let Some(open) = &mut self.open {
                    open.saved = Some((open.rows.clone(), open.wrote));
                }
                true
            }
            other => self.after(other),
        }
    }

    fn back_to_savepoint(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        if self.open.as_ref().is_none_or(|o| o.saved.is_none()) {
            return true;
        }
        match self.execute(c, "ROLLBACK TRAN here", disk) {
            End::Good(_) => {
                if let Some(open) = &mut self.open
                    && let Some((rows, _)) = open.saved.clone()
                {
                    // What was written stays written: the transaction has a part there.
                    open.rows = rows;
                }
                true
            }
            other => self.after(other),
        }
    }

    fn rollback(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        match self.execute(c, "ROLLBACK", disk) {
            End::Good(_) => {
                self.open = None;
                true
            }
            _ => false,
        }
    }

    /// What a statement that changed nothing leaves; false when the session is at its end.
    fn after(&mut self, end: End) -> bool {
        match end {
            End::Good(_) | End::Refused => true,
            End::Aborted => {
                self.open = None;
                true
            }
            End::Lost => false,
        }
    }

    fn commit(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        let Some(open) = &self.open else { return true };
        let (wrote, number) = (open.wrote, open.number);
        for db in (0..DBS).filter(|db| wrote[*db]) {
            let sql = format!(
                "UPDATE {}.dbo.seq SET n = {number} WHERE sess = {}",
                DATABASES[db],
                self.n + 1
            );
            match self.execute(c, &sql, disk) {
                End::Good(_) => {}
                other => return self.after(other),
            }
            if let Some(open) = &mut self.open {
                open.rows[db].seq = number;
            }
        }
        let both = wrote.iter().all(|w| *w);
        let delayed = self.delayed && self.rng.one_in(2);
        let full = both || !delayed;
        let Some(open) = self.open.take() else {
            return true;
        };
        let mut pushed = Vec::new();
        for (db, state) in open.rows.into_iter().enumerate() {
            if wrote[db] {
                let entry = Entry {
                    state,
                    both,
                    full,
                    done: false,
                };
                pushed.push((db, self.wire.with(|l| l.push(self.n, db, entry))));
            }
        }
        let sql = if delayed {
            "COMMIT WITH (DELAYED_DURABILITY = ON)"
        } else {
            "COMMIT"
        };
        match self.execute(c, sql, disk) {
            End::Good(_) => {
                self.committed(c, &pushed);
                true
            }
            _ => false,
        }
    }

    fn committed(&mut self, c: &mut Connection, pushed: &[(usize, usize)]) {
        self.wire.count(0, 1);
        for &(db, entry) in pushed {
            self.wire.with(|l| l.done(self.n, db, entry));
            c.claim(Claim::Committed {
                session: self.n,
                db,
                entry,
            });
        }
    }

    /// A statement that changes rows, in the open transaction or by itself.
    fn change(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        let mut db = self.pick_db();
        let stay = !self.one_of_hundred(self.habits.roam);
        if let Some(open) = &self.open
            && stay
        {
            // Mostly where the transaction has written already: one over two databases is the rarer.
            db = open.wrote.iter().position(|w| *w).unwrap_or(db);
        }
        let before = self.rows(db);
        let mut after = before.clone();
        let Some(sql) = self.invent(db, &mut after) else {
            return true;
        };
        if self.open.is_none() && after == before {
            // Nothing is written, so nothing is committed and nothing promised.
            let end = self.execute(c, &sql, disk);
            return self.after(end);
        }
        if self.open.is_some() {
            return match self.execute(c, &sql, disk) {
                End::Good(_) => {
                    if let Some(open) = &mut self.open {
                        open.rows[db] = after;
                        open.wrote[db] = true;
                    }
                    true
                }
                other => self.after(other),
            };
        }
        let entry = Entry {
            state: after,
            both: false,
            full: true,
            done: false,
        };
        let at = self.wire.with(|l| l.push(self.n, db, entry));
        match self.execute(c, &sql, disk) {
            End::Good(_) => {
                self.committed(c, &[(db, at)]);
                true
            }
            End::Refused | End::Aborted => {
                self.wire.with(|l| l.pop(self.n, db));
                true
            }
            End::Lost => false,
        }
    }

    fn one_of_hundred(&mut self, share: u64) -> bool {
        self.rng.below(100) < share
    }

    fn pick_db(&mut self) -> usize {
        self.rng.below(DBS as u64) as usize
    }

    /// Makes up a statement and does to `part` what it must do to the rows; `None` when nothing fits.
    fn invent(&mut self, db: usize, part: &mut Part) -> Option<String> {
        let name = DATABASES[db];
        if self.open.is_some() && self.one_of_hundred(self.habits.transfer) {
            return Some(self.invent_transfer(name, part));
        }
        if self.one_of_hundred(self.habits.large) {
            return self.invent_large(name, part);
        }
        if self.ddl && self.rng.one_in(8) {
            return match self.rng.one_in(4) {
                true => Some(self.invent_rebuild(name)),
                false => self.invent_table(name, part),
            };
        }
        let table = if self.one_of_hundred(self.habits.blank) {
            "h"
        } else {
            "t"
        };
        if self.one_of_hundred(LOADS) {
            return self.invent_load(name, table, part);
        }
        self.invent_row(name, table, part)
    }

    fn id(&mut self) -> i32 {
        (self.n as i32 + 1) * IDS + self.rng.below(ROWS as u64) as i32
    }

    fn row(&mut self) -> Row {
        let long = self.rng.one_in(3);
        let limit = if long { 1400 } else { 120 };
        Row {
            pad: (self.letter(), 1 + self.rng.below(limit) as u32),
            n: (!self.rng.one_in(4)).then(|| self.rng.below(9) as i32),
            f: format!("f{}", self.rng.below(1000)),
        }
    }

    fn letter(&mut self) -> u8 {
        b'a' + self.rng.below(26) as u8
    }

    fn invent_row(&mut self, db: &str, table: &str, part: &mut Part) -> Option<String> {
        let id = self.id();
        let row = self.row();
        let rows = if table == "t" {
            &mut part.t
        } else {
            &mut part.h
        };
        let n = row.n.map_or("NULL".to_owned(), |n| n.to_string());
        let pad = pad(row.pad);
        let f = row.f.clone();
        let there = rows.contains_key(&id);
        let what = self.rng.below(10);
        Some(match (there, what) {
            (false, 0..8) => {
                // Two rows at once where there is room for them.
                let second = id + 1;
                let twice = what < 3 && second % IDS < ROWS && !rows.contains_key(&second);
                let mut sql = format!("INSERT {db}.dbo.{table} VALUES ({id}, {pad}, {n}, '{f}')");
                if twice {
                    let _ = write!(sql, ", ({second}, {pad}, {n}, '{f}')");
                    rows.insert(second, row.clone());
                }
                rows.insert(id, row);
                sql
            }
            (true, 0..2) => {
                rows.remove(&id);
                format!("DELETE {db}.dbo.{table} WHERE id = {id}")
            }
            (true, 2) if table == "t" => {
                // Refused as a duplicate; what it inserted before that is undone.
                let free = (1..ROWS)
                    .map(|i| (self.n as i32 + 1) * IDS + i)
                    .find(|i| !rows.contains_key(i))?;
                format!(
                    "INSERT {db}.dbo.t VALUES ({free}, {pad}, {n}, '{f}'), ({id}, {pad}, {n}, '{f}')"
                )
            }
            (true, 3) => {
                let high = id + self.rng.below(5) as i32;
                rows.retain(|i, _| !(id..=high).contains(i));
                format!("DELETE {db}.dbo.{table} WHERE id BETWEEN {id} AND {high}")
            }
            (true, 4) => {
                let high = id + self.rng.below(5) as i32;
                for (_, r) in rows.range_mut(id..=high) {
                    r.n = row.n;
                    r.pad = row.pad;
                }
                format!(
                    "UPDATE {db}.dbo.{table} SET n = {n}, pad = {pad} WHERE id >= {id} AND id <= {high}"
                )
            }
            (true, 5) => {
                // The key itself changes.
                let free = (0..ROWS)
                    .map(|i| (self.n as i32 + 1) * IDS + i)
                    .find(|i| !rows.contains_key(i))?;
                let moved = rows.remove(&id)?;
                rows.insert(free, moved);
                format!("UPDATE {db}.dbo.{table} SET id = {free} WHERE id = {id}")
            }
            (true, 6) => {
                rows.get_mut(&id)?.f = f.clone();
                format!("UPDATE {db}.dbo.{table} SET f = '{f}' WHERE id = {id}")
            }
            (true, _) => {
                let r = rows.get_mut(&id)?;
                r.pad = row.pad;
                r.n = row.n;
                format!("UPDATE {db}.dbo.{table} SET pad = {pad}, n = {n} WHERE id = {id}")
            }
            (false, _) => format!("DELETE {db}.dbo.{table} WHERE id = {id}"),
        })
    }

    fn invent_large(&mut self, db: &str, part: &mut Part) -> Option<String> {
        let id = self.id();
        let length = match self.rng.below(4) {
            0 => self.rng.below(self.habits.largest),
            1 => self.rng.below(9_000),
            _ => self.rng.below(500),
        } as u32
            + 1;
        let letter = self.letter();
        let body = format!(
            "REPLICATE(CAST('{}' AS varchar(max)), {length})",
            char::from(letter)
        );
        Some(match part.l.contains_key(&id) {
            false => {
                part.l.insert(id, (letter, length));
                format!("INSERT {db}.dbo.l VALUES ({id}, {body})")
            }
            true if self.rng.one_in(2) => {
                part.l.remove(&id);
                format!("DELETE {db}.dbo.l WHERE id = {id}")
            }
            true => {
                part.l.insert(id, (letter, length));
                format!("UPDATE {db}.dbo.l SET body = {body} WHERE id = {id}")
            }
        })
    }

    /// Money from nowhere to an account that everybody uses, with its history.
    fn invent_transfer(&mut self, db: &str, part: &mut Part) -> String {
        let account = self.rng.below(ACCOUNTS as u64) as i32;
        let amount = self.rng.below(1000) as i64 - 500;
        let number = self.open.as_ref().map_or(0, |o| o.number);
        let amounts = part.hist.entry(number).or_default();
        if amounts.contains_key(&account) {
            return format!("SELECT ver FROM {db}.dbo.acct WHERE id = {account}");
        }
        amounts.insert(account, amount);
        format!(
            "UPDATE {db}.dbo.acct SET ver = ver + 1, bal = bal + ({amount}) WHERE id = {account}; \
             INSERT {db}.dbo.hist SELECT id, ver, {amount}, {}, {number} FROM {db}.dbo.acct WHERE id = {account}",
            self.n + 1
        )
    }

    /// The session's own table comes, changes and goes.
    fn invent_table(&mut self, db: &str, part: &mut Part) -> Option<String> {
        let table = format!("own{}", self.n + 1);
        let use_it = format!("USE {db}; ");
        let Some((mut rows, indexed)) = part.own.take() else {
            let mut rows = BTreeMap::new();
            let loaded = self.rng.one_in(2);
            let into = loaded.then(|| self.invent_into(&table, &mut rows));
            part.own = Some((rows, false));
            if let Some(sql) = into.flatten() {
                return Some(format!("{use_it}{sql}"));
            }
            return Some(format!(
                "{use_it}CREATE TABLE {table} (id int NOT NULL, pad varchar(2000) NOT NULL)"
            ));
        };
        let (mut there, mut has_index) = (true, indexed);
        let sql = match self.rng.below(10) {
            0 => {
                there = false;
                format!("{use_it}DROP TABLE {table}")
            }
            1 => {
                rows.clear();
                format!("{use_it}TRUNCATE TABLE {table}")
            }
            2 if !indexed => {
                has_index = true;
                format!("{use_it}CREATE INDEX {table}_id ON {table} (id)")
            }
            2 => {
                has_index = false;
                format!("{use_it}DROP INDEX {table}_id ON {table}")
            }
            3 if indexed => format!("{use_it}ALTER INDEX {table}_id ON {table} REBUILD"),
            3..6 => self.invent_own_load(db, &table, &mut rows)?,
            _ => {
                let id = rows.keys().last().map_or(1, |i| i + 1);
                let length = self.rng.below(2000) as u32;
                rows.insert(id, length);
                format!("INSERT {db}.dbo.{table} VALUES ({id}, REPLICATE('o', {length}))")
            }
        };
        part.own = there.then_some((rows, has_index));
        Some(sql)
    }

    fn checkpoint(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        let db = DATABASES[self.pick_db()];
        let what = if self.rng.one_in(5) {
            "EXEC sys.sp_flush_log"
        } else {
            "CHECKPOINT"
        };
        let end = self.execute(c, &format!("USE {db}; {what}"), disk);
        self.after(end)
    }

    /// Reads its own rows: they must be what it wrote.
    fn look(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        let db = self.pick_db();
        let rows = self.rows(db);
        let table = if self.rng.one_in(2) { "t" } else { "h" };
        let expected = if table == "t" { &rows.t } else { &rows.h };
        let low = (self.n as i32 + 1) * IDS;
        let sql = format!(
            "SELECT id, pad, n, f FROM {}.dbo.{table} WHERE id >= {low} AND id < {} ORDER BY id",
            DATABASES[db],
            low + IDS
        );
        match self.execute(c, &sql, disk) {
            End::Good(reply) => {
                let found: Option<BTreeMap<i32, Row>> =
                    reply.rows.iter().map(|r| read_row(r)).collect();
                if found.as_ref() != Some(expected) {
                    self.wire.violate(format!(
                        "session {}: reads of {}.{table} {found:?} and has written {expected:?}",
                        self.n + 1,
                        DATABASES[db]
                    ));
                    return false;
                }
                true
            }
            other => self.after(other),
        }
    }

    /// Reads how far the others are: committed work only, nothing that was seen before may be missing.
    fn look_at_others(&mut self, c: &mut Connection, disk: &SimDisk) -> bool {
        let db = self.pick_db();
        let visible: Vec<usize> = self
            .wire
            .with(|l| (0..self.sessions).map(|s| l.visible(s, db)).collect());
        let sql = format!("SELECT sess, n FROM {}.dbo.seq", DATABASES[db]);
        let reply = match self.execute(c, &sql, disk) {
            End::Good(reply) => reply,
            other => return self.after(other),
        };
        for row in &reply.rows {
            let (Some(sess), Some(seq)) = (row[0].as_i64(), row[1].as_i64()) else {
                continue;
            };
            let s = sess as usize - 1;
            if s >= self.sessions {
                continue;
            }
            let (first, last) = self
                .wire
                .with(|l| (l.first_of_seq(s, db, seq), l.entry_of_seq(s, db, seq)));
            let (Some(first), Some(last)) = (first, last) else {
                self.wire.violate(format!(
                    "session {} was told that session {sess} has committed {seq} in {}, which it never tried to",
                    self.n + 1,
                    DATABASES[db]
                ));
                return false;
            };
            if last < visible[s] {
                self.wire.violate(format!(
                    "session {} does not see commit {} of session {sess} in {}: it is told of {seq}",
                    self.n + 1,
                    visible[s],
                    DATABASES[db]
                ));
                return false;
            }
            c.claim(Claim::Told {
                session: s,
                db,
                entry: first,
            });
        }
        true
    }

    fn rest(&mut self, _c: &mut Connection, _disk: &SimDisk) -> bool {
        thread::sleep(std::time::Duration::from_micros(self.rng.below(20_000)));
        true
    }
}

/// The expression for a run of letters.
fn pad((letter, count): (u8, u32)) -> String {
    format!("REPLICATE('{}', {count})", char::from(letter))
}

/// A run of one letter, as read; `None` when it is not one.
pub(super) fn read_run(value: &Value) -> Option<(u8, u32)> {
    let Value::VarChar(bytes) = value else {
        return None;
    };
    let first = bytes.first().copied().unwrap_or(0);
    bytes
        .iter()
        .all(|b| *b == first)
        .then_some((first, bytes.len() as u32))
}

/// `id, pad, n, f` as read; `None` when a value is damaged.
pub(super) fn read_row(row: &[Value]) -> Option<(i32, Row)> {
    let [id, pad, n, f] = row else { return None };
    let Value::VarChar(f) = f else { return None };
    let text = f.trim_ascii_end();
    let blanks = f.len() == 300 || f.len() == 1600;
    if !blanks || text.contains(&0) {
        return None;
    }
    Some((
        id.as_i64()? as i32,
        Row {
            pad: read_run(pad)?,
            n: n.as_i64().map(|n| n as i32),
            f: String::from_utf8(text.to_vec()).ok()?,
        },
    ))
}
