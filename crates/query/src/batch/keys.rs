//! Keys of rows by number: a hash table from key to the order in which keys were first met.
//!
//! A single column of whole numbers is kept as numbers. Any other key is kept as bytes that are the same exactly when
//! the keys are equal (NULL equals NULL, collations decide about strings): what `types` would feed a hasher, which says
//! just that, with a mark of the value's family in front and its length where it varies.

use std::hash::Hasher;
use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_columns::hash::{KeyHasher, mix};
use duramen_types::batch::{BytesKind, Column, Data, IntKind};
use duramen_types::collate::{hash_bytes, hash_units};
use duramen_types::{CollationId, Value, hash_key};

use crate::cx::{Cx, UNWATCHED};

/// No number: the key is not there.
pub const NONE: u32 = u32::MAX;

/// Gathers what a value feeds a hasher.
struct Gather<'a>(&'a mut Vec<u8>);

impl Hasher for Gather<'_> {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

mod family {
    pub const NULL: u8 = 0;
    pub const INTEGER: u8 = 1;
    pub const TEXT: u8 = 2;
    pub const WIDE: u8 = 3;
    pub const OTHER: u8 = 4;
    /// Plus the kind: money, dates and times.
    pub const NUMBER: u8 = 16;
}

fn put_number(kind: IntKind, n: i64, out: &mut Vec<u8>) {
    out.push(match kind.is_integer() {
        true => family::INTEGER,
        false => family::NUMBER + kind as u8,
    });
    out.extend_from_slice(&n.to_le_bytes());
}

