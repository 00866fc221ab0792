//! Arguments and options that nobody means: every system procedure, DBCC statement and option is given values of every
//! kind, in every place and under every name, in and outside a transaction.
//!
//! Whatever comes of it, the session answers afterwards, no error is one of the engine's own, and a statement that fails has
//! changed nothing: not a definition, not a setting, not a row. What a transaction is rolled back over is as before it.
//! `HOSTILE_SEED` and `HOSTILE_ROUNDS` run it longer.

use duramen_admin::database_ddl::option_rows;
use duramen_base::messages;
use duramen_core::security::set_options;
use duramen_core::settings;
use duramen_inspect::dbcc;
use duramen_os::random::Rng;
use duramen_session::Session;

use super::*;

/// Values as they stand in a text; [`DECLARED`] has the variables.
const VALUES: &[&str] = &[
    "NULL",
    "DEFAULT",
    "0",
    "-1",
    "1",
    "2",
    "15",
    "128",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "99999999999999999999",
    "1.5",
    "1e308",
    "$1.5",
    "''",
    "' '",
    "'x'",
    "N'\u{1234}'",
    "'t'",
    "'dbo.t'",
    "'dbo.t.a'",
    "'shop'",
    "'master'",
    "'tempdb'",
    "'nowhere'",
    "'[t'",
    "'a.b.c.d.e'",
    "'COLUMN'",
    "'OBJECT'",
    "'SCHEMA'",
    "'dbo'",
    "'TABLE'",
    "'PK_t'",
    "'p'",
    "'true'",
    "'ON'",
    "'sa'",
    "'guest'",
    "'public'",
    "'db_owner'",
    "0x",
    "0x00FF",
    "@big",
    "@lone",
    "@n",
    "@d",
    "@v",
    "@out OUTPUT",
    "@none",
    "'SELECT 1'",
    "'SELECT a FROM t'",
    "N'@a int'",
    "'@a int OUTPUT'",
    "'2020-01-01'",
    "'20-20-2020'",
    "x",
    "[sa]",
    "ON",
    "OFF",
    "ALL",
    "t",
    "(1)",
    "'Exclusive'",
    "'Session'",
    "'show advanced options'",
    "'MAXDOP'",
];

const DECLARED: &str = "DECLARE @big nvarchar(max) = REPLICATE(CAST(N'x' AS nvarchar(max)), 9000), @lone nvarchar(9) = \
                        NCHAR(55296), @n int, @d datetime = '2020-01-01', @out int, @v sql_variant = 7 ";

const SETUP: &[&str] = &[
    "CREATE DATABASE shop",
    "ALTER DATABASE shop SET RECOVERY SIMPLE",
    "USE shop",
    "CREATE TABLE t (a int NOT NULL CONSTRAINT PK_t PRIMARY KEY, b varchar(10) DEFAULT 'b')",
    "INSERT t VALUES (1, 'one'), (2, 'two')",
    "CREATE INDEX i ON t (b)",
    "CREATE PROCEDURE p @a int = 1 AS SELECT @a",
    "CREATE VIEW v AS SELECT a FROM dbo.t",
    "CREATE SYNONYM s FOR dbo.t",
    "EXEC sp_addextendedproperty 'note', 'x', 'SCHEMA', 'dbo', 'TABLE', 't'",
];

/// What nothing may change that fails. Sizes of files are not among it: a log grows by itself.
const STATE: &[&str] = &[
    "SELECT name, user_access, state, is_read_only, recovery_model, compatibility_level, snapshot_isolation_state, \
     is_read_committed_snapshot_on, is_auto_create_stats_on, is_auto_update_stats_on, is_ansi_nulls_on, \
     is_numeric_roundabort_on, target_recovery_time_in_seconds, delayed_durability, collation_name FROM sys.databases \
     WHERE database_id > 4 ORDER BY name",
    "SELECT name, value, value_in_use FROM sys.configurations ORDER BY name",
    "SELECT name, type, is_disabled, default_database_name FROM sys.server_principals ORDER BY name",
    "SELECT name, file_id, max_size, growth, physical_name FROM sys.master_files WHERE database_id <> 2 ORDER BY database_id, file_id",
    "SELECT object_id, name, type, schema_id, parent_object_id FROM shop.sys.objects WHERE is_ms_shipped = 0 ORDER BY object_id",
    "SELECT object_id, column_id, name, system_type_id, max_length, is_nullable FROM shop.sys.columns WHERE object_id > 100 \
     AND object_id < 2147000000 ORDER BY object_id, column_id",
    "SELECT object_id, index_id, name, is_disabled FROM shop.sys.indexes WHERE object_id > 100 ORDER BY object_id, index_id",
    "SELECT class, major_id, minor_id, name, CAST(value AS nvarchar(4000)) FROM shop.sys.extended_properties ORDER BY 1, 2, 3, 4",
    "SELECT name, type, default_schema_name FROM shop.sys.database_principals ORDER BY name",
    "SELECT role_principal_id, member_principal_id FROM shop.sys.database_role_members ORDER BY 1, 2",
    "SELECT configuration_id, CAST(value AS nvarchar(60)) FROM shop.sys.database_scoped_configurations ORDER BY 1",
    "SELECT object_id, definition FROM shop.sys.sql_modules ORDER BY object_id",
    "SELECT name, base_object_name FROM shop.sys.synonyms ORDER BY name",
    "SELECT a, b FROM shop.dbo.t ORDER BY a",
];

