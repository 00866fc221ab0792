//! The databases and tables of the ledger.

use duramen_server::client::Stream;
use duramen_tds::client::Client;

use super::Durability;
use super::model::TOTALS;
use crate::process::rows;

const SETUP: [&str; 7] = [
    "CREATE DATABASE la",
    "CREATE DATABASE lb",
    "USE la; CREATE TABLE dbo.entry (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL, PRIMARY KEY (session, number, part))",
    "USE lb; CREATE TABLE dbo.entry (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL, PRIMARY KEY (session, number, part))",
    "USE la; CREATE TABLE dbo.mirror (session int NOT NULL, number bigint NOT NULL, part int NOT NULL, \
     version int NOT NULL, text varchar(max) NOT NULL)",
    "USE la; CREATE TABLE dbo.counter (session int NOT NULL PRIMARY KEY, value bigint NOT NULL)",
    "USE la; CREATE TABLE dbo.total (id int NOT NULL PRIMARY KEY, value bigint NOT NULL)",
];

/// The second database commits the classic way; under even seeds the first keeps row versions for its readers.
pub fn set_up(client: &mut Client<Stream>, sessions: usize, seed: u64, durability: Durability) {
    for sql in SETUP {
        rows(client, sql);
    }
    rows(
        client,
        "USE lb; ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = STATEMENT",
    );
    if seed.is_multiple_of(2) {
        rows(
            client,
            "USE master; ALTER DATABASE la SET READ_COMMITTED_SNAPSHOT ON",
        );
    }
    rows(
        client,
        "USE la; CREATE INDEX mirror_key ON dbo.mirror (session, number)",
    );
    if durability == Durability::Delayed {
        for db in ["la", "lb"] {
            rows(
                client,
                &format!("ALTER DATABASE {db} SET DELAYED_DURABILITY = FORCED"),
            );
        }
    }
    for session in 0..sessions {
        rows(
            client,
            &format!("INSERT INTO la.dbo.counter (session, value) VALUES ({session}, 0)"),
        );
    }
    for id in 0..TOTALS {
        rows(
            client,
            &format!("INSERT INTO la.dbo.total (id, value) VALUES ({id}, 0)"),
        );
    }
    // What was set up is not what a kill may take.
    for db in ["la", "lb"] {
        rows(client, &format!("USE {db}; EXEC sys.sp_flush_log"));
    }
}
