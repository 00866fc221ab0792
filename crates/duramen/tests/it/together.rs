//! Sessions that change the same rows at the same time, and replies whose database has gone meanwhile.

use crate::process::{Process, Scratch, ask, rows};
use duramen_types::Value;

/// No update is lost: between the read of a row that will be changed and its change nobody else may change it.
#[test]
fn increments_by_many_sessions_all_count() {
    const SESSIONS: i64 = 8;
    const EACH: i64 = 60;
    let scratch = Scratch::new("together");
    let server = Process::start(scratch.path(), &[]);
    let mut client = server.connect();
    rows(&mut client, "CREATE DATABASE d");
    rows(
        &mut client,
        "USE d; CREATE TABLE t (id int NOT NULL PRIMARY KEY, v bigint NOT NULL); INSERT t VALUES (0, 0), (1, 0)",
    );
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let mut client = server.connect();
            scope.spawn(move || {
                for i in 0..EACH {
                    // By key, and by a condition that looks at every row.
                    let condition =
                        ["id = 0", "v >= 0 AND id % 2 = 0"][((i + session) % 2) as usize];
                    let sql = format!("UPDATE d.dbo.t SET v = v + 1 WHERE {condition}");
                    let answer = ask(&mut client, &sql).expect("the server lives");
                    assert_eq!((answer.counts, answer.errors), (vec![1], vec![]), "{sql}");
                }
            });
        }
    });
    let counted = rows(&mut client, "SELECT v FROM d.dbo.t WHERE id = 0");
    assert_eq!(counted, [[Value::BigInt(SESSIONS * EACH)]]);
    server.stop();
}

/// A reply waits for the log of what its batch has committed, also when the batch has then closed that log, and given the
/// database's id to another.
#[test]
fn a_batch_that_closes_what_it_has_filled_is_answered() {
    let scratch = Scratch::new("closed");
    let server = Process::start(scratch.path(), &[]);
    let mut client = server.connect();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (batch, counts) in [
            ("CREATE DATABASE d", vec![]),
            (
                "CREATE TABLE d.dbo.t (v int); INSERT d.dbo.t VALUES (1), (2); DROP DATABASE d",
                vec![2],
            ),
            ("CREATE DATABASE d", vec![]),
            (
                "CREATE TABLE d.dbo.t (v int); INSERT d.dbo.t VALUES (1), (2); DROP DATABASE d; CREATE DATABASE e;
                EXEC ('CREATE TABLE e.dbo.t (v int); INSERT e.dbo.t VALUES (1), (2), (3)')",
                vec![2, 3],
            ),
            (
                "INSERT e.dbo.t VALUES (4); EXEC sp_detach_db e; CREATE DATABASE f",
                vec![1],
            ),
        ] {
            let answer = ask(&mut client, batch).expect("the server lives");
            assert_eq!((answer.counts, answer.errors), (counts, vec![]), "{batch}");
        }
        let _ = sender.send(());
    });
    let answered = receiver.recv_timeout(std::time::Duration::from_secs(60));
    server.stop();
    answered.expect("each batch is answered");
}