/// Of sessions rather than databases, or outside transactions by nature: ROLLBACK leaves it.
fn outlives_rollback(query: &str) -> bool {
    query.contains("sys.configurations") || query.contains("scoped_configurations")
}

struct World {
    instance: Started,
    /// Who tries.
    s: Session,
    /// Who looks, from master.
    looks: Session,
    procedures: Vec<(String, Vec<String>)>,
    rng: Rng,
}

/// A column of a result.
fn column(s: &mut Session, sql: &str) -> Vec<String> {
    let lines = run(s, sql).into_iter();
    lines
        .filter(|l| !l.starts_with('(') && !l.starts_with("rows "))
        .collect()
}

impl World {
    fn new(seed: u64) -> World {
        let instance = instance();
        let mut s = login(&instance);
        for sql in SETUP {
            let lines = run(&mut s, sql);
            assert!(
                !lines.iter().any(|l| l.starts_with("Msg ")),
                "{sql}: {lines:?}"
            );
        }
        let mut looks = login(&instance);
        let names = "SELECT name FROM sys.system_objects WHERE type IN ('P', 'X') ORDER BY name";
        let procedures = column(&mut looks, names).into_iter().map(|name| {
            let of = format!("SELECT name FROM sys.system_parameters WHERE object_id = OBJECT_ID('sys.{name}') AND name <> ''");
            let parameters = column(&mut looks, &of);
            (name, parameters)
        });
        let procedures: Vec<_> = procedures.collect();
        assert!(procedures.len() > 50, "{procedures:?}");
        World {
            instance,
            s,
            looks,
            procedures,
            rng: Rng::new(seed),
        }
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.rng.below(of.len() as u64) as usize].clone()
    }

    fn value(&mut self) -> &'static str {
        self.one(VALUES)
    }

    fn state(&mut self) -> Vec<Vec<String>> {
        STATE.iter().map(|q| run(&mut self.looks, q)).collect()
    }

    /// A statement that nobody means.
    fn statement(&mut self) -> String {
        match self.rng.below(10) {
            0..=4 => self.call(),
            5 => self.dbcc(),
            6 => self.database_option(),
            7 => {
                let names: Vec<&str> = settings::all().iter().map(|s| s.name).collect();
                let (name, value) = (self.one(&names), self.value());
                match self.rng.below(4) {
                    0 => self
                        .one(&["RECONFIGURE", "RECONFIGURE WITH OVERRIDE"])
                        .to_owned(),
                    _ => format!("{DECLARED} EXEC sp_configure '{name}', {value}"),
                }
            }
            8 => {
                let names = column(
                    &mut self.looks,
                    "SELECT name FROM sys.database_scoped_configurations",
                );
                let (name, value) = (self.one(&names), self.value());
                let whose = self.one(&["", "FOR SECONDARY "]);
                format!("ALTER DATABASE SCOPED CONFIGURATION {whose}SET {name} = {value}")
            }
            _ => {
                let names: Vec<&str> = set_options::OPTIONS.iter().map(|o| o.name).collect();
                let (name, value) = (self.one(&names), self.value());
                format!("{DECLARED} SET {name} {value}")
            }
        }
    }

    fn call(&mut self) -> String {
        let procedures = std::mem::take(&mut self.procedures);
        let (name, parameters) = self.one(&procedures);
        self.procedures = procedures;
        let count = self.rng.below(parameters.len() as u64 + 3);
        let mut named = false;
        let mut args = Vec::new();
        for at in 0..count {
            named |= self.rng.below(4) == 0;
            // Behind a named one all are; now and then one is not.
            let is_named = named && self.rng.below(20) > 0;
            let value = self.value();
            args.push(
                match (is_named, parameters.is_empty(), self.rng.below(10)) {
                    (false, ..) => value.to_owned(),
                    (true, true, _) | (true, _, 0) => format!("@nonsense = {value}"),
                    (true, _, 1..=6) => {
                        format!("{} = {value}", parameters[at as usize % parameters.len()])
                    }
                    (true, ..) => format!("{} = {value}", self.one(&parameters)),
                },
            );
        }
        let schema = self.one(&["", "sys.", "dbo.", "master..", "master.sys.", "tempdb.sys."]);
        let status = self.one(&["", "@out = "]);
        format!("{DECLARED} EXEC {status}{schema}{name} {}", args.join(", "))
    }

    fn dbcc(&mut self) -> String {
        let names: Vec<&str> = dbcc::statements().map(|(name, _)| name).collect();
        let name = self.one(&names);
        let count = self.rng.below(5);
        let args: Vec<&str> = (0..count).map(|_| self.value()).collect();
        let args = match self.rng.below(5) {
            0 => String::new(),
            _ => format!(" ({})", args.join(", ")),
        };
        let with = self.one(&[
            "",
            "",
            " WITH NO_INFOMSGS",
            " WITH TABLERESULTS",
            " WITH NONSENSE",
            " WITH ESTIMATEONLY, NO_INFOMSGS",
        ]);
        format!("DBCC {name}{args}{with}")
    }

    fn database_option(&mut self) -> String {
        let mut options = Vec::new();
        for _ in 0..1 + self.rng.below(3) / 2 {
            let rows: Vec<_> = option_rows::ROWS
                .iter()
                .map(|r| (r.name, r.words()))
                .collect();
            let (name, words) = self.one(&rows);
            let word = if words.is_empty() || self.rng.below(2) == 0 {
                self.value()
            } else {
                self.one(&words)
            };
            let sign = self.one(&[" ", " = ", ""]);
            options.push(format!("{name}{sign}{word}"));
        }
        let with = self.one(&[
            "",
            "",
            " WITH NO_WAIT",
            " WITH ROLLBACK IMMEDIATE",
            " WITH ROLLBACK AFTER 1 SECONDS",
        ]);
        let database = self.one(&[
            "shop", "shop", "shop", "CURRENT", "nowhere", "master", "tempdb",
        ]);
        format!("ALTER DATABASE {database} SET {}{with}", options.join(", "))
    }

    /// What a try may have set in the session.
    fn back_to_default(&mut self) {
        for sql in [
            "SET SHOWPLAN_ALL OFF",
            "SET SHOWPLAN_TEXT OFF",
            "SET SHOWPLAN_XML OFF",
            "SET NOEXEC OFF",
            "SET PARSEONLY OFF",
            "SET FMTONLY OFF",
            "SET ANSI_DEFAULTS OFF SET IMPLICIT_TRANSACTIONS OFF SET ROWCOUNT 0 SET NOCOUNT OFF SET XACT_ABORT OFF SET LOCK_TIMEOUT -1",
            "SET ANSI_NULLS ON SET ANSI_WARNINGS ON SET ANSI_PADDING ON SET QUOTED_IDENTIFIER ON SET ARITHABORT ON SET LANGUAGE us_english",
            "SET STATISTICS IO OFF SET STATISTICS TIME OFF SET STATISTICS PROFILE OFF SET STATISTICS XML OFF SET TEXTSIZE -1",
            "IF @@TRANCOUNT > 0 ROLLBACK",
        ] {
            run(&mut self.s, sql);
        }
    }
}

