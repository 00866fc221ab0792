//! Who tries, what it holds where, and what there is to try it on.

use std::sync::Arc;

use duramen_events::instance::Instance;
use duramen_program::login::LoginRequest;
use duramen_session::Session;

use super::table::Line;
use crate::{login, run};

/// Who tries.
pub struct Identity {
    pub name: &'static str,
    /// Has a user in the database `d`.
    pub enters: bool,
    /// What it holds of the server, and in `d`; `*` is everything.
    pub server: &'static [&'static str],
    pub database: &'static [&'static str],
    /// What makes it so.
    pub setup: &'static str,
}

const DDL: &[&str] = &[
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE PROCEDURE",
    "CREATE FUNCTION",
    "CREATE TYPE",
    "CREATE SYNONYM",
    "CREATE SCHEMA",
    "ALTER",
    "ALTER ANY SCHEMA",
    "ALTER ANY DATASPACE",
    "CHECKPOINT",
];

/// From "Database-level roles" and "Server-level roles" on learn.microsoft.com.
pub const IDENTITIES: &[Identity] = &[
    Identity {
        name: "norights",
        enters: false,
        server: &[],
        database: &[],
        setup: "",
    },
    Identity {
        name: "asguest",
        enters: false,
        server: &[],
        database: &[],
        setup: "",
    },
    Identity {
        name: "ownerelse",
        enters: false,
        server: &[],
        database: &[],
        setup: "USE e; CREATE USER ownerelse; ALTER ROLE db_owner ADD MEMBER ownerelse",
    },
    Identity {
        name: "plain",
        enters: true,
        server: &[],
        database: &[],
        setup: "USE d; CREATE USER plain",
    },
    Identity {
        name: "datareader",
        enters: true,
        server: &[],
        database: &["SELECT"],
        setup: "USE d; CREATE USER datareader; ALTER ROLE db_datareader ADD MEMBER datareader",
    },
    Identity {
        name: "ddladmin",
        enters: true,
        server: &[],
        database: DDL,
        setup: "USE d; CREATE USER ddladmin; ALTER ROLE db_ddladmin ADD MEMBER ddladmin",
    },
    Identity {
        name: "dbsecurity",
        enters: true,
        server: &[],
        database: &["ALTER ANY ROLE", "CREATE ROLE", "CREATE SCHEMA"],
        setup: "USE d; CREATE USER dbsecurity; ALTER ROLE db_securityadmin ADD MEMBER dbsecurity",
    },
    Identity {
        name: "backupop",
        enters: true,
        server: &[],
        database: &["BACKUP DATABASE", "BACKUP LOG", "CHECKPOINT"],
        setup: "USE d; CREATE USER backupop; ALTER ROLE db_backupoperator ADD MEMBER backupop",
    },
    Identity {
        name: "dbstate",
        enters: true,
        server: &[],
        database: &["VIEW DATABASE STATE"],
        setup: "USE d; CREATE USER dbstate; GRANT VIEW DATABASE STATE TO dbstate",
    },
    Identity {
        name: "srvstate",
        enters: true,
        server: &["VIEW SERVER STATE"],
        database: &["VIEW DATABASE STATE"],
        setup: "USE d; CREATE USER srvstate; USE master; GRANT VIEW SERVER STATE TO srvstate",
    },
    Identity {
        name: "secadmin",
        enters: false,
        server: &["ALTER ANY LOGIN"],
        database: &[],
        setup: "ALTER SERVER ROLE securityadmin ADD MEMBER secadmin",
    },
    Identity {
        name: "controls",
        enters: true,
        server: &["*"],
        database: &["*"],
        setup: "USE master; GRANT CONTROL SERVER TO controls",
    },
    Identity {
        name: "sysad",
        enters: true,
        server: &["*", "sysadmin"],
        database: &["*"],
        setup: "ALTER SERVER ROLE sysadmin ADD MEMBER sysad",
    },
];

/// Where somebody tries.
#[derive(Clone, Copy)]
pub struct Place {
    /// The database that it is in.
    pub home: &'static str,
    /// The one that its statements name.
    pub names: &'static str,
    /// What it holds in that one; `None`: it has no user there.
    pub held: Option<&'static [&'static str]>,
}

const IN_G: Place = Place {
    home: "g",
    names: "g",
    held: Some(&[]),
};

impl Identity {
    /// Its place in the database `d`; not to be entered by who has no user there.
    pub fn in_d(&self) -> Place {
        Place {
            home: match (self.enters, self.name) {
                (true, _) => "d",
                (_, "ownerelse") => "e",
                _ => "g",
            },
            names: "d",
            held: self.enters.then_some(self.database),
        }
    }

    /// Everywhere that it tries: where it is a user or a guest, and `d`.
    pub fn places(&self) -> Vec<Place> {
        match self.name {
            "asguest" => vec![IN_G],
            "norights" | "secadmin" => vec![IN_G, self.in_d()],
            "ownerelse" => {
                let own = Place {
                    home: "e",
                    names: "e",
                    held: Some(&["*"]),
                };
                vec![own, self.in_d()]
            }
            _ => vec![self.in_d()],
        }
    }

