//! Large values that are read where they lie, on the pages of their rowset, as far and when somebody wants their bytes.
//!
//! Who reads one holds no lock: its row may be changed, deleted or moved meanwhile. So whoever is about to free the pieces of
//! a value looks for those who have it lent, and gives them a copy in a file first. A copy is made, too, of what is to be kept
//! longer than its statement, as its own transaction may take back what it has read.
//!
//! Invariants
//! 1. Pieces that somebody has lent are freed only after he has his copy: lending happens under the latch of the row's page,
//!    freeing after the row has been changed under it. [test: what_is_lent_outlives_its_row]
//! 2. A value has as many bytes as its root says, of one blob: pieces of another one, as a reader of what is not committed may
//!    come upon, are an error. [test: pieces_of_another_value_are_refused]

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use duramen_base::{SqlError, SqlResult, given_up};
use duramen_format::layout::ColumnLayout;
use duramen_format::lob::{Link, Node, Pointer, decode_node, decode_pointer};
use duramen_format::values::Fetched;
use duramen_format::{FormatError, u64_at};
use duramen_os::memory::{Clerk, out_of_memory};
use duramen_os::sync::Mutex;
use duramen_types::batch::spill::SpillFile;
use duramen_types::spooled::Bytes;
use duramen_types::{Spooled, TypeId, Value};

use crate::engine::Database;
use crate::lendings::Place;
use crate::rowset::Rowset;

/// Shorter values are always read into memory.
const LENT_BYTES: u64 = 1 << 20;
/// A value for which memory has this many times its size is read into it: whoever works with it makes copies.
const TIMES: u64 = 4;
/// Levels of a tree of pieces, at most.
const MAX_DEPTH: usize = 16;
/// What is copied at once.
const WINDOW: usize = 256 << 10;

/// A value off its row, as it goes to whoever reads the row.
pub(crate) enum OffRow {
    Bytes(Vec<u8>),
    Lent(Arc<Lent>),
}

impl From<OffRow> for Fetched {
    fn from(value: OffRow) -> Fetched {
        match value {
            OffRow::Bytes(bytes) => Fetched::Bytes(bytes),
            OffRow::Lent(lent) => Fetched::Value(Value::Spooled(Spooled::new(lent))),
        }
    }
}

/// Entries of a node, and where in the value the first of them begins.
#[derive(Default)]
struct Level {
    start: u64,
    links: Vec<Link>,
}

impl Level {
    /// The entry with the byte at `at`, and where it begins.
    fn find(&self, at: u64) -> Option<(u64, Link)> {
        if at < self.start {
            return None;
        }
        let i = self.links.partition_point(|l| l.end <= at);
        let link = *self.links.get(i)?;
        let start = i.checked_sub(1).map_or(self.start, |i| self.links[i].end);
        Some((start, link))
    }
}

/// The pages of a value.
struct Pages {
    top: Level,
    /// The lowest node that was looked at last.
    near: Level,
    blob: Option<u64>,
}

enum State {
    Pages(Pages),
    Copied(Box<dyn SpillFile>),
}

/// A value that somebody has lent.
pub(crate) struct Lent {
    db: Arc<Database>,
    len: u64,
    place: Place,
    /// The database, the allocation unit and the root.
    stored_as: Vec<u8>,
    state: Mutex<State>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes from {:?}", self.len, self.place)
    }
}

