//! A database from nothing: base tables, user tables, indexes, reopening. On a real directory.

// Temporary directories are outside the simulated world.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use duramen_base::{DbId, FileId};
use duramen_pool::{DataFileSpec, FileGrowth};
use duramen_storage::{CreateDatabase, Engine, EngineConfig, OpenDatabase, OpenRowsets};
use duramen_txn::{LockDuration, LockMode, Resource};

use super::*;
use crate::catalog::{CatalogDb, system_transaction};
use crate::ddl::{NewColumn, NewIndex, NewTable};
use crate::def::{Identity, SCHEMA_DBO};
use crate::partitions::Place;
use crate::registry::{DatabaseEntry, FileEntry, FileKind, Registry};

struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("duramen-catalog-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct World {
    dir: Dir,
    engine: Arc<Engine>,
}

impl World {
    fn new(dir: Dir) -> World {
        let config = EngineConfig {
            memory: 16 << 20,
            doublewrite_path: dir.0.join("test.dwb"),
        };
        let engine = Engine::new(&duramen_os::Env::real(), &config).expect("engine starts");
        World { dir, engine }
    }

    fn data(&self) -> DataFileSpec {
        DataFileSpec {
            path: self.dir.0.join("t.mdf"),
            shown_path: "t.mdf".into(),
            logical_name: "t".into(),
            file_id: 1,
            filegroup: 1,
            size: 1024,
            max_size: None,
            growth: FileGrowth::Pages(1024),
        }
    }

    fn log(&self) -> duramen_wal::LogFileSpec {
        duramen_wal::LogFileSpec {
            name: "log".to_owned(),
            path: self.dir.0.join("t.ldf"),
            file_id: FileId(2),
            size: 8 << 20,
            max_size: None,
            growth: duramen_wal::Growth::Bytes(8 << 20),
        }
    }

    fn create(&self) -> Arc<CatalogDb> {
        self.create_with(self.log())
    }

    fn create_with(&self, log: duramen_wal::LogFileSpec) -> Arc<CatalogDb> {
        let spec = CreateDatabase {
            id: DbId(5),
            name: "t".into(),
            data: vec![self.data()],
            log: vec![log],
            profile: duramen_wal::LogProfile::Native,
            sector: 512,
            first_log_seq: 20,
            collation: 872_468_488,
            compatibility_level: 130,
        };
        let db = Database::create(&self.engine, &spec).expect("database is made");
        CatalogDb::create(&db).expect("catalog is made")
    }

    fn open(&self) -> Arc<CatalogDb> {
        let spec = OpenDatabase {
            id: DbId(5),
            name: "t".into(),
            data: vec![self.data()],
            log: vec![self.log()],
            sector: 512,
            model: duramen_storage::RecoveryModel::Simple,
            restored: false,
        };
        CatalogDb::open(&Database::open(&self.engine, &spec).expect("database opens"))
    }
}

fn column(name: &str, ty: SqlType, nullable: bool) -> NewColumn {
    NewColumn {
        name: name.into(),
        ty,
        nullable,
        identity: None,
        default: None,
        computed: None,
        rowguid: false,
        user_type: 0,
    }
}

fn new_table(name: &str, indexes: Vec<NewIndex>) -> NewTable {
    let mut id = column("id", SqlType::INT, false);
    id.identity = Some(Identity {
        seed: 1,
        increment: 1,
    });
    let mut city = column("city", SqlType::varchar(30), true);
    city.default = Some((None, "('Zürich → ∞')".into()));
    NewTable {
        schema: SCHEMA_DBO,
        name: name.into(),
        columns: vec![id, column("name", SqlType::nvarchar(50), true), city],
        indexes,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        place: Place::Default,
        lob_filegroup: 0,
    }
}

fn index(name: &str, column: usize, clustered: bool, primary_key: bool) -> NewIndex {
    NewIndex {
        name: Some(name.into()),
        unique: primary_key,
        clustered,
        primary_key,
        unique_constraint: false,
        keys: vec![KeyColumn {
            column,
            desc: false,
        }],
        includes: Vec::new(),
        place: Place::Default,
        options: IndexOptions::default(),
    }
}

fn row(id: i32, name: &str) -> Vec<Value> {
    vec![
        Value::Int(id),
        Value::nvarchar(name),
        Value::varchar("Bern"),
    ]
}

