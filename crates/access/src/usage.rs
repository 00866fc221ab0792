//! What statements use indexes for: the source of `sys.dm_db_index_usage_stats`.
//!
//! A statement counts once for each index and each way of using it, however often it opens it. What it uses is noted on the
//! thread that runs it, and added to what all sessions share with the statement's figures (`statement_stats::Collected`):
//! a loop adds its rounds in lots.
//!
//! Which indexes an UPDATE changes is seen by its rows; the first [`LOOKS`] of them stand for all.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use duramen_catalog::{IndexDef, TableDef};
use duramen_os::sync::Mutex;

/// Changed rows of a statement that are looked at for the indexes they are in.
pub(crate) const LOOKS: u32 = 64;

/// Entries from which on those of dropped tables are looked for.
const MANY: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    Seek = 0,
    Scan = 1,
    Lookup = 2,
    Update = 3,
}

/// How often statements have used an index since the database was opened, and when last; by [`Use`].
#[derive(Debug, Default)]
pub struct Usage {
    counts: [AtomicU64; 4],
    /// Nanoseconds since 1970; 0: never.
    last: [AtomicI64; 4],
}

impl Usage {
    pub fn count(&self, how: Use) -> u64 {
        self.counts[how as usize].load(Relaxed)
    }

    /// Nanoseconds since 1970; 0: never.
    pub fn last(&self, how: Use) -> i64 {
        self.last[how as usize].load(Relaxed)
    }

    pub fn is_used(&self) -> bool {
        self.counts.iter().any(|c| c.load(Relaxed) > 0)
    }
}

/// Object, index id, index name: an index that comes after another of its number is another one.
type Key = (i32, u16, String);

/// Those of a database.
#[derive(Debug, Default)]
pub struct IndexUsage {
    all: Mutex<BTreeMap<Key, Arc<Usage>>>,
}

/// Those of a table.
#[derive(Debug)]
pub struct TableUsage {
    /// Of the heap or the clustered index.
    pub data: Arc<Usage>,
    /// In the order of the table's indexes; the clustered one's is `data`.
    pub indexes: Vec<Arc<Usage>>,
}

/// What keeps the rows of a table: its clustered index, if it has one.
fn data_key(table: &TableDef) -> Key {
    let clustered = table.indexes.iter().find(|i| i.clustered);
    clustered.map_or((table.id.0, 0, String::new()), |i| index_key(table, i))
}

fn index_key(table: &TableDef, index: &IndexDef) -> Key {
    (table.id.0, index.id, index.name.clone())
}

/// Takes out what is known of tables that have gone, when it is much. `tables`: the ids of those there are.
pub(crate) fn forget_dropped<K: Ord, V>(
    all: &mut BTreeMap<K, V>,
    table_of: impl Fn(&K) -> i32,
    tables: impl FnOnce() -> Option<BTreeSet<i32>>,
) {
    if all.len() >= MANY
        && all.len().is_power_of_two()
        && let Some(tables) = tables()
    {
        all.retain(|key, _| tables.contains(&table_of(key)));
    }
}

impl IndexUsage {
    /// `tables`: the ids of those there are, asked for when some may have to go.
    pub fn of(
        &self,
        table: &TableDef,
        tables: impl FnOnce() -> Option<BTreeSet<i32>>,
    ) -> TableUsage {
        let mut all = self.all.lock();
        forget_dropped(&mut all, |key| key.0, tables);
        let mut get = |key: Key| all.entry(key).or_default().clone();
        TableUsage {
            data: get(data_key(table)),
            indexes: table
                .indexes
                .iter()
                .map(|i| get(index_key(table, i)))
                .collect(),
        }
    }

    /// Of a table's heap or one of its indexes, when statements have used it.
    pub fn find(&self, table: &TableDef, index: Option<&IndexDef>) -> Option<Arc<Usage>> {
        let key = index.map_or_else(|| data_key(table), |i| index_key(table, i));
        let found = self.all.lock().get(&key).cloned();
        found.filter(|u| u.is_used())
    }
}

/// What the statement at hand uses an index for.
#[derive(Debug)]
pub struct Noted {
    usage: Arc<Usage>,
    /// Bits by [`Use`].
    uses: u8,
    updates: u32,
    /// How often statements that have ended used it, by [`Use`]; not counted yet.
    ended: [u32; 4],
}

