//! The plans of batches and of parameterised statements, shared by all sessions.
//!
//! An entry is found by its text, its database and the SET options that decide what the text means. It holds the compiled
//! program and what its steps have bound; both never change, so any number of runs may use them at once.
//!
//! Invariants
//! 1. What a step has bound counts for the schema version it was bound at and no other (`run::bind` compares).
//!    [assert: plan_cache/1; test: a_shared_batch_follows_the_schema]
//! 2. Nothing of one session is shared: a program that names temporary tables or has table variables is kept without what
//!    it bound, and a session with SET IDENTITY_INSERT ON neither takes nor gives what is bound.
//!    [assert: plan_cache/2; test: temporary_tables_and_table_variables_stay_apart]
//! 3. Memory is bounded: what is kept is a clerk's share of the server's memory at most, and the broker may ask for more of it
//!    back. Entries that nobody has found again go first, then those that were not used for long. When databases come or go
//!    all entries do: none keeps a dropped database alive.
//!    [assert: plan_cache/3; test: memory_is_bounded_and_the_latest_stay]
//! 4. Under a key all sessions run one program, so that every execution counts: who has compiled one runs it only after
//!    [`PlanCache::adopt`]. A program that had to make room, or was replaced, while somebody ran it comes back with what it
//!    has counted, or adds that to the one in its place. What was forgotten by somebody's wish does not come back.
//!    [test: a_program_that_makes_room_while_it_runs_loses_no_run]

mod texts;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use duramen_os::memory::{Broker, Cache, Clerk, Tally};
use duramen_os::sync::Mutex;

use crate::bound::Plans;
use crate::program::Program;
use crate::programs::{Callable, Parameter};
use crate::statement_stats::Standing;
use texts::SeededTexts;

/// A longer text is not kept.
const KEY_LIMIT: usize = 256 << 10;
/// An entry, beside its program and key.
const ENTRY_BYTES: u64 = 256;
/// How often an entry is found until that makes no more difference.
const MOST_FINDS: u32 = 16;

struct Entry {
    used: u64,
    /// How often it was found, halved whenever room is made.
    finds: u32,
    bytes: u64,
    /// The program of a module.
    module: bool,
    program: Arc<Program>,
    parameters: Arc<Vec<Parameter>>,
    bound: Plans,
    schema: Option<u64>,
}

impl Entry {
    fn of(key: &str, callable: &Callable) -> Entry {
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
        Entry {
            used: 0,
            finds: 0,
            bytes: weight(key, callable),
            module: is_module(key),
            program: callable.program.clone(),
            parameters: callable.parameters.clone(),
            bound,
            schema: callable.schema,
        }
    }

    fn callable(&self, key: &str) -> Callable {
        Callable {
            program: self.program.clone(),
            parameters: self.parameters.clone(),
            bound: self.bound.clone(),
            schema: self.schema,
            fresh: false,
            bytes: self.bytes.saturating_sub(ENTRY_BYTES + key.len() as u64),
        }
    }

    /// When it was used last, later the more often it was found: `span` is the age of the cache.
    fn worth(&self, span: u64) -> u64 {
        self.used + span / u64::from(MOST_FINDS) * u64::from(self.finds.min(MOST_FINDS))
    }
}

/// An entry as others may see it.
#[derive(Debug)]
pub struct Cached {
    pub key: String,
    pub program: Arc<Program>,
    /// About how many bytes it takes.
    pub bytes: u64,
}

#[derive(Default)]
struct State {
    entries: HashMap<String, Entry, SeededTexts>,
    clock: u64,
    /// Of the list of databases.
    generation: u64,
}

pub struct PlanCache {
    state: Mutex<State>,
    /// How often somebody has asked for entries to be forgotten.
    emptied: AtomicU64,
    broker: Arc<Broker>,
    /// Bytes of programs of texts, and of modules.
    texts: Tally,
    modules: Tally,
}

/// Entries that have been taken out: dropped when the lock is no longer held, as what they hold may be the last of its kind.
type Gone = Vec<Entry>;

/// About how many bytes an entry takes.
fn weight(key: &str, callable: &Callable) -> u64 {
    ENTRY_BYTES + key.len() as u64 + callable.bytes
}

