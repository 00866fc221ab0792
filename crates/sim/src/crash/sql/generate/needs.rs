//! A statement of a kind, and what has to be there before it.

use super::{Backed, Generator, Scene};
use crate::crash::sql::disk::DATABASES;
use crate::crash::sql::kinds::{ALL, K, KINDS};
use crate::crash::sql::model::{At, Model, Op};
use crate::crash::sql::step::{Batch, Effect};
use crate::crash::sql::table::{Table, Ty};

/// How often what is needed is made, one after the other.
const ROUNDS: u32 = 3;
/// How often a statement is made up for what is there: most are about a table by chance.
const TRIES: u32 = 10;

/// What a statement makes of what the session sees.
fn follow(view: &mut Model, backups: &mut Vec<Backed>, batch: &Batch) {
    match &batch.stmts[0].effect {
        Effect::Do(op) => drop(view.apply(op)),
        Effect::Backup { of, path } => backups.push(Backed {
            path: path.clone(),
            files: vec![path.clone()],
            of: of.clone(),
        }),
        _ => {}
    }
}

impl Generator {
    /// A kind that is made, each as likely as the others.
    pub(super) fn any_kind(&mut self) -> Option<K> {
        let made = |k: &&K| KINDS[**k as usize].cover.is_made();
        let made: Vec<K> = ALL.iter().filter(made).copied().collect();
        self.rng.choose(&made).copied()
    }

    /// A statement of this kind; before it, what it needs to be there.
    pub(super) fn with_needs(&mut self, scene: &Scene<'_>, kind: K) -> Option<(Vec<Batch>, Batch)> {
        let chained = kind != K::BackupLog || self.chained || !self.long;
        if chained && let Some(batch) = self.tried(scene, kind) {
            return Some((Vec::new(), batch));
        }
        if !self.long {
            return None;
        }
        match kind {
            K::AlterSwitch => return self.switchable(scene),
            // The log is truncated, or what follows the last backup is not kept.
            K::BackupLog => return Some((self.chained(), self.back_up_log())),
            _ => {}
        }
        let mut view = scene.view.clone();
        let mut before = Vec::new();
        for _ in 0..ROUNDS {
            for need in needs(kind) {
                let saves = Vec::new();
                let view_now = view.clone();
                let scene = Scene {
                    view: &view_now,
                    saves,
                    ..*scene
                };
                if let Some(batch) = self.tried(&scene, *need) {
                    follow(&mut view, &mut self.backups, &batch);
                    before.push(batch);
                }
            }
            let saves = Vec::new();
            let scene = Scene {
                view: &view,
                saves,
                ..*scene
            };
            if let Some(batch) = self.tried(&scene, kind) {
                return Some((before, batch));
            }
        }
        None
    }

    fn tried(&mut self, scene: &Scene<'_>, kind: K) -> Option<Batch> {
        (0..TRIES).find_map(|_| self.of_kind(scene, kind))
    }

    /// What a log backup follows.
    pub(super) fn chained(&mut self) -> Vec<Batch> {
        let sql = format!("ALTER DATABASE {} SET RECOVERY FULL", DATABASES[0]);
        let backup = self.back_up(DATABASES[0]);
        vec![Batch::plain(sql, Effect::Nothing), backup]
    }

