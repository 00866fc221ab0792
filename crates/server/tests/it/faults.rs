//! Bad disks below the whole server: sockets, sessions, engine, and a disk that fails where a test says.
//!
//! What every case asserts: the client hears the number and severity that SQL Server's users know; severity 20 and more
//! ends the connection and less does not; other databases and other sessions live on; nothing panics; and after the
//! fault is gone and the power was lost, a new start has everything that was acknowledged.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use duramen_base::SqlResult;
use duramen_core::databases::StorageConfig;
use duramen_core::instance_core::InstanceConfig;
use duramen_events::instance::Instance;
use duramen_os::IoError;
use duramen_os::sim::{DiskOp, Fault, SimDisk};
use duramen_os::{Disk, OpenOptions, thread};
use duramen_server::client::{ConnectOptions, Stream, Trust, connect};
use duramen_server::{Credential, EngineBackend, Server, ServerConfig};
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::Token;
use duramen_types::Value;

pub const PASSWORD: &str = "Duramen-Test-1";
/// What the instance knows as the password.
const TOKEN: &str = "token";
/// Rows that table `d.dbo.t` has from the beginning; their ids begin at 1.
const ROWS: i64 = 400;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts the panics of the server's own threads; those of tests have their module's name.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            #[allow(clippy::disallowed_methods)]
            let of_test = std::thread::current()
                .name()
                .is_some_and(|n| n.contains("::"));
            if !of_test {
                PANICS.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
}

/// The server over a simulated disk.
pub struct Stack {
    disk: Arc<SimDisk>,
    pub instance: Arc<Instance>,
    pub server: Server,
}

impl Stack {
    fn start(disk: Arc<SimDisk>, change: impl FnOnce(&mut ServerConfig)) -> SqlResult<Stack> {
        count_panics();
        let env = disk.env();
        let config = InstanceConfig {
            sa_password: TOKEN.into(),
            server_name: "FAULTS".into(),
            storage: StorageConfig {
                data_dir: "/data".into(),
                drives: Default::default(),
                memory: 64 << 20,
                profile: Default::default(),
                sector: 512,
                instant_file_init: true,
                files: Default::default(),
            },
        };
        let instance = duramen_session::start(&env, config)?;
        let (credential, _) = Credential::open(&env, Path::new("/data"), Some(PASSWORD)).unwrap();
        let gate = Arc::clone(&instance.databases.gate);
        let backend = EngineBackend::new(instance.clone(), gate, credential, TOKEN.into());
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let mut config = ServerConfig::new(any);
        change(&mut config);
        let server = Server::start(Arc::new(backend), config).unwrap();
        Ok(Stack {
            disk,
            instance,
            server,
        })
    }

    pub fn over(disk: Arc<SimDisk>) -> Stack {
        Stack::over_with(disk, |_| {})
    }

    pub fn over_with(disk: Arc<SimDisk>, change: impl FnOnce(&mut ServerConfig)) -> Stack {
        Stack::start(disk, change).unwrap_or_else(|error| panic!("the server starts: {error}"))
    }

    pub fn connect(&self) -> Client<Stream> {
        self.connect_as(0)
    }

    /// A client of that version of TDS.
    pub fn connect_as(&self, tds_version: u32) -> Client<Stream> {
        self.connect_at(self.server.address().port(), "sa", PASSWORD, tds_version)
            .unwrap_or_else(|error| panic!("sa logs in: {error}"))
    }

    pub fn connect_at(
        &self,
        port: u16,
        user: &str,
        password: &str,
        tds_version: u32,
    ) -> Result<Client<Stream>, ClientError> {
        let options = ConnectOptions {
            tds_version,
            host: "127.0.0.1".into(),
            port,
            user: user.into(),
            password: password.into(),
            trust: Trust::NoEncryption,
            read_timeout: Some(Duration::from_secs(300)),
            ..ConnectOptions::default()
        };
        connect(&options)
    }

    /// The disk as a power loss leaves it now, with the faults gone; the server on it ends.
    fn lose_power(self) -> Arc<SimDisk> {
        let after = self.disk.crash(7);
        self.server.stop();
        // On the old disk: whether it can still close there does not matter.
        let _ = self.instance.shutdown();
        assert_eq!(
            PANICS.load(Ordering::SeqCst),
            0,
            "a thread of the server has panicked"
        );
        after
    }