fn names(c: &CatalogDb, tx: &Transaction, table: &TableDef) -> Vec<String> {
    let mut cursor = c
        .database()
        .rowset(&table.data)
        .scan(tx, ScanSpec::all(LockHint::None))
        .expect("scans");
    let mut out = Vec::new();
    while let Some((_, row)) = cursor.next(tx).expect("reads") {
        out.push(row[1].as_text().unwrap_or_default());
    }
    out
}

fn put(c: &CatalogDb, tx: &Transaction, table: &TableDef, (id, name): (i32, &str)) {
    let rowsets = OpenRowsets::none(c.database());
    insert_row(&rowsets, tx, table, &row(id, name)).expect("row goes in");
}

#[test]
fn tables_survive_a_restart() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let indexes = vec![index("PK_t", 0, true, true), index("ix", 1, false, false)];
    let table = c
        .create_table(&tx, &new_table("People", indexes))
        .expect("table is made");
    for (id, name) in [(2, "b"), (1, "a"), (3, "c")] {
        put(&c, &tx, &table, (id, name));
    }
    assert_eq!(c.next_identity(&tx, &table), Ok(1));
    assert_eq!(c.next_identity(&tx, &table), Ok(2));
    world.engine.commit(&tx, None).expect("commits");
    c.flush_identities().expect("writes");
    c.database().close().expect("closes");
    drop(c);

    let c = world.open();
    let tx = system_transaction(c.database(), "t");
    let s = c.snapshot().expect("loads");
    let again = s
        .find_table(SCHEMA_DBO, "PEOPLE")
        .expect("is there")
        .clone();
    assert_eq!(again.columns, table.columns);
    assert_eq!(again.data, table.data);
    assert_eq!(again.indexes, table.indexes);
    assert_eq!(names(&c, &tx, &again), ["a", "b", "c"]);
    assert_eq!(c.next_identity(&tx, &again), Ok(3));
    let entries = c.database().rowset(&again.indexes[1].rowset);
    assert_eq!(entries.row_count(), Ok(3));
    world.engine.commit(&tx, None).expect("commits");
    c.database().close().expect("closes");
}

#[test]
fn indexes_are_filled_and_rebuilt_and_dropped() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let mut table = c
        .create_table(&tx, &new_table("t", Vec::new()))
        .expect("table is made");
    assert!(table.is_heap());
    for (id, name) in [(2, "b"), (1, "a"), (3, "b")] {
        put(&c, &tx, &table, (id, name));
    }
    table = c
        .create_index(&tx, &table, &index("ix", 1, false, false), 1)
        .expect("index is made");
    let mut unique = index("ux", 1, false, false);
    unique.unique = true;
    let failed = c
        .create_index(&tx, &table, &unique, 1)
        .map_err(|e| e.number);
    assert_eq!(failed.err(), Some(1505));
    table = c
        .create_index(&tx, &table, &index("cx", 1, true, false), 2)
        .expect("index is made");
    assert!(!table.is_heap() && table.indexes.len() == 2);
    assert_eq!(names(&c, &tx, &table), ["a", "b", "b"]);
    let entries = c.database().rowset(&table.indexes[1].rowset);
    assert_eq!(entries.row_count(), Ok(3));
    table = c.drop_index(&tx, &table, "CX").expect("index goes");
    assert!(table.is_heap());
    let mut left = names(&c, &tx, &table);
    left.sort();
    assert_eq!(left, ["a", "b", "b"]);
    c.drop_table(&tx, &table).expect("table goes");
    world.engine.commit(&tx, None).expect("commits");
    c.reload();
    let s = c.snapshot().expect("loads");
    assert!(s.find(SCHEMA_DBO, "t").is_none());
    c.database().close().expect("closes");
}

#[test]
fn a_rollback_takes_ddl_back() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    c.create_table(&tx, &new_table("gone", vec![index("pk", 0, true, true)]))
        .expect("table is made");
    world.engine.rollback(&tx, None).expect("rolls back");
    c.reload();
    let s = c.snapshot().expect("loads");
    assert!(s.objects.is_empty());
    let tx = system_transaction(c.database(), "t");
    c.create_table(&tx, &new_table("gone", vec![index("pk", 0, true, true)]))
        .expect("the name is free again");
    world.engine.commit(&tx, None).expect("commits");
    c.database().close().expect("closes");
}