impl Pages {
    /// Fills what it can of `out` from the piece that has the byte at `at`; how much.
    fn read(&mut self, db: &Database, at: u64, out: &mut [u8]) -> SqlResult<usize> {
        let corrupt = |what| SqlError::from(FormatError::Corrupt(what));
        let found = self.near.find(at).or_else(|| self.top.find(at));
        let (mut start, mut link) = found.ok_or_else(|| corrupt("text tree (length)"))?;
        for _ in 0..MAX_DEPTH {
            let page = db.read_page(link.page)?;
            let record = page.page().expect_record(link.slot)?.bytes();
            let blob = u64_at(record, 4)?;
            if *self.blob.get_or_insert(blob) != blob {
                return Err(corrupt("text record (of another value)"));
            }
            match decode_node(record)? {
                Node::Small(d) | Node::Data(d) => {
                    if d.len() as u64 != link.end - start {
                        return Err(corrupt("text record length"));
                    }
                    let from = (at - start) as usize;
                    let n = out.len().min(d.len() - from);
                    out[..n].copy_from_slice(&d[from..from + n]);
                    return Ok(n);
                }
                Node::Root { mut links, .. } | Node::Internal { mut links, .. } => {
                    // The ends of entries count from the beginning of the value, or of their node.
                    let last = links.last().map_or(0, |l| l.end);
                    if last != link.end {
                        if last != link.end - start {
                            return Err(corrupt("text tree (length)"));
                        }
                        links.iter_mut().for_each(|l| l.end += start);
                    }
                    if !links.is_sorted_by(|a, b| a.end < b.end) {
                        return Err(corrupt("text tree (order)"));
                    }
                    let level = Level { start, links };
                    (start, link) = level
                        .find(at)
                        .ok_or_else(|| corrupt("text tree (length)"))?;
                    self.near = level;
                }
            }
        }
        Err(corrupt("text tree (too deep)"))
    }
}

impl State {
    fn read(&mut self, db: &Database, at: u64, out: &mut [u8]) -> SqlResult<()> {
        let pages = match self {
            State::Copied(file) => return file.read(at, out),
            State::Pages(pages) => pages,
        };
        let mut done = 0;
        while done < out.len() {
            done += pages.read(db, at + done as u64, &mut out[done..])?;
        }
        Ok(())
    }
}

impl Bytes for Lent {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, out: &mut [u8]) -> SqlResult<()> {
        self.state.lock().read(&self.db, at, out)
    }

    fn settle(&self) -> SqlResult<()> {
        let mut state = self.state.lock();
        if matches!(*state, State::Copied(_)) {
            return Ok(());
        }
        let mut file = self.db.engine.spill_file()?;
        let mut window = vec![0; WINDOW];
        let mut at = 0;
        while at < self.len {
            if given_up::is_given_up() {
                return Err(SqlError::given_up());
            }
            let n = (self.len - at).min(WINDOW as u64) as usize;
            state.read(&self.db, at, &mut window[..n])?;
            file.append(&window[..n])?;
            at += n as u64;
        }
        *state = State::Copied(file);
        Ok(())
    }

    fn stored_as(&self) -> Option<&[u8]> {
        Some(&self.stored_as)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let lendings = &self.db.lendings;
        let mut of = lendings.of.lock();
        if let Some(all) = of.get_mut(&self.place) {
            all.retain(|other| other.strong_count() > 0);
            if all.is_empty() {
                of.remove(&self.place);
            }
        }
        lendings.count.fetch_sub(1, Relaxed);
    }
}

impl Rowset {
    /// What a pointer in a row leads to: `lends` says whether whoever asks knows values that are not in memory. Under the latch
    /// of the row's page, where somebody else may change the row.
    pub(crate) fn off_row(
        &self,
        c: &ColumnLayout,
        pointer: &[u8],
        lends: bool,
    ) -> SqlResult<OffRow> {
        let plain = [TypeId::VarChar, TypeId::NVarChar, TypeId::VarBinary];
        if lends && c.ty.is_max() && plain.contains(&c.ty.id) {
            let links = match decode_pointer(pointer)? {
                Pointer::InRow { links, .. } => links,
                Pointer::Text { .. } => Vec::new(),
            };
            let len = links.last().map_or(0, |l| l.end);
            let wanted = len.saturating_mul(TIMES);
            if len >= LENT_BYTES && !self.db.engine.memory.fits(Clerk::Values, wanted) {
                return Ok(OffRow::Lent(self.lend(pointer, links, len)));
            }
        }
        self.read_off_row(pointer).map(OffRow::Bytes)
    }

