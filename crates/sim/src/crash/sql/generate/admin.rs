//! What administrators do meanwhile: databases, backups and restores, checks, settings; and blocks of control flow.

use super::{Generator, Scene};
use crate::crash::sql::disk::DATABASES;
use crate::crash::sql::model::Op;
use crate::crash::sql::step::{Batch, Effect, Form, Stmt};
use crate::crash::sql::world::MASTER;

/// Files of backups.
const FILES: u64 = 3;

impl Generator {
    /// Something beside rows and names; what cannot be in a transaction only outside of one.
    pub(super) fn administer(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let nothing = |sql: &str| Some(Batch::plain(sql.to_owned(), Effect::Nothing));
        let db = DATABASES[self.rng.below(2) as usize];
        match self.rng.below(20) {
            0..6 => nothing("CHECKPOINT"),
            6 => nothing(&format!("DBCC CHECKDB ({db}) WITH NO_INFOMSGS")),
            7 => nothing("DBCC FREEPROCCACHE WITH NO_INFOMSGS"),
            8 => nothing("DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS"),
            _ if scene.depth > 0 || self.without.has("databases") => nothing("CHECKPOINT"),
            9 => nothing("ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2"),
            10 => nothing("RECONFIGURE"),
            11 => {
                let model = ["SIMPLE", "FULL"][self.rng.below(2) as usize];
                nothing(&format!("ALTER DATABASE {db} SET RECOVERY {model}"))
            }
            12 => {
                let kb = 2048 + 64 * self.rng.below(40);
                let sql = format!("ALTER DATABASE {db} MODIFY FILE (NAME = {db}, SIZE = {kb}KB)");
                // Smaller than it is.
                Some(Batch::plain(sql, Effect::May(vec![5039])))
            }
            13..15 => self.database(scene),
            15..18 => {
                let path = format!("/data/k{}.bak", self.rng.below(FILES));
                let sql = format!(
                    "BACKUP DATABASE {} TO DISK = '{path}' WITH INIT",
                    DATABASES[0]
                );
                Some(Batch::plain(sql, Effect::Backup(path)))
            }
            _ => self.restore(),
        }
    }

    fn database(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let name = format!("d{}", self.rng.below(2));
        let what = ("DB".to_owned(), name.clone());
        let all = scene.view.dbs.get(MASTER);
        let is_there = all.is_some_and(|d| d.others.contains_key(&what));
        let (sql, text) = match is_there {
            true => (format!("DROP DATABASE {name}"), None),
            false => {
                let sql = format!(
                    "CREATE DATABASE {name} ON (NAME = {name}, FILENAME = '/data/{name}.mdf', SIZE = 1MB) \
                     LOG ON (NAME = {name}l, FILENAME = '/data/{name}.ldf', SIZE = 1MB)"
                );
                (sql, Some(String::new()))
            }
        };
        let op = Op::Other {
            db: MASTER.to_owned(),
            what,
            text,
            replaces: false,
        };
        Some(Batch::plain(sql, Effect::Do(op)))
    }

    fn restore(&mut self) -> Option<Batch> {
        let path = self.rng.choose(&self.backups)?.clone();
        let from = DATABASES[0];
        let sql = format!(
            "RESTORE DATABASE r FROM DISK = '{path}' WITH MOVE '{from}' TO '/data/r.mdf', MOVE '{from}_log' TO '/data/r.ldf', REPLACE"
        );
        Some(Batch::plain(sql, Effect::Restored(path, "r".to_owned())))
    }

    /// Changes within a block of control flow.
    pub(super) fn block(&mut self, scene: &Scene<'_>) -> Option<Batch> {
        let mut batch = self.try_catch(scene)?;
        // Nothing catches here: an error in the midst would leave open how the rest went.
        let is_sure = |s: &Stmt| matches!(s.effect, Effect::Do(_));
        batch.stmts.retain(is_sure);
        batch.stmts.truncate(1);
        if batch.stmts.is_empty() {
            return None;
        }
        let n = self.rng.below(50);
        let (before, after) = match self.rng.below(7) {
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
            5 => (
                format!("USE {}\n", DATABASES[1 - scene.who % 2]),
                format!("USE {}", Self::home(scene.who)),
            ),
            _ => (
                format!("DECLARE @v int = {n}\nSET @v = @v + 1\nIF @v = 0 RETURN\n"),
                String::new(),
            ),
        };
        batch.form = Form::Around(before, after);
        Some(batch)
    }
}
