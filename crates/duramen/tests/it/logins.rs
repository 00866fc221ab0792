//! Logins over the wire: who is let in, and what survives `kill -9`.

use std::path::Path;
use std::process::Command;

use crate::process::{BINARY, PASSWORD, Process, Scratch};

/// What `duramen sql` prints for a batch of that login, with what goes to standard error.
fn sql(
    port: u16,
    dir: &Path,
    (user, password): (&str, &str),
    args: &[&str],
    batch: &str,
) -> String {
    let output = Command::new(BINARY)
        .arg("sql")
        .args([
            "-S",
            &format!("tcp:127.0.0.1,{port}"),
            "-C",
            "-h",
            "-1",
            "-W",
        ])
        .args(["-U", user, "-Q", batch])
        .args(args)
        .env("SQLCMDPASSWORD", password)
        .current_dir(dir)
        .output()
        .expect("duramen sql runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    out + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn logins_are_let_in_or_told_why_not() {
    let scratch = Scratch::new("logins");
    let dir = scratch.path();
    let data = dir.join("data");
    let server = Process::start(&data, &[]);
    let port = server.port;
    let sa = ("sa", PASSWORD);
    let made = sql(
        port,
        dir,
        sa,
        &[],
        "CREATE DATABASE d; CREATE LOGIN bob WITH PASSWORD = 'Secret-2'; CREATE LOGIN ann WITH PASSWORD = 'Secret-3', DEFAULT_DATABASE = d; ALTER LOGIN sa WITH PASSWORD = 'Secret-9'",
    );
    assert_eq!(made, "");
    let run = |port, who, batch| sql(port, dir, who, &[], batch);
    let bob = ("bob", "Secret-2");
    let said = run(
        port,
        bob,
        "SET NOCOUNT ON; SELECT SUSER_SNAME(), USER_NAME()",
    );
    assert_eq!(said, "bob guest\n");
    let said = run(port, ("bob", "wrong"), "SELECT 1");
    assert!(said.contains("Msg 18456, Level 14, State 1"), "{said}");
    let said = sql(port, dir, bob, &["-d", "d"], "SELECT 1");
    assert!(said.contains("Msg 4060, Level 11, State 1"), "{said}");
    assert!(said.contains("Msg 18456, Level 14, State 1"), "{said}");
    let said = run(port, ("ann", "Secret-3"), "SELECT 1");
    assert!(said.contains("Msg 4064, Level 11, State 1"), "{said}");
    let said = run(port, bob, "CREATE DATABASE e");
    assert!(said.contains("Msg 262, Level 14, State 1"), "{said}");
    // The first password of sa is not its password any more.
    let said = run(port, sa, "SELECT 1");
    assert!(said.contains("Msg 18456, Level 14, State 1"), "{said}");
    let sa = ("sa", "Secret-9");
    assert_eq!(run(port, sa, "ALTER LOGIN ann DISABLE"), "");
    let said = run(port, ("ann", "Secret-3"), "SELECT 1");
    assert!(said.contains("Msg 18470, Level 14, State 1"), "{said}");
    assert!(!said.contains("18456"), "{said}");
    server.kill();

    let server = Process::start(&data, &[]);
    let said = run(server.port, bob, "SET NOCOUNT ON; SELECT SUSER_SNAME()");
    assert_eq!(said, "bob\n");
    let said = run(server.port, ("ann", "Secret-3"), "SELECT 1");
    assert!(said.contains("Msg 18470, Level 14, State 1"), "{said}");
    assert_eq!(run(server.port, sa, "PRINT 'in'"), "in\n");
    server.stop();
}