    /// A lent value in memory. 701 where there is no room for it.
    pub(crate) fn taken_in(&self, lent: &Lent) -> SqlResult<Vec<u8>> {
        if !self.db.engine.memory.fits(Clerk::Values, lent.len) {
            return Err(out_of_memory());
        }
        let mut bytes = vec![0; usize::try_from(lent.len).map_err(|_| out_of_memory())?];
        lent.read(0, &mut bytes)?;
        Ok(bytes)
    }

    fn lend(&self, pointer: &[u8], links: Vec<Link>, len: u64) -> Arc<Lent> {
        let place = links
            .first()
            .map_or_else(Place::default, |l| (l.page, l.slot));
        let lent = Arc::new(Lent {
            db: self.db.clone(),
            len,
            place,
            stored_as: self.name_of(pointer),
            state: Mutex::new(State::Pages(Pages {
                top: Level { start: 0, links },
                near: Level::default(),
                blob: None,
            })),
        });
        let lendings = &self.db.lendings;
        lendings.count.fetch_add(1, Relaxed);
        let mut of = lendings.of.lock();
        let known: Arc<dyn Bytes> = lent.clone();
        of.entry(place).or_default().push(Arc::downgrade(&known));
        lent
    }

    /// What [`Bytes::stored_as`] says of the value behind a pointer of this rowset.
    fn name_of(&self, pointer: &[u8]) -> Vec<u8> {
        let mut name = Vec::with_capacity(pointer.len() + 16);
        name.extend(self.db.id.0.to_le_bytes());
        name.extend(self.def.lob_au.map_or(0, |au| au.0).to_le_bytes());
        name.extend(pointer);
        name
    }

    /// The pointer among `pointers`, those of a row of this rowset, that leads to a value.
    pub(crate) fn pointer_of<'p>(
        &self,
        value: &Spooled,
        pointers: &'p [Vec<u8>],
    ) -> Option<&'p [u8]> {
        let name = value.stored_as()?;
        let found = pointers.iter().find(|p| self.name_of(p) == name);
        found.map(Vec::as_slice)
    }

    /// Before the pieces of a value go: who has it lent gets his copy.
    pub(crate) fn settle_lent(&self, pointer: &Pointer) -> SqlResult<()> {
        let lendings = &self.db.lendings;
        if lendings.count.load(Relaxed) == 0 {
            return Ok(());
        }
        let Pointer::InRow { links, .. } = pointer else {
            return Ok(());
        };
        let Some(first) = links.first() else {
            return Ok(());
        };
        let of = lendings.of.lock();
        let all = of.get(&(first.page, first.slot));
        let all: Vec<Arc<dyn Bytes>> = all
            .into_iter()
            .flatten()
            .filter_map(Weak::upgrade)
            .collect();
        drop(of);
        all.iter().try_for_each(|lent| lent.settle())
    }
}

#[cfg(test)]
mod tests {
    use duramen_os::Env;
    use duramen_os::memory::Clerk;
    use duramen_os::sim::Simulation;
    use duramen_txn::{IsolationLevel, Transaction};
    use duramen_types::{Spooled, Value};

    use crate::hints::Reading;
    use crate::tests::fixture::{begin, create, engine, wide};
    use crate::{Database, Engine, LockHint, ScanSpec};

    const BYTES: usize = 1_600_000;

    fn value(seed: usize) -> Vec<u8> {
        (0..BYTES).map(|i| ((i * 31 + seed) % 251) as u8).collect()
    }

    /// Leaves no room in memory.
    fn fill(engine: &Engine) -> u64 {
        let all = engine.memory.most(Clerk::Values);
        engine.memory.take(Clerk::Values, all);
        all
    }

    fn row(bytes: Vec<u8>) -> Vec<Value> {
        vec![Value::varchar("k"), Value::VarChar(bytes)]
    }