/// The numbers of the errors among `lines`, and their levels.
fn errors(lines: &[String]) -> Vec<(i32, u8)> {
    let all = lines.iter().filter_map(|l| l.strip_prefix("Msg "));
    let both = all.filter_map(|l| {
        let mut words = l
            .split(|c: char| !c.is_ascii_digit() && c != '-')
            .filter(|w| !w.is_empty());
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    both.collect()
}

fn try_seed(seed: u64) {
    let mut w = World::new(seed);
    let mut before = w.state();
    let mut said: Vec<String> = Vec::new();
    for _ in 0..250 {
        let sql = w.statement();
        let within = w.rng.below(4) == 0;
        if within {
            run(
                &mut w.s,
                "BEGIN TRAN UPDATE t SET b = 'changed' WHERE a = 1",
            );
        }
        let lines = run(&mut w.s, &sql);
        let found = errors(&lines);
        said.push(format!(
            "{}{sql} -- {found:?}",
            if within { "(in a transaction) " } else { "" }
        ));
        let context = || {
            format!(
                "seed {seed}: {:#?}\n{lines:#?}",
                &said[said.len().saturating_sub(12)..]
            )
        };
        let own = [messages::INTERNAL_QUERY_ERROR.number, 0, 823, 824, 3456];
        let wrong = found
            .iter()
            .find(|(n, level)| *level >= 20 || own.contains(n));
        assert!(wrong.is_none(), "{wrong:?}: {}", context());
        w.back_to_default();
        assert_eq!(
            column(&mut w.s, "SELECT 'alive'"),
            ["alive"],
            "{}",
            context()
        );
        let now = w.state();
        if within || !found.is_empty() {
            for ((query, old), new) in STATE.iter().zip(&before).zip(&now) {
                if found.is_empty() && outlives_rollback(query) {
                    continue;
                }
                assert_eq!(old, new, "{query}\n{}", context());
            }
        }
        // It is not there any more, or closed: what comes would be the same error again and again.
        let home = run(&mut w.s, "USE shop");
        if home.iter().any(|l| l.starts_with("Msg ")) {
            break;
        }
        let put_back = "ALTER DATABASE shop SET READ_WRITE, MULTI_USER WITH ROLLBACK IMMEDIATE";
        run(&mut w.looks, put_back);
        before = w.state();
    }
    drop(w.instance);
}

#[test]
fn what_fails_has_changed_nothing() {
    let first = number_from("HOSTILE_SEED", 1);
    let rounds = number_from("HOSTILE_ROUNDS", 6);
    (first..first + rounds).for_each(try_seed);
}
