//! More sessions wait than there may be workers: whoever can release what they wait for gets a thread all the same, the
//! others wait in line, and the administrator always gets in.

use std::net::SocketAddr;
use std::time::Duration;

use duramen_os::sim::SimDisk;
use duramen_os::{thread, time};
use duramen_server::ServerConfig;
use duramen_server::client::Stream;
use duramen_tds::client::{Client, ClientError};
use duramen_tds::token::Token;
use duramen_types::Value;

use crate::faults::{PASSWORD, Stack, run};

const WORKERS: usize = 8;
/// So many want one row.
const WAITERS: usize = 40;
/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);
const WAITING: &str =
    "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE wait_type LIKE 'LCK%' AND session_id > 50";

/// A server with a table, whose row somebody holds, and many who want it.
struct Jam {
    stack: Stack,
    holder: Client<Stream>,
    waiters: Vec<Client<Stream>>,
    admin: Client<Stream>,
}

fn few_workers(config: &mut ServerConfig) {
    config.max_workers = WORKERS;
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    config.admin = Some(any);
}

impl Jam {
    fn new() -> Jam {
        let stack = Stack::over_with(SimDisk::new(3), few_workers);
        let mut holder = stack.connect();
        run(&mut holder, "CREATE TABLE t(a int, b int)");
        run(&mut holder, "INSERT t VALUES(1, 0)");
        run(&mut holder, "BEGIN TRAN; UPDATE t SET b = b + 1");
        let admin = at_admin_port(&stack, "sa", PASSWORD).expect("the administrator logs in");
        let mut waiters: Vec<_> = (0..WAITERS).map(|_| stack.connect()).collect();
        for client in &mut waiters {
            client.query("UPDATE t SET b = b + 1").unwrap();
        }
        let mut jam = Jam {
            stack,
            holder,
            waiters,
            admin,
        };
        until(&mut jam.admin, WAITING, |n| n == WORKERS as i64);
        jam
    }

    /// Everybody who waits comes through, and the row has counted them.
    fn ends(mut self, counted: i64) {
        for client in &mut self.waiters {
            assert_eq!(errors(client).unwrap(), Vec::<i32>::new());
        }
        let rows = run(&mut self.holder, "SELECT b FROM t");
        assert_eq!(rows, [[Value::Int(counted as i32)]]);
        self.stack.close();
    }
}

fn at_admin_port(stack: &Stack, user: &str, password: &str) -> Result<Client<Stream>, ClientError> {
    let address = stack.server.admin_address().expect("it listens there");
    stack.connect_at(address.port(), user, password, 0)
}

