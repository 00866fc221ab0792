//! The plans of batches and of parameterised statements, shared by all sessions.
//!
//! An entry is found by its text, its database and the SET options that decide what the text means. It holds the compiled
//! program and what its steps have bound; both never change, so any number of runs may use them at once.
//!
//! Invariants
//! 1. What a step has bound counts for the schema version it was bound at and no other (`run::bind` compares).
//! 2. Nothing of one session is shared: a program that names temporary tables or has table variables is kept without what
//!    it bound, and a session with SET IDENTITY_INSERT ON neither takes nor gives.
//! 3. Memory is bounded: entries that have not been used for long go first. When databases come or go all entries do: none
//!    keeps a dropped database alive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use duramen_os::sync::Mutex;

use crate::program::Program;
use crate::programs::{Callable, Parameter};
use crate::run::Plans;

/// A longer text is not kept.
const KEY_LIMIT: usize = 256 << 10;
/// Bytes of all entries, as [`weight`] estimates them.
const BYTES_LIMIT: usize = 64 << 20;

struct Entry {
    used: u64,
    program: Arc<Program>,
    parameters: Arc<Vec<Parameter>>,
    bound: Plans,
    schema: Option<u64>,
}

/// An entry as others may see it.
#[derive(Debug)]
pub struct Cached {
    pub key: String,
    pub program: Arc<Program>,
    /// About how many bytes it takes.
    pub bytes: usize,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<String, Entry>,
    clock: u64,
    bytes: usize,
    /// Of the list of databases.
    generation: u64,
}

#[derive(Default)]
pub struct PlanCache {
    state: Mutex<State>,
    /// How often somebody has asked for entries to be forgotten.
    emptied: AtomicU64,
}

/// About how many bytes an entry takes: trees and plans are some twenty times as large as their text.
fn weight(key: &str) -> usize {
    1024 + key.len() * 20
}

impl State {
    fn follow(&mut self, generation: u64) {
        if self.generation != generation {
            self.entries.clear();
            self.bytes = 0;
            self.generation = generation;
        }
    }

    /// Lets the least recently used go until half of the room is free.
    fn make_room(&mut self) {
        let mut by_use: Vec<(u64, String)> = self
            .entries
            .iter()
            .map(|(k, e)| (e.used, k.clone()))
            .collect();
        by_use.sort();
        for (_, key) in by_use {
            if self.bytes <= BYTES_LIMIT / 2 {
                break;
            }
            self.entries.remove(&key);
            self.bytes -= weight(&key);
        }
    }
}

impl PlanCache {
    /// The program under a key, ready to run at this schema version. `generation` is that of the list of databases.
    pub fn find(&self, key: &str, version: u64, generation: u64) -> Option<Callable> {
        let mut state = self.state.lock();
        state.follow(generation);
        state.clock += 1;
        let clock = state.clock;
        let entry = state.entries.get_mut(key)?;
        if entry.schema.is_some_and(|compiled| compiled != version) {
            return None;
        }
        entry.used = clock;
        Some(Callable {
            program: entry.program.clone(),
            parameters: entry.parameters.clone(),
            bound: entry.bound.clone(),
            schema: entry.schema,
            fresh: false,
        })
    }

    /// Keeps a program with what its first run has bound.
    pub fn keep(&self, key: &str, callable: &Callable, generation: u64) {
        if key.len() > KEY_LIMIT {
            return;
        }
        let bound = match &callable.program {
            // Each session has temporary tables of its own.
            p if p.temporary => Plans::none(p.steps.len()),
            p if p.is_private() => {
                let mut bound = callable.bound.clone();
                bound.forget();
                bound
            }
            _ => callable.bound.clone(),
        };
        let mut state = self.state.lock();
        state.follow(generation);
        state.clock += 1;
        let entry = Entry {
            used: state.clock,
            program: callable.program.clone(),
            parameters: callable.parameters.clone(),
            bound,
            schema: callable.schema,
        };
        if state.entries.insert(key.to_owned(), entry).is_none() {
            state.bytes += weight(key);
        }
        if state.bytes > BYTES_LIMIT {
            state.make_room();
        }
    }