    /// Whether it holds one of a line's rights.
    pub fn holds(&self, line: &Line, place: &Place) -> bool {
        let has = |held: &[&str], right: &str| held.contains(&"*") || held.contains(&right);
        let held = |(right, of): (&String, &String)| match (right.as_str(), of.as_str()) {
            ("none" | "CONNECT", _) => place.held.is_some(),
            ("sysadmin" | "sysadmin, or membership", _) => self.server.contains(&"sysadmin"),
            (right, "the server") => has(self.server, right),
            (_, "master") => self.server.contains(&"*"),
            (right, _) => place.held.is_some_and(|held| has(held, right)),
        };
        line.rights.iter().zip(&line.of).any(held)
    }
}

pub fn enter(instance: &Arc<Instance>, user: &str) -> Session {
    let request = LoginRequest {
        user: user.to_owned(),
        password: "Secret-2".to_owned(),
        ..LoginRequest::default()
    };
    duramen_session::login(instance, &request).expect("the login is let in")
}

pub fn fine(s: &mut Session, sql: &str) {
    let lines = run(s, sql);
    assert!(
        !lines.iter().any(|l| l.starts_with("Msg")),
        "{sql}: {lines:?}"
    );
}

/// What is in each of the databases. The schema `o` is of somebody else than all others: there chains of ownership break.
const OBJECTS: &[&str] = &[
    "CREATE TABLE t (id int IDENTITY PRIMARY KEY, v int); CREATE TABLE t2 (id int); CREATE INDEX ix ON t (v)",
    "INSERT t (v) VALUES (1), (2), (3); CREATE STATISTICS st ON t (v); UPDATE STATISTICS t",
    "CREATE USER other WITHOUT LOGIN",
    "CREATE SCHEMA o AUTHORIZATION other",
    "CREATE TABLE o.t (id int IDENTITY PRIMARY KEY, v int); CREATE INDEX ix ON o.t (v)",
    "INSERT o.t (v) VALUES (1), (2), (3); CREATE STATISTICS st ON o.t (v); UPDATE STATISTICS o.t",
    "CREATE SCHEMA s",
    "CREATE SCHEMA m; GRANT EXECUTE ON SCHEMA::m TO public",
    "CREATE TYPE ty FROM int; CREATE TYPE o.ty FROM int",
    "CREATE SYNONYM sy FOR t",
    "CREATE VIEW vw AS SELECT id FROM t",
    "CREATE VIEW one AS SELECT 1 AS a",
    "CREATE PROCEDURE p AS SELECT 1",
    "CREATE FUNCTION f () RETURNS int AS BEGIN RETURN 1 END",
    "CREATE TRIGGER tr ON t2 AFTER INSERT AS RETURN",
    "CREATE USER u0 WITHOUT LOGIN; CREATE USER u2 WITHOUT LOGIN; CREATE ROLE r0; CREATE ROLE r1; ALTER ROLE r1 ADD MEMBER u0",
    "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (1)",
    "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
    "CREATE PARTITION FUNCTION pf2 (int) AS RANGE RIGHT FOR VALUES (1)",
    "EXEC sp_addextendedproperty 'there', 'v', 'SCHEMA', 'dbo', 'TABLE', 't'",
    "EXEC sp_addextendedproperty 'there', 'v', 'SCHEMA', 'o', 'TABLE', 't'",
    // What everybody may see, for procedures that tell of it.
    "CREATE TABLE for_all (a int PRIMARY KEY, b int CHECK (b > 0)); GRANT SELECT ON for_all TO public",
    "CREATE VIEW seen_by_all AS SELECT 1 AS a",
    "CREATE PROCEDURE run_by_all @a int = 1 AS RETURN",
    "GRANT SELECT ON seen_by_all TO public; GRANT EXECUTE ON run_by_all TO public",
];

/// Two databases that guests do not enter, and `g`, that they do; all alike.
pub fn set_up(instance: &Arc<Instance>) -> Session {
    let mut sa = login(instance);
    fine(&mut sa, "CREATE LOGIN l0 WITH PASSWORD = 'Secret-2'");
    fine(&mut sa, "ALTER SERVER ROLE setupadmin ADD MEMBER l0");
    for db in ["d", "e", "g"] {
        fine(&mut sa, &format!("CREATE DATABASE {db}"));
        fine(&mut sa, &format!("USE {db}"));
        for sql in OBJECTS {
            fine(&mut sa, sql);
        }
    }
    fine(&mut sa, "GRANT CONNECT TO guest; USE master");
    for who in IDENTITIES {
        fine(
            &mut sa,
            &format!("CREATE LOGIN {} WITH PASSWORD = 'Secret-2'", who.name),
        );
        for sql in who.setup.split("; ").filter(|s| !s.is_empty()) {
            fine(&mut sa, sql);
        }
        fine(&mut sa, "USE master");
    }
    sa
}

/// The id of the table `t` of a schema.
pub fn id_of(sa: &mut Session, db: &str, schema: &str) -> i32 {
    let lines = run(sa, &format!("SELECT OBJECT_ID('{db}.{schema}.t')"));
    lines[1].parse().expect("an id")
}