/// Whether the program under a key is a module's: its key has numbers where others have options and a text.
fn is_module(key: &str) -> bool {
    let ends = ["\u{1}true", "\u{1}false"];
    // Nearly all are texts: those are not taken apart.
    let Some(rest) = ends.iter().find_map(|end| key.strip_suffix(end)) else {
        return false;
    };
    let rest = rest.rsplit_once('\u{2}').map_or(rest, |(_, rest)| rest);
    let parts: Vec<&str> = rest.splitn(4, '\u{1}').collect();
    let [_, object, version] = parts.as_slice() else {
        return false;
    };
    object.parse::<i32>().is_ok() && version.parse::<u64>().is_ok()
}

impl PlanCache {
    /// An empty cache, for which `broker` is asked.
    pub fn new(broker: &Arc<Broker>) -> Arc<PlanCache> {
        let cache = Arc::new(PlanCache {
            state: Mutex::default(),
            emptied: AtomicU64::new(0),
            broker: broker.clone(),
            texts: broker.tally(Clerk::SqlPlans),
            modules: broker.tally(Clerk::ObjectPlans),
        });
        let asked: Arc<dyn Cache> = cache.clone();
        broker.add_cache(Arc::downgrade(&asked));
        cache
    }

    fn tally(&self, module: bool) -> &Tally {
        match module {
            true => &self.modules,
            false => &self.texts,
        }
    }

    /// What is counted is what is there; of caches with few entries.
    fn assert_sound(&self, state: &State) {
        debug_assert!(
            state.entries.len() > 64
                || self.held() == state.entries.values().map(|e| e.bytes).sum::<u64>(),
            "plan_cache/3: the bytes are not those of the entries"
        );
        debug_assert!(
            state
                .entries
                .values()
                .take(8)
                .all(|e| e.used <= state.clock),
            "plan_cache/3: an entry was used after now"
        );
    }

    /// Bytes of all entries, of both kinds.
    fn held(&self) -> u64 {
        self.texts.bytes() + self.modules.bytes()
    }

    fn follow(&self, state: &mut State, generation: u64) -> Gone {
        if state.generation == generation {
            return Gone::new();
        }
        state.generation = generation;
        self.take_out(state, Standing::Forgotten, |_, _| true)
    }

    fn take_out(
        &self,
        state: &mut State,
        standing: Standing,
        wanted: impl Fn(&str, &Entry) -> bool,
    ) -> Gone {
        let taken = state.entries.extract_if(|key, e| wanted(key, e));
        let gone: Gone = taken.map(|(_, entry)| entry).collect();
        for entry in &gone {
            entry.program.stats.set_standing(standing);
            self.tally(entry.module).sub(entry.bytes);
        }
        gone
    }

    /// Takes what is worth least out until `bytes` are free.
    fn make_room(&self, state: &mut State, bytes: u64) -> Gone {
        let first = state.entries.values().map(|e| e.used).min().unwrap_or(0);
        let span = state.clock - first;
        let worths = state.entries.values().map(|e| (e.worth(span), e.bytes));
        let mut by_worth: Vec<(u64, u64)> = worths.collect();
        by_worth.sort_unstable();
        let mut freed = 0;
        let last = by_worth.iter().find(|(_, of_it)| {
            freed += of_it;
            freed >= bytes
        });
        let last = last.map_or(u64::MAX, |(worth, _)| *worth);
        let gone = self.take_out(state, Standing::Gone, |_, e| e.worth(span) <= last);
        state.entries.values_mut().for_each(|e| e.finds /= 2);
        gone
    }

