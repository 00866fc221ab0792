//! The prepared disks of the story: two databases with a partition scheme and no table, whose commits are durable when they
//! are told. In every fourth story both have row versions, and the second reads by them (READ_COMMITTED_SNAPSHOT); in every
//! eighth the second's log cannot grow far.

use std::sync::{Arc, OnceLock};

use duramen_os::sim::{SimDisk, Simulation};

use super::super::image;
use super::super::wire::execute;

pub const DATABASES: [&str; 2] = ["a", "b"];
/// Those that come and go.
pub const MADE: [&str; 2] = ["d0", "d1"];
/// How a user of the databases logs in.
pub const PASSWORD: &str = "Aa1!bbbb";
pub const SECTOR: u32 = 4096;
/// Of the partition functions.
pub const BOUNDARIES: [i64; 3] = [100, 300, 600];

/// What a user of the databases logs in as.
pub fn login_of(user: &str) -> String {
    user.replacen('u', "q", 1)
}

/// Whether a story's databases have row versions.
pub fn is_versioned(seed: u64) -> bool {
    seed % 4 == 3
}

/// Whether the second database's log is soon full.
pub fn is_tight(seed: u64) -> bool {
    seed % 8 == 5
}

fn script(versioned: bool, tight: bool) -> Vec<String> {
    let mut all = Vec::new();
    for db in DATABASES {
        all.push(format!(
            "CREATE DATABASE {db} ON (NAME = {db}, FILENAME = '/data/{db}.mdf', SIZE = 1MB, FILEGROWTH = 512KB) \
             LOG ON (NAME = {db}_log, FILENAME = '/data/{db}.ldf', SIZE = 1MB, FILEGROWTH = 512KB)"
        ));
        all.push(format!(
            "USE {db}; CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (100, 300, 600); \
             CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY]); \
             ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT; \
             CREATE TABLE lk1 (id int NOT NULL, c0 int NULL, CONSTRAINT pkl1 PRIMARY KEY CLUSTERED (id)); INSERT lk1 VALUES (0, 0); \
             CREATE TABLE lk2 (id int NOT NULL, c0 int NULL, CONSTRAINT pkl2 PRIMARY KEY CLUSTERED (id)); INSERT lk2 VALUES (0, 0)"
        ));
    }
    for n in 0..2 {
        let login = login_of(&format!("u{n}"));
        let sql = format!("CREATE LOGIN {login} WITH PASSWORD = '{PASSWORD}'");
        all.push(sql);
    }
    let master = "USE master; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT";
    all.push(master.to_owned());
    if tight {
        let db = DATABASES[1];
        all.push(format!(
            "ALTER DATABASE {db} MODIFY FILE (NAME = {db}_log, MAXSIZE = 2MB)"
        ));
    }
    if versioned {
        for db in DATABASES {
            all.push(format!(
                "ALTER DATABASE {db} SET ALLOW_SNAPSHOT_ISOLATION ON"
            ));
        }
        let db = DATABASES[1];
        all.push(format!(
            "ALTER DATABASE {db} SET READ_COMMITTED_SNAPSHOT ON"
        ));
    }
    all
}

/// A copy of the prepared disk whose behaviour follows from `seed`.
pub fn of(seed: u64) -> Arc<SimDisk> {
    static PREPARED: [OnceLock<Arc<SimDisk>>; 3] = [const { OnceLock::new() }; 3];
    let (versioned, tight) = (is_versioned(seed), is_tight(seed));
    let at = usize::from(versioned) + 2 * usize::from(tight);
    let prepared = PREPARED[at].get_or_init(|| prepare(versioned, tight));
    prepared.crash(seed)
}

fn prepare(versioned: bool, tight: bool) -> Arc<SimDisk> {
    let disk = SimDisk::with_sector(1, SECTOR);
    Simulation::new(1).on_disk(disk.clone()).run(|sim| {
        let instance = duramen_session::start(&sim.env(), image::config(32 << 20, SECTOR))
            .unwrap_or_else(|e| panic!("the prepared instance does not start: {e}"));
        let mut session = image::login_to(&instance, "master").unwrap_or_else(|e| panic!("{e}"));
        for sql in script(versioned, tight) {
            if let Some(e) = execute(&mut session, &sql).errors.first() {
                panic!("{sql}: {e}");
            }
        }
        drop(session);
        instance
            .shutdown()
            .unwrap_or_else(|e| panic!("the prepared instance does not stop: {e}"));
    });
    disk
}
