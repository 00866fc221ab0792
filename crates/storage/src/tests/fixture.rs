//! A small database with sysallocunits, a clustered table, an index and a heap. The rooms above begin their tests with it, too:
//! they have this file under its path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use duramen_base::{AllocUnitId, DbId, FileId, ObjectId, RowsetId, SessionId, SqlResult};
use duramen_check::check_directory;
use duramen_format::layout::{ColumnSpec, RowKind, layout_for};
use duramen_os::{Disk, Env};
use duramen_pool::{DataFileSpec, FileGrowth};
use duramen_storage::*;
use duramen_txn::{IsolationLevel, Transaction, TxnKind};
use duramen_types::{SqlType, Value};
use duramen_wal::{Growth, LogFileSpec, LogProfile};

/// An engine whose pages are all ours.
pub fn engine(env: &Env, memory: u64) -> Arc<Engine> {
    duramen_format::sound::expect_own();
    env.disk.create_dir_all(&PathBuf::from("/data")).unwrap();
    let config = EngineConfig {
        memory,
        doublewrite_path: PathBuf::from("/data/duramen.dwb"),
    };
    Engine::new(env, &config).unwrap()
}

pub fn data_files(name: &str) -> Vec<DataFileSpec> {
    vec![DataFileSpec {
        path: PathBuf::from(format!("/data/{name}.mdf")),
        shown_path: format!("/data/{name}.mdf"),
        logical_name: name.to_owned(),
        file_id: 1,
        filegroup: 1,
        size: 128,
        max_size: None,
        growth: FileGrowth::Pages(128),
    }]
}

pub fn log_files(name: &str) -> Vec<LogFileSpec> {
    vec![LogFileSpec {
        name: "log".to_owned(),
        path: PathBuf::from(format!("/data/{name}_log.ldf")),
        file_id: FileId(2),
        size: 2 << 20,
        max_size: None,
        growth: Growth::Bytes(2 << 20),
    }]
}

pub fn create(engine: &Arc<Engine>) -> SqlResult<Arc<Database>> {
    create_as(engine, 5, "t")
}

pub fn create_as(engine: &Arc<Engine>, id: u16, name: &str) -> SqlResult<Arc<Database>> {
    create_with(engine, id, name, log_files(name))
}

/// With a log of 2 MB that does not grow.
pub fn create_fixed_log(engine: &Arc<Engine>, id: u16) -> SqlResult<Arc<Database>> {
    let mut log = log_files("t");
    log[0].growth = Growth::None;
    create_with(engine, id, "t", log)
}

fn create_with(
    engine: &Arc<Engine>,
    id: u16,
    name: &str,
    log: Vec<LogFileSpec>,
) -> SqlResult<Arc<Database>> {
    let spec = CreateDatabase {
        id: DbId(id),
        name: name.to_owned(),
        data: data_files(name),
        log,
        profile: LogProfile::Native,
        sector: 512,
        first_log_seq: 40,
        collation: 872_468_488,
        compatibility_level: 160,
    };
    let db = Database::create(engine, &spec)?;
    let tx = begin(engine, 51);
    let units = sysallocunits();
    let units_au = units.au;
    let roots = db.create_storage(&tx, &units)?;
    db.set_boot_first_sysallocunits(&tx, roots.first)?;
    db.create_storage(&tx, &sysrowsets())?;
    for def in [units, sysrowsets(), clustered(), index(), heap(), wide()] {
        if ![units_au, sysrowsets().au].contains(&def.au) {
            db.create_storage(&tx, &def)?;
        }
        db.rowset(&sysrowsets())
            .insert(&tx, &rowset_row(&def))
            .map_err(duramen_base::SqlError::from)?;
        for au in [Some(def.au), def.lob_au].into_iter().flatten() {
            let mut unit = unit_row(au, db.roots(au));
            if au != def.au {
                unit[1] = Value::TinyInt(2);
                unit[2] = Value::BigInt(def.au.0);
            }
            db.rowset(&sysallocunits())
                .insert(&tx, &unit)
                .map_err(duramen_base::SqlError::from)?;
        }
    }
    engine.commit(&tx, None)?;
    Ok(db)
}

pub fn open(engine: &Arc<Engine>) -> SqlResult<Arc<Database>> {
    open_as(engine, 5, "t")
}