    pub fn close(self) -> Arc<SimDisk> {
        self.server.stop();
        self.instance.shutdown().expect("a clean end");
        assert_eq!(
            PANICS.load(Ordering::SeqCst),
            0,
            "a thread of the server has panicked"
        );
        self.disk
    }

    fn fault(&self, op: DiskOp, path: &str, nth: u64, error: IoError) {
        self.disk.add_fault(Fault {
            op,
            path: Some(path.into()),
            nth,
            error,
            lasting: true,
        });
    }
}

/// What a batch gave.
#[derive(Debug, Default)]
struct Answer {
    rows: Vec<Vec<Value>>,
    /// Number, severity, text.
    errors: Vec<(i32, u8, String)>,
    /// The connection ended before the reply did, or with it.
    ended: bool,
}

impl Answer {
    fn error(&self) -> (i32, u8) {
        let first = self.errors.first();
        first.map_or((0, 0), |(number, class, _)| (*number, *class))
    }
}

fn ask(client: &mut Client<Stream>, sql: &str) -> Answer {
    let mut answer = Answer::default();
    let mut run = || -> Result<(), ClientError> {
        client.query(sql)?;
        while let Some(event) = client.next_event()? {
            match event {
                Token::Row(row) => answer.rows.push(row),
                Token::Error(e) => answer.errors.push((e.number, e.class, e.text)),
                _ => {}
            }
        }
        Ok(())
    };
    let ended = run().is_err();
    answer.ended = ended;
    answer
}

/// A batch that must succeed.
pub fn run(client: &mut Client<Stream>, sql: &str) -> Vec<Vec<Value>> {
    let answer = ask(client, sql);
    assert!(
        answer.errors.is_empty() && !answer.ended,
        "{sql}: {answer:?}"
    );
    answer.rows
}

fn number(rows: &[Vec<Value>]) -> i64 {
    rows[0][0].as_i64().unwrap()
}

/// An instance with databases `d` (table `t`) and `e`, stopped cleanly; a copy.
fn prepared() -> Arc<SimDisk> {
    static DISK: OnceLock<Arc<SimDisk>> = OnceLock::new();
    let disk = DISK.get_or_init(|| {
        let stack = Stack::over(SimDisk::new(1));
        let mut client = stack.connect();
        for sql in [
            "CREATE DATABASE d ON (NAME = d, FILENAME = '/data/d.mdf', SIZE = 8MB) \
             LOG ON (NAME = d_log, FILENAME = '/data/d_log.ldf', SIZE = 2MB)",
            "CREATE DATABASE e",
            "USE e; CREATE TABLE t (id int NOT NULL PRIMARY KEY); INSERT t VALUES (1)",
            "USE d; CREATE TABLE t (id int NOT NULL PRIMARY KEY, pad char(200) NOT NULL)",
        ] {
            run(&mut client, sql);
        }
        run(
            &mut client,
            &format!(
                "SET NOCOUNT ON; DECLARE @i int = 1; WHILE @i <= {ROWS} BEGIN \
                 INSERT t (id, pad) VALUES (@i, 'x'); SET @i += 1 END"
            ),
        );
        stack.close()
    });
    disk.crash(1)
}

/// Bytes of all files below `/data`.
fn used(disk: &SimDisk) -> u64 {
    let paths = disk.list(Path::new("/data")).unwrap();
    let open = |path: &std::path::PathBuf| disk.open(path, &OpenOptions::default());
    let files = paths.iter().filter_map(|path| open(path).ok());
    files.map(|file| file.len().unwrap_or(0)).sum()
}

/// Everything acknowledged is there after the restart, and the database takes changes again.
fn recovered(disk: Arc<SimDisk>, rows: i64) {
    let stack = Stack::over(disk);
    let mut client = stack.connect();
    let state = run(
        &mut client,
        "SELECT state_desc FROM sys.databases WHERE name = 'd'",
    );
    assert_eq!(state, [[Value::nvarchar("ONLINE")]]);
    let found = number(&run(&mut client, "SELECT COUNT(*) FROM d.dbo.t"));
    assert_eq!(found, rows, "rows after the restart");
    run(&mut client, "INSERT d.dbo.t (id, pad) VALUES (-1, 'new')");
    stack.close();
}

