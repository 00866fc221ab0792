//! What nobody may do to itself, and what can be granted.

use duramen_inspect::reference;

use super::people::{IDENTITIES, enter, fine, set_up};
use crate::{instance, run};

#[test]
fn nobody_raises_itself() {
    let instance = instance();
    let mut sa = set_up(&instance);
    fine(
        &mut sa,
        "CREATE LOGIN strong WITH PASSWORD = 'Secret-2'; GRANT CONTROL SERVER TO strong",
    );
    fine(
        &mut sa,
        "USE d; CREATE ROLE owners; ALTER ROLE db_owner ADD MEMBER owners; CREATE USER strong; ALTER ROLE db_owner ADD MEMBER strong",
    );
    fine(
        &mut sa,
        "CREATE ROLE controllers; GRANT CONTROL TO controllers; CREATE USER aa FOR LOGIN l0; USE e",
    );
    fine(
        &mut sa,
        "USE d; CREATE LOGIN access WITH PASSWORD = 'Secret-2'; CREATE USER access; ALTER ROLE db_accessadmin ADD MEMBER access",
    );
    let names = IDENTITIES.iter().map(|w| w.name).chain(["access"]);
    for name in names.filter(|n| !["sysad", "controls"].contains(n)) {
        let mut s = enter(&instance, name);
        run(
            &mut s,
            if name == "ownerelse" {
                "USE e"
            } else {
                "USE d"
            },
        );
        for sql in [
            "ALTER SERVER ROLE sysadmin ADD MEMBER {me}",
            "EXEC sp_addsrvrolemember '{me}', 'sysadmin'",
            "ALTER SERVER ROLE securityadmin ADD MEMBER {me}",
            "USE master; GRANT CONTROL SERVER TO {me}",
            "USE master; GRANT VIEW SERVER STATE TO {me}",
            "USE master; GRANT ALTER ANY LOGIN TO public",
            "ALTER LOGIN sa WITH PASSWORD = 'Raised-99'",
            "ALTER LOGIN sa ENABLE",
            "ALTER LOGIN strong WITH PASSWORD = 'Raised-99'",
            "ALTER LOGIN sysad WITH PASSWORD = 'Raised-99'",
            "DROP LOGIN strong",
            "EXEC sp_password NULL, 'Raised-99', 'sa'",
            "USE d; ALTER ROLE db_owner ADD MEMBER {me}",
            "USE d; ALTER ROLE owners ADD MEMBER {me}",
            "USE d; ALTER ROLE controllers ADD MEMBER {me}",
            "USE d; ALTER ROLE db_securityadmin ADD MEMBER {me}",
            "USE d; EXEC sp_addrolemember 'db_owner', '{me}'",
            "USE d; GRANT CONTROL TO {me}",
            "USE d; GRANT ALTER ANY ROLE TO public",
            "USE d; GRANT SELECT ON t TO {me}",
            "USE d; ALTER USER strong WITH LOGIN = {me}",
            "USE d; ALTER USER aa WITH LOGIN = {me}",
            "USE d; CREATE SCHEMA mine AUTHORIZATION dbo",
            "ALTER AUTHORIZATION ON DATABASE::d TO {me}",
            "USE e; EXEC sp_changedbowner '{me}'",
            "ALTER AUTHORIZATION ON DATABASE::e TO sa",
            "EXECUTE AS LOGIN = 'sa'",
            "ALTER DATABASE d SET TRUSTWORTHY ON",
            "UPDATE master.sys.sysxlgns SET status = 0",
            "INSERT sys.sysprivs DEFAULT VALUES",
        ] {
            run(&mut s, &sql.replace("{me}", name));
            run(&mut s, "IF @@TRANCOUNT > 0 ROLLBACK");
        }
        let mut s = enter(&instance, name);
        let lines = run(
            &mut s,
            "SELECT IS_SRVROLEMEMBER('sysadmin'), HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER')",
        );
        assert_eq!(lines[1], "0 | 0", "{name}");
        let roles = format!(
            "SELECT COUNT(*) FROM d.sys.database_role_members AS m JOIN d.sys.database_principals AS p ON p.principal_id = m.member_principal_id \
             JOIN d.sys.database_principals AS r ON r.principal_id = m.role_principal_id \
             WHERE p.name = '{name}' AND r.name IN ('db_owner', 'owners', 'controllers')"
        );
        assert_eq!(run(&mut sa, &roles)[1], "0", "{name}");
        let rights = format!(
            "SELECT COUNT(*) FROM d.sys.database_permissions AS p JOIN d.sys.database_principals AS u ON u.principal_id = p.grantee_principal_id \
             WHERE u.name IN ('{name}', 'public') AND p.permission_name NOT IN ('CONNECT', 'VIEW DATABASE STATE') \
             AND p.major_id NOT IN (SELECT object_id FROM d.sys.objects WHERE name LIKE '%[_]all' UNION ALL SELECT schema_id FROM d.sys.schemas WHERE name = 'm')"
        );
        assert_eq!(run(&mut sa, &rights)[1], "0", "{name}");
    }
    let server = "SELECT COUNT(*) FROM sys.server_permissions AS p JOIN sys.server_principals AS u ON u.principal_id = p.grantee_principal_id \
                  WHERE p.permission_name <> 'CONNECT SQL' AND u.name NOT IN ('strong', 'controls', 'srvstate')";
    assert_eq!(run(&mut sa, server)[1], "0");
    for user in ["strong", "sysad", "l0"] {
        let _ = enter(&instance, user);
    }
}

