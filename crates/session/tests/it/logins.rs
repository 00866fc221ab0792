//! Logins, users and permissions over crashes.

use std::sync::Arc;

use duramen_events::instance::Instance;
use duramen_os::sim::SimDisk;
use duramen_program::login::LoginRequest;
use duramen_session::Session;

use super::{login, run, start};

fn enter(instance: &Arc<Instance>, user: &str, password: &str) -> Result<Session, i32> {
    let request = LoginRequest {
        user: user.to_owned(),
        password: password.to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).map_err(|e| e.number)
}

#[test]
fn logins_and_rights_survive_a_crash() {
    for seed in 1..=4 {
        let disk = SimDisk::new(seed);
        let instance = start(&disk.env());
        let mut s = login(&instance);
        for sql in [
            "CREATE LOGIN bob WITH PASSWORD = 'Secret-2'; CREATE LOGIN ann WITH PASSWORD = 'Secret-3'",
            "ALTER LOGIN ann DISABLE; ALTER SERVER ROLE dbcreator ADD MEMBER bob",
            "CREATE DATABASE d",
            "USE d; CREATE TABLE t (id int); CREATE USER bob; CREATE ROLE r; ALTER ROLE r ADD MEMBER bob",
            "GRANT SELECT ON t TO r; DENY INSERT TO bob; ALTER LOGIN sa WITH PASSWORD = 'Secret-9'",
            "BEGIN TRAN; CREATE LOGIN eve WITH PASSWORD = 'Secret-4'; DROP ROLE r; COMMIT",
            "BEGIN TRAN; CREATE LOGIN lost WITH PASSWORD = 'Secret-5'; DROP USER bob",
        ] {
            let lines = run(&mut s, sql);
            let known = |l: &String| !l.starts_with("Msg") || l.contains("15144");
            assert!(lines.iter().all(known), "{sql}: {lines:?}");
        }
        run(&mut s, "EXEC sys.sp_flush_log");
        run(&mut s, "USE master; EXEC sys.sp_flush_log");
        let instance = start(&disk.crash(seed).env());
        assert_eq!(enter(&instance, "sa", "Secret-1").err(), Some(18456));
        assert_eq!(enter(&instance, "ann", "Secret-3").err(), Some(18470));
        assert_eq!(enter(&instance, "lost", "Secret-5").err(), Some(18456));
        assert!(enter(&instance, "eve", "Secret-4").is_ok());
        let mut bob = enter(&instance, "bob", "Secret-2").expect("bob is let in");
        let lines = run(&mut bob, "USE d; SELECT COUNT(*) FROM t");
        assert!(lines.contains(&"0".to_owned()), "{lines:?}");
        let lines = run(&mut bob, "INSERT t VALUES (1)");
        assert!(lines[0].starts_with("Msg 229"), "{lines:?}");
        let lines = run(&mut bob, "CREATE DATABASE e");
        assert!(!lines.iter().any(|l| l.starts_with("Msg")), "{lines:?}");
    }
}
