//! Where the rows of a table in memory are: in memory, until there is no more of it, then in files of rows that were written
//! together.
//!
//! A row is written once and never changed: an update puts a new one in its place. So whoever has the places has the rows
//! as they were, and a file goes with the last place in it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};

use duramen_query::batch::{Keeper, Kept};
use duramen_query::kept::{Held, out_of_memory, row_bytes};
use duramen_query::{Columns, Cx, Row};

/// Less than this is not worth a file, and is kept whatever there is.
const FILE_BYTES: usize = 256 << 10;
/// Rows that go to a file together, at most, and bytes about which they go.
const TOGETHER: usize = 256;
const TOGETHER_BYTES: usize = 64 << 10;
/// The part of the workspace that rows of one table take in memory: other operators have no files for all they keep.
const PART: usize = 4;
/// Blocks of files that stay in memory.
const RECENT: usize = 4;
/// What a row takes in memory besides its values, wherever they are.
const ENTRY_BYTES: usize = 80;
/// What an entry of a key takes, about.
const KEY_BYTES: usize = 24;

/// Where a row is.
#[derive(Clone)]
pub(super) enum Place {
    Memory(Arc<Row>),
    /// The file, and the row's number in it.
    File(Arc<Kept>, u32),
}

impl Place {
    /// Bytes of it that go to a file.
    fn bytes(&self) -> usize {
        match self {
            Place::Memory(row) => row_bytes(row),
            Place::File(..) => 0,
        }
    }
}

/// Reads rows at their places.
#[derive(Default)]
pub(super) struct Reader {
    /// Blocks that were read last, the last one first, each with the number of its first row.
    recent: VecDeque<(Arc<Kept>, usize, Vec<Row>)>,
}

impl Reader {
    pub fn read(&mut self, place: &Place) -> SqlResult<Row> {
        let (file, at) = match place {
            Place::Memory(row) => return Ok(Row::clone(row)),
            Place::File(file, at) => (file, *at as usize),
        };
        let has = |(of, first, rows): &(Arc<Kept>, usize, Vec<Row>)| {
            Arc::ptr_eq(of, file) && (*first..*first + rows.len()).contains(&at)
        };
        if let Some(known) = self.recent.iter().position(has) {
            self.recent.swap(0, known);
        } else {
            let (first, rows) = file.around(at)?;
            self.recent.push_front((file.clone(), first, rows));
            self.recent.truncate(RECENT);
        }
        let found = self
            .recent
            .front()
            .and_then(|(_, first, rows)| rows.get(at - first));
        found
            .cloned()
            .ok_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))
    }

    /// Lets go of what it keeps of files.
    pub fn forget(&mut self) {
        self.recent.clear();
    }
}

/// What a statement has done to a row, with what the row was found by before and after.
pub(super) enum Undo {
    Inserted(u64, Prints),
    Updated(u64, Place, Prints, Prints),
    Deleted(u64, Place, Prints),
}

/// A row's fingerprints, one for each key.
pub(super) type Prints = Box<[u64]>;

/// A table's rows by their numbers, what the running statement has done to them, and what all of that takes.
#[derive(Default)]
pub(super) struct Rows {
    places: BTreeMap<u64, Place>,
    undo: Vec<Undo>,
    held: Held,
    /// Bytes of rows in memory, those that an undo would put back included.
    in_memory: usize,
    /// Beyond so many they go to a file; 0 until asked.
    most: usize,
    /// What each row takes besides its values.
    entry: usize,
}