/// Writes with `f`, and the length of that in front.
fn with_length(family: u8, out: &mut Vec<u8>, f: impl FnOnce(&mut Gather<'_>)) {
    out.push(family);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    f(&mut Gather(out));
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

fn put_value(value: &Value, collation: CollationId, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(family::NULL),
        Value::VarChar(b) => with_length(family::TEXT, out, |h| hash_bytes(b, collation, h)),
        Value::NVarChar(u) => with_length(family::WIDE, out, |h| hash_units(u, collation, h)),
        _ => match IntKind::of_value(value) {
            Some((kind, n)) => put_number(kind, n, out),
            None => with_length(family::OTHER, out, |h| {
                // Decimals, floats and the rest cannot be told apart by their bytes alone.
                let rank = match value {
                    Value::Decimal(_) => 0,
                    Value::Real(_) => 1,
                    Value::Float(_) => 2,
                    Value::Binary(_) => 3,
                    Value::Guid(_) => 4,
                    Value::DateTimeOffset(_) => 5,
                    _ => 6,
                };
                h.write_u8(rank);
                hash_key(value, collation, h);
            }),
        },
    }
}

/// Appends the key bytes of a cell.
fn put_cell(column: &Column, i: usize, collation: CollationId, out: &mut Vec<u8>) {
    if column.is_null(i) {
        return out.push(family::NULL);
    }
    match &column.data {
        Data::Ints(kind, v) => put_number(*kind, v[i], out),
        Data::Bytes(BytesKind::VarChar, r) => {
            with_length(family::TEXT, out, |h| hash_bytes(r.get(i), collation, h))
        }
        Data::Wide(r) => with_length(family::WIDE, out, |h| hash_units(r.get(i), collation, h)),
        _ => put_value(&column.get(i), collation, out),
    }
}

/// Byte strings one behind the other.
#[derive(Default)]
struct Arena {
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Arena {
    fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.bytes[start..self.ends[i]]
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }
}

enum Keys {
    /// One column of one kind of number. The NULL key has a number of its own and a word that nobody looks at.
    Words {
        kind: IntKind,
        words: Vec<i64>,
        null: u32,
    },
    Bytes(Arena),
}

/// See the module.
pub struct KeyTable {
    collations: Vec<CollationId>,
    keys: Keys,
    /// One more than a key's number, or 0: open addressing.
    slots: Vec<u32>,
    /// The current batch's keys as bytes.
    scratch: Arena,
}

/// Keys of more bytes on average are taken one by one.
const LARGE_KEY: usize = 4096;

/// Asked, at each of many keys, whether to go on.
type GoOn<'g> = dyn FnMut(usize) -> SqlResult<()> + 'g;

fn hash_word(n: i64) -> u64 {
    mix(n as u64)
}

fn hash_run(bytes: &[u8]) -> u64 {
    let mut hasher = KeyHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

impl KeyTable {
    pub fn new(collations: Vec<CollationId>) -> KeyTable {
        KeyTable {
            collations,
            keys: Keys::Words {
                kind: IntKind::Int,
                words: Vec::new(),
                null: NONE,
            },
            slots: vec![0; 64],
            scratch: Arena::default(),
        }
    }

    /// Keys met.
    pub fn len(&self) -> usize {
        match &self.keys {
            Keys::Words { words, .. } => words.len(),
            Keys::Bytes(arena) => arena.ends.len(),
        }
    }

    /// Bytes of memory held, about.
    pub fn heap_bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Words { words, .. } => words.capacity() * 8,
            Keys::Bytes(arena) => arena.bytes.capacity() + arena.ends.capacity() * 8,
        };
        keys + self.slots.capacity() * 4
    }

    /// The numbers of the keys of `n` rows. An unknown key gets the next number while `add` says so, else [`NONE`];
    /// `fresh` is given the rows that brought new keys. The table is of no use any more once a cancellation has ended this.
    pub fn number(
        &mut self,
        columns: &[Arc<Column>],
        n: usize,
        add: bool,
        numbers: &mut Vec<u32>,
        fresh: &mut Vec<u32>,
        cx: &Cx<'_>,
    ) -> SqlResult<()> {
        numbers.clear();
        fresh.clear();
        if let [column] = columns
            && let Data::Ints(kind, values) = &column.data
            && self.keeps_words(*kind)
        {
            return self.number_words(column, values, add, (numbers, fresh), cx);
        }
        self.loosen(&mut |at| cx.check_at(at))?;
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        let bytes: usize = columns.iter().map(|c| c.heap_bytes()).sum();
        let large = bytes > n * LARGE_KEY;
        for i in 0..n {
            match large {
                true => cx.check_cancelled()?,
                false => cx.check_at(i)?,
            }
            for (column, collation) in columns.iter().zip(&self.collations) {
                put_cell(column, i, *collation, &mut scratch.bytes);
            }
            scratch.ends.push(scratch.bytes.len());
        }
        self.reserve(n, cx)?;
        for i in 0..n {
            cx.check_at(i)?;
            numbers.push(self.number_run(scratch.get(i), i, add, fresh));
        }
        self.scratch = scratch;
        Ok(())
    }

    /// The numbers of the keys of `n` rows, [`NONE`] for unknown ones: for threads that share a finished table. False when
    /// the keys are of another form than the table's; then [`KeyTable::loosened`] knows them.
    pub fn find(&self, columns: &[Arc<Column>], n: usize, numbers: &mut Vec<u32>) -> bool {
        numbers.clear();
        let mask = self.slots.len() - 1;
        match &self.keys {
            Keys::Words { words, .. } if words.is_empty() => {
                numbers.resize(n, NONE);
                true
            }
            Keys::Words { kind, words, null } => {
                let [column] = columns else {
                    return false;
                };
                let Data::Ints(new, values) = &column.data else {
                    return false;
                };
                if kind != new && !(kind.is_integer() && new.is_integer()) {
                    return false;
                }
                for (i, &word) in values.iter().enumerate() {
                    if column.is_null(i) {
                        numbers.push(*null);
                        continue;
                    }
                    let mut at = hash_word(word) as usize & mask;
                    let found = loop {
                        match self.slots[at] {
                            0 => break NONE,
                            slot if words[slot as usize - 1] == word => break slot - 1,
                            _ => at = (at + 1) & mask,
                        }
                    };
                    numbers.push(found);
                }
                true
            }
            Keys::Bytes(arena) => {
                let mut key = Vec::new();
                for i in 0..n {
                    key.clear();
                    for (column, collation) in columns.iter().zip(&self.collations) {
                        put_cell(column, i, *collation, &mut key);
                    }
                    let mut at = hash_run(&key) as usize & mask;
                    let found = loop {
                        match self.slots[at] {
                            0 => break NONE,
                            slot if arena.get(slot as usize - 1) == key => break slot - 1,
                            _ => at = (at + 1) & mask,
                        }
                    };
                    numbers.push(found);
                }
                true
            }
        }
    }

    /// The same keys and numbers, in the form that every key has.
    pub fn loosened(&self) -> KeyTable {
        let mut other = KeyTable {
            collations: self.collations.clone(),
            keys: match &self.keys {
                Keys::Words { kind, words, null } => Keys::Words {
                    kind: *kind,
                    words: words.clone(),
                    null: *null,
                },
                Keys::Bytes(arena) => Keys::Bytes(Arena {
                    ends: arena.ends.clone(),
                    bytes: arena.bytes.clone(),
                }),
            },
            slots: self.slots.clone(),
            scratch: Arena::default(),
        };
        // Several threads may wait for it, and it is theirs: nobody gives it up.
        let whole = other.loosen(&mut |_| Ok(()));
        debug_assert!(whole.is_ok(), "nothing interrupts it");
        other
    }

    /// Whether the keys are numbers of this kind, or can be: there is none yet.
    fn keeps_words(&mut self, new: IntKind) -> bool {
        match &mut self.keys {
            Keys::Words { kind, words, .. } => {
                if words.is_empty() {
                    *kind = new;
                }
                // Integers of all widths are equal by their numbers.
                *kind == new || kind.is_integer() && new.is_integer()
            }
            Keys::Bytes(_) => false,
        }
    }

    fn number_words(
        &mut self,
        column: &Column,
        values: &[i64],
        add: bool,
        (numbers, fresh): (&mut Vec<u32>, &mut Vec<u32>),
        cx: &Cx<'_>,
    ) -> SqlResult<()> {
        self.reserve(values.len(), cx)?;
        let Keys::Words { words, null, .. } = &mut self.keys else {
            return Ok(());
        };
        let slots = &mut self.slots[..];
        let mask = slots.len() - 1;
        let nulls = column.nulls();
        for (part, values) in values.chunks(UNWATCHED).enumerate() {
            if part > 0 {
                cx.check_cancelled()?;
            }
            for (i, &word) in (part * UNWATCHED..).zip(values) {
                if !nulls.is_empty() && nulls[i] {
                    if *null == NONE && add {
                        *null = words.len() as u32;
                        words.push(0);
                        fresh.push(i as u32);
                    }
                    numbers.push(*null);
                    continue;
                }
                let mut at = hash_word(word) as usize & mask;
                loop {
                    // The slots hold no number of the NULL key, whose word means nothing.
                    let slot = slots[at];
                    if slot == 0 {
                        let mut number = NONE;
                        if add {
                            number = words.len() as u32;
                            slots[at] = number + 1;
                            words.push(word);
                            fresh.push(i as u32);
                        }
                        numbers.push(number);
                        break;
                    }
                    if words[slot as usize - 1] == word {
                        numbers.push(slot - 1);
                        break;
                    }
                    at = (at + 1) & mask;
                }
            }
        }
        Ok(())
    }

    fn number_run(&mut self, key: &[u8], row: usize, add: bool, fresh: &mut Vec<u32>) -> u32 {
        let Keys::Bytes(arena) = &mut self.keys else {
            return NONE;
        };
        let mask = self.slots.len() - 1;
        let mut at = hash_run(key) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                if !add {
                    return NONE;
                }
                let number = arena.ends.len() as u32;
                arena.bytes.extend_from_slice(key);
                arena.ends.push(arena.bytes.len());
                self.slots[at] = number + 1;
                fresh.push(row as u32);
                return number;
            }
            if arena.get(slot as usize - 1) == key {
                return slot - 1;
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes room for that many more keys: at least half of the slots stay empty.
    fn reserve(&mut self, more: usize, cx: &Cx<'_>) -> SqlResult<()> {
        let wanted = (self.len() + more) * 2;
        let mut size = self.slots.len();
        while wanted >= size {
            size *= if size < 1 << 20 { 4 } else { 2 };
        }
        match size > self.slots.len() {
            true => self.rehash(size, &mut |at| cx.check_at(at)),
            false => Ok(()),
        }
    }

    #[cold]
    fn rehash(&mut self, size: usize, go_on: &mut GoOn<'_>) -> SqlResult<()> {
        let mut slots = vec![0u32; size];
        let mask = size - 1;
        for number in 0..self.len() {
            go_on(number)?;
            let hash = match &self.keys {
                Keys::Words { null, .. } if *null == number as u32 => continue,
                Keys::Words { words, .. } => hash_word(words[number]),
                Keys::Bytes(arena) => hash_run(arena.get(number)),
            };
            let mut at = hash as usize & mask;
            while slots[at] != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = number as u32 + 1;
        }
        self.slots = slots;
        Ok(())
    }

    /// From numbers to bytes, where other keys come.
    fn loosen(&mut self, go_on: &mut GoOn<'_>) -> SqlResult<()> {
        let Keys::Words { kind, words, null } = &self.keys else {
            return Ok(());
        };
        let mut arena = Arena::default();
        for (number, word) in words.iter().enumerate() {
            go_on(number)?;
            match number as u32 == *null {
                true => arena.bytes.push(family::NULL),
                false => put_number(*kind, *word, &mut arena.bytes),
            }
            arena.ends.push(arena.bytes.len());
        }
        self.keys = Keys::Bytes(arena);
        self.rehash(self.slots.len(), go_on)
    }
}

/// Which of [`PARTS`] files each of `n` rows goes to: equal keys to the same one, other keys of a part to other parts in
/// another round.
pub fn parts(
    columns: &[Arc<Column>],
    collations: &[CollationId],
    n: usize,
    round: u32,
) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); PARTS];
    let mut bytes = Vec::new();
    for i in 0..n {
        bytes.clear();
        for (column, collation) in columns.iter().zip(collations) {
            put_cell(column, i, *collation, &mut bytes);
        }
        let hash = mix(hash_run(&bytes) ^ (u64::from(round) + 1) << 56);
        out[(hash >> 32) as usize % PARTS].push(i as u32);
    }
    out
}

/// Which of `to` threads each of `n` rows goes to: equal keys to the same one. Says nothing of [`parts`] of those rows.
pub fn spread(
    columns: &[Arc<Column>],
    collations: &[CollationId],
    n: usize,
    to: usize,
) -> Vec<Vec<u32>> {
    let each = n / to + n / 8;
    let mut out: Vec<Vec<u32>> = (0..to).map(|_| Vec::with_capacity(each)).collect();
    let mut bytes = Vec::new();
    for i in 0..n {
        bytes.clear();
        for (column, collation) in columns.iter().zip(collations) {
            put_cell(column, i, *collation, &mut bytes);
        }
        let hash = mix(hash_run(&bytes) ^ (0xff << 56));
        let at = ((hash >> 32) * to as u64) >> 32;
        out[at as usize].push(i as u32);
    }
    out
}

/// Files that rows are parted among when memory does not suffice.
pub const PARTS: usize = 32;
/// Rows that were parted so often are all of one key: then they are kept whatever they take.
pub const MAX_ROUNDS: u32 = 6;