/// The other database answers, on a connection of its own.
fn others_live(stack: &Stack) {
    let mut client = stack.connect();
    assert_eq!(number(&run(&mut client, "SELECT COUNT(*) FROM e.dbo.t")), 1);
    run(
        &mut client,
        "INSERT e.dbo.t VALUES (2); DELETE e.dbo.t WHERE id = 2",
    );
}

#[test]
fn disk_full_under_the_log_is_9002_and_the_connection_lives() {
    let stack = Stack::over(prepared());
    let mut client = stack.connect();
    run(&mut client, "USE d");
    stack.disk.set_capacity(used(&stack.disk));
    // One long transaction: nothing of the log can be used again.
    let answer = ask(
        &mut client,
        "SET NOCOUNT ON; BEGIN TRAN; WHILE 1 = 1 UPDATE t SET pad = 'y' + pad; COMMIT",
    );
    assert_eq!(answer.error(), (9002, 17), "{:?}", answer.errors);
    assert!(answer.errors[0].2.contains("'d'"), "{:?}", answer.errors);
    assert!(!answer.ended);
    assert_eq!(number(&run(&mut client, "SELECT @@TRANCOUNT")), 0);
    assert_eq!(
        number(&run(
            &mut client,
            "SELECT COUNT(*) FROM t WHERE pad LIKE 'y%'"
        )),
        0
    );
    others_live(&stack);
    // The log can be used again: the transaction that held it is gone.
    run(
        &mut client,
        "CHECKPOINT; INSERT t (id, pad) VALUES (0, 'small')",
    );
    recovered(stack.lose_power(), ROWS + 1);
}

#[test]
fn disk_full_under_the_data_is_1105_and_the_connection_lives() {
    let stack = Stack::over(prepared());
    let mut client = stack.connect();
    run(
        &mut client,
        "USE d; CREATE TABLE big (id int NOT NULL, pad char(8000) NOT NULL)",
    );
    stack.disk.set_capacity(used(&stack.disk));
    let mut acknowledged = 0;
    let answer = loop {
        let sql = format!("INSERT big (id, pad) VALUES ({acknowledged}, 'x')");
        let answer = ask(&mut client, &sql);
        if !answer.errors.is_empty() || answer.ended {
            break answer;
        }
        acknowledged += 1;
        if acknowledged % 50 == 0 {
            run(&mut client, "CHECKPOINT");
        }
        assert!(acknowledged < 5000, "the file is never full");
    };
    assert_eq!(answer.error(), (1105, 17), "{:?}", answer.errors);
    for word in ["dbo.big", "'d'", "PRIMARY"] {
        assert!(
            answer.errors[0].2.contains(word),
            "{word}: {:?}",
            answer.errors
        );
    }
    assert!(!answer.ended);
    assert_eq!(
        number(&run(&mut client, "SELECT COUNT(*) FROM big")),
        acknowledged
    );
    others_live(&stack);
    stack.disk.set_capacity(1 << 40);
    run(
        &mut client,
        "INSERT big (id, pad) VALUES (-1, 'room again')",
    );
    let stack = Stack::over(stack.lose_power());
    let found = number(&run(&mut stack.connect(), "SELECT COUNT(*) FROM d.dbo.big"));
    assert_eq!(found, acknowledged + 1);
    stack.close();
}

