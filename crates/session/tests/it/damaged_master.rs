//! A server whose `master` or `model` cannot be opened starts all the same, and what it says to do works.

use std::path::Path;

use super::*;

fn fine(lines: &[String]) {
    assert!(!lines.iter().any(|l| l.starts_with("Msg")), "{lines:?}");
}

/// A server with a database `u`, a login and a backup of master, shut down.
fn prepared(seed: u64) -> Arc<SimDisk> {
    let disk = SimDisk::new(seed);
    let instance = start(&disk.env());
    let mut s = login(&instance);
    for sql in [
        "CREATE DATABASE u ON (NAME = u, FILENAME = '/data/u.mdf') LOG ON (NAME = u_log, FILENAME = '/data/u.ldf')",
        "CREATE TABLE u.dbo.t (a int); INSERT u.dbo.t VALUES (7)",
        "CREATE LOGIN l WITH PASSWORD = 'Secret-2'",
        "BACKUP DATABASE master TO DISK = '/data/m.bak'",
    ] {
        fine(&run(&mut s, sql));
    }
    drop(s);
    drop(instance);
    disk
}

fn damage(disk: &SimDisk, file: &str) {
    let junk = vec![0x5a; 64 * 8192];
    disk.damage(Path::new(file), 0, &junk).expect("damaged");
}

fn names(s: &mut Session) -> Vec<String> {
    let mut lines = run(s, "SELECT name FROM sys.databases ORDER BY name");
    lines.remove(0);
    lines.pop();
    lines
}

#[test]
fn a_damaged_master_is_restored_in_the_server_itself() {
    for (seed, file) in [(41, "/data/master.mdf"), (42, "/data/master.ldf")] {
        let disk = prepared(seed);
        damage(&disk, file);
        let old = disk.durable_bytes(Path::new(file));
        // As often as it is started, the files stay as they are.
        drop(start(&disk.env()));
        assert_eq!(disk.durable_bytes(Path::new(file)), old);
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(names(&mut s), ["master", "model", "msdb", "tempdb"]);
        let said = "CREATE TABLE #l (d datetime, p nvarchar(50), t nvarchar(max)); INSERT #l EXEC xp_readerrorlog 0, 1; SELECT COUNT(*) FROM #l WHERE t LIKE '%RESTORE DATABASE master FROM DISK%'";
        let lines = run(&mut s, said);
        assert_eq!(lines[lines.len() - 2], "1", "{lines:?}");
        let warned = s.warning().map(|w| w.message).unwrap_or_default();
        assert!(warned.contains("RESTORE DATABASE master"), "{warned}");
        fine(&run(&mut s, "CREATE DATABASE meanwhile"));
        let lines = run(&mut s, "RESTORE DATABASE master FROM DISK = '/data/m.bak'");
        fine(&lines);
        assert!(
            lines.iter().any(|l| l.contains("successfully restored")),
            "{lines:?}"
        );
        drop(s);
        drop(instance);
        let instance = start(&disk.env());
        let mut s = login(&instance);
        assert_eq!(s.warning(), None);
        assert_eq!(names(&mut s), ["master", "model", "msdb", "tempdb", "u"]);
        assert_eq!(run(&mut s, "SELECT a FROM u.dbo.t")[1], "7");
        assert_eq!(
            run(
                &mut s,
                "SELECT COUNT(*) FROM sys.server_principals WHERE name = 'l'"
            )[1],
            "1"
        );
        assert_eq!(
            run(&mut s, "DBCC CHECKDB (master) WITH NO_INFOMSGS"),
            Vec::<String>::new()
        );
        assert!(
            disk.durable_bytes(Path::new(&format!("{file}.damaged")))
                .is_some()
        );
    }
}

#[test]
fn databases_are_attached_where_master_has_no_backup() {
    let disk = prepared(43);
    disk.env()
        .disk
        .remove(Path::new("/data/master.mdf"))
        .expect("removed");
    let instance = start(&disk.env());
    let mut s = login(&instance);
    let attach = "CREATE DATABASE u ON (FILENAME = '/data/u.mdf') FOR ATTACH";
    fine(&run(&mut s, attach));
    assert_eq!(run(&mut s, "SELECT a FROM u.dbo.t")[1], "7");
}

#[test]
fn a_damaged_model_is_made_anew() {
    let disk = prepared(44);
    damage(&disk, "/data/model.mdf");
    let instance = start(&disk.env());
    let mut s = login(&instance);
    assert_eq!(names(&mut s), ["master", "model", "msdb", "tempdb", "u"]);
    fine(&run(
        &mut s,
        "CREATE DATABASE v; CREATE TABLE v.dbo.t (a int)",
    ));
    drop(s);
    drop(instance);
    let instance = start(&disk.env());
    assert_eq!(names(&mut login(&instance)).len(), 6);
}