    /// All that is kept, in the order of the keys.
    pub fn all(&self) -> Vec<Cached> {
        let state = self.state.lock();
        let cached = |(key, entry): (&String, &Entry)| Cached {
            key: key.clone(),
            program: entry.program.clone(),
            bytes: weight(key),
        };
        state.entries.iter().map(cached).collect()
    }

    /// The program of that number, with what its steps have bound.
    pub fn program(&self, id: u64) -> Option<(Cached, Plans)> {
        let state = self.state.lock();
        let mut entries = state.entries.iter();
        let (key, entry) = entries.find(|(_, e)| e.program.stats.id == id)?;
        let cached = Cached {
            key: key.clone(),
            program: entry.program.clone(),
            bytes: weight(key),
        };
        Some((cached, entry.bound.clone()))
    }

    /// What the steps of the program under a key have bound.
    pub fn bound(&self, key: &str) -> Option<Plans> {
        self.state.lock().entries.get(key).map(|e| e.bound.clone())
    }

    /// About how many bytes all entries take.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }

    /// Forgets the entries whose key and program satisfy `wanted`; who runs one keeps it until it has ended. How many.
    pub fn forget(&self, wanted: impl Fn(&str, &Program) -> bool) -> usize {
        let mut state = self.state.lock();
        self.emptied.fetch_add(1, Relaxed);
        let before = state.entries.len();
        state.entries.retain(|key, e| !wanted(key, &e.program));
        state.bytes = state.entries.keys().map(|key| weight(key)).sum();
        before - state.entries.len()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        self.emptied.fetch_add(1, Relaxed);
        state.entries.clear();
        state.bytes = 0;
    }

    /// Goes up with every [`PlanCache::forget`] and [`PlanCache::clear`]: sessions let go of what they keep for themselves.
    pub fn emptied(&self) -> u64 {
        self.emptied.load(Relaxed)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BodyOf, compile};

    fn callable(text: &str) -> Callable {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let batch = duramen_tsql::parse_batch(text, &options).unwrap();
        let program = compile(text, batch.statements, Vec::new(), BodyOf::Batch).unwrap();
        Callable {
            bound: Plans::none(program.steps.len()),
            program: Arc::new(program),
            parameters: Arc::new(Vec::new()),
            schema: None,
            fresh: true,
        }
    }

    #[test]
    fn what_is_kept_is_found_until_databases_change() {
        let cache = PlanCache::default();
        cache.keep("k", &callable("SELECT 1"), 1);
        assert!(cache.find("k", 9, 1).is_some_and(|c| !c.fresh));
        assert!(cache.find("other", 9, 1).is_none());
        assert!(cache.find("k", 9, 2).is_none());
    }

    #[test]
    fn what_is_wanted_is_forgotten_and_nothing_else() {
        let cache = PlanCache::default();
        for key in ["a", "bb", "c"] {
            cache.keep(key, &callable("SELECT 1"), 1);
        }
        let bytes = cache.bytes();
        assert_eq!(cache.forget(|key, _| key == "bb"), 1);
        assert!(cache.find("bb", 9, 1).is_none() && cache.find("a", 9, 1).is_some());
        assert_eq!(cache.bytes(), bytes - weight("bb"));
    }

    #[test]
    fn memory_is_bounded_and_the_latest_stay() {
        let cache = PlanCache::default();
        let one = callable("SELECT 1");
        let pad = "x".repeat(100 << 10);
        for i in 0..100 {
            cache.keep(&format!("{i}{pad}"), &one, 1);
        }
        assert!(cache.len() < 40, "{}", cache.len());
        assert!(cache.find(&format!("99{pad}"), 1, 1).is_some());
        assert!(cache.find(&format!("0{pad}"), 1, 1).is_none());
        cache.keep(&"y".repeat(KEY_LIMIT + 1), &one, 1);
        assert!(cache.find(&"y".repeat(KEY_LIMIT + 1), 1, 1).is_none());
    }

    #[test]
    fn what_belongs_to_a_session_is_private() {
        for (text, private) in [
            ("SELECT 1", false),
            ("SELECT * FROM #t", true),
            ("SELECT * FROM TempDB..t", true),
            ("DECLARE @t TABLE (a int)", true),
        ] {
            assert_eq!(callable(text).program.is_private(), private, "{text}");
        }
    }
}