#[test]
fn master_remembers_databases() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let registry = Registry::new(&c);
    let mut entry = DatabaseEntry {
        id: DbId(7),
        name: "Credit".into(),
        created: DateTime { days: 1, ticks: 2 },
        compatibility_level: 160,
        options: 0x8000_0001_ffff_fffe,
        files: vec![FileEntry {
            file_id: 1,
            kind: FileKind::Data,
            filegroup: 1,
            logical_name: "credit".into(),
            path: "D:\\data\\credit.mdf".into(),
            size: 1024,
            max_size: -1,
            growth: 10,
            growth_percent: true,
            adding: false,
        }],
    };
    registry.add(&tx, &entry).expect("adds");
    assert_eq!(registry.list(&tx), Ok(vec![entry.clone()]));
    entry.name = "Debit".into();
    registry.replace(&tx, &entry).expect("replaces");
    assert_eq!(registry.list(&tx), Ok(vec![entry]));
    registry.remove(&tx, DbId(7)).expect("removes");
    assert_eq!(registry.list(&tx), Ok(vec![]));
    world.engine.commit(&tx, None).expect("commits");
    c.database().close().expect("closes");
}

#[test]
fn columns_and_constraints_come_and_go() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let indexes = vec![index("pk", 0, true, true), index("ix", 2, false, false)];
    let mut table = c
        .create_table(&tx, &new_table("t", indexes))
        .expect("table is made");
    for id in 1..=3 {
        put(&c, &tx, &table, (id, "x"));
    }
    let mut n = 10;
    table = c
        .add_column(&tx, &table, &column("n", SqlType::INT, false), &mut |_| {
            n += 1;
            Ok(Value::Int(n))
        })
        .expect("column is added");
    table = c.drop_column(&tx, &table, 1).expect("column goes");
    let wide = (SqlType::BIGINT, true);
    table = c
        .alter_column(&tx, &table, 2, wide, &mut |v| {
            Ok(v.as_i64().map_or(Value::Null, Value::BigInt))
        })
        .expect("column changes");
    table = c
        .add_default(&tx, &table, 2, None, "((7))")
        .expect("default is added");
    let in_use = c.drop_column(&tx, &table, 1).map_err(|e| e.number);
    assert_eq!(in_use.err(), Some(5074));
    let name = table.columns[1]
        .default
        .as_ref()
        .expect("it has one")
        .name
        .clone();
    table = c.drop_constraint(&tx, &table, &name).expect("default goes");
    world.engine.commit(&tx, None).expect("commits");
    c.reload();
    let again = c
        .snapshot()
        .expect("loads")
        .find_table(1, "t")
        .expect("is there")
        .clone();
    assert_eq!(again.columns, table.columns);
    assert_eq!(again.data, table.data);
    assert_eq!(again.indexes, table.indexes);
    let tx = system_transaction(c.database(), "t");
    let entries = c.database().rowset(&again.indexes[1].rowset);
    assert_eq!(entries.row_count(), Ok(3));
    let rows = c.database().rowset(&again.data);
    let mut cursor = rows
        .scan(&tx, ScanSpec::all(LockHint::None))
        .expect("scans");
    let first = cursor.next(&tx).expect("reads").expect("a row").1;
    assert_eq!(
        first,
        [Value::Int(1), Value::varchar("Bern"), Value::BigInt(11)]
    );
    c.database().close().expect("closes");
}

#[test]
fn another_session_gets_identity_values_while_a_transaction_is_open() {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let table = c
        .create_table(&tx, &new_table("t", Vec::new()))
        .expect("table is made");
    // The row is locked by the creator itself: its own locks serve.
    assert_eq!(c.next_identity(&tx, &table), Ok(1));
    world.engine.commit(&tx, None).expect("commits");
    let a = system_transaction(c.database(), "a");
    let b = system_transaction(c.database(), "b");
    for expected in 2..=2500 {
        let tx = if expected % 2 == 0 { &a } else { &b };
        assert_eq!(c.next_identity(tx, &table), Ok(expected));
    }
    world.engine.rollback(&a, None).expect("rolls back");
    assert_eq!(c.next_identity(&b, &table), Ok(2501));
    world.engine.rollback(&b, None).expect("rolls back");
    c.database().close().expect("closes");
}