    /// Puts an entry in, in place of the one under its key, if there is room for it or can be made.
    fn put(&self, state: &mut State, key: &str, mut entry: Entry) -> Gone {
        let mut gone = Gone::new();
        let (module, bytes) = (entry.module, entry.bytes);
        let most = self.broker.most(Clerk::SqlPlans);
        if let Some(there) = state.entries.get_mut(key)
            && Arc::ptr_eq(&there.program, &entry.program)
            && (there.bytes >= bytes || {
                let more = bytes - there.bytes;
                let fits = bytes <= most / 2 && self.held() + more <= most;
                fits && self.tally(module).fits(more)
            })
        {
            // The same with other plans.
            self.tally(module).sub(there.bytes);
            self.tally(module).add(bytes);
            entry.used = state.clock;
            entry.finds = there.finds;
            entry.program.stats.set_standing(Standing::Cached);
            gone.push(std::mem::replace(there, entry));
            return gone;
        }
        let old = state.entries.remove(key);
        if let Some(old) = old {
            self.tally(old.module).sub(old.bytes);
            entry.finds = old.finds;
            // What the program that was there has counted is counted by the one that is there now.
            if !Arc::ptr_eq(&entry.program, &old.program) {
                old.program.stats.set_standing(Standing::Gone);
                entry.program.stats.take_over(&old.program.stats);
            }
            gone.push(old);
        }
        if self.held() + bytes > most || !self.tally(module).fits(bytes) {
            // A quarter at once: making room looks at all entries.
            let quarter = self.held() / 4;
            gone.extend(self.make_room(state, bytes.max(quarter)));
        }
        let fits = bytes <= most / 2 && self.tally(module).fits(bytes);
        let standing = match fits {
            true => Standing::Cached,
            false => Standing::Gone,
        };
        entry.program.stats.set_standing(standing);
        if fits {
            self.tally(module).add(bytes);
            entry.used = state.clock;
            state.entries.insert(key.to_owned(), entry);
        }
        gone
    }

    /// The program under a key, ready to run at this schema version. `generation` is that of the list of databases.
    pub fn find(&self, key: &str, version: u64, generation: u64) -> Option<Callable> {
        let mut state = self.state.lock();
        if state.generation != generation {
            let gone = self.follow(&mut state, generation);
            drop(state);
            drop(gone);
            return None;
        }
        state.clock += 1;
        let clock = state.clock;
        let entry = state.entries.get_mut(key)?;
        if entry.schema.is_some_and(|compiled| compiled != version) {
            return None;
        }
        debug_assert!(
            !entry.program.temporary || entry.bound.iter().all(Option::is_none),
            "plan_cache/2: what binds temporary tables is another session's"
        );
        debug_assert!(
            entry.bound.len() == entry.program.steps.len(),
            "plan_cache/1: a plan for each step"
        );
        entry.used = clock;
        entry.finds = entry.finds.saturating_add(1);
        Some(entry.callable(key))
    }

    /// The program that all sessions run under a key: the caller's, which it has just compiled, or the one that another
    /// session was the first to compile.
    pub fn adopt(&self, key: &str, callable: Callable, generation: u64) -> Callable {
        if key.len() > KEY_LIMIT {
            return callable;
        }
        let entry = Entry::of(key, &callable);
        let mut state = self.state.lock();
        let mut gone = self.follow(&mut state, generation);
        state.clock += 1;
        let clock = state.clock;
        let adopted = match state.entries.get_mut(key) {
            Some(entry) if entry.schema == callable.schema => {
                entry.used = clock;
                entry.callable(key)
            }
            _ => {
                gone.extend(self.put(&mut state, key, entry));
                callable
            }
        };
        drop(state);
        drop(gone);
        adopted
    }

    /// Keeps what runs of a program have bound. One that somebody has wished away meanwhile stays away.
    pub fn keep(&self, key: &str, callable: &Callable, generation: u64) {
        if key.len() > KEY_LIMIT || callable.program.stats.standing() == Standing::Forgotten {
            return;
        }
        let entry = Entry::of(key, callable);
        let mut state = self.state.lock();
        let mut gone = self.follow(&mut state, generation);
        state.clock += 1;
        match state.entries.get_mut(key) {
            Some(other) if !Arc::ptr_eq(&other.program, &entry.program) => {
                other.program.stats.take_over(&entry.program.stats);
            }
            _ => gone.extend(self.put(&mut state, key, entry)),
        }
        self.assert_sound(&state);
        drop(state);
        drop(gone);
    }

    /// All that is kept, in the order of the keys.
    pub fn all(&self) -> Vec<Cached> {
        let state = self.state.lock();
        let cached = |(key, entry): (&String, &Entry)| Cached {
            key: key.clone(),
            program: entry.program.clone(),
            bytes: entry.bytes,
        };
        let mut all: Vec<Cached> = state.entries.iter().map(cached).collect();
        drop(state);
        all.sort_by(|a, b| a.key.cmp(&b.key));
        all
    }

