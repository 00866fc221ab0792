//! What administrators do meanwhile: databases, backups and restores, checks, settings; and blocks of control flow.

use duramen_os::sim::DiskOp;

use super::{Backed, Generator, Scene};
use crate::crash::sql::disk::{DATABASES, MADE};
use crate::crash::sql::life::{Life, Who};
use crate::crash::sql::matrix::Ending;
use crate::crash::sql::model::Op;
use crate::crash::sql::step::{Batch, Effect, Form, Step, Stmt};
use crate::crash::sql::world::MASTER;

/// Files of backups.
const FILES: u64 = 3;
/// Forms of blocks.
pub(super) const BLOCKS: u64 = 8;
/// The one that goes to another database.
const USE: u64 = 5;
/// BACKUP LOG where the log is truncated, or where there is no backup for it to follow.
const NO_CHAIN: [i32; 2] = [4208, 4214];

impl Generator {
    /// Something beside rows and names; what cannot be in a transaction only outside of one.
    pub(super) fn administer(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let nothing = |sql: &str| Some(Batch::plain(sql.to_owned(), Effect::Nothing));
        let db = DATABASES[self.rng.below(2) as usize];
        match self.rng.below(24) {
            0..6 => nothing("CHECKPOINT"),
            6 => nothing(&format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS")),
            7 => nothing("DBCC FREEPROCCACHE WITH NO_INFOMSGS"),
            8 => nothing("DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS"),
            _ if scene.depth > 0 => nothing("CHECKPOINT"),
            9 => nothing("ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2"),
            10 => nothing("RECONFIGURE"),
            11..13 => Some(self.alter_database()),
            13..15 => {
                let name = *self.rng.choose(&MADE)?;
                Some(database(scene, name.to_owned()))
            }
            15..18 => Some(self.back_up_any(scene)),
            18..21 => Some(self.back_up_log()),
            21 => {
                let home = Self::home(scene.who);
                nothing(&format!("DBCC SHRINKFILE ({home}_log, 1) WITH NO_INFOMSGS"))
            }
            22 => self.show_backup(),
            _ => self.restore(),
        }
    }

    pub(super) fn alter_database(&mut self) -> Batch {
        let db = DATABASES[self.rng.below(2) as usize];
        if self.rng.one_in(2) {
            let model = ["SIMPLE", "FULL", "FULL"][self.rng.below(3) as usize];
            let sql = format!("ALTER DATABASE {db} SET RECOVERY {model}");
            return Batch::plain(sql, Effect::Nothing);
        }
        let kb = 2048 + 64 * self.rng.below(40);
        // The log's new part is written, which takes its time; the second database's may not be as large.
        let (db, file) = match self.rng.one_in(2) {
            true => (db, db.to_owned()),
            false => (DATABASES[0], format!("{}_log", DATABASES[0])),
        };
        let sql = format!("ALTER DATABASE {db} MODIFY FILE (NAME = {file}, SIZE = {kb}KB)");
        // Smaller than it is.
        Batch::plain(sql, Effect::May(vec![5039]))
    }

    /// A database that is made, or goes.
    pub(super) fn make_database(&mut self, scene: &Scene<'_>, make: bool) -> Option<Batch> {
        let names = MADE.into_iter();
        let names: Vec<&str> = names.filter(|n| is_there(scene, n) != make).collect();
        let name = *self.rng.choose(&names)?;
        Some(database(scene, name.to_owned()))
    }

    pub(super) fn back_up(&mut self, of: &str) -> Batch {
        let path = format!("/data/k{}.bak", self.rng.below(FILES));
        let sql = format!("BACKUP DATABASE {of} TO DISK = '{path}' WITH INIT");
        let of = of.to_owned();
        Batch::plain(sql, Effect::Backup { of, path })
    }

    /// The same, of the first database or of one that may go.
    pub(super) fn back_up_any(&mut self, scene: &Scene<'_>) -> Batch {
        let made = self.made(scene).filter(|_| self.rng.one_in(3));
        self.back_up(made.unwrap_or(DATABASES[0]))
    }

    pub(super) fn back_up_log(&mut self) -> Batch {
        let path = format!("/data/{}.trn", self.name("l"));
        let sql = format!("BACKUP LOG {} TO DISK = '{path}'", DATABASES[0]);
        Batch::plain(sql, Effect::BackupLog(path, NO_CHAIN.to_vec()))
    }

    /// A look at a backup.
    pub(super) fn show_backup(&mut self) -> Option<Batch> {
        let whole: Vec<String> = self
            .backups
            .iter()
            .map(|b| &b.path)
            .filter(|b| b.ends_with(".bak"))
            .cloned()
            .collect();
        let path = self.rng.choose(&whole)?.clone();
        let all = ["VERIFYONLY", "HEADERONLY", "FILELISTONLY", "LABELONLY"];
        let what = all[self.rng.below(all.len() as u64) as usize];
        let sql = format!("RESTORE {what} FROM DISK = '{path}'");
        Some(Batch::plain(sql, Effect::Shown(path)))
    }

    /// A backup beside the database it is of; or one with the log backups that follow it.
    pub(super) fn restore(&mut self) -> Option<Batch> {
        let Backed { path, files, of } = self.rng.choose(&self.backups)?.clone();
        let more = format!(", MOVE '{of}' TO '/data/r.mdf', MOVE '{of}_log' TO '/data/r.ldf'");
        let sql = restoring("r", &files, &more);
        Some(Batch::plain(sql, Effect::Restored(path, "r".to_owned())))
    }

    /// A backup over the database it is of, when everybody has left it.
    pub(super) fn restore_over(
        &mut self,
        life: &Life<'_>,
        ending: Option<Ending>,
    ) -> Option<Vec<Step>> {
        let is_free = |w: &Who| w.busy.is_none();
        if !life.who.iter().all(is_free) {
            return None;
        }
        let of_first = self.backups.iter().filter(|b| b.of == DATABASES[0]);
        let of_first: Vec<Backed> = of_first.cloned().collect();
        let Backed { path, files, .. } = self.rng.choose(&of_first)?.clone();
        let mut steps: Vec<Step> = (0..life.who.len()).map(|who| Step::Leave { who }).collect();
        // One that is at home in the other database.
        let who = 1;
        let sql = restoring(DATABASES[0], &files, "");
        let batch = Batch::plain(sql, Effect::Over(path));
        let step = Step::Run {
            who,
            batch,
            on: false,
        };
        let cuts = vec![self.rng.below(100)];
        let n = match ending {
            Some(Ending::CrashAfter) => 0,
            Some(Ending::CrashInRecovery) => 1,
            Some(Ending::CrashInside) => 2,
            Some(_) => 3 + self.rng.below(2),
            None => self.rng.below(5),
        };
        match n {
            0 => steps.extend([step, Step::Down { cuts: Vec::new() }]),
            1 => steps.extend([step, Step::Down { cuts }]),
            2 => {
                let scale = [10, 40, 120][self.rng.below(3) as usize];
                let after = self.rng.below(scale);
                steps.extend([Step::Fails { after }, step, Step::Down { cuts }]);
            }
            // Its files do not get their places, or only some do.
            3 => {
                let (op, after) = (DiskOp::Name, 1 + self.rng.below(6));
                steps.extend([Step::Breaks { op, after }, step]);
            }
            _ => steps.push(step),
        }
        Some(steps)
    }

    /// A change within a block of control flow of this form.
    pub(super) fn block(&mut self, scene: &Scene<'_>, form: u64) -> Option<Batch> {
        let mut batch = self.try_catch(scene)?;
        // Nothing catches here: an error in the midst would leave open how the rest went.
        let is_sure = |s: &Stmt| matches!(s.effect, Effect::Do(_));
        batch.stmts.retain(is_sure);
        if form == USE {
            batch.stmts.retain(Stmt::names_databases);
        }
        batch.stmts.truncate(1);
        if batch.stmts.is_empty() {
            return None;
        }
        let n = self.rng.below(50);
        let (before, after) = match form {
            0 => (format!("IF {n} < 50 BEGIN\n"), "END".to_owned()),
            1 => (
                "DECLARE @i int = 0\nWHILE @i < 1 BEGIN\n SET @i += 1\n".to_owned(),
                "END".to_owned(),
            ),
            2 => ("WAITFOR DELAY '00:00:00.003'\n".to_owned(), String::new()),
            3 => ("PRINT 'x'\nGOTO l\nl:\n".to_owned(), String::new()),
            4 => (
                "DECLARE @t TABLE (id int, v varchar(max))\nINSERT @t VALUES (1, REPLICATE(CONVERT(varchar(max), 'v'), 9000))\n".to_owned(),
                "DELETE @t".to_owned(),
            ),
            USE => (
                format!("USE {}\n", DATABASES[1 - scene.who % 2]),
                format!("USE {}", Self::home(scene.who)),
            ),
            6 => (
                format!("DECLARE @v int = {n}\nSET @v = @v + 1\nIF @v = 0 RETURN\n"),
                String::new(),
            ),
            _ => ("RAISERROR('x', 10, 1)\n".to_owned(), String::new()),
        };
        batch.form = Form::Around(before, after);
        Some(batch)
    }
}

fn is_there(scene: &Scene<'_>, name: &str) -> bool {
    let master = scene.view.dbs.get(MASTER);
    master.is_some_and(|d| d.has("DB", name))
}

/// CREATE DATABASE, or DROP DATABASE of one that is there.
fn database(scene: &Scene<'_>, name: String) -> Batch {
    let (sql, text) = match is_there(scene, &name) {
        true => (format!("DROP DATABASE {name}"), None),
        false => {
            let sql = format!(
                "CREATE DATABASE {name} ON (NAME = {name}, FILENAME = '/data/{name}.mdf', SIZE = 1MB) \
                 LOG ON (NAME = {name}_log, FILENAME = '/data/{name}.ldf', SIZE = 1MB)"
            );
            (sql, Some(String::new()))
        }
    };
    let op = Op::Other {
        db: MASTER.to_owned(),
        what: ("DB".to_owned(), name),
        text,
        replaces: false,
    };
    Batch::plain(sql, Effect::Do(op))
}

/// The first of these files, and then the log backups.
fn restoring(db: &str, files: &[String], more: &str) -> String {
    let mut files = files.iter();
    let first = files.next().map_or("", String::as_str);
    let logs: Vec<&String> = files.collect();
    let open = if logs.is_empty() { "" } else { ", NORECOVERY" };
    let mut sql = format!("RESTORE DATABASE {db} FROM DISK = '{first}' WITH REPLACE{more}{open}");
    for (n, log) in logs.iter().enumerate() {
        let open = if n + 1 < logs.len() { "NO" } else { "" };
        sql += &format!(";\nRESTORE LOG {db} FROM DISK = '{log}' WITH {open}RECOVERY");
    }
    sql
}
