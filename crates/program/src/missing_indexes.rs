//! Indexes that plans would have been cheaper with: the source of `sys.dm_db_missing_index_*`.
//!
//! What a plan misses is found when it is bound ([`duramen_planner::missing_indexes`]) and kept here with how often such plans
//! were bound; executions are added with the statement's other figures (`statement_stats`), in the same lots. All of it is
//! in memory: a start begins with none.
//!
//! Invariants
//! 1. At most [`MOST`] indexes are kept; what comes then is not, as in SQL Server. [test: there_is_an_end_to_what_is_kept]
//! 2. What is known of a table counts for the columns and indexes that it had: when these are others, it is forgotten. It is
//!    looked at when somebody asks and when more comes. [assert: missing_indexes/2; golden: missing_indexes]
//!
//! *Assumed*: that a rebuild of an index forgets nothing. Counted are statements that have their own plan: SELECT, INSERT,
//! UPDATE, DELETE; queries within IF, SET and SELECT INTO are not. Not looked at: temporary tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{DbId, ObjectId};
use duramen_catalog::TableDef;
use duramen_os::sync::Mutex;
use duramen_os::time;
use duramen_planner::MissingIndex;
use duramen_query::host::StoredId;
use duramen_tsql::ast::bracketed;

use duramen_access::open_db::OpenDb;

/// Finds an open database.
type Open<'a> = &'a dyn Fn(DbId) -> Option<Arc<OpenDb>>;

/// How many indexes are kept.
pub(crate) const MOST: usize = 600;
/// How many statements are kept of each. *Assumed.*
const MOST_QUERIES: usize = 64;

/// What would have used an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    pub compiles: u64,
    pub seeks: u64,
    /// Nanoseconds since 1970; 0: never.
    pub last: i64,
    cost: f64,
    impact: f64,
}

impl Uses {
    fn add(&mut self, seeks: u64, at: i64, (cost, impact): (f64, f64)) {
        self.seeks += seeks;
        self.last = at;
        self.cost += cost * seeks as f64;
        self.impact += impact * seeks as f64;
    }

    /// Of a statement, in the unit of estimated plans.
    pub fn average_cost(&self) -> f64 {
        self.cost / (self.seeks.max(1) as f64)
    }

    /// Percent.
    pub fn average_impact(&self) -> f64 {
        self.impact / (self.seeks.max(1) as f64)
    }
}

/// A statement, as `sys.dm_db_missing_index_group_stats_query` names it.
#[derive(Clone, Debug)]
pub struct Statement {
    pub query_hash: u64,
    pub plan_hash: u64,
    pub sql_handle: Vec<u8>,
    /// Bytes of UTF-16.
    pub start: i64,
    pub end: i64,
}

#[derive(Debug)]
struct Query {
    /// The last that had these hashes.
    statement: Statement,
    uses: Uses,
}

/// A column list: ids and names.
type Columns = Vec<(i32, String)>;

/// An index that is missing; every group of SQL Server has one.
#[derive(Debug)]
pub struct Group {
    pub handle: i32,
    pub table: StoredId,
    /// `[db].[schema].[table]`
    pub statement: String,
    pub equality: Columns,
    pub inequality: Columns,
    pub included: Columns,
    uses: Mutex<Uses>,
    queries: Mutex<BTreeMap<(u64, u64), Query>>,
}

impl Group {
    pub fn uses(&self) -> Uses {
        *self.uses.lock()
    }

    pub fn queries(&self) -> Vec<(Statement, Uses)> {
        let queries = self.queries.lock();
        let all = queries.values();
        all.map(|q| (q.statement.clone(), q.uses)).collect()
    }
}

/// What a bound statement misses.
#[derive(Clone, Debug)]
pub struct Missed {
    group: Arc<Group>,
    query: (u64, u64),
    /// Cost and impact.
    figures: (f64, f64),
}

impl Missed {
    /// The statement has run so many times.
    pub fn ran(&self, times: u64) {
        let now = time::wall().unix_nanos() as i64;
        self.group.uses.lock().add(times, now, self.figures);
        if let Some(q) = self.group.queries.lock().get_mut(&self.query) {
            q.uses.add(times, now, self.figures);
        }
    }
}

/// What a table was when its missing indexes were found: the ids of its columns, ids and names of its indexes.
type Form = (Vec<i32>, Vec<(u16, String)>);

fn form_of(table: &TableDef) -> Form {
    let columns = table.columns.iter().map(|c| c.id).collect();
    let indexes = table.indexes.iter().map(|i| (i.id, i.name.clone()));
    (columns, indexes.collect())
}

fn current(open: Open<'_>, id: StoredId) -> Option<Form> {
    let db = open(DbId(id.database))?;
    let table = db.catalog.table(ObjectId(id.object)).ok()??;
    Some(form_of(&table))
}

