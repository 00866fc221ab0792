//! The prepared disk: an instance with two databases and their tables, made once a process and copied for each seed.

use std::sync::{Arc, OnceLock};

use duramen_access::cancel::CancelToken;
use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_events::instance::Instance;
use duramen_os::sim::{SimDisk, Simulation};
use duramen_program::login::LoginRequest;
use duramen_program::text::TextSink;
use duramen_session::Session;

use super::model::{ACCOUNTS, DATABASES, MAX_SESSIONS};

const PASSWORD: &str = "Secret-1";

/// The prepared disks, by sector size.
pub struct Prepared {
    small: Arc<SimDisk>,
    large: Arc<SimDisk>,
}

/// Made at the first call, the same in every process.
pub fn prepared() -> &'static Prepared {
    static PREPARED: OnceLock<Prepared> = OnceLock::new();
    // Of this process nothing reads another program's files.
    duramen_format::sound::expect_own();
    PREPARED.get_or_init(|| Prepared {
        small: prepare(512),
        large: prepare(4096),
    })
}

impl Prepared {
    /// A copy whose behaviour follows from `seed`.
    pub fn of(&self, sector: u32, seed: u64) -> Arc<SimDisk> {
        let disk = if sector == 512 {
            &self.small
        } else {
            &self.large
        };
        disk.crash(seed)
    }
}

/// How the instance is started.
pub fn config(memory: u64, sector: u32) -> InstanceConfig {
    InstanceConfig {
        sa_password: PASSWORD.to_owned(),
        server_name: "SIM".to_owned(),
        storage: StorageConfig {
            data_dir: "/data".into(),
            drives: Default::default(),
            memory,
            profile: Default::default(),
            sector,
            instant_file_init: true,
            files: Default::default(),
        },
    }
}

/// A session in database a.
pub fn login(instance: &Arc<Instance>) -> Result<Session, String> {
    login_to(instance, DATABASES[0])
}

/// A session in this database.
pub fn login_to(instance: &Arc<Instance>, database: &str) -> Result<Session, String> {
    login_as(instance, ("sa", PASSWORD), database)
}

/// A session of this login, with its password, in this database.
pub fn login_as(
    instance: &Arc<Instance>,
    (user, password): (&str, &str),
    database: &str,
) -> Result<Session, String> {
    let request = LoginRequest {
        user: user.to_owned(),
        password: password.to_owned(),
        database: database.to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).map_err(|e| format!("login fails: {e}"))
}

fn script() -> Vec<String> {
    // Whatever several threads can do, they do.
    let mut all = vec![
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE; \
         EXEC sp_configure 'cost threshold for parallelism', 0; \
         EXEC sp_configure 'max degree of parallelism', 3; RECONFIGURE"
            .to_owned(),
    ];
    for (at, db) in DATABASES.iter().enumerate() {
        all.push(format!(
            "CREATE DATABASE {db} ON (NAME = {db}, FILENAME = '/data/{db}.mdf', SIZE = 1MB, FILEGROWTH = 512KB) \
             LOG ON (NAME = {db}_log, FILENAME = '/data/{db}.ldf', SIZE = 1MB, FILEGROWTH = 512KB)"
        ));
        all.push(format!(
            "ALTER DATABASE {db} SET DELAYED_DURABILITY = ALLOWED"
        ));
        // The second database has partitions under the tables whose rows come and go.
        let on = match at {
            0 => "",
            _ => {
                all.push(format!(
                    "USE {db};
                     CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (105, 110, 208, 304, 411);
                     CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])"
                ));
                " ON ps (id)"
            }
        };
        all.push(format!(
            "USE {db};
             CREATE TABLE seq (sess int NOT NULL CONSTRAINT pk_seq PRIMARY KEY, n bigint NOT NULL);
             CREATE TABLE acct (id int NOT NULL CONSTRAINT pk_acct PRIMARY KEY, ver int NOT NULL, bal bigint NOT NULL);
             CREATE TABLE hist (acct int NOT NULL, ver int NOT NULL, delta bigint NOT NULL, sess int NOT NULL,
                                txn bigint NOT NULL, CONSTRAINT pk_hist PRIMARY KEY (acct, ver));
             CREATE TABLE t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, pad varchar(3000) NOT NULL, n int NULL,
                             f char(300) NOT NULL){on};
             CREATE INDEX t_n ON t (n);
             CREATE TABLE h (id int NOT NULL, pad varchar(1500) NOT NULL, n int NULL, f char(1600) NOT NULL){on};
             CREATE INDEX h_id ON h (id);
             CREATE TABLE l (id int NOT NULL CONSTRAINT pk_l PRIMARY KEY, body varchar(max) NOT NULL){on}"
        ));
        for n in 1..=MAX_SESSIONS {
            all.push(format!("INSERT {db}.dbo.seq VALUES ({n}, 0)"));
        }
        for n in 0..ACCOUNTS {
            all.push(format!("INSERT {db}.dbo.acct VALUES ({n}, 0, 0)"));
        }
    }
    all
}

fn prepare(sector: u32) -> Arc<SimDisk> {
    let disk = SimDisk::with_sector(1, sector);
    Simulation::new(1).on_disk(disk.clone()).run(|sim| {
        let instance = duramen_session::start(&sim.env(), config(32 << 20, sector))
            .unwrap_or_else(|e| panic!("the prepared instance does not start: {e}"));
        let request = LoginRequest {
            user: "sa".to_owned(),
            password: PASSWORD.to_owned(),
            ..LoginRequest::default()
        };
        let mut session = duramen_session::login(&instance, &request)
            .unwrap_or_else(|e| panic!("no login to the prepared instance: {e}"));
        for batch in script() {
            let mut sink = TextSink::default();
            session.execute_batch(&batch, &mut sink, &CancelToken::default());
            if let Some(line) = sink.lines.iter().find(|l| l.starts_with("Msg")) {
                panic!("{batch}: {line}");
            }
        }
        drop(session);
        instance
            .shutdown()
            .unwrap_or_else(|e| panic!("the prepared instance does not stop: {e}"));
    });
    disk
}