/// Until so many requests wait for a lock.
fn waiting(c: &CatalogDb, n: usize) {
    let locks = &c.database().engine.locks;
    let waits = || {
        locks
            .snapshot()
            .iter()
            .filter(|l| l.waited.is_some())
            .count()
    };
    while waits() < n {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Somebody waits for a whole base table that a transaction has changed, somebody else behind him for a row of it. The
/// transaction goes on: it has what they wait for.
fn numbers_while_others_wait(
    base: i32,
    next: impl Fn(&CatalogDb, &Transaction, &TableDef) -> SqlResult<i64> + Send + Sync + 'static,
) {
    let world = World::new(Dir::new());
    let c = world.create();
    let tx = system_transaction(c.database(), "t");
    let mut tables = Vec::new();
    for name in ["a", "b"] {
        let made = c.create_table(&tx, &new_table(name, Vec::new()));
        tables.push(made.expect("table is made"));
    }
    world.engine.commit(&tx, None).expect("commits");
    let (a, b) = (tables.remove(0), tables.remove(0));
    let next = Arc::new(next);
    let whole = Resource::Object(DbId(5), ObjectId(base));
    let lock = move |tx: &Transaction, db: &Database, mode| {
        let locks = &db.engine.locks;
        let got = locks.lock(&tx.owner, &whole, mode, LockDuration::Normal, None);
        got.expect("is locked");
    };
    let first = Arc::new(system_transaction(c.database(), "first"));
    lock(&first, c.database(), LockMode::IX);
    let check = {
        let c = c.clone();
        std::thread::spawn(move || {
            let tx = system_transaction(c.database(), "check");
            lock(&tx, c.database(), LockMode::S);
            c.database().engine.locks.release_all(&tx.owner);
        })
    };
    waiting(&c, 1);
    let other = {
        let (c, next) = (c.clone(), next.clone());
        std::thread::spawn(move || {
            let tx = system_transaction(c.database(), "other");
            let number = next(&c, &tx, &b);
            c.database().engine.locks.release_all(&tx.owner);
            number
        })
    };
    waiting(&c, 2);
    let (sender, receiver) = std::sync::mpsc::channel();
    {
        let (c, next, first) = (c.clone(), next.clone(), first.clone());
        std::thread::spawn(move || sender.send(next(&c, &first, &a)));
    }
    let number = receiver.recv_timeout(Duration::from_secs(20));
    assert!(number.expect("it does not hang").is_ok());
    assert!(!check.is_finished() && !other.is_finished());
    c.database().engine.locks.release_all(&first.owner);
    check.join().expect("has looked");
    assert!(other.join().expect("goes on").is_ok());
    c.database().close().expect("closes");
}

#[test]
fn identity_values_are_had_while_others_wait_for_the_columns() {
    numbers_while_others_wait(id::COLPARS, |c, tx, table| c.next_identity(tx, table));
}

#[test]
fn row_versions_are_had_while_others_wait_for_their_counter() {
    numbers_while_others_wait(id::OBJVALUES, |c, tx, _| c.next_rowversion(tx));
}

/// A log that fills gets its checkpoint before the mutex is taken under which a number is given out.
#[test]
fn numbers_are_had_from_a_log_that_is_full_and_cannot_grow() {
    let world = World::new(Dir::new());
    let mut log = world.log();
    log.growth = duramen_wal::Growth::Bytes(0);
    let c = world.create_with(log);
    let db = c.database();
    let tx = system_transaction(db, "t");
    let table = c.create_table(&tx, &new_table("a", Vec::new()));
    let table = table.expect("table is made");
    world.engine.commit(&tx, None).expect("commits");
    let fill = system_transaction(db, "fill");
    let rowsets = OpenRowsets::none(db);
    let full = (0..).find_map(|n| {
        let row = [Value::Int(n), Value::nvarchar(&"x".repeat(50)), Value::Null];
        rowsets.of(&table.data).insert(&fill, &row).err()
    });
    assert_eq!(full.map(|e| SqlError::from(e).number), Some(9002));
    let other = system_transaction(db, "other");
    for number in [
        c.next_identity(&other, &table),
        c.next_rowversion(&other),
        c.set_identity(&other, &table, Some(7)).map(|()| 7),
    ] {
        assert!(number.is_ok() || number.is_err_and(|e| e.number == 9002));
    }
    world.engine.rollback(&fill, None).expect("rolls back");
    assert!(c.next_identity(&other, &table).is_ok());
    world.engine.rollback(&other, None).expect("rolls back");
    c.database().close().expect("closes");
}
