//! The loops on our own server.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{Cell, Engine, Shape, Wait};
use crate::server::Server;
use crate::sql::Sql;
use crate::target_dir;

pub struct Duramen {
    server: Server,
    sql: Sql,
}

const SETUP: &str = "\
CREATE DATABASE bench ON (NAME = bench, FILENAME = 'D:\\bench.mdf', SIZE = 256MB, FILEGROWTH = 256MB)
 LOG ON (NAME = bench_log, FILENAME = 'D:\\bench_log.ldf', SIZE = 256MB, FILEGROWTH = 256MB)";

const TABLES: &str = "\
CREATE TABLE gate (x int);
INSERT gate VALUES (0);
CREATE TABLE narrow (id int IDENTITY(1,1), word varchar(50), number int);
CREATE CLUSTERED INDEX narrow_id ON narrow (id);
CREATE INDEX narrow_number ON narrow (number);
CREATE TABLE wide (id bigint IDENTITY, filler char(4100) DEFAULT 'a');
CREATE CLUSTERED INDEX wide_id ON wide (id);";

impl Duramen {
    pub fn start(dir: &Path) -> Result<Duramen, String> {
        Duramen::start_binary(&target_dir().join("release").join("duramen"), dir)
    }

    pub fn start_binary(binary: &Path, dir: &Path) -> Result<Duramen, String> {
        let drive = format!("D={}", dir.join("files").display());
        let server = Server::start_binary(binary, &dir.join("data"), &["--drive", &drive])?;
        let sql = Sql { port: server.port };
        sql.query("master", SETUP)?;
        sql.query("bench", TABLES)?;
        Ok(Duramen { server, sql })
    }

    pub fn sql(&self) -> Sql {
        self.sql
    }

    pub fn kill(self) {
        self.server.kill();
    }

    pub fn stop(self) -> Result<(), String> {
        match self.server.stop() {
            true => Ok(()),
            false => Err("the server does not end cleanly".to_owned()),
        }
    }
}

impl Engine for Duramen {
    fn prepare(&self, cell: &Cell) -> Result<(), String> {
        let wait = match cell.wait {
            Wait::Statement => "STATEMENT",
            _ => "PACKET",
        };
        let delayed = match cell.wait {
            Wait::Delayed => "FORCED",
            _ => "DISABLED",
        };
        let text = format!(
            "ALTER DATABASE SCOPED CONFIGURATION SET COMMIT_WAIT = {wait};
             ALTER DATABASE bench SET DELAYED_DURABILITY = {delayed};
             TRUNCATE TABLE narrow; TRUNCATE TABLE wide; CHECKPOINT"
        );
        self.sql.query("bench", &text).map(|_| ())
    }

    fn close_gate(&self) -> Result<Child, String> {
        let mut child = self
            .sql
            .command("bench")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|e| e.to_string())?;
        use std::io::Write;
        let input = child.stdin.as_mut().expect("stdin is piped");
        input
            .write_all(b"BEGIN TRAN; UPDATE gate SET x = x + 1\nGO\n")
            .and_then(|()| input.flush())
            .map_err(|e| e.to_string())?;
        std::thread::sleep(std::time::Duration::from_millis(300));
        Ok(child)
    }

    fn client(&self, cell: &Cell, seconds: f64) -> Command {
        let (insert, inner) = match cell.shape {
            Shape::Narrow => (
                "INSERT narrow (word, number) VALUES ('a word', @rows + @i)",
                100,
            ),
            Shape::Wide => ("INSERT wide DEFAULT VALUES", 10),
        };
        let ms = (seconds * 1000.0) as u64;
        let text = format!(
            "SET NOCOUNT ON;
             DECLARE @x int, @rows int = 0, @i int;
             SELECT @x = x FROM gate;
             DECLARE @began datetime2 = SYSDATETIME();
             DECLARE @end datetime2 = DATEADD(millisecond, {ms}, @began);
             WHILE SYSDATETIME() < @end
             BEGIN
                 SET @i = 0;
                 WHILE @i < {inner}
                 BEGIN
                     {insert};
                     SET @i = @i + 1;
                 END;
                 SET @rows = @rows + {inner};
             END;
             SELECT @rows, DATEDIFF(microsecond, @began, SYSDATETIME())"
        );
        let mut command = self.sql.command("bench");
        command.args(["-Q", &text]);
        command
    }

    fn waiting(&self) -> Result<u64, String> {
        // The gatekeeper and the one who asks are sessions too.
        let sessions = self.sql.number(
            "master",
            "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id > 50",
        )?;
        Ok(sessions.saturating_sub(2))
    }

    fn open_gate(&self) -> &'static str {
        "COMMIT\nGO\n"
    }

    fn pid(&self) -> u32 {
        self.server.pid()
    }
}