pub fn open_as(engine: &Arc<Engine>, id: u16, name: &str) -> SqlResult<Arc<Database>> {
    let spec = OpenDatabase {
        id: DbId(id),
        name: name.to_owned(),
        data: data_files(name),
        log: log_files(name),
        sector: 512,
        model: RecoveryModel::Simple,
        restored: false,
    };
    Database::open(engine, &spec)
}

pub fn begin(engine: &Engine, spid: u16) -> Transaction {
    let owner = engine.locks.owner(SessionId(spid));
    Transaction::new(
        &owner,
        TxnKind::Explicit,
        "user_transaction",
        IsolationLevel::ReadCommitted,
    )
}

/// Makes another heap in `filegroup`, listed in sysallocunits.
pub fn new_heap(
    engine: &Arc<Engine>,
    db: &Arc<Database>,
    number: u16,
    filegroup: u16,
) -> SqlResult<Rowset> {
    let tx = begin(engine, 51);
    match make_heap(db, &tx, number, filegroup) {
        Ok(heap) => {
            engine.commit(&tx, None)?;
            Ok(heap)
        }
        Err(e) => {
            engine.rollback(&tx, None)?;
            Err(e)
        }
    }
}

/// The same in a transaction that goes on.
pub fn make_heap(
    db: &Arc<Database>,
    tx: &Transaction,
    number: u16,
    filegroup: u16,
) -> SqlResult<Rowset> {
    let def = heap_numbered(number);
    let roots = db.create_storage_on(tx, &def, filegroup, filegroup)?;
    db.rowset(&sysrowsets()).insert(tx, &rowset_row(&def))?;
    let mut unit = unit_row(def.au, roots);
    unit[4] = Value::SmallInt(filegroup as i16);
    db.rowset(&sysallocunits()).insert(tx, &unit)?;
    Ok(db.rowset(&def))
}

/// Takes the heap's row out of sysallocunits.
pub fn remove_unit(db: &Arc<Database>, tx: &Transaction, number: u16) -> SqlResult<()> {
    let at = RowLocator::Key(vec![Value::BigInt(heap_numbered(number).au.0)]);
    assert!(db.rowset(&sysallocunits()).delete(tx, &at)?);
    assert!(db.rowset(&sysrowsets()).delete(tx, &at)?);
    Ok(())
}

/// A heap like `heap` with another number.
pub fn heap_numbered(number: u16) -> Arc<RowsetDef> {
    let columns = [
        col(SqlType::INT),
        ColumnSpec::new(SqlType::varchar(4000), true),
    ];
    def(number, RowsetKind::Heap, &columns, &[])
}

fn unit_row(au: AllocUnitId, roots: StorageRoots) -> Vec<Value> {
    let page = |p: duramen_base::PageId| Value::Binary(p.to_bytes().to_vec());
    vec![
        Value::BigInt(au.0),
        Value::TinyInt(1),
        Value::BigInt(au.0),
        Value::Int(0),
        Value::SmallInt(1),
        page(roots.first),
        page(roots.root),
        page(roots.first_iam),
        Value::BigInt(0),
        Value::BigInt(0),
        Value::BigInt(0),
    ]
}

fn def(
    number: u16,
    kind: RowsetKind,
    columns: &[ColumnSpec],
    keys: &[(usize, bool)],
) -> Arc<RowsetDef> {
    let row = match kind {
        RowsetKind::NonClustered { .. } => RowKind::IndexLeaf,
        _ => RowKind::Data,
    };
    let id = if number < 10 {
        i64::from(number) << 16
    } else {
        (1 << 56) | i64::from(number) << 16
    };
    Arc::new(RowsetDef {
        rowset: RowsetId(id),
        object: ObjectId(i32::from(number)),
        index_id: 1,
        kind,
        layout: Arc::new(layout_for(columns, row)),
        keys: keys
            .iter()
            .map(|(column, desc)| KeyColumn {
                column: *column,
                desc: *desc,
            })
            .collect(),
        au: AllocUnitId(id),
        lob_au: None,
        known: Default::default(),
    })
}

const fn col(ty: SqlType) -> ColumnSpec {
    ColumnSpec::new(ty, false)
}

fn rowset_row(def: &RowsetDef) -> Vec<Value> {
    let au = def.au;
    vec![
        Value::BigInt(au.0),
        Value::TinyInt(1),
        Value::Int(au.object_part() as i32),
        Value::Int(i32::from(!def.is_heap())),
        Value::Int(1),
        Value::Int(0),
        Value::SmallInt(0),
        Value::BigInt(0),
    ]
}