    fn read(db: &std::sync::Arc<Database>, tx: &Transaction, level: IsolationLevel) -> Spooled {
        let spec = ScanSpec::all(&Reading {
            lock: LockHint::Read,
            level: Some(level),
            lends: true,
            ..Reading::default()
        });
        let mut cursor = db.rowset(&wide()).scan(tx, spec).unwrap();
        match cursor.next(tx).unwrap().unwrap().1.remove(1) {
            Value::Spooled(s) => s,
            other => panic!("{} bytes in memory", other.heap_bytes()),
        }
    }

    fn bytes(s: &Spooled) -> Vec<u8> {
        let mut all = vec![0; s.len()];
        let mut at = 0;
        // Pieces that begin and end within those of the value.
        while at < all.len() {
            let n = 11_111.min(all.len() - at);
            s.read(at, &mut all[at..at + n]).unwrap();
            at += n;
        }
        all
    }

    #[test]
    fn what_is_lent_outlives_its_row() {
        Simulation::new(11).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let table = db.rowset(&wide());
            let tx = begin(&engine, 52);
            let at = table.insert(&tx, &row(value(1))).unwrap();
            engine.commit(&tx, None).unwrap();
            let reader = begin(&engine, 53);
            let all = fill(&engine);
            let lent = read(&db, &reader, IsolationLevel::ReadCommitted);
            assert_eq!(db.lendings.count(), 1);
            // A value that is not changed stays where it is, and is not copied.
            let tx = begin(&engine, 52);
            let same = vec![Value::varchar("k"), Value::Spooled(lent.clone())];
            let at = table.update(&tx, &at, &same).unwrap();
            engine.commit(&tx, None).unwrap();
            let again = read(&db, &reader, IsolationLevel::ReadCommitted);
            assert_eq!(again.stored_as(), lent.stored_as());
            assert_eq!(bytes(&again), value(1));
            // Another value comes in its place, and is taken back; then the row goes.
            let tx = begin(&engine, 52);
            table.update(&tx, &at, &row(value(2))).unwrap();
            assert_eq!(bytes(&lent), value(1));
            engine.rollback(&tx, None).unwrap();
            assert_eq!(bytes(&again), value(1));
            let third = read(&db, &reader, IsolationLevel::ReadCommitted);
            let tx = begin(&engine, 52);
            assert!(table.delete(&tx, &at).unwrap());
            engine.commit(&tx, None).unwrap();
            let tx = begin(&engine, 52);
            table.insert(&tx, &row(value(3))).unwrap();
            engine.commit(&tx, None).unwrap();
            for s in [&lent, &again, &third] {
                assert_eq!(bytes(s), value(1));
            }
            drop((lent, again, third, same));
            assert_eq!(db.lendings.count(), 0);
            engine.commit(&reader, None).unwrap();
            engine.memory.give(Clerk::Values, all);
            db.close().unwrap();
        });
    }

    #[test]
    fn pieces_of_another_value_are_refused() {
        Simulation::new(12).run(|sim| {
            let env = Env::with_disk(sim.disk());
            let engine = engine(&env, 4 << 20);
            let db = create(&engine).unwrap();
            let table = db.rowset(&wide());
            let tx = begin(&engine, 52);
            table.insert(&tx, &row(value(1))).unwrap();
            let reader = begin(&engine, 53);
            let all = fill(&engine);
            let lent = read(&db, &reader, IsolationLevel::ReadUncommitted);
            let mut piece = [0; 100];
            lent.read(50_000, &mut piece).unwrap();
            engine.rollback(&tx, None).unwrap();
            let tx = begin(&engine, 52);
            table.insert(&tx, &row(value(2))).unwrap();
            assert!(lent.read(50_000, &mut piece).is_err());
            engine.commit(&tx, None).unwrap();
            engine.commit(&reader, None).unwrap();
            drop(lent);
            engine.memory.give(Clerk::Values, all);
            db.close().unwrap();
        });
    }
}