/// Columns of equalities, of other comparisons, included ones.
type Key = [Vec<i32>; 3];

#[derive(Debug, Default)]
struct State {
    tables: BTreeMap<StoredId, (Form, BTreeMap<Key, Arc<Group>>)>,
    last: i32,
}

impl State {
    fn count(&self) -> usize {
        self.tables.values().map(|(_, groups)| groups.len()).sum()
    }
}

/// Those of an instance.
#[derive(Debug, Default)]
pub struct MissingIndexes {
    state: Mutex<State>,
}

impl MissingIndexes {
    /// A statement has been bound that would be cheaper with these indexes.
    pub fn bound(
        &self,
        open: Open<'_>,
        found: &[MissingIndex],
        statement: &Statement,
    ) -> Vec<Missed> {
        found
            .iter()
            .filter_map(|index| {
                let form = current(open, index.table)?;
                let group = self.group(index, form)?;
                group.uses.lock().compiles += 1;
                let query = (statement.query_hash, statement.plan_hash);
                let mut queries = group.queries.lock();
                if queries.len() < MOST_QUERIES || queries.contains_key(&query) {
                    let new = || Query {
                        statement: statement.clone(),
                        uses: Uses::default(),
                    };
                    let q = queries.entry(query).or_insert_with(new);
                    q.statement = statement.clone();
                    q.uses.compiles += 1;
                }
                drop(queries);
                Some(Missed {
                    group,
                    query,
                    figures: (index.cost, index.impact),
                })
            })
            .collect()
    }

    fn group(&self, index: &MissingIndex, form: Form) -> Option<Arc<Group>> {
        let ids = |all: &Columns| all.iter().map(|(id, _)| *id).collect();
        let key = [&index.equality, &index.inequality, &index.included].map(ids);
        let mut state = self.state.lock();
        let last = state.last;
        let (known, groups) = state.tables.entry(index.table).or_default();
        if *known != form {
            groups.clear();
            *known = form;
        }
        debug_assert!(
            groups
                .values()
                .all(|g| g.table == index.table && g.handle <= last),
            "missing_indexes/2: a table has groups of another"
        );
        if let Some(group) = groups.get(&key) {
            return Some(group.clone());
        }
        if state.count() >= MOST {
            return None;
        }
        let handle = state.last + 1;
        let names = index.names.each_ref().map(|name| bracketed(name));
        let group = Arc::new(Group {
            handle,
            table: index.table,
            statement: names.join("."),
            equality: index.equality.clone(),
            inequality: index.inequality.clone(),
            included: index.included.clone(),
            uses: Mutex::default(),
            queries: Mutex::default(),
        });
        let (_, groups) = state.tables.entry(index.table).or_default();
        groups.insert(key, group.clone());
        state.last = handle;
        Some(group)
    }

    /// All that is known of tables as they are now, in the order in which they were found.
    pub fn all(&self, open: Open<'_>) -> Vec<Arc<Group>> {
        let tables: Vec<StoredId> = self.state.lock().tables.keys().copied().collect();
        for id in tables {
            let now = current(open, id);
            let mut state = self.state.lock();
            if state.tables.get(&id).map(|(form, _)| form) != now.as_ref() {
                state.tables.remove(&id);
            }
        }
        let state = self.state.lock();
        let groups = state.tables.values().flat_map(|(_, g)| g.values());
        let mut all: Vec<Arc<Group>> = groups.cloned().collect();
        all.sort_by_key(|g| g.handle);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(object: i32, column: i32) -> MissingIndex {
        MissingIndex {
            table: StoredId {
                database: 5,
                object,
            },
            names: ["d", "dbo", "t"].map(str::to_owned),
            equality: vec![(column, format!("c]{column}"))],
            inequality: Vec::new(),
            included: Vec::new(),
            cost: 2.0,
            impact: 50.0,
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let all = MissingIndexes::default();
        let form = || (vec![1], Vec::new());
        for n in 0..MOST as i32 {
            assert!(all.group(&missing(n / 10, n), form()).is_some());
        }
        assert!(all.group(&missing(1, -1), form()).is_none());
        let again = all.group(&missing(0, 3), form()).expect("is known");
        assert_eq!(again.statement, "[d].[dbo].[t]");
        // Another form of the table makes room.
        assert!(all.group(&missing(1, -1), (vec![2], Vec::new())).is_some());
        assert_eq!(all.state.lock().count(), MOST - 9);
    }

    #[test]
    fn figures_are_averages_of_executions() {
        let mut uses = Uses::default();
        assert_eq!(uses.average_cost(), 0.0);
        uses.add(3, 1, (2.0, 90.0));
        uses.add(1, 2, (6.0, 50.0));
        assert_eq!((uses.seeks, uses.last), (4, 2));
        assert_eq!((uses.average_cost(), uses.average_impact()), (3.0, 80.0));
    }
}
