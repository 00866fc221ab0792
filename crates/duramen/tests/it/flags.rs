//! The flags of `serve`: each does something that a client can see, or is refused by its name. And `calibrate`.

use std::process::{Command, Stdio};

use duramen_server::client::Trust;
use duramen_types::Value;

use crate::process::{BINARY, Process, Scratch, rows};

fn text(value: &Value) -> String {
    match value {
        Value::NVarChar(units) => String::from_utf16_lossy(units),
        Value::VarChar(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Int(n) => n.to_string(),
        Value::BigInt(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_flag_is_honoured() {
    let scratch = Scratch::new("flags");
    let fast = scratch.path().join("fast");
    let drive = format!("e={}", fast.display());
    let data = scratch.path().join("data");
    let server = Process::start(
        &data,
        &[
            "--drive",
            &drive,
            "--max-memory",
            "64MB",
            "--log-profile",
            "2012",
            "--log-sector",
            "4096",
            "--instant-file-init",
            "off",
            "--dashboard",
            "off",
        ],
    );
    let mut client = server.connect();
    rows(
        &mut client,
        "CREATE DATABASE d ON (NAME = d, FILENAME = 'E:\\a\\d.mdf', SIZE = 8MB) \
         LOG ON (NAME = d_log, FILENAME = 'f:\\d.ldf', SIZE = 64MB)",
    );
    // Given back as it was written; found where the drives are.
    let names = rows(
        &mut client,
        "USE d; SELECT physical_name FROM sys.database_files ORDER BY file_id",
    );
    let names: Vec<String> = names.iter().map(|row| text(&row[0])).collect();
    assert_eq!(names, ["E:\\a\\d.mdf", "f:\\d.ldf"]);
    assert!(
        fast.join("a").join("d.mdf").exists(),
        "the drive that was given"
    );
    assert!(
        data.join("drives").join("F").join("d.ldf").exists(),
        "the drive that was not"
    );
    let profile = rows(
        &mut client,
        "SELECT CAST(value AS nvarchar(20)) FROM sys.database_scoped_configurations WHERE name = 'LOG_PROFILE'",
    );
    assert_eq!(text(&profile[0][0]), "2012");
    // Not initialised instantly: every page of the data file takes space.
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(fast.join("a").join("d.mdf")).expect("the file");
    assert!(file.blocks() * 512 >= 8 << 20, "{} blocks", file.blocks());
    // Log blocks end at multiples of the sector.
    rows(
        &mut client,
        "CREATE TABLE t (id int NOT NULL); INSERT t VALUES (1)",
    );
    rows(&mut client, "INSERT t VALUES (2)");
    let log = std::fs::read(data.join("drives").join("F").join("d.ldf")).expect("the log");
    let blocks = log
        .chunks_exact(512)
        .enumerate()
        .filter(|(_, s)| s[28..32] == *b"DuLB");
    let starts: Vec<usize> = blocks.map(|(at, _)| at).collect();
    assert!(
        starts.len() > 1 && starts.iter().all(|at| at % 8 == 0),
        "{starts:?}"
    );
    server.stop();
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    for (args, name) in [
        (&["--dashboard", "nowhere"][..], "--dashboard"),
        (&["--log-profile", "2008"], "--log-profile"),
        (&["--max-memory", "1KB"], "--max-memory"),
        (&["--frobnicate", "1"], "--frobnicate"),
    ] {
        let output = Command::new(BINARY)
            .arg("serve")
            .args(args)
            .stdin(Stdio::null())
            .output()
            .expect("duramen starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(name), "{args:?}: {said}");
    }
}

#[test]
fn calibrate_measures_and_cleans_up() {
    let scratch = Scratch::new("calibrate");
    let output = Command::new(BINARY)
        .arg("calibrate")
        .arg(scratch.path())
        .args(["--seconds", "0.02"])
        .stdin(Stdio::null())
        .output()
        .expect("duramen starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    for word in [
        "sector",
        "growing",
        "allocated",
        "written",
        "60 KB durable writes",
        "64 KB random reads",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let left = std::fs::read_dir(scratch.path())
        .expect("the directory")
        .count();
    assert_eq!(left, 0);
}

/// Where the server listens, who it talks to, and what a session's replies have waited for.
#[test]
fn connections_are_told_of() {
    let scratch = Scratch::new("told");
    let server = Process::start(scratch.path(), &[]);
    let mut client = server.connect();
    let sql = "DECLARE @port nvarchar(10)
        EXEC xp_instance_regread N'HKEY_LOCAL_MACHINE',
            N'Software\\Microsoft\\MSSQLServer\\MSSQLServer\\SuperSocketNetLib\\Tcp\\IPAll', N'TcpPort', @port OUTPUT
        SELECT l.ip_address, l.port, @port, c.local_net_address, c.local_tcp_port, CONNECTIONPROPERTY('local_tcp_port'),
            CASE WHEN c.client_tcp_port > 0 AND c.client_tcp_port <> l.port THEN 1 ELSE 0 END, c.net_packet_size
        FROM sys.dm_tcp_listener_states l, sys.dm_exec_connections c WHERE c.session_id = @@SPID";
    let found = rows(&mut client, sql);
    let port = server.options(Trust::NoEncryption).port.to_string();
    let reported: Vec<String> = found[0].iter().map(text).collect();
    assert_eq!(reported[..3], ["127.0.0.1", port.as_str(), port.as_str()]);
    assert_eq!(reported[3..5], ["127.0.0.1", port.as_str()]);
    assert!(reported[5].contains(&port), "{}", reported[5]);
    assert_eq!(reported[6], "1");
    assert!(reported[7].parse::<u32>().is_ok_and(|n| n >= 512));

    rows(&mut client, "CREATE DATABASE d");
    rows(&mut client, "USE d; CREATE TABLE t (id int)");
    for _ in 0..20 {
        rows(&mut client, "INSERT t VALUES (1)");
    }
    let waited = "SELECT COUNT(*) FROM sys.dm_exec_session_wait_stats WHERE wait_type = 'WRITELOG' AND waiting_tasks_count > 0 AND session_id = @@SPID";
    assert_eq!(rows(&mut client, waited), [[Value::Int(1)]]);
    // Others have waited for nothing of that.
    let mut other = server.connect();
    assert_eq!(rows(&mut other, waited), [[Value::Int(0)]]);
}