#[test]
fn every_right_that_is_asked_for_can_be_granted_and_taken() {
    let instance = instance();
    let mut sa = set_up(&instance);
    for (name, _, level) in reference::rights() {
        let (place, to) = match level {
            "server" => ("master", "l0"),
            _ => ("d", "u0"),
        };
        for verb in ["GRANT", "DENY", "REVOKE"] {
            fine(&mut sa, &format!("USE {place}; {verb} {name} TO {to}"));
        }
        if level.contains("object") {
            fine(
                &mut sa,
                &format!(
                    "USE d; GRANT {name} ON SCHEMA::s TO u0; REVOKE {name} ON SCHEMA::s TO u0"
                ),
            );
        }
    }
}

/// Who cannot connect does not enter: not a database, as a user, by a role or as a guest, and not the server.
#[test]
fn connect_denied_keeps_out() {
    let instance = instance();
    let mut sa = set_up(&instance);
    let mut plain = enter(&instance, "plain");
    let mut guest = enter(&instance, "norights");
    let mut all = |set: &str, plain_enters: bool, guest_enters: bool| {
        fine(&mut sa, set);
        for (s, db, enters) in [
            (&mut plain, "d", plain_enters),
            (&mut guest, "g", guest_enters),
        ] {
            run(s, "USE master");
            for sql in [
                format!("SELECT COUNT(*) FROM {db}.sys.tables"),
                format!("USE {db}"),
            ] {
                let refused = super::refusal(&run(s, &sql));
                let expected = (!enters).then_some(916);
                assert_eq!(refused, expected, "{set}: {sql}");
            }
        }
    };
    all("USE d", true, true);
    all("DENY CONNECT TO plain", false, true);
    all("GRANT CONNECT TO plain", true, true);
    all(
        "CREATE ROLE kept; ALTER ROLE kept ADD MEMBER plain",
        true,
        true,
    );
    all("DENY CONNECT TO kept", false, true);
    all("REVOKE CONNECT TO kept; USE g", true, true);
    all("DENY CONNECT TO guest", true, false);
    all("GRANT CONNECT TO guest", true, true);
    all("REVOKE CONNECT FROM guest", true, false);
    fine(&mut sa, "USE master; DENY CONNECT SQL TO l0");
    let request = duramen_program::login::LoginRequest {
        user: "l0".to_owned(),
        password: "Secret-2".to_owned(),
        ..Default::default()
    };
    let error = duramen_session::login(&instance, &request)
        .err()
        .expect("not let in");
    assert_eq!(error.number, 18456);
    fine(&mut sa, "GRANT CONNECT SQL TO l0");
    let _ = enter(&instance, "l0");
}