/// A database that cannot be made leaves nothing behind: with room again, the same statement works.
#[test]
fn create_database_without_room_or_with_a_bad_disk_leaves_nothing_behind() {
    for fault in 0..3 {
        let stack = Stack::over(prepared());
        let mut client = stack.connect();
        match fault {
            0 => stack.disk.set_capacity(used(&stack.disk) + (3 << 20)),
            1 => stack.fault(DiskOp::Write, "/data/f.mdf", 3, IoError::device("pwrite")),
            _ => stack.fault(
                DiskOp::Write,
                "/data/f_log.ldf",
                1,
                IoError::device("pwrite"),
            ),
        }
        let answer = ask(&mut client, "CREATE DATABASE f");
        assert!(!answer.errors.is_empty(), "fault {fault}");
        println!("fault {fault}: {:?}", answer.errors);
        stack.disk.set_capacity(1 << 40);
        stack.disk.clear_faults();
        let mut client = stack.connect();
        let listed = run(
            &mut client,
            "SELECT COUNT(*) FROM sys.databases WHERE name = 'f'",
        );
        assert_eq!(number(&listed), 0, "fault {fault}");
        run(&mut client, "CREATE DATABASE f");
        run(
            &mut client,
            "CREATE TABLE f.dbo.t (id int NOT NULL); INSERT f.dbo.t VALUES (1)",
        );
        let stack = Stack::over(stack.lose_power());
        let mut client = stack.connect();
        assert_eq!(number(&run(&mut client, "SELECT COUNT(*) FROM f.dbo.t")), 1);
        stack.close();
    }
}

#[test]
fn a_failed_log_write_is_9001_and_ends_what_depends_on_it() {
    for (op, nth) in [(DiskOp::Write, 1), (DiskOp::Write, 4), (DiskOp::Sync, 1)] {
        let stack = Stack::over(prepared());
        let (mut client, mut reader) = (stack.connect(), stack.connect());
        run(&mut client, "USE d");
        stack.fault(op, "/data/d_log.ldf", nth, IoError::device("pwrite"));
        let mut acknowledged = 0;
        let answer = loop {
            let sql = format!("INSERT t (id, pad) VALUES ({}, 'x')", 10_000 + acknowledged);
            let answer = ask(&mut client, &sql);
            if !answer.errors.is_empty() || answer.ended {
                break answer;
            }
            acknowledged += 1;
            if op == DiskOp::Sync && acknowledged > 20 {
                // This log never syncs: its writes are durable by themselves.
                break Answer::default();
            }
        };
        if op == DiskOp::Sync && !answer.ended {
            recovered(stack.lose_power(), ROWS + acknowledged);
            continue;
        }
        assert_eq!(
            answer.error(),
            (9001, 21),
            "{op:?} {nth}: {:?}",
            answer.errors
        );
        assert!(answer.errors[0].2.contains("'d'"), "{:?}", answer.errors);
        assert!(
            client.query("SELECT 1").is_err() || client.next_event().is_err(),
            "{op:?}: it lives"
        );
        // Who did not depend on it goes on; a new change there is refused, and the catalog says why.
        others_live(&stack);
        run(&mut reader, "SELECT 1");
        let state = run(
            &mut reader,
            "SELECT state_desc FROM sys.databases WHERE name = 'd'",
        );
        assert_eq!(state, [[Value::nvarchar("RECOVERY_PENDING")]]);
        let answer = ask(&mut reader, "INSERT d.dbo.t (id, pad) VALUES (-5, 'x')");
        assert_eq!(answer.error(), (9001, 21), "{:?}", answer.errors);
        // What was refused may be there or not; what was acknowledged must.
        let stack = Stack::over(stack.lose_power());
        let found = number(&run(&mut stack.connect(), "SELECT COUNT(*) FROM d.dbo.t"));
        assert!(
            (ROWS + acknowledged..=ROWS + acknowledged + 1).contains(&found),
            "{found}"
        );
        stack.close();
    }
}

#[test]
fn a_failed_write_of_pages_loses_nothing() {
    for path in ["/data/d.mdf", "/data/duramen.dwb"] {
        for op in [DiskOp::Write, DiskOp::Sync] {
            let stack = Stack::over(prepared());
            let mut client = stack.connect();
            run(&mut client, "USE d; INSERT t (id, pad) VALUES (0, 'x')");
            stack.fault(op, path, 1, IoError::device("pwrite"));
            let answer = ask(&mut client, "CHECKPOINT");
            // A file that is written durably is never synced: then there is nothing to fail.
            if answer.error() != (0, 0) {
                assert_eq!(
                    answer.error(),
                    (823, 24),
                    "{path} {op:?}: {:?}",
                    answer.errors
                );
            }
            let mut again = stack.connect();
            let found = number(&run(&mut again, "SELECT COUNT(*) FROM d.dbo.t"));
            assert_eq!(found, ROWS + 1, "{path} {op:?}");
            run(&mut again, "SELECT COUNT(*) FROM e.dbo.t");
            recovered(stack.lose_power(), ROWS + 1);
        }
    }
}