/// Asks again and again.
fn until(client: &mut Client<Stream>, sql: &str, good: impl Fn(i64) -> bool) {
    let start = time::now();
    loop {
        let rows = run(client, sql);
        let n = rows[0][0].as_i64().unwrap();
        if good(n) {
            return;
        }
        assert!(start.elapsed() < LIMIT, "{sql} is still {n}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The numbers of the errors of a reply.
fn errors(client: &mut Client<Stream>) -> Result<Vec<i32>, ClientError> {
    let mut errors = Vec::new();
    while let Some(event) = client.next_event()? {
        if let Token::Error(e) = event {
            errors.push(e.number);
        }
    }
    Ok(errors)
}

#[test]
fn the_commit_of_what_all_workers_wait_for_runs() {
    let mut jam = Jam::new();
    run(&mut jam.holder, "COMMIT");
    jam.ends(WAITERS as i64 + 1);
}

#[test]
fn a_client_that_leaves_lets_go_of_its_locks() {
    let mut jam = Jam::new();
    jam.holder = {
        let before = std::mem::replace(&mut jam.holder, jam.stack.connect());
        drop(before);
        jam.stack.connect()
    };
    jam.ends(WAITERS as i64);
}

#[test]
fn those_who_find_no_worker_wait_in_line_and_are_counted() {
    let mut jam = Jam::new();
    // Logins are let in; what comes after has to wait, and may be given up.
    let mut late = jam.stack.connect();
    late.query("SELECT 1").unwrap();
    let in_line = "SELECT CAST(SUM(work_queue_count) AS int) FROM sys.dm_os_schedulers";
    until(&mut jam.admin, in_line, |n| n > 0);
    thread::sleep(Duration::from_millis(30));
    late.cancel().unwrap();
    let counted =
        "SELECT waiting_tasks_count FROM sys.dm_os_wait_stats WHERE wait_type = 'THREADPOOL'";
    until(&mut jam.admin, counted, |n| n > 0);
    run(&mut jam.holder, "COMMIT");
    jam.ends(WAITERS as i64 + 1);
}

#[test]
fn the_administrator_ends_what_stands_in_the_way() {
    let mut jam = Jam::new();
    let who = "SELECT DISTINCT blocking_session_id FROM sys.dm_os_waiting_tasks WHERE wait_type LIKE 'LCK%' AND \
        blocking_session_id NOT IN (SELECT session_id FROM sys.dm_os_waiting_tasks WHERE session_id > 50)";
    let rows = run(&mut jam.admin, who);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let spid = rows[0][0].as_i64().unwrap();
    let endpoint = "SELECT e.name FROM sys.dm_exec_sessions AS s JOIN sys.endpoints AS e ON e.endpoint_id = s.endpoint_id \
        WHERE s.session_id = @@SPID";
    let name = run(&mut jam.admin, endpoint);
    assert_eq!(name, [[Value::nvarchar("Dedicated Admin Connection")]]);
    run(&mut jam.admin, &format!("KILL {spid}"));
    jam.holder = jam.stack.connect();
    jam.ends(WAITERS as i64);
}

/// Its client is there and reads nothing: its worker waits for room in a socket that gets none.
#[test]
fn a_session_that_waits_for_its_client_can_be_killed() {
    let stack = Stack::over_with(SimDisk::new(5), few_workers);
    let mut other = stack.connect();
    run(&mut other, "CREATE TABLE t(a int, b int)");
    run(&mut other, "INSERT t VALUES(1, 0)");
    let mut silent = stack.connect();
    let spid = run(&mut silent, "SELECT @@SPID")[0][0].as_i64().unwrap();
    let much = "BEGIN TRAN; UPDATE t SET b = 7; \
        SELECT REPLICATE('x', 8000) FROM GENERATE_SERIES(1, 1000) a CROSS JOIN GENERATE_SERIES(1, 1000) b";
    silent.query(much).unwrap();
    let waits = format!(
        "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {spid} AND wait_type = 'ASYNC_NETWORK_IO'"
    );
    until(&mut other, &waits, |n| n == 1);
    run(&mut other, &format!("KILL {spid}"));
    let there = format!("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = {spid}");
    until(&mut other, &there, |n| n == 0);
    // What it had changed is undone, and what it had locked is free.
    assert_eq!(run(&mut other, "SELECT b FROM t")[0][0], Value::Int(0));
    assert!(errors(&mut silent).is_err(), "the connection has ended");
}

#[test]
fn the_administrator_is_one_and_a_sysadmin() {
    let stack = Stack::over_with(SimDisk::new(4), few_workers);
    let mut sa = stack.connect();
    run(&mut sa, "CREATE LOGIN bob WITH PASSWORD = 'Long-enough-1'");
    let refused = |user: &str, password: &str| match at_admin_port(&stack, user, password) {
        Err(ClientError::Login(errors)) => errors.first().map_or(0, |e| e.number),
        Err(other) => panic!("{other}"),
        Ok(_) => 0,
    };
    assert_eq!(refused("bob", "Long-enough-1"), 18456);
    assert_eq!(refused("sa", "wrong"), 18456);
    let mut first = at_admin_port(&stack, "sa", PASSWORD).unwrap();
    assert_eq!(run(&mut first, "SELECT 1"), [[Value::Int(1)]]);
    assert_eq!(refused("sa", PASSWORD), 17810);
    let own = "SELECT s.cpu_time + s.total_elapsed_time, c.num_reads, c.num_writes, s.client_interface_name FROM sys.dm_exec_sessions s JOIN sys.dm_exec_connections c ON c.session_id = s.session_id WHERE s.session_id = @@SPID";
    let before = run(&mut first, own);
    let after = run(&mut first, own);
    for column in [1, 2] {
        let n = |rows: &[Vec<Value>]| rows[0][column].as_i64().unwrap();
        assert!(
            n(&before) > 0 && n(&after) > n(&before),
            "{before:?} {after:?}"
        );
    }
    assert!(!before[0][3].is_null(), "{before:?}");
    let dac = "SELECT CAST(SUM(current_tasks_count) AS int) FROM sys.dm_os_schedulers WHERE status = 'VISIBLE ONLINE (DAC)'";
    assert_eq!(run(&mut first, dac), [[Value::Int(1)]]);
    drop(first);
    let start = time::now();
    while refused("sa", PASSWORD) != 0 {
        assert!(start.elapsed() < LIMIT);
        thread::sleep(Duration::from_millis(5));
    }
    stack.close();
}
