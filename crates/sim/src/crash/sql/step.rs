//! The steps of a story, and how they read as T-SQL.

use std::fmt::Write as _;

use duramen_os::sim::DiskOp;

use super::model::{At, EVERY, Filter, GLOBAL, Op};
use super::table::Val;
use super::{disk, kinds, show};

/// How a session reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Level {
    #[default]
    ReadCommitted,
    RepeatableRead,
    Serializable,
    Snapshot,
}

impl Level {
    pub const ALL: [Level; 4] = [
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
        Level::Snapshot,
    ];

    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadCommitted => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            Level::RepeatableRead => "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Level::Serializable => "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            Level::Snapshot => "SET TRANSACTION ISOLATION LEVEL SNAPSHOT",
        }
    }
}

/// What a statement does, if it is not refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    Nothing,
    Begin,
    Commit,
    Rollback,
    Save(String),
    Back(String),
    XactAbort(bool),
    Level(Level),
    Do(Op),
    /// Rows that are read and compared.
    Look {
        at: At,
        filter: Filter,
    },
    /// It is refused, with one of these numbers.
    Fails(Vec<i32>),
    /// Nothing, or it is refused with one of these numbers.
    May(Vec<i32>),
    /// A backup of this database to this file.
    Backup {
        of: String,
        path: String,
    },
    /// A backup of the first database's log to this file, or one of these numbers.
    BackupLog(String, Vec<i32>),
    /// A database of that name is made from this file, and from those that it follows.
    Restored(String, String),
    /// The first database becomes what is in this file, and in those that it follows.
    Over(String),
    /// Of these files, a backup and the log backups that follow it, the last is restored upon the others, into a database
    /// that waits for the next; the last of all opens it.
    Rolls {
        files: Vec<String>,
        last: bool,
    },
    /// That database is opened without another.
    Recovers,
    /// A procedure of this database gives its number.
    Calls(At),
    /// The rights that somebody holds in this database are read and compared: database, kind and name.
    Rights(At),
    /// A backup is read.
    Shown(String),
}

/// See [`Stmt::later`].
const LATER: &str = "WAITFOR DELAY '00:00:00.020'; ";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stmt {
    pub sql: String,
    pub effect: Effect,
}

impl Stmt {
    /// It is run by an EXECUTE of a string.
    pub fn is_string(&self) -> bool {
        self.sql.starts_with("EXEC('")
    }

    /// The tables that it touches, and whether their definition.
    pub fn touches(&self) -> Vec<(At, bool)> {
        match &self.effect {
            Effect::Do(op) => op.touches(),
            Effect::Look { at, .. } | Effect::Calls(at) | Effect::Rights(at) => {
                vec![(at.clone(), false)]
            }
            // Of a database that may go meanwhile.
            Effect::Backup { of, .. } if disk::MADE.contains(&of.as_str()) => {
                let (db, table) = (of.clone(), EVERY.to_owned());
                vec![(At { db, table }, true)]
            }
            _ => Vec::new(),
        }
    }

    /// Something is waited for first: whoever comes to interrupt it comes in time.
    pub fn later(self) -> Stmt {
        let sql = format!("{LATER}{}", self.sql);
        Stmt { sql, ..self }
    }

    /// How many ends its text tells of, at least, when it has done what it is for.
    pub fn ends(&self, interrupted: bool) -> usize {
        // Of a text that goes to another database first an interruption may leave but that.
        let goes = interrupted && self.sql.contains("USE master; ");
        1 + usize::from(goes) + usize::from(self.sql.starts_with(LATER))
    }

    /// In a string it would be the same: not so a local temporary table or procedure, which goes with the string.
    pub fn fits_string(&self) -> bool {
        match &self.effect {
            Effect::Do(Op::Other { db, .. }) => db == GLOBAL || !db.starts_with('#'),
            Effect::Do(Op::Create { at, .. } | Op::Into { at, .. }) => !at.is_local(),
            _ => true,
        }
    }