impl Rows {
    /// Of a table with so many keys.
    pub fn new(keys: usize) -> Rows {
        Rows {
            entry: ENTRY_BYTES + keys * KEY_BYTES,
            ..Rows::default()
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// How many there were before the running statement.
    pub fn len_before(&self) -> usize {
        let of = |wanted: fn(&Undo) -> bool| self.undo.iter().filter(|u| wanted(u)).count();
        let inserted = of(|u| matches!(u, Undo::Inserted(..)));
        self.len() + of(|u| matches!(u, Undo::Deleted(..))) - inserted
    }

    pub fn get(&self, id: u64) -> Option<&Place> {
        self.places.get(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, Place)> + '_ {
        self.places.iter().map(|(id, place)| (*id, place.clone()))
    }

    /// Other rows instead of all, which nobody has counted and nothing undoes.
    pub fn replace(&mut self, rows: Vec<Row>) {
        let in_memory = rows.iter().map(|row| row_bytes(row)).sum();
        let places = rows.into_iter().map(|row| Place::Memory(Arc::new(row)));
        *self = Rows {
            places: (0..).zip(places).collect(),
            in_memory,
            entry: self.entry,
            ..Rows::default()
        };
    }

    /// A place for one more row, which is counted. Where it is not lent, what is there goes to a file; 701 when there is
    /// no room even for what stays in memory then.
    pub fn place(&mut self, row: Row, columns: &Columns, cx: &Cx<'_>) -> SqlResult<Place> {
        if self.most == 0 {
            self.most = (cx.host.workspace().limit() / PART).max(FILE_BYTES);
        }
        let bytes = row_bytes(&row);
        let lent = self.held.add(bytes + self.entry, cx);
        self.in_memory += bytes;
        let place = Place::Memory(Arc::new(row));
        if lent && self.in_memory <= self.most {
            return Ok(place);
        }
        let filed = match self.in_memory > FILE_BYTES {
            true => self.file_away(columns, cx),
            false => Ok(()),
        };
        let little = 2 * FILE_BYTES;
        match filed {
            Ok(()) if self.held.bytes() <= little || self.held.add(0, cx) => Ok(place),
            filed => {
                self.uncount(&place);
                Err(filed.err().unwrap_or_else(out_of_memory))
            }
        }
    }

    /// A row that has got no place, or has lost it, counts no more.
    pub fn uncount(&mut self, place: &Place) {
        self.in_memory -= place.bytes();
        self.held.less(place.bytes() + self.entry);
    }

    /// Rows in memory go to a file.
    fn file_away(&mut self, columns: &Columns, cx: &Cx<'_>) -> SqlResult<()> {
        let mut file = Keeper::new(columns, cx)?;
        let (mut some, mut some_bytes) = (Vec::new(), 0);
        for place in self.every_place() {
            let Place::Memory(row) = place else { continue };
            some_bytes += row_bytes(row);
            some.push(Row::clone(row));
            if some.len() >= TOGETHER || some_bytes >= TOGETHER_BYTES {
                file.put(std::mem::take(&mut some))?;
                some_bytes = 0;
                cx.check_cancelled()?;
            }
        }
        if !some.is_empty() {
            file.put(some)?;
        }
        let file = Arc::new(file.finish()?);
        let (mut at, mut moved) = (0, 0);
        for place in self.every_place() {
            if matches!(place, Place::Memory(_)) {
                moved += place.bytes();
                *place = Place::File(file.clone(), at);
                at += 1;
            }
        }
        self.in_memory -= moved;
        self.held.less(moved);
        Ok(())
    }

    /// Those of the rows, and those that an undo would put back.
    fn every_place(&mut self) -> impl Iterator<Item = &mut Place> {
        let old = self.undo.iter_mut().filter_map(|undo| match undo {
            Undo::Inserted(..) => None,
            Undo::Updated(_, place, ..) | Undo::Deleted(_, place, _) => Some(place),
        });
        self.places.values_mut().chain(old)
    }

    pub fn insert(&mut self, id: u64, place: Place, prints: Prints) {
        self.places.insert(id, place);
        self.undo.push(Undo::Inserted(id, prints));
    }

    /// What was there goes when the statement has ended.
    pub fn update(&mut self, id: u64, place: Place, was: Prints, is: Prints) {
        if let Some(old) = self.places.insert(id, place) {
            self.undo.push(Undo::Updated(id, old, was, is));
        }
    }

    pub fn delete(&mut self, id: u64, prints: Prints) {
        if let Some(old) = self.places.remove(&id) {
            self.undo.push(Undo::Deleted(id, old, prints));
        }
    }

    /// What the statement has done stays.
    pub fn keep(&mut self) {
        for undo in std::mem::take(&mut self.undo) {
            match undo {
                Undo::Inserted(..) => {}
                Undo::Updated(_, old, ..) | Undo::Deleted(_, old, _) => self.uncount(&old),
            }
        }
    }

    /// Everything that the statement has done is undone, the latest first; `moved` is told what a row was found by and
    /// will be found by.
    pub fn undo(&mut self, mut moved: impl FnMut(u64, Option<Prints>, Option<Prints>)) {
        while let Some(undo) = self.undo.pop() {
            let gone = match undo {
                Undo::Inserted(id, is) => {
                    moved(id, Some(is), None);
                    self.places.remove(&id)
                }
                Undo::Updated(id, old, was, is) => {
                    moved(id, Some(is), Some(was));
                    self.places.insert(id, old)
                }
                Undo::Deleted(id, old, was) => {
                    moved(id, None, Some(was));
                    self.places.insert(id, old)
                }
            };
            if let Some(gone) = gone {
                self.uncount(&gone);
            }
        }
    }
}
