//! A data directory at another place than at its last start, and a password of sa that is not the first one.

use crate::process::{Process, Scratch, ask, check, rows};
use duramen_types::Value;

fn names(server: &Process, sql: &str) -> Vec<String> {
    let found = rows(&mut server.connect(), sql);
    let text = |row: Vec<Value>| {
        row.into_iter()
            .map(|v| v.as_text().unwrap_or_default().to_string())
            .collect()
    };
    found.into_iter().map(text).collect()
}

#[test]
fn a_directory_that_was_moved_or_copied_is_whole() {
    let scratch = Scratch::new("moved");
    let (first, second, copy) = (
        scratch.path().join("first"),
        scratch.path().join("second/place"),
        scratch.path().join("copy"),
    );
    let server = Process::start(&first, &[]);
    let mut client = server.connect();
    let more = first.join("more.ndf");
    let more = format!(
        "ALTER DATABASE tempdb ADD FILE (NAME = more, FILENAME = '{}', SIZE = 1MB)",
        more.display()
    );
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.dbo.t (a int); INSERT d.dbo.t VALUES (1)",
        &more,
        "BACKUP DATABASE d TO DISK = 'd.bak'",
    ] {
        let answer = ask(&mut client, sql).expect("an answer");
        assert!(answer.errors.is_empty(), "{sql}: {:?}", answer.errors);
    }
    drop(client);
    // A crash before it is moved: recovery finds everything at the new place.
    let late = server.connect();
    rows(&mut server.connect(), "INSERT d.dbo.t VALUES (2)");
    server.kill();
    drop(late);
    std::fs::create_dir_all(second.parent().expect("a folder")).expect("made");
    std::fs::rename(&first, &second).expect("moved");

    let server = Process::start(&second, &[]);
    assert_eq!(
        rows(&mut server.connect(), "SELECT COUNT(*) FROM d.dbo.t"),
        [[Value::Int(2)]]
    );
    let places = names(&server, "SELECT physical_name FROM sys.master_files");
    let here = second.to_string_lossy().into_owned();
    assert!(
        places.len() > 9 && places.iter().all(|p| p.starts_with(&here)),
        "{places:?}"
    );
    let places = names(&server, "SELECT physical_name FROM d.sys.database_files");
    assert!(places.iter().all(|p| p.starts_with(&here)), "{places:?}");
    let found = ask(
        &mut server.connect(),
        "DBCC CHECKDB (d) WITH NO_INFOMSGS; RESTORE VERIFYONLY FROM DISK = 'd.bak'",
    );
    assert!(found.expect("an answer").errors.is_empty());
    server.stop();
    assert_eq!(check(&second).0, 0);

    // A copy is a server of its own while the other one runs.
    let status = std::process::Command::new("cp")
        .args(["-r"])
        .args([&second, &copy])
        .status();
    assert!(status.is_ok_and(|s| s.success()));
    let (server, other) = (Process::start(&second, &[]), Process::start(&copy, &[]));
    rows(&mut other.connect(), "INSERT d.dbo.t VALUES (3)");
    assert_eq!(
        rows(&mut server.connect(), "SELECT COUNT(*) FROM d.dbo.t"),
        [[Value::Int(2)]]
    );
    assert_eq!(
        rows(&mut other.connect(), "SELECT COUNT(*) FROM d.dbo.t"),
        [[Value::Int(3)]]
    );
    let places = names(&other, "SELECT physical_name FROM sys.master_files");
    let here = copy.to_string_lossy().into_owned();
    assert!(places.iter().all(|p| p.starts_with(&here)), "{places:?}");
}

#[test]
fn a_start_takes_the_password_of_sa_as_it_is_now() {
    let scratch = Scratch::new("password");
    let data = scratch.path().join("data");
    let server = Process::start(&data, &[]);
    rows(
        &mut server.connect(),
        "ALTER LOGIN sa WITH PASSWORD = 'Changed-Since-1'",
    );
    server.stop();
    Process::start(&data, &["--sa-password", "Changed-Since-1"]).stop();
    // The first one is taken as ever, and changes nothing.
    Process::start(&data, &[]).stop();
    let mut other = Process::spawn(&data, &["--sa-password", "Another-One-1"]);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !other.has_ended() {
        assert!(
            std::time::Instant::now() < until,
            "it starts with any password"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