    /// Two tables with the same columns, one of them with rows that can go to the other.
    fn switchable(&mut self, scene: &Scene<'_>) -> Option<(Vec<Batch>, Batch)> {
        let db = DATABASES[self.rng.below(2) as usize];
        let mut view = scene.view.clone();
        let mut before = Vec::new();
        let mut table = Table::default();
        for (name, ty) in [("c0", Ty::Int), ("c4", Ty::Varchar(100))] {
            let mut column = self.column(name, ty);
            (column.default, column.nullable) = (None, true);
            table.columns.push(column);
        }
        let first = self.rng.below(super::SLOTS);
        let places = [first, (first + 1) % super::SLOTS].map(|n| At {
            db: db.to_owned(),
            table: format!("t{n}"),
        });
        let partitioned = self.rng.one_in(2);
        for (n, at) in places.iter().enumerate() {
            if view.table(at).is_some() {
                let op = Op::Drop { at: at.clone() };
                view.apply(&op).ok()?;
                let sql = format!("DROP TABLE {}", at.sql());
                before.push(Batch::plain(sql, Effect::Do(op)));
            }
            table.partitioned = n == 0 && partitioned;
            let on = if table.partitioned { " ON ps (id)" } else { "" };
            let sql = format!("CREATE TABLE {} ({}){on}", at.sql(), table.elements());
            let (made, at) = (Box::new(table.clone()), at.clone());
            let op = Op::Create { at, table: made };
            view.apply(&op).ok()?;
            before.push(Batch::plain(sql, Effect::Do(op)));
        }
        table.partitioned = partitioned;
        let stmt = self.load(scene, places[0].clone(), &table)?;
        before.push(Batch {
            stmts: vec![stmt],
            form: crate::crash::sql::step::Form::Plain,
        });
        let number = partitioned.then(|| 1 + self.rng.below(4) as usize);
        let part = number.map_or_else(String::new, |n| format!(" PARTITION {n}"));
        let [at, to] = places;
        let sql = format!("ALTER TABLE {} SWITCH{part} TO {}", at.sql(), to.sql());
        let op = Op::Switch { at, to, number };
        Some((before, Batch::plain(sql, Effect::Do(op))))
    }
}

/// What has to be there for a statement of a kind; for one that makes something, what makes room for it.
fn needs(kind: K) -> &'static [K] {
    match kind {
        K::AlterView | K::DropView => &[K::CreateView],
        K::AlterProcedure | K::DropProcedure => &[K::CreateProcedure],
        K::AlterFunction | K::DropFunction => &[K::CreateFunction],
        K::AlterTrigger | K::DropTrigger | K::EnableTrigger => &[K::CreateTable, K::CreateTrigger],
        K::DropStatistics | K::UpdateStatistics => &[K::CreateTable, K::CreateStatistics],
        K::DropSchema => &[K::CreateSchema],
        K::AlterSchema => &[K::CreateSchema, K::CreateSynonym],
        K::DropSynonym => &[K::CreateSynonym],
        K::DropType => &[K::CreateType],
        K::DropPartitionFunction => &[K::CreatePartitionFunction],
        K::CreatePartitionScheme => &[K::DropPartitionScheme, K::CreatePartitionFunction],
        K::DropPartitionScheme => &[K::CreatePartitionFunction, K::CreatePartitionScheme],
        K::AlterLogin | K::DropLogin | K::AlterServerRole | K::ServerPermission => {
            &[K::CreateLogin]
        }
        K::AlterUser | K::DropUser | K::Permission => &[K::CreateUser],
        K::AlterRole => &[K::CreateUser, K::CreateRole],
        K::DropRole => &[K::CreateRole],
        K::DropDatabase => &[K::CreateDatabase],
        K::CreateDatabase => &[K::DropDatabase],
        K::BackupLog | K::Restore | K::RestoreShows => &[K::BackupDatabase],
        K::DropIndex | K::AlterIndex => &[K::CreateTable, K::CreateIndex],
        K::CreateView => &[K::DropView],
        K::CreateProcedure => &[K::DropProcedure],
        K::CreateFunction => &[K::DropFunction],
        K::CreateSchema => &[K::DropSynonym, K::DropSchema],
        K::CreateSynonym => &[K::DropSynonym],
        K::CreateType => &[K::DropType],
        K::CreatePartitionFunction => &[K::DropPartitionScheme, K::DropPartitionFunction],
        K::CreateLogin => &[K::DropLogin],
        K::CreateUser => &[K::DropUser],
        K::CreateRole => &[K::DropRole],
        K::CreateTable => &[K::DropTable],
        K::SelectInto => &[K::CreateTable, K::Insert],
        K::AlterCheck | K::AlterDropConstraint => &[K::CreateTable, K::AlterAdd],
        _ => &[K::CreateTable],
    }
}