    /// The program of that number, with what its steps have bound.
    pub fn program(&self, id: u64) -> Option<(Cached, Plans)> {
        let state = self.state.lock();
        let mut entries = state.entries.iter();
        let (key, entry) = entries.find(|(_, e)| e.program.stats.id == id)?;
        let cached = Cached {
            key: key.clone(),
            program: entry.program.clone(),
            bytes: entry.bytes,
        };
        Some((cached, entry.bound.clone()))
    }

    /// What the steps of the program under a key have bound.
    pub fn bound(&self, key: &str) -> Option<Plans> {
        self.state.lock().entries.get(key).map(|e| e.bound.clone())
    }

    /// About how many bytes all entries take.
    pub fn bytes(&self) -> u64 {
        self.held()
    }

    /// Forgets the entries whose key and program satisfy `wanted`; who runs one keeps it until it has ended. How many.
    pub fn forget(&self, wanted: impl Fn(&str, &Program) -> bool) -> usize {
        let mut state = self.state.lock();
        self.emptied.fetch_add(1, Relaxed);
        let wanted = |key: &str, e: &Entry| wanted(key, &e.program);
        let gone = self.take_out(&mut state, Standing::Forgotten, wanted);
        self.assert_sound(&state);
        drop(state);
        gone.len()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.forget(|_, _| true);
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

impl Cache for PlanCache {
    fn give_back(&self, bytes: u64) -> u64 {
        let before = self.held();
        if before == 0 {
            return 0;
        }
        let Some(mut state) = self.state.try_lock() else {
            return 0;
        };
        // What sessions keep for themselves goes at their next request.
        self.emptied.fetch_add(1, Relaxed);
        let gone = self.make_room(&mut state, bytes);
        drop(state);
        drop(gone);
        before.saturating_sub(self.held())
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
        let program = compile(
            text,
            batch.statements,
            Default::default(),
            BodyOf::Batch,
            |_| Ok(()),
        )
        .unwrap();
        Callable {
            bytes: 5000,
            bound: Plans::none(program.steps.len()),
            program: Arc::new(program),
            parameters: Arc::new(Vec::new()),
            schema: None,
            fresh: true,
        }
    }

    #[test]
    fn what_is_kept_is_found_until_databases_change() {
        let cache = PlanCache::new(&Broker::new(256 << 20));
        cache.keep("k", &callable("SELECT 1"), 1);
        assert!(cache.find("k", 9, 1).is_some_and(|c| !c.fresh));
        assert!(cache.find("other", 9, 1).is_none());
        assert!(cache.find("k", 9, 2).is_none());
    }

    #[test]
    fn what_is_wanted_is_forgotten_and_nothing_else() {
        let cache = PlanCache::new(&Broker::new(256 << 20));
        for key in ["a", "bb", "c"] {
            cache.keep(key, &callable("SELECT 1"), 1);
        }
        let bytes = cache.bytes();
        assert_eq!(cache.forget(|key, _| key == "bb"), 1);
        assert!(cache.find("bb", 9, 1).is_none() && cache.find("a", 9, 1).is_some());
        let bb = weight("bb", &callable("SELECT 1"));
        assert_eq!(cache.bytes(), bytes - bb);
        cache.clear();
        assert_eq!(cache.bytes(), 0);
    }

    /// One run of a program.
    fn ran(c: &Callable) {
        c.program
            .stats
            .ran(&crate::statement_stats::Running::begin());
    }

    fn runs(c: &Callable) -> u64 {
        c.program.stats.whole.executions.load(Relaxed)
    }

    #[test]
    fn who_compiles_at_once_counts_on_one_program() {
        let cache = PlanCache::new(&Broker::new(12 << 20));
        let all: Vec<Callable> = (0..4)
            .map(|_| cache.adopt("k", callable("SELECT 1"), 1))
            .collect();
        for c in &all {
            ran(c);
            cache.keep("k", c, 1);
        }
        let found = cache.find("k", 1, 1).unwrap();
        assert_eq!(runs(&found), 4);
    }

    #[test]
    fn a_program_that_makes_room_while_it_runs_loses_no_run() {
        let cache = PlanCache::new(&Broker::new(12 << 20));
        let old = cache.adopt("k", callable("SELECT 1"), 1);
        ran(&old);
        cache.keep("k", &old, 1);
        let fill = |from: u32| {
            let one = callable("SELECT 2");
            let pad = "x".repeat(100 << 10);
            (from..from + 400).for_each(|i| cache.keep(&format!("{i}{pad}"), &one, 1));
        };
        // Alone it comes back; where another stands in its place, that one counts for both.
        fill(0);
        assert!(cache.find("k", 1, 1).is_none() && old.program.stats.standing() == Standing::Gone);
        ran(&old);
        cache.keep("k", &old, 1);
        assert_eq!(runs(&cache.find("k", 1, 1).unwrap()), 2);
        fill(1000);
        let new = cache.adopt("k", callable("SELECT 1"), 1);
        ran(&new);
        ran(&old);
        cache.keep("k", &old, 1);
        cache.keep("k", &old, 1);
        cache.keep("k", &new, 1);
        let found = cache.find("k", 1, 1).unwrap();
        assert!(Arc::ptr_eq(&found.program, &new.program));
        assert_eq!(runs(&found), 4);
    }

    #[test]
    fn what_was_wished_away_stays_away() {
        let cache = PlanCache::new(&Broker::new(12 << 20));
        let c = cache.adopt("k", callable("SELECT 1"), 1);
        cache.clear();
        cache.keep("k", &c, 1);
        assert!(cache.find("k", 1, 1).is_none());
    }

    #[test]
    fn memory_is_bounded_and_the_latest_stay() {
        let broker = Broker::new(100 << 20);
        let cache = PlanCache::new(&broker);
        let one = callable("SELECT 1");
        let pad = "x".repeat(100 << 10);
        for i in 0..1000 {
            cache.keep(&format!("{i}{pad}"), &one, 1);
            assert!(cache.bytes() <= 25 << 20 && broker.held() <= 25 << 20);
        }
        assert!(cache.len() > 150, "{}", cache.len());
        assert!(cache.find(&format!("999{pad}"), 1, 1).is_some());
        assert!(cache.find(&format!("0{pad}"), 1, 1).is_none());
        cache.keep(&"y".repeat(KEY_LIMIT + 1), &one, 1);
        assert!(cache.find(&"y".repeat(KEY_LIMIT + 1), 1, 1).is_none());
    }

    /// A plan that many use outlives a flood of texts that come once.
    #[test]
    fn what_is_found_again_and_again_stays() {
        let cache = PlanCache::new(&Broker::new(100 << 20));
        let one = callable("SELECT 1");
        let pad = "x".repeat(100 << 10);
        cache.keep("busy", &one, 1);
        for i in 0..1000 {
            if i % 50 == 0 {
                assert!(cache.find("busy", 1, 1).is_some(), "{i}");
            }
            cache.keep(&format!("{i}{pad}"), &one, 1);
        }
    }

    /// Whoever needs memory gets it from here.
    #[test]
    fn others_get_what_plans_hold() {
        let broker = Broker::new(100 << 20);
        let cache = PlanCache::new(&broker);
        let one = callable("SELECT 1");
        let pad = "x".repeat(100 << 10);
        for i in 0..150 {
            cache.keep(&format!("{i}{pad}"), &one, 1);
        }
        let held = cache.bytes();
        assert!(held > 14 << 20);
        assert!(broker.ask(Clerk::Workspace, 70 << 20));
        assert!(cache.bytes() < held && cache.len() > 0);
    }

    #[test]
    fn keys_tell_modules_from_texts() {
        let key = |parts: [&str; 4]| parts.join("\u{1}");
        assert!(is_module(&key(["5", "1977058079", "3", "true"])));
        assert!(!is_module(&key(["master", "truefalse", "", "SELECT 1"])));
        assert!(!is_module(&key(["master", "11", "@a int", "true"])));
        assert!(!is_module(&key(["master", "11", "", "true"])));
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