    /// It is the same in another database: all its names say theirs.
    pub fn names_databases(&self) -> bool {
        match &self.effect {
            Effect::Do(
                Op::Other { .. }
                | Op::Right { .. }
                | Op::CreateTrigger { .. }
                | Op::DropTrigger { .. }
                | Op::Rename { .. }
                | Op::RenameColumn { .. }
                | Op::AddForeign { .. }
                | Op::NextUsed { .. }
                | Op::Boundary { .. },
            ) => false,
            Effect::Do(_) => true,
            _ => false,
        }
    }

    /// It may stand in a batch with others: by itself, or in a string.
    pub fn fits_try(&self) -> bool {
        self.fits_string() || !self.is_module()
    }

    /// A module's definition is a batch by itself.
    fn is_module(&self) -> bool {
        matches!(&self.effect, Effect::Do(Op::CreateTrigger { .. }))
            || ["PROCEDURE ", "VIEW ", "FUNCTION ", "SCHEMA "]
                .iter()
                .any(|w| {
                    self.sql.starts_with(&format!("CREATE {w}"))
                        || self.sql.starts_with(&format!("ALTER {w}"))
                })
    }

    /// In a string where it must be.
    pub fn alone_in_string(self) -> Stmt {
        match self.is_module() {
            true => self.in_string(),
            false => self,
        }
    }

    /// The same, in a string.
    pub fn in_string(self) -> Stmt {
        match self.is_string() {
            true => self,
            false => Stmt {
                sql: format!("EXEC('{}')", self.sql.replace('\'', "''")),
                effect: self.effect,
            },
        }
    }
}

/// What a CATCH does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caught {
    /// Rolls back whatever is open.
    Rollback,
    /// Rolls back only what is doomed.
    Doomed,
}

/// Rows that a bulk load brings: ids, and values of the columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    pub columns: Vec<(String, super::table::Ty)>,
    pub rows: Vec<(i64, Vec<Val>)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// One statement.
    Plain,
    /// One statement INSERT BULK, and what follows it.
    Bulk(Load),
    /// Several, in a TRY.
    Try(Caught),
    /// Several, one after the other, whatever becomes of them; the text around them.
    Around(String, String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    pub stmts: Vec<Stmt>,
    pub form: Form,
}

impl Batch {
    pub fn plain(sql: String, effect: Effect) -> Batch {
        Batch {
            stmts: vec![Stmt { sql, effect }],
            form: Form::Plain,
        }
    }

    /// The text that is run. Batches of several statements tell how far they came: a row of one number after each, and
    /// at their end and in their CATCH a row of three (how far, the error, XACT_STATE()).
    pub fn sql(&self) -> String {
        match &self.form {
            Form::Plain | Form::Bulk(_) => self.stmts[0].sql.clone(),
            Form::Around(before, after) => {
                let mut out = before.clone();
                self.told(&mut out, "IF @@ERROR = 0 ");
                out + after + "\nSELECT 0, 0, XACT_STATE()"
            }
            Form::Try(caught) => {
                let mut out = "BEGIN TRY\n".to_owned();
                self.told(&mut out, "");
                let when = match caught {
                    Caught::Rollback => "<> 0",
                    Caught::Doomed => "= -1",
                };
                let _ = write!(
                    out,
                    "END TRY\nBEGIN CATCH\n SELECT -1, ERROR_NUMBER(), XACT_STATE()\n IF XACT_STATE() {when} ROLLBACK\nEND CATCH\nSELECT 0, 0, XACT_STATE()"
                );
                out
            }
        }
    }