pub fn sysrowsets() -> Arc<RowsetDef> {
    let columns = [
        col(SqlType::BIGINT),
        col(SqlType::TINYINT),
        col(SqlType::INT),
        col(SqlType::INT),
        col(SqlType::INT),
        col(SqlType::INT),
        col(SqlType::SMALLINT),
        col(SqlType::BIGINT),
    ];
    let kind = RowsetKind::Clustered { unique: true };
    def(5, kind, &columns, &[(0, false)])
}

pub fn sysallocunits() -> Arc<RowsetDef> {
    let columns = [
        col(SqlType::BIGINT),
        col(SqlType::TINYINT),
        col(SqlType::BIGINT),
        col(SqlType::INT),
        col(SqlType::SMALLINT),
        col(SqlType::binary(6)),
        col(SqlType::binary(6)),
        col(SqlType::binary(6)),
        col(SqlType::BIGINT),
        col(SqlType::BIGINT),
        col(SqlType::BIGINT),
    ];
    let kind = RowsetKind::Clustered { unique: true };
    def(7, kind, &columns, &[(0, false)])
}

/// id int primary key, pad varchar(4000), n int null
pub fn clustered() -> Arc<RowsetDef> {
    let columns = [
        col(SqlType::INT),
        ColumnSpec::new(SqlType::varchar(4000), true),
        ColumnSpec::new(SqlType::INT, true),
    ];
    let kind = RowsetKind::Clustered { unique: true };
    def(300, kind, &columns, &[(0, false)])
}

/// An index on n DESC of `clustered`, with id as the locator.
pub fn index() -> Arc<RowsetDef> {
    let columns = [ColumnSpec::new(SqlType::INT, true), col(SqlType::INT)];
    let kind = RowsetKind::NonClustered { unique: false };
    def(301, kind, &columns, &[(0, true), (1, false)])
}

/// id int, pad varchar(4000)
pub fn heap() -> Arc<RowsetDef> {
    let columns = [
        col(SqlType::INT),
        ColumnSpec::new(SqlType::varchar(4000), true),
    ];
    def(302, RowsetKind::Heap, &columns, &[])
}

/// k varchar(20), not unique, with a (max) column and a uniquifier.
pub fn wide() -> Arc<RowsetDef> {
    let columns = [
        ColumnSpec::new(SqlType::varchar(20), true),
        ColumnSpec::new(SqlType::VARCHAR_MAX, true),
        ColumnSpec::uniquifier(),
    ];
    let kind = RowsetKind::Clustered { unique: false };
    let mut d = (*def(303, kind, &columns, &[(0, false), (2, false)])).clone();
    d.lob_au = Some(AllocUnitId((1 << 56) | 304 << 16));
    Arc::new(d)
}

/// k varchar(800) primary key
pub fn wide_keys(number: u16) -> Arc<RowsetDef> {
    let columns = [col(SqlType::varchar(800))];
    let kind = RowsetKind::Clustered { unique: true };
    def(number, kind, &columns, &[(0, false)])
}

pub fn row(id: i32, pad: usize, n: Option<i32>) -> Vec<Value> {
    vec![
        Value::Int(id),
        Value::VarChar(vec![b'a' + (id % 26).unsigned_abs() as u8; pad]),
        n.map_or(Value::Null, Value::Int),
    ]
}

pub fn all(rowset: &Rowset, tx: &Transaction) -> Vec<Vec<Value>> {
    try_all(rowset, tx).unwrap()
}

/// The same on a disk that may fail.
pub fn try_all(rowset: &Rowset, tx: &Transaction) -> SqlResult<Vec<Vec<Value>>> {
    let mut cursor = rowset.scan(tx, ScanSpec::all(LockHint::Read))?;
    let mut rows = Vec::new();
    while let Some((_, row)) = cursor.next(tx)? {
        rows.push(row);
    }
    Ok(rows)
}

/// The offline check finds nothing in the files of a closed database.
pub fn sound(disk: &dyn Disk) {
    let reports = check_directory(disk, Path::new("/data")).unwrap();
    for r in reports {
        assert_eq!(r.findings, [], "{}", r.path.display());
    }
}