/// Statements that are kept back at most.
const LOT: u32 = 64;

thread_local! {
    static NOTED: RefCell<Vec<Noted>> = const { RefCell::new(Vec::new()) };
}

/// The statement at hand uses an index. How many rows it has changed there, this one included.
pub(crate) fn note(usage: &Arc<Usage>, how: Use) -> u32 {
    NOTED.with_borrow_mut(|all| {
        let known = all.iter().rposition(|n| Arc::ptr_eq(&n.usage, usage));
        let at = known.unwrap_or_else(|| {
            all.push(Noted {
                usage: usage.clone(),
                uses: 0,
                updates: 0,
                ended: [0; 4],
            });
            all.len() - 1
        });
        let noted = &mut all[at];
        noted.uses |= 1 << how as u8;
        noted.updates = noted.updates.saturating_add(u32::from(how == Use::Update));
        noted.updates
    })
}

/// The statement at hand has ended: the next one's uses are others.
#[inline]
pub fn ended() {
    let full = NOTED.with_borrow_mut(|all| {
        let mut full = false;
        for noted in all.iter_mut().filter(|n| n.uses != 0) {
            for (how, times) in noted.ended.iter_mut().enumerate() {
                *times += u32::from(noted.uses & 1 << how != 0);
                full |= *times >= LOT;
            }
            (noted.uses, noted.updates) = (0, 0);
        }
        full
    });
    if full {
        count();
    }
}

/// Counts what ended statements have used.
pub fn count() {
    NOTED.with_borrow_mut(|all| {
        if all.is_empty() {
            return;
        }
        let now = duramen_os::time::wall().unix_nanos() as i64;
        for noted in all.drain(..) {
            for (how, times) in noted.ended.into_iter().enumerate() {
                if times > 0 {
                    noted.usage.counts[how].fetch_add(u64::from(times), Relaxed);
                    noted.usage.last[how].store(now, Relaxed);
                }
            }
        }
    });
}

/// Goes on with what was taken.
pub fn put_back(taken: Vec<Noted>) {
    NOTED.set(taken);
}

/// Takes what this thread has noted: for another one to note, or to be put back.
pub fn take() -> Vec<Noted> {
    NOTED.take()
}

/// Notes what another thread has noted for this one's statement.
pub fn add(more: Vec<Noted>) {
    for noted in more {
        for how in [Use::Seek, Use::Scan, Use::Lookup, Use::Update] {
            if noted.uses & 1 << how as u8 != 0 {
                note(&noted.usage, how);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_counts_once_for_each_way() {
        let (a, b) = (Arc::new(Usage::default()), Arc::new(Usage::default()));
        for _ in 0..5 {
            note(&a, Use::Seek);
        }
        note(&b, Use::Scan);
        assert_eq!(note(&a, Use::Update), 1);
        assert_eq!(note(&a, Use::Update), 2);
        assert!(!a.is_used());
        ended();
        count();
        let counts =
            |u: &Usage| [Use::Seek, Use::Scan, Use::Lookup, Use::Update].map(|h| u.count(h));
        assert_eq!(counts(&a), [1, 0, 0, 1]);
        assert_eq!(counts(&b), [0, 1, 0, 0]);
        assert!(a.last(Use::Seek) > 0 && a.last(Use::Scan) == 0);
        ended();
        count();
        assert_eq!(counts(&a), [1, 0, 0, 1]);
        // Rounds of a loop are counted together, and none waits for its end.
        for _ in 0..LOT + 1 {
            note(&b, Use::Seek);
            ended();
        }
        assert_eq!(counts(&b), [u64::from(LOT), 1, 0, 0]);
        count();
        assert_eq!(counts(&b), [u64::from(LOT) + 1, 1, 0, 0]);
    }

    #[test]
    fn what_a_helper_used_counts_for_whom_it_helped() {
        let a = Arc::new(Usage::default());
        let helper = a.clone();
        let thread = duramen_os::thread::try_spawn("helper", move || {
            note(&helper, Use::Scan);
            take()
        });
        note(&a, Use::Scan);
        add(thread.expect("a thread").join().expect("what it noted"));
        ended();
        count();
        assert_eq!(a.count(Use::Scan), 1);
    }
}