    fn told(&self, out: &mut String, when: &str) {
        for (n, s) in self.stmts.iter().enumerate() {
            let _ = writeln!(out, " {};\n {when}SELECT {}", s.sql, n + 1);
        }
    }

    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.stmts.iter().filter_map(|s| match &s.effect {
            Effect::Do(op) => Some(op),
            _ => None,
        })
    }

    /// The kinds of its statements from this one on, and of what is written around them. What a transaction is to refuse is
    /// no part of it.
    pub fn kinds(&self, from: usize, is_alone: bool) -> Vec<usize> {
        let refused = |s: &&Stmt| !is_alone && matches!(s.effect, Effect::Fails(_));
        let left = self.stmts.iter().skip(from).filter(|s| !refused(s));
        let mut all: Vec<usize> = left.flat_map(|s| kinds::of(&s.sql)).collect();
        if matches!(self.form, Form::Try(_) | Form::Around(..)) {
            all.extend(kinds::around(&self.sql()));
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The tables that it touches, and whether their definition.
    pub fn touches(&self) -> Vec<(At, bool)> {
        self.stmts.iter().flat_map(Stmt::touches).collect()
    }

    /// How far it came is only told when it comes to its end: whoever interrupts it would not know what is committed.
    pub fn is_whole(&self, in_transaction: bool) -> bool {
        let told = matches!(self.form, Form::Try(_) | Form::Around(..));
        self.is_over() || told && (!in_transaction || self.has_ends())
    }

    /// It restores over a database of the story: nothing else happens meanwhile.
    pub fn is_over(&self) -> bool {
        matches!(self.stmts[0].effect, Effect::Over(_))
    }

    /// It may end a transaction in its midst.
    pub fn has_ends(&self) -> bool {
        self.stmts
            .iter()
            .any(|s| matches!(s.effect, Effect::Commit | Effect::Rollback | Effect::Begin))
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Session `who` is given a batch. With `on` the next step comes at once, whatever becomes of it.
    Run { who: usize, batch: Batch, on: bool },
    /// The client of session `who` goes.
    Leave { who: usize },
    /// An attention to session `who`, after so many microseconds.
    Cancel { who: usize, after: u64 },
    /// KILL of session `who` by session `by`.
    Kill { by: usize, who: usize },
    /// Nothing happens for so many microseconds.
    Rest { us: u64 },
    /// Power fails in the midst of the n-th change of the disk from now on.
    Fails { after: u64 },
    /// The n-th operation of this kind from now on fails.
    Breaks { op: DiskOp, after: u64 },
    /// There is no power any more; recoveries are cut after so many changes.
    Down { cuts: Vec<u64> },
    /// Everybody ends, and everything is looked at.
    Audit,
}

impl Step {
    /// As a line of a script by session.
    pub fn show(&self) -> String {
        match self {
            Step::Run { who, batch, on } => {
                let also = if *on { " (not waited for)" } else { "" };
                let rows = match &batch.form {
                    Form::Bulk(load) => {
                        let rows: Vec<String> =
                            load.rows.iter().map(|(id, r)| show::must(*id, r)).collect();
                        format!("\n  -- {} rows: {}", rows.len(), rows.join(", "))
                    }
                    _ => String::new(),
                };
                format!("-- session {}{also}\n{}{rows}", who + 1, batch.sql())
            }
            Step::Leave { who } => format!("-- session {} disconnects", who + 1),
            Step::Cancel { who, after } => {
                format!("-- attention to session {} after {after} us", who + 1)
            }
            Step::Kill { by, who } => {
                format!("-- session {}\nKILL <session {}>", by + 1, who + 1)
            }
            Step::Rest { us } => format!("-- {us} us pass"),
            Step::Fails { after } => {
                format!("-- power fails in the change {after} of the disk from here")
            }
            Step::Breaks { op, after } => {
                format!("-- the disk fails in the {after}. {op:?} from here")
            }
            Step::Down { cuts } if cuts.is_empty() => "-- no power; the next start".to_owned(),
            Step::Down { cuts } => {
                format!("-- no power; recoveries cut after {cuts:?} changes of the disk")
            }
            Step::Audit => "-- everybody ends; everything is looked at".to_owned(),
        }
    }
}

/// A story's steps as a script.
pub fn script(steps: &[Step]) -> String {
    let lines: Vec<String> = steps.iter().map(Step::show).collect();
    lines.join("\n")
}