#[test]
fn a_failed_read_is_823_and_a_flipped_bit_is_824() {
    // Pages are read when somebody asks for them: the table's, after a start.
    let stack = Stack::over(prepared());
    stack.fault(DiskOp::Read, "/data/d.mdf", 1, IoError::device("pread"));
    let answer = ask(&mut stack.connect(), "SELECT COUNT(*) FROM d.dbo.t");
    assert_eq!(answer.error(), (823, 24), "{:?}", answer.errors);
    assert!(answer.errors[0].2.contains("d.mdf"), "{:?}", answer.errors);
    others_live(&stack);
    stack.disk.clear_faults();
    assert_eq!(
        number(&run(&mut stack.connect(), "SELECT COUNT(*) FROM d.dbo.t")),
        ROWS
    );
    recovered(stack.lose_power(), ROWS);

    let disk = prepared();
    let page = page_with_rows(&disk, "/data/d.mdf");
    flip(&disk, "/data/d.mdf", page * 8192 + 4000);
    let stack = Stack::over(disk);
    let answer = ask(
        &mut stack.connect(),
        "SELECT COUNT(*) FROM d.dbo.t WHERE pad = 'x'",
    );
    assert_eq!(answer.error(), (824, 24), "{:?}", answer.errors);
    assert!(
        answer.errors[0].2.contains("incorrect checksum"),
        "{:?}",
        answer.errors
    );
    assert!(
        answer.errors[0].2.contains(&format!("(1:{page})")),
        "{:?}",
        answer.errors
    );
    others_live(&stack);
    stack.close();
}

/// The last page of the file in use that holds rows of 200 bytes.
fn page_with_rows(disk: &SimDisk, path: &str) -> u64 {
    let bytes = disk.durable_bytes(Path::new(path)).unwrap();
    let data = bytes
        .chunks_exact(8192)
        .rposition(|p| p[1] == 1 && p[22..24] > [20, 0][..]);
    data.expect("a data page") as u64
}

fn flip(disk: &SimDisk, path: &str, offset: u64) {
    let bytes = disk.durable_bytes(Path::new(path)).unwrap();
    let byte = bytes[offset as usize] ^ 0x10;
    disk.damage(Path::new(path), offset, &[byte]).unwrap();
}

/// The server starts without a database whose files are damaged, says so, and drops it when told to.
#[test]
fn damage_that_keeps_a_database_from_opening_keeps_nothing_else() {
    type Damage = fn(&SimDisk);
    let cases: [(&str, Damage, &str, i32); 6] = [
        (
            "data file gone",
            |d| d.remove(Path::new("/data/d.mdf")).unwrap(),
            "RECOVERY_PENDING",
            945,
        ),
        (
            "log file gone",
            |d| d.remove(Path::new("/data/d_log.ldf")).unwrap(),
            "RECOVERY_PENDING",
            945,
        ),
        (
            "data file header",
            |d| flip(d, "/data/d.mdf", 100),
            "SUSPECT",
            926,
        ),
        (
            "log file header",
            |d| flip(d, "/data/d_log.ldf", 100),
            "RECOVERY_PENDING",
            945,
        ),
        (
            "boot page",
            |d| flip(d, "/data/d.mdf", 9 * 8192 + 300),
            "SUSPECT",
            926,
        ),
        ("log block", flip_log_block, "SUSPECT", 926),
    ];
    for (what, damage, state, refusal) in cases {
        let disk = prepared();
        damage(&disk);
        let stack = Stack::over(disk);
        let unavailable = stack.instance.databases.unavailable();
        assert_eq!(unavailable.len(), 1, "{what}");
        println!("{what}: {}", unavailable[0]);
        let mut client = stack.connect();
        let found = run(
            &mut client,
            "SELECT name, state_desc FROM sys.databases WHERE database_id > 4",
        );
        let row = |name: &str, state: &str| vec![Value::nvarchar(name), Value::nvarchar(state)];
        assert_eq!(found.len(), 2, "{what}: {found:?}");
        assert!(found.contains(&row("d", state)), "{what}: {found:?}");
        assert!(found.contains(&row("e", "ONLINE")), "{what}: {found:?}");
        for sql in ["USE d", "SELECT * FROM d.dbo.t"] {
            let answer = ask(&mut client, sql);
            assert_eq!(
                answer.error(),
                (refusal, 14),
                "{what}: {sql}: {:?}",
                answer.errors
            );
        }
        assert_eq!(
            ask(&mut client, "CREATE DATABASE d").error().0,
            1801,
            "{what}"
        );
        others_live(&stack);
        run(&mut client, "DROP DATABASE d");
        assert_eq!(
            number(&run(
                &mut client,
                "SELECT COUNT(*) FROM sys.databases WHERE name = 'd'"
            )),
            0
        );
        let stack = Stack::over(stack.lose_power());
        assert!(stack.instance.databases.unavailable().is_empty(), "{what}");
        others_live(&stack);
        stack.close();
    }
}

/// Damages the last block but one: the very last could be a write that the power loss cut short, which is no damage.
fn flip_log_block(disk: &SimDisk) {
    let bytes = disk.durable_bytes(Path::new("/data/d_log.ldf")).unwrap();
    let word =
        |sector: &[u8], at: usize| u32::from_le_bytes(sector[at..at + 4].try_into().unwrap());
    let sectors = bytes.chunks_exact(512).enumerate();
    // Blocks of ours carry this in byte 28, their VLF's number in byte 12 and their own in byte 16.
    let blocks = sectors.filter(|(_, sector)| sector[28..32] == *b"DuLB");
    let mut blocks: Vec<_> = blocks
        .map(|(at, sector)| (word(sector, 12), word(sector, 16), at))
        .collect();
    blocks.sort_unstable();
    let (.., at) = blocks[blocks.len() - 2];
    flip(disk, "/data/d_log.ldf", at as u64 * 512 + 80);
}

/// Without `master` there is no server, and the start says which file it was.
#[test]
fn a_damaged_master_is_told_at_the_start_and_clients_get_in() {
    let disk = prepared();
    flip(&disk, "/data/master.mdf", 9 * 8192 + 300);
    let stack = Stack::over(disk);
    let mut sa = stack.connect();
    // A stand-in, which knows no database of a user.
    let listed = run(
        &mut sa,
        "SELECT COUNT(*) FROM sys.databases WHERE name = 'd'",
    );
    assert_eq!(number(&listed), 0);
    let reported = "CREATE TABLE #log (at datetime, who nvarchar(50), line nvarchar(max)); \
        INSERT #log EXEC sp_readerrorlog; \
        SELECT COUNT(*) FROM #log WHERE line LIKE 'The master database cannot be opened%'";
    assert_eq!(number(&run(&mut sa, reported)), 1);
    stack.close();
}

/// A log that fails while nobody is asking: the next to depend on it hears of it.
#[test]
fn a_gate_that_can_never_open_ends_its_connections_with_9001() {
    let stack = Stack::over(prepared());
    let mut clients: Vec<_> = (0..4).map(|_| stack.connect()).collect();
    for client in &mut clients {
        run(client, "USE d");
    }
    stack.fault(
        DiskOp::Write,
        "/data/d_log.ldf",
        1,
        IoError::device("pwrite"),
    );
    let threads: Vec<_> = clients
        .into_iter()
        .enumerate()
        .map(|(i, mut client)| {
            let sql = format!("INSERT t (id, pad) VALUES ({}, 'x')", 20_000 + i);
            thread::spawn("client", move || ask(&mut client, &sql))
        })
        .collect();
    for client in threads {
        let answer = client.join().unwrap();
        assert_eq!(answer.error(), (9001, 21), "{answer:?}");
    }
    others_live(&stack);
    let stack = Stack::over(stack.lose_power());
    let found = number(&run(&mut stack.connect(), "SELECT COUNT(*) FROM d.dbo.t"));
    assert!((ROWS..=ROWS + 4).contains(&found), "{found}");
    stack.close();
}
